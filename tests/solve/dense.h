/*
 * dense.h - the products with Z by plain loops, for the oracles of the solvers' tests.
 */
#ifndef TESTS_SOLVE_DENSE_H
#define TESTS_SOLVE_DENSE_H

#include "support.h"

#include <stdlib.h>

/* Z' v, D x C, of a dense Z (N x D); to be freed. */
static inline double *dense_apply_t(size_t N, size_t D, size_t C, const double *Z,
                                    const double *v) {
    double *out = calloc(D * C, sizeof *out);
    assert_non_null(out);
    for (size_t i = 0; i < N; i++)
        for (size_t b = 0; b < D; b++)
            for (size_t c = 0; c < C; c++)
                out[b * C + c] += Z[i * D + b] * v[i * C + c];
    return out;
}

/* Z w, N x C; to be freed. */
static inline double *dense_apply(size_t N, size_t D, size_t C, const double *Z, const double *w) {
    double *out = calloc(N * C, sizeof *out);
    assert_non_null(out);
    for (size_t i = 0; i < N; i++)
        for (size_t b = 0; b < D; b++)
            for (size_t c = 0; c < C; c++)
                out[i * C + c] += Z[i * D + b] * w[b * C + c];
    return out;
}

#endif
