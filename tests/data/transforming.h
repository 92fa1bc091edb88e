/*
 * transforming.h - samples that a transform changes, and helpers to apply it.
 */
#ifndef KB_TESTS_TRANSFORMING_H
#define KB_TESTS_TRANSFORMING_H

#include "samples.h"

#include "core/random.h"
#include "data/transform.h"

#include <float.h>
#include <math.h>

enum { N = 2500, D = 8 };

/* Columns: uniform; long tail; constant; two values; 40 values, most of them the same; mostly
 * zero; beyond the largest double apart; three values. */
static const int VARIES[D] = {1, 1, 0, 1, 1, 1, 1, 1};
static const int RANKED[D] = {0, 1, 0, 0, 1, 0, 0, 0};

static inline double *cells(size_t rows) {
    double *x = malloc(rows * D * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < rows; i++) {
        kb_uniform2 p = kb_random_uniform(3, KB_STREAM_SYNTHETIC, i, 1);
        kb_uniform2 q = kb_random_uniform(3, KB_STREAM_SYNTHETIC, i, 2);
        double *row = x + i * D;
        row[0] = p.u - 0.3;
        row[1] = exp(9 * q.u) - 5000;
        row[2] = 7;
        row[3] = p.v < 0.5 ? -1 : 3;
        row[4] = q.v < 0.6 ? 0 : floor(39 * p.v) * floor(39 * p.v);
        row[5] = p.v < 0.2 ? q.u + 1 : 0;
        row[6] = i % 3 == 0 ? -DBL_MAX : i % 3 == 1 ? DBL_MAX : DBL_MAX * (2 * p.u - 1);
        row[7] = floor(3 * q.v);
    }
    return x;
}

static inline kb_data *dense_of(kb_context *ctx, size_t rows, size_t d, const double *x) {
    kb_data *data;
    assert_ok(ctx, data_from_dense(ctx, rows, d, x, NULL, &data));
    return data;
}

static inline kb_data *sparse_of(kb_context *ctx, size_t rows, size_t d, const double *x) {
    return compressed(ctx, rows, d, x, NULL, 7);
}

static inline kb_transform *learned(kb_context *ctx, const kb_data *data) {
    kb_transform *t;
    assert_ok(ctx, kb_transform_learn(ctx, data, &t));
    assert_true(kb_transform_is_sound(t));
    return t;
}

static inline kb_data *applied(kb_context *ctx, const kb_transform *t, const kb_data *data) {
    kb_data *out;
    assert_ok(ctx, kb_transform_apply(ctx, t, data, &out));
    assert_int_equal(out->rows, data->rows);
    assert_int_equal(out->features, kb_transform_features(t));
    assert_null(out->label);
    return out;
}

static inline void range_of(const double *x, size_t rows, size_t d, size_t j, double *low,
                            double *high) {
    *low = *high = x[j];
    for (size_t i = 0; i < rows; i++) {
        *low = fmin(*low, x[i * d + j]);
        *high = fmax(*high, x[i * d + j]);
    }
}

#endif
