/*
 * fitted.h - small models for the tests of the model room.
 */
#ifndef KB_TESTS_FITTED_H
#define KB_TESTS_FITTED_H

#include "features/world.h"

#include "model/model.h"

static inline void set_pairs(kb_context *ctx, kb_options *options, const char *const *pairs) {
    for (; pairs[0]; pairs += 2)
        assert_ok(ctx, kb_options_set(ctx, options, pairs[0], pairs[1]));
}

/* Options set by pairs of name and value, up to a NULL; the others at their defaults. */
static inline kb_options *tuning_options_of(kb_context *ctx, const char *const *pairs) {
    kb_options *options;
    assert_ok(ctx, kb_options_create(ctx, &options));
    set_pairs(ctx, options, pairs);
    return options;
}

/* Likewise, but the others have the values that they have without tuning: the stages of a fit know
 * no auto, and most tests are about what comes after. */
static inline kb_options *options_of(kb_context *ctx, const char *const *pairs) {
    static const char *const plain[] = {
        "tune",  "off",  "sigma",  "default", "lambda", "0.1",        "grids", "256", "widths",
        "equal", "loss", "square", "scale",   "minmax", "early-stop", "off",   NULL};
    kb_options *options = tuning_options_of(ctx, plain);
    set_pairs(ctx, options, pairs);
    return options;
}

#define OPTIONS(ctx, ...) options_of(ctx, (const char *const[]){__VA_ARGS__, NULL})

typedef enum labels { REAL, TWO, THREE, WORDS } labels;

/* N samples of d features; labels by a wavy rule, so that there is something to learn. */
static inline kb_data *data_of(kb_context *ctx, size_t N, size_t d, labels kind) {
    static const char *const word[] = {"ape", "bee", "cow"};
    double *x = test_values(N, d, 21), *y = malloc(N * sizeof *y);
    kb_data *data;
    assert_non_null(y);
    for (size_t i = 0; i < N; i++) {
        double value = sin(4 * x[i * d]) + (d > 1 ? x[i * d + 1] : 0) + 0.01 * test_uniform(9, i);
        y[i] = kind == REAL  ? 10 + value
               : kind == TWO ? (value > 0 ? 7 : 3)
                             : (value < -0.4  ? 0
                                : value < 0.4 ? 1
                                              : 2);
        y[i] += kind == THREE ? 4 : 0;
    }
    assert_ok(ctx, kb_data_from_dense(ctx, N, d, x, y, &data));
    if (kind == WORDS) {
        assert_ok(ctx, kb_alloc(ctx, 3, sizeof(char *), &data->class_name));
        data->class_count = 3;
        for (int k = 0; k < 3; k++)
            assert_ok(ctx, kb_strdup(ctx, word[k], &data->class_name[k]));
    }
    free(x);
    free(y);
    return data;
}

static inline kb_model *model_of(kb_context *ctx, const kb_options *options, const kb_data *data) {
    kb_model *model;
    assert_ok(ctx, kb_model_fit(ctx, options, data, &model));
    return model;
}

static inline double *decisions_of(kb_context *ctx, const kb_model *model, const kb_data *data) {
    double *out = malloc(kb_data_rows(data) * kb_model_info(model)->outputs * sizeof *out);
    assert_non_null(out);
    assert_ok(ctx, kb_model_decide(ctx, model, data, out));
    return out;
}

static inline int64_t *columns_of(kb_context *ctx, const kb_map *map, const kb_data *data) {
    int64_t *out = malloc(kb_data_rows(data) * kb_map_grids(map) * sizeof *out);
    assert_non_null(out);
    assert_ok(ctx, kb_map_apply(ctx, map, data, out));
    return out;
}

/* K of the data under the map: the share of the grids in which two samples meet. */
static inline double *kernel_of(kb_context *ctx, const kb_map *map, const kb_data *data) {
    size_t N = kb_data_rows(data), R = kb_map_grids(map);
    int64_t *column = columns_of(ctx, map, data);
    double *K = calloc(N * N, sizeof *K);
    assert_non_null(K);
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < N; k++)
            for (size_t r = 0; r < R; r++)
                K[i * N + k] += column[i * R + r] == column[k * R + r] ? 1 / (double)R : 0;
    free(column);
    return K;
}

static inline int file_exists(const char *path) {
    return access(path, F_OK) == 0;
}

#endif
