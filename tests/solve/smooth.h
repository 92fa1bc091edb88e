/*
 * smooth.h - problems for the tests of Newton's method, and their solution by dense algebra.
 */
#ifndef TESTS_SOLVE_SMOOTH_H
#define TESTS_SOLVE_SMOOTH_H

#include "dense.h"
#include "features/world.h"

#include "solve/newton.h"

#include <lapacke.h>

enum { LOGISTIC, HINGE, MULTINOMIAL, KINDS };
static const char *const KIND[] = {"logistic", "squared-hinge", "softmax"};

typedef struct problem {
    world w;
    kb_operator *base, *constant;
    size_t N, D, C;
    double *Z;         /* N x D, with a column of ones at the end if there is `constant` */
    double *y;         /* N x C */
    double *s;         /* N, or NULL */
    double *alpha, *f; /* N x C, the solver's */
    int kind;
    double lambda;
} problem;

static inline problem problem_create(kb_context *ctx, int kind, size_t N, size_t R, size_t C) {
    problem p = {.w = world_build(ctx, N, 2, R, 3), .N = N, .C = C, .kind = kind, .lambda = 0.3};
    p.D = p.w.z->bins;
    p.Z = test_matrix(p.w.z);
    p.y = malloc(N * C * sizeof(double));
    p.alpha = malloc(N * C * sizeof(double));
    p.f = malloc(N * C * sizeof(double));
    assert_non_null(p.y);
    for (size_t i = 0; i < N; i++) {
        double score = sin(3 * p.w.x[2 * i]) + p.w.x[2 * i + 1] + test_uniform(7, i) - 0.5;
        size_t own = (size_t)(fmin(fmax(score + 1, 0), 1.999) / 2 * (double)C);
        for (size_t c = 0; c < C; c++)
            p.y[i * C + c] = C == 1 ? (score > 0 ? 1 : -1) : (own == c ? 1 : -1);
    }
    assert_ok(ctx, kb_operator_binmat(ctx, p.w.z, &p.base));
    return p;
}

static inline void problem_free(problem *p) {
    kb_operator_free(p->constant);
    kb_operator_free(p->base);
    world_free(&p->w);
    free(p->Z), free(p->y), free(p->s), free(p->alpha), free(p->f);
}

/* Weights between 0 and 3, and every fifth sample left out. */
static inline void weigh(problem *p) {
    p->s = malloc(p->N * sizeof(double));
    assert_non_null(p->s);
    for (size_t i = 0; i < p->N; i++)
        p->s[i] = i % 5 == 2 ? 0 : 3 * test_uniform(17, i);
}

static inline void add_constant(kb_context *ctx, problem *p) {
    double *wide = malloc(p->N * (p->D + 1) * sizeof *wide);
    assert_non_null(wide);
    for (size_t i = 0; i < p->N; i++) {
        memcpy(wide + i * (p->D + 1), p->Z + i * p->D, p->D * sizeof *wide);
        wide[i * (p->D + 1) + p->D] = 1;
    }
    free(p->Z);
    p->Z = wide;
    p->D++;
    assert_ok(ctx, kb_operator_constant(ctx, p->base, &p->constant));
}

static inline kb_smooth smooth_of(problem *p, double tol, size_t max_steps) {
    return (kb_smooth){.op = p->constant ? p->constant : p->base,
                       .loss = p->kind == MULTINOMIAL ? NULL : kb_loss_find(KIND[p->kind]),
                       .softmax = p->kind == MULTINOMIAL,
                       .lambda = p->lambda,
                       .tol = tol,
                       .max_steps = max_steps,
                       .C = p->C,
                       .y = p->y,
                       .s = p->s,
                       .alpha = p->alpha,
                       .f = p->f,
                       .steps = 12345,
                       .rounds = 12345,
                       .converged = 77,
                       .objective = NAN};
}

/* ---- a dense oracle ---------------------------------------------------- */

/* Z' v, D x C. */
static inline double *bins_of(const problem *p, const double *v) {
    return dense_apply_t(p->N, p->D, p->C, p->Z, v);
}

/* Z w, N x C. */
static inline double *rows_of(const problem *p, const double *w) {
    return dense_apply(p->N, p->D, p->C, p->Z, w);
}

/* The loss of one sample by libm, its slopes (C) and its curvatures (C x C). */
static inline double sample_loss(const problem *p, const double *f, const double *y, double *slope,
                                 double *curvature) {
    double value = 0, sum = 0;
    size_t C = p->C;
    memset(curvature, 0, C * C * sizeof *curvature);
    for (size_t c = 0; c < C; c++)
        sum += exp(f[c]);
    for (size_t c = 0; c < C; c++) {
        double m = y[c] * f[c], wrong = 1 / (1 + exp(m)), gap = fmax(1 - m, 0);
        if (p->kind == LOGISTIC) {
            value += log1p(exp(-m));
            slope[c] = -y[c] * wrong;
            curvature[c * C + c] = wrong * (1 - wrong);
        } else if (p->kind == HINGE) {
            value += gap * gap;
            slope[c] = -2 * y[c] * gap;
            curvature[c * C + c] = gap > 0 ? 2 : 0;
        } else {
            value += y[c] > 0 ? log(sum) - f[c] : 0;
            slope[c] = exp(f[c]) / sum - (y[c] > 0);
            for (size_t k = 0; k < C; k++)
                curvature[c * C + k] = exp(f[c]) / sum * ((c == k) - exp(f[k]) / sum);
        }
    }
    return value;
}

/* The objective at w, its gradient (D x C) and Hessian ((D C) x (D C)), unless NULL. */
static inline double dense_objective(const problem *p, const double *w, double *gradient,
                                     double *hessian) {
    size_t N = p->N, D = p->D, C = p->C, n = D * C;
    double *f = rows_of(p, w), *slope = malloc(C * sizeof *slope), sum = 0;
    double *curvature = malloc(C * C * sizeof *curvature);
    for (size_t k = 0; k < n; k++) {
        sum += p->lambda / 2 * w[k] * w[k];
        if (gradient)
            gradient[k] = p->lambda * w[k];
    }
    for (size_t k = 0; hessian && k < n * n; k++)
        hessian[k] = k % (n + 1) == 0 ? p->lambda : 0;
    for (size_t i = 0; i < N; i++) {
        double s = p->s ? p->s[i] : 1;
        const double *z = p->Z + i * D;
        sum += s * sample_loss(p, f + i * C, p->y + i * C, slope, curvature);
        for (size_t b = 0; b < D; b++)
            for (size_t c = 0; z[b] != 0 && c < C; c++) {
                if (gradient)
                    gradient[b * C + c] += s * z[b] * slope[c];
                for (size_t a = 0; hessian && a < D; a++)
                    for (size_t k = 0; z[a] != 0 && k < C; k++)
                        hessian[(b * C + c) * n + a * C + k] +=
                            s * z[b] * z[a] * curvature[c * C + k];
            }
    }
    free(f), free(slope), free(curvature);
    return sum;
}

static inline double length(const double *x, size_t count) {
    double sum = 0;
    for (size_t k = 0; k < count; k++)
        sum += x[k] * x[k];
    return sqrt(sum);
}

/* w of the least objective, by Newton's method with Cholesky and halving. */
static inline double *dense_newton(const problem *p, double *least) {
    size_t n = p->D * p->C;
    double *w = calloc(n, sizeof *w), *g = malloc(n * sizeof *g),
           *trial = malloc(n * sizeof *trial);
    double *hessian = malloc(n * n * sizeof *hessian);
    assert_non_null(hessian);
    *least = dense_objective(p, w, g, hessian);
    double first = length(g, n);
    for (int round = 0; round < 100 && length(g, n) > 1e-13 * first; round++) {
        assert_int_equal(
            LAPACKE_dposv(LAPACK_ROW_MAJOR, 'L', (lapack_int)n, 1, hessian, (lapack_int)n, g, 1),
            0);
        double t = 1, there;
        for (;; t /= 2) {
            for (size_t k = 0; k < n; k++)
                trial[k] = w[k] - t * g[k];
            there = dense_objective(p, trial, NULL, NULL);
            if (there <= *least * (1 + 1e-14))
                break;
        }
        memcpy(w, trial, n * sizeof *w);
        *least = dense_objective(p, w, g, hessian);
    }
    assert_true(length(g, n) <= 1e-12 * first);
    free(g), free(trial), free(hessian);
    return w;
}

static inline int close_to(double a, double b, double share) {
    return fabs(a - b) <= share * fabs(b);
}

#endif
