/*
 * ridge.h - kernel ridge regression by dense algebra, the oracle of fits with the square loss.
 */
#ifndef KB_TESTS_RIDGE_H
#define KB_TESTS_RIDGE_H

#include "model/fitted.h"

#include <lapacke.h>

/* f = K alpha + b of  min lambda/2 |w|^2 + 1/2 sum s (f - y)^2  with b free, or 0: the bordered
 * system  (K + lambda/s) alpha + b 1 = y,  1'alpha = 0.  The least value is added to *objective;
 * without s all weights are 1. */
static inline double *dense_ridge(const double *K, size_t N, double lambda, const double *s,
                                  int free_b, const double *y, double *objective) {
    size_t n = N + (free_b ? 1 : 0);
    double *A = calloc(n * n, sizeof *A), *x = calloc(n, sizeof *x), *f = calloc(N, sizeof *f);
    lapack_int *pivot = malloc(n * sizeof *pivot);
    assert_true(A && x && f && pivot);
    for (size_t i = 0; i < N; i++) {
        memcpy(A + i * n, K + i * N, N * sizeof *A);
        A[i * n + i] += lambda / (s ? s[i] : 1);
        if (free_b)
            A[i * n + N] = A[N * n + i] = 1;
        x[i] = y[i];
    }
    assert_int_equal(
        LAPACKE_dsysv(LAPACK_ROW_MAJOR, 'U', (lapack_int)n, 1, A, (lapack_int)n, pivot, x, 1), 0);
    for (size_t i = 0; i < N; i++) {
        double k_alpha = 0;
        for (size_t k = 0; k < N; k++)
            k_alpha += K[i * N + k] * x[k];
        f[i] = k_alpha + (free_b ? x[N] : 0);
        *objective +=
            lambda / 2 * x[i] * k_alpha + (s ? s[i] : 1) * (f[i] - y[i]) * (f[i] - y[i]) / 2;
    }
    free(A), free(x), free(pivot);
    return f;
}

/* Decisions and objective of a converged fit against the dense solutions for its K, output by
 * output; each within `share` of the largest decision and of the objective. */
static inline void check_ridge(kb_context *ctx, const kb_model *model, const double *K,
                               const kb_data *data, double share) {
    const kb_fit_info *info = kb_model_info(model);
    size_t N = kb_data_rows(data), C = info->outputs;
    double *f = decisions_of(ctx, model, data), *y = malloc(N * sizeof *y), objective = 0;
    assert_non_null(y);
    assert_int_equal(info->converged, 1);
    for (size_t c = 0; c < C; c++) {
        double most = 0;
        for (size_t i = 0; i < N; i++)
            y[i] = info->classes == 0                                       ? data->label[i]
                   : data->label[i] == kb_model_class(model, C > 1 ? c : 1) ? 1
                                                                            : -1;
        double *want =
            dense_ridge(K, N, info->lambda, data->weight, info->intercept, y, &objective);
        for (size_t i = 0; i < N; i++)
            most = fmax(most, fabs(want[i]));
        for (size_t i = 0; i < N; i++)
            if (!(fabs(f[i * C + c] - want[i]) <= share * most))
                fail_msg("row %zu, output %zu: %.12g, not %.12g", i, c, f[i * C + c], want[i]);
        free(want);
    }
    assert_true(fabs(info->objective - objective) <= share * objective);
    free(f), free(y);
}

#endif
