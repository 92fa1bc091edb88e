/*
 * bench.h - a learner on its bench, without the stages of a fit, and its solution for the square
 * loss by the normal equations.
 */
#ifndef KB_TESTS_BENCH_H
#define KB_TESTS_BENCH_H

#include "model/fitted.h"

#include "fit/learner.h"

#include <lapacke.h>

/* A learner over a small world, by way of the options. */
typedef struct bench {
    world w;
    kb_operator *op;
    kb_options *options;
    kb_config config;
    kb_targets targets;
    kb_learner learner;
    double *weight, *y, *alpha, *f, b[3];
} bench;

static inline void bench_create(kb_context *ctx, bench *t, size_t N, labels kind, int intercept,
                                kb_options *options) {
    *t = (bench){.w = world_build(ctx, N, 2, 13, 1.5), .options = options};
    t->config = kb_config_of(options);
    kb_data *data = data_of(ctx, N, 2, kind);
    t->w.data->label = data->label;
    data->label = NULL;
    kb_data_free(data);
    assert_ok(ctx, kb_operator_binmat(ctx, t->w.z, &t->op));
    assert_ok(ctx, kb_targets_build(ctx, CONFIG(options)->task, t->w.data, &t->targets));
    t->weight = malloc(N * sizeof(double));
    t->y = malloc(N * 3 * sizeof(double));
    t->alpha = malloc((N + t->w.z->bins) * 3 * sizeof(double)); /* or weights */
    t->f = malloc(N * 3 * sizeof(double));
    for (size_t i = 0; i < N; i++)
        t->weight[i] = (double)(i % 4); /* 0, 1, 2, 3 */
    t->learner = (kb_learner){.config = &t->config,
                              .targets = &t->targets,
                              .op = t->op,
                              .z = t->w.z,
                              .weight = t->weight,
                              .lambda = t->config.lambda,
                              .intercept = intercept};
}

static inline void bench_free(kb_context *ctx, bench *t) {
    kb_learner_release(ctx, &t->learner);
    kb_operator_free(t->op);
    kb_targets_release(ctx, &t->targets);
    world_free(&t->w);
    kb_options_free(t->options);
    free(t->weight), free(t->y), free(t->alpha), free(t->f);
}

static inline void bench_learn(kb_context *ctx, bench *t) {
    size_t C = t->targets.outputs;
    assert_ok(ctx, kb_learner_check(ctx, &t->learner));
    assert_ok(ctx, kb_learner_prepare(ctx, &t->learner));
    kb_targets_fill(&t->targets, t->w.N, 0, C, t->y);
    assert_ok(ctx, kb_learn(ctx, &t->learner, 0, C, t->y, t->alpha, t->f, t->b));
}

/* f of  min lambda/2 |w|^2 + 1/2 sum s (Z w + b - y)^2, b free or 0, from the normal equations in
 * (w, b). */
static inline double *dense_ridge(const bench *t, size_t c, double *objective) {
    size_t N = t->w.N, D = t->w.z->bins, n = D + (t->learner.intercept ? 1 : 0);
    size_t C = t->targets.outputs;
    double *Z = test_matrix(t->w.z), *A = calloc(n * n, sizeof *A), *x = calloc(n, sizeof *x);
    double *f = calloc(N, sizeof *f), lambda = t->learner.lambda;
    lapack_int *pivot = malloc(n * sizeof *pivot);
    for (size_t i = 0; i < N; i++) {
        double s = t->learner.weight ? t->learner.weight[i] : 1;
        for (size_t a = 0; a < n; a++) {
            double za = a < D ? Z[i * D + a] : 1;
            for (size_t k = 0; k < n; k++)
                A[a * n + k] += s * za * (k < D ? Z[i * D + k] : 1);
            x[a] += s * za * t->y[i * C + c];
        }
    }
    for (size_t a = 0; a < D; a++)
        A[a * n + a] += lambda;
    assert_int_equal(
        LAPACKE_dsysv(LAPACK_ROW_MAJOR, 'U', (lapack_int)n, 1, A, (lapack_int)n, pivot, x, 1), 0);
    for (size_t a = 0; a < D; a++)
        *objective += lambda / 2 * x[a] * x[a];
    for (size_t i = 0; i < N; i++) {
        f[i] = t->learner.intercept ? x[D] : 0;
        for (size_t a = 0; a < D; a++)
            f[i] += Z[i * D + a] * x[a];
        double e = f[i] - t->y[i * C + c];
        *objective += (t->learner.weight ? t->learner.weight[i] : 1) * e * e / 2;
    }
    free(Z), free(A), free(x), free(pivot);
    return f;
}

#endif
