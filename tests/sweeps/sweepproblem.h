/*
 * sweepproblem.h - small problems for the tests of sweeps, and their solution by the normal
 * equations.
 */
#ifndef TESTS_SOLVE_SWEEPPROBLEM_H
#define TESTS_SOLVE_SWEEPPROBLEM_H

#include "dense.h"
#include "features/world.h"

#include "sweeps/sweeps.h"

#include <lapacke.h>

typedef enum weighing { NO_WEIGHTS, EQUAL_WEIGHTS, SOME_ZERO, MIXED_WEIGHTS, WEIGHINGS } weighing;

typedef struct problem {
    world w;
    size_t N, D, C;
    double lambda;
    int intercept;
    double *Z; /* N x D */
    double *y; /* N x C */
    double *s; /* N, or NULL */
} problem;

static inline double *weights_of(size_t N, weighing kind) {
    double *s = malloc((N + 1) * sizeof *s);
    assert_non_null(s);
    for (size_t i = 0; i < N; i++)
        s[i] = kind == EQUAL_WEIGHTS ? 2.5
               : kind == SOME_ZERO   ? 3 * (double)(i % 4 != 0)
                                     : (double)(i % 5) + 0.1 * test_uniform(41, i);
    if (kind == NO_WEIGHTS) {
        free(s);
        return NULL;
    }
    return s;
}

/* A wave with noise, a different one for each output. */
static inline problem problem_create(kb_context *ctx, size_t N, size_t R, size_t C, double sigma) {
    problem p = {.w = world_build(ctx, N, 2, R, sigma), .N = N, .C = C, .lambda = 0.3};
    p.D = p.w.z->bins;
    p.Z = test_matrix(p.w.z);
    p.y = test_numbers(7, N * C);
    for (size_t i = 0; i < N; i++)
        for (size_t c = 0; c < C; c++)
            p.y[i * C + c] = 2 + sin(3 * p.w.x[2 * i] + (double)c) + 0.3 * p.y[i * C + c];
    return p;
}

static inline void problem_free(problem *p) {
    world_free(&p->w);
    free(p->Z), free(p->y), free(p->s);
}

/* Weights, an intercept, and decisions: of a solver, or of the oracle. */
typedef struct answer {
    double *w, *b, *f;
} answer;

static inline answer answer_create(const problem *p) {
    answer a = {.w = malloc((p->D * p->C + 1) * sizeof(double)),
                .b = calloc(p->C, sizeof(double)),
                .f = malloc((p->N * p->C + 1) * sizeof(double))};
    assert_true(a.w && a.b && a.f);
    for (size_t k = 0; k < p->D * p->C; k++)
        a.w[k] = NAN;
    for (size_t k = 0; k < p->N * p->C; k++)
        a.f[k] = NAN;
    return a;
}

static inline void answer_free(answer *a) {
    free(a->w), free(a->b), free(a->f);
}

static inline double test_weight(const problem *p, size_t i) {
    return p->s ? p->s[i] : 1;
}

/* f = Z w + b. */
static inline void decide(const problem *p, answer *a) {
    free(a->f);
    a->f = dense_apply(p->N, p->D, p->C, p->Z, a->w);
    for (size_t k = 0; k < p->N * p->C; k++)
        a->f[k] += a->b[k % p->C];
}

/* The objective of w and b, all outputs together. */
static inline double objective_of(const problem *p, const answer *a) {
    double *f = dense_apply(p->N, p->D, p->C, p->Z, a->w), sum = 0;
    for (size_t k = 0; k < p->D * p->C; k++)
        sum += p->lambda / 2 * a->w[k] * a->w[k];
    for (size_t k = 0; k < p->N * p->C; k++) {
        double e = f[k] + a->b[k % p->C] - p->y[k];
        sum += test_weight(p, k / p->C) / 2 * e * e;
    }
    free(f);
    return sum;
}

/* |Z'S r - lambda w| / |Z'S (y - b0)| of the worst output, from the matrix. */
static inline double slope_of(const problem *p, const answer *a, const double *b0) {
    size_t N = p->N, C = p->C;
    double *r = dense_apply(N, p->D, C, p->Z, a->w), *y = malloc(N * C * sizeof *y), worst = 0;
    for (size_t k = 0; k < N * C; k++) {
        r[k] = test_weight(p, k / C) * (p->y[k] - a->b[k % C] - r[k]);
        y[k] = test_weight(p, k / C) * (p->y[k] - b0[k % C]);
    }
    double *left = dense_apply_t(N, p->D, C, p->Z, r), *right = dense_apply_t(N, p->D, C, p->Z, y);
    for (size_t c = 0; c < C; c++) {
        double above = 0, below = 0;
        for (size_t k = c; k < p->D * C; k += C) {
            double slope = left[k] - p->lambda * a->w[k];
            above += slope * slope;
            below += right[k] * right[k];
        }
        worst = fmax(worst, sqrt(above / below));
    }
    free(r), free(y), free(left), free(right);
    return worst;
}

/* The minimum over w, and over b if it is free (else b = 0), by the normal equations. */
static inline answer dense_answer(const problem *p) {
    size_t D = p->D, C = p->C, n = D + (p->intercept ? 1 : 0);
    answer a = answer_create(p);
    double *A = calloc(n * n, sizeof *A), *x = calloc(n * C, sizeof *x);
    lapack_int *pivot = malloc(n * sizeof *pivot);
    assert_true(A && x && pivot);
    for (size_t i = 0; i < p->N; i++)
        for (size_t j = 0; j < n; j++) {
            double zj = test_weight(p, i) * (j < D ? p->Z[i * D + j] : 1);
            for (size_t k = 0; zj != 0 && k < n; k++)
                A[j * n + k] += zj * (k < D ? p->Z[i * D + k] : 1);
            for (size_t c = 0; c < C; c++)
                x[j * C + c] += zj * p->y[i * C + c];
        }
    for (size_t j = 0; j < D; j++)
        A[j * n + j] += p->lambda;
    assert_int_equal(LAPACKE_dsysv(LAPACK_ROW_MAJOR, 'U', (lapack_int)n, (lapack_int)C, A,
                                   (lapack_int)n, pivot, x, (lapack_int)C),
                     0);
    memcpy(a.w, x, D * C * sizeof *x);
    if (p->intercept)
        memcpy(a.b, x + D * C, C * sizeof *x);
    decide(p, &a);
    free(A), free(x), free(pivot);
    return a;
}

static inline kb_sweeps sweeps_of(const problem *p, const answer *a, size_t max_sweeps) {
    return (kb_sweeps){.z = p->w.z,
                       .lambda = p->lambda,
                       .max_sweeps = max_sweeps,
                       .C = p->C,
                       .y = p->y,
                       .s = p->s,
                       .intercept = p->intercept,
                       .w = a->w,
                       .b = a->b,
                       .f = a->f,
                       .sweeps = 12345,
                       .converged = 77,
                       .too_wide = 77};
}

/* A free intercept begins at the mean. */
static inline void start_at_mean(const problem *p, answer *a) {
    for (size_t c = 0; p->intercept && c < p->C; c++) {
        double sum = 0, total = 0;
        for (size_t i = 0; i < p->N; i++) {
            sum += test_weight(p, i) * p->y[i * p->C + c];
            total += test_weight(p, i);
        }
        a->b[c] = total > 0 ? sum / total : 0;
    }
}

/* So many sweeps from zero. */
static inline answer swept(kb_context *ctx, const problem *p, size_t sweeps) {
    answer a = answer_create(p);
    start_at_mean(p, &a);
    kb_sweeps s = sweeps_of(p, &a, sweeps);
    assert_ok(ctx, kb_sweeps_run(ctx, &s));
    assert_int_equal(s.sweeps, sweeps);
    assert_int_equal(s.converged, 0);
    assert_int_equal(s.too_wide, 0);
    return a;
}

/* ---- residuals that grow ------------------------------------------------ */

enum { SPECIAL = 16 };

/* Grid r sees column r alone, and row 0, of weight 0, is alone with row r + 1 in a bin of it.  Rows
 * 1 to SPECIAL have the target 1, the others 1 and -1 in turn: a model that fits each of the first
 * adds all of them up for row 0. */
static inline problem far_out_problem(kb_context *ctx, size_t N) {
    problem p = {.N = N, .C = 1, .lambda = 1e-3, .w = {.N = N, .d = SPECIAL, .R = SPECIAL}};
    world *w = &p.w;
    kb_width width[SPECIAL * SPECIAL];
    w->x = calloc(N * SPECIAL, sizeof(double));
    w->shift = calloc(SPECIAL, sizeof(double));
    w->scale = malloc(SPECIAL * sizeof(double));
    p.y = malloc(N * sizeof(double));
    p.s = malloc(N * sizeof(double));
    assert_true(w->x && w->shift && w->scale && p.y && p.s);
    assert_ok(ctx, kb_law_parse(ctx, "laplace", &w->law));
    for (size_t j = 0; j < SPECIAL; j++) {
        w->scale[j] = 1;
        w->x[j] = w->x[(j + 1) * SPECIAL + j] = 5;
        for (size_t v = 0; v < SPECIAL; v++)
            width[v * SPECIAL + j] = (kb_width){w->law, v == j ? 1e-3 : 1e12, 1};
    }
    for (size_t i = 0; i < N; i++) {
        p.s[i] = i > 0;
        p.y[i] = i == 0 ? 0 : i <= SPECIAL || i % 2 ? 1 : -1;
    }
    assert_ok(ctx, data_from_dense(ctx, N, SPECIAL, w->x, NULL, &w->data));
    assert_ok(
        ctx, kb_grids_build(ctx, 11, 0, SPECIAL, &(kb_widths){SPECIAL, SPECIAL, width}, &w->grids));
    w->z = world_bin(ctx, w, NULL);
    p.D = w->z->bins;
    p.Z = test_matrix(w->z);
    for (size_t r = 0; r < SPECIAL; r++)
        for (size_t i = 1; i < N; i++)
            assert_int_equal(test_id(w->z, r, i) == test_id(w->z, r, 0), i == r + 1);
    return p;
}

#endif
