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

/* Likewise, but the others have their values without tuning, and no rows are held out: the stages
 * of a fit do not accept auto, and most tests are about later stages. */
static inline kb_options *options_of(kb_context *ctx, const char *const *pairs) {
    static const char *const off[] = {"tune", "off", "holdout", "off", NULL};
    size_t count;
    const kb_option_info *row = kb_option_table(&count);
    kb_options *options = tuning_options_of(ctx, off);
    for (size_t id = 0; id < count; id++)
        if (kb_option_untuned((kb_option_id)id))
            assert_ok(ctx, kb_options_set(ctx, options, row[id].name,
                                          kb_option_untuned((kb_option_id)id)));
    set_pairs(ctx, options, pairs);
    return options;
}

/* The options resolved, until the end of the block. */
#define CONFIG(options) (&(kb_config[]){kb_config_of(options)}[0])

#define OPTIONS(ctx, ...) options_of(ctx, (const char *const[]){__VA_ARGS__, NULL})

typedef enum labels { REAL, TWO, THREE, WORDS } labels;

/* N samples of d features; labels by a wavy rule that can be learned. */
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
    assert_ok(ctx, data_from_dense(ctx, N, d, x, y, &data));
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

/* Other samples with the labels of data_of: a long tail in feature `tail`, a constant in the next
 * one, and a third of zeros elsewhere. */
static inline kb_data *tailed_data(kb_context *ctx, size_t N, size_t d, uint64_t seed, labels kind,
                                   size_t tail, int sparse) {
    kb_data *like = data_of(ctx, N, d, kind), *data;
    double *x = test_values(N, d, seed);
    for (size_t i = 0; i < N; i++) {
        x[i * d + tail] = x[i * d + tail] == 0 ? 0 : exp(6 * x[i * d + tail]);
        x[i * d + tail + 1] = 3;
    }
    if (sparse)
        data = test_sparse(ctx, N, d, x, like->label);
    else
        assert_ok(ctx, data_from_dense(ctx, N, d, x, like->label, &data));
    free(x);
    kb_data_free(like);
    return data;
}

static inline kb_data *csv_of(kb_context *ctx, const kb_options *options, const kb_model *like,
                              const char *text) {
    kb_data *data;
    test_path path = file_with("labels.csv", text);
    assert_ok(ctx, kb_data_read(ctx, options, path.text, like, &data));
    unlink(path.text);
    return data;
}

/* Weights that repeat. */
static inline void weigh_rows(kb_context *ctx, kb_data *data, const double *of, size_t period) {
    assert_ok(ctx, kb_alloc(ctx, data->rows, sizeof(double), &data->weight));
    for (size_t i = 0; i < data->rows; i++)
        data->weight[i] = of[i % period];
}

static inline kb_model *model_of(kb_context *ctx, const kb_options *options, const kb_data *data) {
    kb_model *model;
    assert_ok(ctx, kb_model_fit(ctx, options, data, &model));
    return model;
}

static inline kb_map *map_of(kb_context *ctx, const kb_options *options, const kb_data *data) {
    kb_map *map;
    assert_ok(ctx, kb_map_fit(ctx, options, data, &map));
    return map;
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

/* The inputs of a test that runs repeatedly. */
typedef struct fit_inputs {
    kb_options *options;
    kb_data *data;
} fit_inputs;

static inline void fit_inputs_free(fit_inputs *in) {
    kb_data_free(in->data);
    kb_options_free(in->options);
}

/* A fit of the inputs, for run_with_allocation_failures and its like. */
static inline int fit_once(kb_context *ctx, void *arg) {
    fit_inputs *in = arg;
    kb_model *model;
    kb_status status = kb_model_fit(ctx, in->options, in->data, &model);
    if (status != KB_OK)
        assert_null(model);
    kb_model_free(model);
    return (int)status;
}

/* ---- files ------------------------------------------------------------- */

/* The file that a model makes; to be unlinked. */
static inline test_path written(kb_context *ctx, const kb_model *model) {
    test_path path = path_of("model.kerbin");
    assert_ok(ctx, kb_model_write(ctx, model, path.text));
    return path;
}

/* Written again, the model gives the same file as at that path. */
static inline void assert_same_file_again(kb_context *ctx, const kb_model *model,
                                          const char *path) {
    test_path again = path_of("again.kerbin");
    size_t a, b;
    assert_ok(ctx, kb_model_write(ctx, model, again.text));
    char *one = bytes_of(path, &a), *two = bytes_of(again.text, &b);
    assert_int_equal(a, b);
    assert_memory_equal(one, two, a);
    unlink(again.text);
    free(one), free(two);
}

/* `make` fits the inputs that it makes of `arg` with its context: the model's file has the same
 * bytes for any number of threads. */
static inline void assert_same_file_for_threads(fit_inputs (*make)(kb_context *ctx,
                                                                   const void *arg),
                                                const void *arg) {
    static const int teams[] = {1, 2, 5};
    test_path first;
    for (int t = 0; t < 3; t++) {
        test_state state = {0};
        kb_context *ctx = test_context_with(&state, teams[t]);
        fit_inputs in = make(ctx, arg);
        kb_model *model = model_of(ctx, in.options, in.data);
        if (t == 0)
            first = written(ctx, model);
        else
            assert_same_file_again(ctx, model, first.text);
        kb_model_free(model);
        fit_inputs_free(&in);
        kb_context_free(ctx);
        assert_int_equal(state.live, 0);
    }
    unlink(first.text);
}

static inline int file_exists(const char *path) {
    return access(path, F_OK) == 0;
}

/* A model and rows for it, as the argument of a body of support.h. */
typedef struct model_and_data {
    const kb_model *model;
    const kb_data *data;
} model_and_data;

/* Every allocation of `body` fails once, and it is cancelled at every report, of which there are
 * `reports` at least.  Its argument is a model_and_data; `data` is freed. */
static inline void run_with_failures_of_a_model(kb_context *ctx, kb_data *data, const char *grids,
                                                int (*body)(kb_context *ctx, void *arg),
                                                long reports) {
    kb_options *options = OPTIONS(ctx, "grids", grids);
    kb_model *model = model_of(ctx, options, data);
    run_with_allocation_failures(body, &(model_and_data){model, data});
    run_with_cancellations(body, &(model_and_data){model, data}, 2, reports);
    kb_model_free(model);
    kb_data_free(data);
    kb_options_free(options);
}

/* A fit, as a body of support.h; nothing of it is left. */
typedef struct fit_to_fail {
    const kb_data *data;
    const char *const *pairs; /* options and values, and a NULL */
} fit_to_fail;

static inline int fit_and_free(kb_context *ctx, void *arg) {
    const fit_to_fail *f = arg;
    kb_options *options = NULL;
    kb_model *model = NULL;
    kb_status status = kb_options_create(ctx, &options);
    for (const char *const *at = f->pairs; status == KB_OK && *at; at += 2)
        status = kb_options_set(ctx, options, at[0], at[1]);
    if (status == KB_OK)
        status = kb_model_fit(ctx, options, f->data, &model);
    kb_model_free(model);
    kb_options_free(options);
    return (int)status;
}

#endif
