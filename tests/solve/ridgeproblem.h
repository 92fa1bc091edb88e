/*
 * ridgeproblem.h - small ridge problems for the tests of their solvers, and their solutions by
 * dense algebra.
 */
#ifndef TESTS_SOLVE_RIDGEPROBLEM_H
#define TESTS_SOLVE_RIDGEPROBLEM_H

#include "dense.h"
#include "features/world.h"

#include "solve/ridge.h"

#include <lapacke.h>

typedef kb_status solver(kb_context *ctx, kb_ridge *problem);

/* ---- problems ---------------------------------------------------------- */

typedef struct problem {
    world w;
    kb_operator *base, *centred;
    size_t N, D, C;
    double *Z;         /* N x D, its columns centred if there is a centred operator */
    double *y;         /* N x C, likewise */
    double *alpha, *f; /* N x C, the solver's */
} problem;

static inline problem problem_create(kb_context *ctx, size_t N, size_t R, size_t C, int centred) {
    problem p = {.w = world_build(ctx, N, 2, R, 0.8), .N = N, .C = C};
    p.D = p.w.z->bins;
    p.Z = test_matrix(p.w.z);
    p.y = test_numbers(7, N * C);
    for (size_t i = 0; i < N; i++) /* a part to learn, and noise */
        for (size_t c = 0; c < C; c++)
            p.y[i * C + c] = sin(3 * p.w.x[2 * i] + (double)c) + 0.3 * p.y[i * C + c];
    p.alpha = malloc(N * C * sizeof(double));
    p.f = malloc(N * C * sizeof(double));
    assert_ok(ctx, kb_operator_binmat(ctx, p.w.z, &p.base));
    if (centred) {
        assert_ok(ctx, kb_operator_centred(ctx, p.base, NULL, &p.centred));
        take_means_off(p.Z, N, p.D);
        take_means_off(p.y, N, C);
    }
    return p;
}

static inline void problem_free(problem *p) {
    kb_operator_free(p->centred);
    kb_operator_free(p->base);
    world_free(&p->w);
    free(p->Z), free(p->y), free(p->alpha), free(p->f);
}

static inline kb_ridge ridge_of(problem *p, double lambda, double tol, size_t max_steps) {
    return (kb_ridge){.op = p->centred ? p->centred : p->base,
                      .lambda = lambda,
                      .tol = tol,
                      .max_steps = max_steps,
                      .C = p->C,
                      .y = p->y,
                      .alpha = p->alpha,
                      .f = p->f,
                      .steps = 12345,
                      .converged = 77};
}

/* Z' v, D x C. */
static inline double *bins_of(const problem *p, const double *v) {
    return dense_apply_t(p->N, p->D, p->C, p->Z, v);
}

/* Z w, N x C. */
static inline double *rows_of(const problem *p, const double *w) {
    return dense_apply(p->N, p->D, p->C, p->Z, w);
}

/* alpha of (Z Z' + lambda I) alpha = y by Cholesky. */
static inline double *cholesky(const problem *p, double lambda) {
    size_t N = p->N, C = p->C;
    double *K = calloc(N * N, sizeof *K), *alpha = malloc(N * C * sizeof *alpha);
    assert_non_null(K);
    assert_non_null(alpha);
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < N; k++) {
            for (size_t b = 0; b < p->D; b++)
                K[i * N + k] += p->Z[i * p->D + b] * p->Z[k * p->D + b];
            K[i * N + k] += i == k ? lambda : 0;
        }
    memcpy(alpha, p->y, N * C * sizeof *alpha);
    assert_int_equal(LAPACKE_dposv(LAPACK_ROW_MAJOR, 'L', (lapack_int)N, (lapack_int)C, K,
                                   (lapack_int)N, alpha, (lapack_int)C),
                     0);
    free(K);
    return alpha;
}

/* |a - b| / |b| of column c. */
static inline double distance(const double *a, const double *b, size_t rows, size_t C, size_t c) {
    double off = 0, size = 0;
    for (size_t i = 0; i < rows; i++) {
        double x = a[i * C + c], y = b[i * C + c];
        off += (x - y) * (x - y);
        size += y * y;
    }
    return size > 0 ? sqrt(off / size) : sqrt(off);
}

/* The largest |Z'(y - K alpha - lambda alpha)| / |Z'y|, from the matrix. */
static inline double true_residual(const problem *p, double lambda) {
    double *w = bins_of(p, p->alpha), *f = rows_of(p, w), *rho = malloc(p->N * p->C * sizeof *rho);
    double worst = 0;
    for (size_t k = 0; k < p->N * p->C; k++)
        rho[k] = p->y[k] - f[k] - lambda * p->alpha[k];
    double *left = bins_of(p, rho), *right = bins_of(p, p->y);
    for (size_t c = 0; c < p->C; c++) {
        double a = 0, b = 0;
        for (size_t k = 0; k < p->D; k++) {
            a += left[k * p->C + c] * left[k * p->C + c];
            b += right[k * p->C + c] * right[k * p->C + c];
        }
        worst = fmax(worst, sqrt(a / b));
    }
    free(w), free(f), free(rho), free(left), free(right);
    return worst;
}

/* ---- a kernel whose eigenvalues are known ------------------------------- */

typedef struct spectral {
    kb_operator op; /* first: it is all that a solver sees */
    size_t N, D;
    double *Q; /* N x D: eigenvectors */
    double *e; /* D: eigenvalues; the others are zero */
    size_t products;
} spectral;

static inline kb_status spectral_apply_k(kb_operator *op, kb_context *ctx, size_t C,
                                         const double *v, double *out, double *square) {
    spectral *k = (spectral *)op;
    double *share = dense_apply_t(k->N, k->D, C, k->Q, v);
    (void)ctx;
    k->products++;
    for (size_t c = 0; square && c < C; c++)
        square[c] = 0;
    for (size_t j = 0; j < k->D; j++)
        for (size_t c = 0; c < C; c++) {
            if (square)
                square[c] += k->e[j] * share[j * C + c] * share[j * C + c];
            share[j * C + c] *= k->e[j];
        }
    double *image = dense_apply(k->N, k->D, C, k->Q, share);
    memcpy(out, image, k->N * C * sizeof *out);
    free(share), free(image);
    return KB_OK;
}

/* Eigenvectors of random numbers, by Gram-Schmidt, applied twice because of rounding. */
static inline spectral spectral_create(size_t N, size_t D, const double *e) {
    spectral k = {.op = {.rows = N, .columns = D, .apply_k = spectral_apply_k},
                  .N = N,
                  .D = D,
                  .Q = test_numbers(41, N * D),
                  .e = malloc(D * sizeof *k.e)};
    memcpy(k.e, e, D * sizeof *e);
    for (size_t j = 0; j < D; j++)
        for (int again = 0; again < 2; again++) {
            double square = 0;
            for (size_t other = 0; other < j; other++) {
                double dot = 0;
                for (size_t i = 0; i < N; i++)
                    dot += k.Q[i * D + other] * k.Q[i * D + j];
                for (size_t i = 0; i < N; i++)
                    k.Q[i * D + j] -= dot * k.Q[i * D + other];
            }
            for (size_t i = 0; i < N; i++)
                square += k.Q[i * D + j] * k.Q[i * D + j];
            for (size_t i = 0; i < N; i++)
                k.Q[i * D + j] /= sqrt(square);
        }
    return k;
}

static inline void spectral_free(spectral *k) {
    free(k->Q), free(k->e);
}

/* f = K (K + lambda I)^-1 y, N x C. */
static inline double *spectral_solution(const spectral *k, size_t C, double lambda,
                                        const double *y) {
    double *share = dense_apply_t(k->N, k->D, C, k->Q, y);
    for (size_t j = 0; j < k->D; j++)
        for (size_t c = 0; c < C; c++)
            share[j * C + c] *= k->e[j] / (k->e[j] + lambda);
    double *f = dense_apply(k->N, k->D, C, k->Q, share);
    free(share);
    return f;
}

static inline kb_ridge spectral_ridge(spectral *k, size_t C, const double *y, double *out) {
    return (kb_ridge){.op = &k->op,
                      .lambda = 0.5,
                      .tol = 1e-10,
                      .max_steps = 1000,
                      .C = C,
                      .y = y,
                      .alpha = out,
                      .f = out + k->N * C};
}

/* ---- what both solvers owe ---------------------------------------------- */

/* A Krylov method is done after as many steps as K has eigenvalues beside zero, however often each
 * is there.  1e-9: the tolerance times the condition. */
static inline void check_steps_are_eigenvalues(solver *solve) {
    enum { N = 40, D = 12, C = 2 };
    static const double values[] = {9, 0.3, 2, 0.05};
    kb_context *ctx = test_context();
    for (size_t kinds = 1; kinds <= 4; kinds++) {
        double e[D], *y = test_numbers(3, N * C), *out = malloc(2 * N * C * sizeof *out);
        for (size_t j = 0; j < D; j++)
            e[j] = values[j % kinds];
        spectral k = spectral_create(N, D, e);
        kb_ridge r = spectral_ridge(&k, C, y, out);
        double *want = spectral_solution(&k, C, r.lambda, y);
        assert_ok(ctx, solve(ctx, &r));
        assert_int_equal(r.converged, 1);
        assert_int_equal(r.steps, kinds);
        assert_close(r.f, want, N * C, 1e-9);
        spectral_free(&k);
        free(y), free(out), free(want);
    }
    kb_context_free(ctx);
}

/* With one step less the residual, looked up in the matrix, is above the tolerance. */
static inline void check_no_step_is_too_many(solver *solve) {
    kb_context *ctx = test_context();
    problem p = problem_create(ctx, 100, 20, 2, 0);
    for (double tol = 0.3; tol > 1e-7; tol /= 10) {
        kb_ridge r = ridge_of(&p, 0.1, tol, 1000);
        assert_ok(ctx, solve(ctx, &r));
        assert_int_equal(r.converged, 1);
        assert_true(true_residual(&p, 0.1) <= tol * (1 + 1e-6));
        kb_ridge less = ridge_of(&p, 0.1, tol, r.steps - 1);
        assert_ok(ctx, solve(ctx, &less));
        assert_int_equal(less.converged, 0);
        assert_int_equal(less.steps, r.steps - 1);
        assert_true(true_residual(&p, 0.1) > tol * (1 - 1e-6));
    }
    problem_free(&p);
    kb_context_free(ctx);
}

/* The first output asks for one step, the second for many: the first has the same bits after any
 * number of them.  The third is all zeros, and stays so. */
static inline void check_arrived_outputs_stand_still(solver *solve) {
    enum { N = 60, D = 25, C = 3 };
    kb_context *ctx = test_context();
    double e[D], *y = test_numbers(3, N * C), once[2 * N * C], many[2 * N * C];
    for (size_t j = 0; j < D; j++)
        e[j] = exp(-0.4 * (double)j);
    spectral k = spectral_create(N, D, e);
    for (size_t i = 0; i < N; i++) {
        y[i * C] = 3 * k.Q[i * D + 4];
        y[i * C + 2] = 0;
    }
    kb_ridge r = spectral_ridge(&k, C, y, once);
    r.lambda = 1e-3;
    r.tol = 1e-6;
    r.max_steps = 1;
    assert_ok(ctx, solve(ctx, &r));
    assert_int_equal(r.converged, 0);
    r.alpha = many;
    r.f = many + N * C;
    r.max_steps = 1000;
    assert_ok(ctx, solve(ctx, &r));
    assert_int_equal(r.converged, 1);
    assert_true(r.steps > 5);
    for (size_t i = 0; i < N; i++) {
        double want = 3 * k.Q[i * D + 4] / (e[4] + r.lambda);
        assert_true(fabs(many[i * C] - want) <= 1e-10);
        assert_true(many[i * C] == once[i * C]);
        assert_true(many[i * C + 2] == 0 && r.f[i * C + 2] == 0);
    }
    spectral_free(&k);
    free(y);
    kb_context_free(ctx);
}

/* K y = 0: the targets are those of rows that have no features. */
static inline void check_unseen_targets(solver *solve) {
    enum { N = 30, D = 5, SEEN = 20 };
    static const double e[D] = {1, 2, 3, 4, 5};
    kb_context *ctx = test_context();
    spectral k = spectral_create(N, D, e);
    double *y = test_numbers(3, N), out[2 * N];
    memset(y, 0, SEEN * sizeof *y);
    memset(k.Q + SEEN * D, 0, (N - SEEN) * D * sizeof *k.Q);
    kb_ridge r = spectral_ridge(&k, 1, y, out);
    assert_ok(ctx, solve(ctx, &r));
    assert_int_equal(r.converged, 1);
    assert_int_equal(r.steps, 0);
    for (size_t i = 0; i < 2 * N; i++)
        assert_true(out[i] == 0);
    spectral_free(&k);
    free(y);
    kb_context_free(ctx);
}

#endif
