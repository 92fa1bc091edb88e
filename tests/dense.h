/*
 * dense.h - products with a dense matrix by plain loops, for oracles.
 */
#ifndef KB_TESTS_DENSE_H
#define KB_TESTS_DENSE_H

#include "support.h"

/* Z' v, D x C, of a dense Z (N x D); to be freed. */
static inline double *dense_apply_t(size_t N, size_t D, size_t C, const double *Z,
                                    const double *v) {
    double *out = calloc(D * C + 1, sizeof *out);
    assert_non_null(out);
    for (size_t i = 0; i < N; i++)
        for (size_t b = 0; b < D; b++)
            for (size_t c = 0; Z[i * D + b] != 0 && c < C; c++)
                out[b * C + c] += Z[i * D + b] * v[i * C + c];
    return out;
}

/* Z w, N x C; to be freed. */
static inline double *dense_apply(size_t N, size_t D, size_t C, const double *Z, const double *w) {
    double *out = calloc(N * C + 1, sizeof *out);
    assert_non_null(out);
    for (size_t i = 0; i < N; i++)
        for (size_t b = 0; b < D; b++)
            for (size_t c = 0; Z[i * D + b] != 0 && c < C; c++)
                out[i * C + c] += Z[i * D + b] * w[b * C + c];
    return out;
}

/* Every column of v (N x C) minus its mean. */
static inline void take_means_off(double *v, size_t N, size_t C) {
    for (size_t c = 0; c < C; c++) {
        double mean = 0;
        for (size_t i = 0; i < N; i++)
            mean += v[i * C + c] / (double)N;
        for (size_t i = 0; i < N; i++)
            v[i * C + c] -= mean;
    }
}

#endif
