/*
 * matrix.h - products with the matrix Z by plain loops, the oracle of operators.
 */
#ifndef KB_TESTS_MATRIX_H
#define KB_TESTS_MATRIX_H

#include "dense.h"
#include "features/world.h"

static const size_t COLUMNS[] = {1, 2, 3, 7, 16, 26, 33};
enum { WIDTHS = sizeof COLUMNS / sizeof *COLUMNS, MOST = 33 };

/* Sums of at most N or R terms of size 1: 1e-13 is hundreds of roundings. */
static const double TOLERANCE = 1e-13;

static inline double *numbers_for(size_t count) {
    double *x = malloc(count * sizeof *x);
    assert_non_null(x);
    for (size_t k = 0; k < count; k++)
        x[k] = NAN; /* whatever is not written shows */
    return x;
}

static inline double dot(const double *a, const double *b, size_t count) {
    double sum = 0;
    for (size_t k = 0; k < count; k++)
        sum += a[k] * b[k];
    return sum;
}

/* |z|^2 of each of the C columns of z (rows x C) against `square`, within tolerance times 1 + that.
 */
static inline void assert_squares(const double *square, const double *z, size_t rows, size_t C,
                                  double tolerance) {
    for (size_t c = 0; c < C; c++) {
        double want = 0;
        for (size_t b = 0; b < rows; b++)
            want += z[b * C + c] * z[b * C + c];
        assert_true(fabs(square[c] - want) <= tolerance * (1 + want));
    }
}

/* The products of `op` against those of a matrix; v (N x C) is what K is applied to. */
static inline void check_operator(kb_context *ctx, kb_operator *op, const double *Z, size_t C,
                                  const double *v, double tolerance) {
    size_t N = op->rows, D = op->columns;
    double *u = test_numbers(3, D * C), square[MOST], alone[MOST];
    double *ztv = dense_apply_t(N, D, C, Z, v), *zw = dense_apply(N, D, C, Z, u);
    double *kv = dense_apply(N, D, C, Z, ztv);
    double *rows = numbers_for(N * C), *again = numbers_for(N * C), *bins = numbers_for(D * C);
    assert_ok(ctx, op->apply_t(op, ctx, C, v, bins));
    assert_close(bins, ztv, D * C, tolerance);
    assert_ok(ctx, op->apply(op, ctx, C, u, rows));
    assert_close(rows, zw, N * C, tolerance);
    assert_ok(ctx, op->apply_k(op, ctx, C, v, rows, NULL));
    assert_close(rows, kv, N * C, tolerance);
    assert_ok(ctx, op->apply_k(op, ctx, C, v, again, square));
    assert_same_bits(again, rows, N * C); /* the squares change nothing */
    assert_squares(square, ztv, D, C, tolerance);
    assert_ok(ctx, op->apply_k(op, ctx, C, v, NULL, alone)); /* nor need there be the product */
    assert_same_bits(alone, square, C);
    free(u), free(ztv), free(zw), free(kv), free(rows), free(again), free(bins);
}

#endif
