/*
 * l1problem.h - small L1 problems for tests, and their optimum by plain loops.
 */
#ifndef TESTS_SOLVE_L1PROBLEM_H
#define TESTS_SOLVE_L1PROBLEM_H

#include "features/world.h"
#include "dense.h"

#include "core/random.h"
#include "l1/l1.h"

#include <math.h>

static const char *const LOSS[] = {"square", "logistic", "squared-hinge"};

/* ---- problems ---------------------------------------------------------- */

typedef struct problem {
    world w;
    kb_zcolumns *columns;
    size_t N, D;
    double *Z; /* N x D */
    double *y, *s;
    double *weights, *f;
    kb_l1 p;
} problem;

static inline problem problem_create(kb_context *ctx, const char *loss, size_t N, size_t R) {
    problem q = {.w = world_build(ctx, N, 2, R, 1), .N = N};
    q.D = q.w.z->bins;
    q.Z = test_matrix(q.w.z);
    q.y = malloc(N * sizeof(double));
    q.s = malloc(N * sizeof(double));
    q.weights = calloc(q.D, sizeof(double));
    q.f = malloc(N * sizeof(double));
    for (size_t i = 0; i < N; i++) {
        double score = sin(3 * q.w.x[2 * i]) + q.w.x[2 * i + 1] + test_uniform(7, i) - 0.3;
        q.y[i] = strcmp(loss, "square") ? (score > 0 ? 1 : -1) : score;
        q.s[i] = i % 5 == 2 ? 0 : 3 * test_uniform(17, i);
    }
    assert_ok(ctx, kb_zcolumns_from_binmat(ctx, q.w.z, &q.columns));
    q.p = (kb_l1){.columns = q.columns,
                  .loss = kb_loss_find(loss),
                  .lambda = 0.2,
                  .tol = 1e-10,
                  .max_epochs = 20000,
                  .seed = 1,
                  .y = q.y,
                  .w = q.weights,
                  .f = q.f};
    return q;
}

static inline void problem_free(problem *q) {
    kb_zcolumns_free(q->columns);
    world_free(&q->w);
    free(q->Z), free(q->y), free(q->s), free(q->weights), free(q->f);
}

static inline void from_zero(problem *q) {
    memset(q->weights, 0, q->D * sizeof(double));
    q->p.b = 0;
}

/* ---- the optimum by plain loops ---------------------------------------- */

static inline double objective_of(const problem *q, const double *w, double b) {
    double sum = 0, *f = dense_apply(q->N, q->D, 1, q->Z, w);
    for (size_t i = 0; i < q->N; i++)
        sum += (q->p.s ? q->p.s[i] : 1) * q->p.loss->at(q->p.loss, f[i] + b, q->y[i]).value;
    for (size_t g = 0; q->p.group && g < q->columns->blocks; g++) {
        size_t begin = q->columns->block_start[g], end = q->columns->block_start[g + 1];
        double square = 0;
        for (size_t j = begin; j < end; j++)
            square += w[j] * w[j];
        sum += q->p.lambda * sqrt((double)(end - begin)) * sqrt(square);
    }
    for (size_t j = 0; !q->p.group && j < q->D; j++)
        sum += q->p.lambda * fabs(w[j]);
    free(f);
    return sum;
}

/* Z' of the pushes, and their sum. */
static inline double *pulls_of(const problem *q, double *sum) {
    double *push = malloc(q->N * sizeof *push);
    *sum = 0;
    for (size_t i = 0; i < q->N; i++) {
        push[i] = -(q->p.s ? q->p.s[i] : 1) * q->p.loss->at(q->p.loss, q->f[i], q->y[i]).slope;
        *sum += push[i];
    }
    double *pull = dense_apply_t(q->N, q->D, 1, q->Z, push);
    free(push);
    return pull;
}

/* f = Z w + b. */
static inline void check_f(const problem *q) {
    double *f = dense_apply(q->N, q->D, 1, q->Z, q->weights);
    for (size_t i = 0; i < q->N; i++)
        f[i] += q->p.b;
    assert_close(q->f, f, q->N, 1e-12);
    free(f);
}

/* What a solver reports. */
static inline void check_word(const problem *q) {
    const kb_l1 *p = &q->p;
    size_t nonzeros = 0;
    check_f(q);
    for (size_t j = 0; j < q->D; j++)
        nonzeros += q->weights[j] != 0;
    assert_int_equal(p->nonzeros, nonzeros);
    assert_true(fabs(p->objective - objective_of(q, q->weights, p->b)) <= 1e-11 * p->objective);
    assert_int_equal(p->converged, p->gap <= p->tol * p->objective);
    if (!p->intercept)
        assert_true(p->b == 0);
}

/* ---- coordinate descent by plain loops --------------------------------- */

/* The minimum of lambda |x| + (the quadratic with pull G and second derivative M at w). */
static inline double least_of_bound(double w, double G, double M, double lambda) {
    double c = M * w + G;
    return M > 0 ? copysign(fmax(fabs(c) - lambda, 0), c) / M : 0;
}

/* b at which the slopes sum to zero, by bisection. */
static inline double plain_intercept(const problem *q, const double *f) {
    double low = -100, high = 100;
    for (int k = 0; k < 200; k++) {
        double b = (low + high) / 2, sum = 0;
        for (size_t i = 0; i < q->N; i++)
            sum += (q->p.s ? q->p.s[i] : 1) * q->p.loss->at(q->p.loss, f[i] + b, q->y[i]).slope;
        *(sum > 0 ? &high : &low) = b;
    }
    return low;
}

/* So many epochs from w = 0, with the columns that the solvers draw; w: D, to be freed. */
static inline double *plain_cd(const problem *q, size_t epochs, double *b) {
    size_t N = q->N, D = q->D;
    double *w = calloc(D, sizeof *w), *f = calloc(N, sizeof *f);
    *b = q->p.intercept ? plain_intercept(q, f) : 0;
    for (size_t draw = 0; draw < epochs * D; draw++) {
        uint64_t word = kb_random(q->p.seed, KB_STREAM_DESCENT, draw, 0).word[0];
        size_t j = (size_t)(word * D >> 32);
        double G = 0, M = 0;
        for (size_t i = 0; i < N; i++) {
            double s = q->p.s ? q->p.s[i] : 1, z = q->Z[i * D + j];
            G -= s * z * q->p.loss->at(q->p.loss, f[i] + *b, q->y[i]).slope;
            M += s * z * z * q->p.loss->beta;
        }
        double x = least_of_bound(w[j], G, M, q->p.lambda);
        for (size_t i = 0; i < N; i++)
            f[i] += (x - w[j]) * q->Z[i * D + j];
        w[j] = x;
        if ((draw + 1) % D == 0 && q->p.intercept)
            *b = plain_intercept(q, f);
    }
    free(f);
    return w;
}

/* Kinds of problems: a loss, with or without weights, with or without an intercept. */
enum { L1_KINDS = 12 };
static inline problem problem_of_kind(kb_context *ctx, int kind, size_t N, size_t R) {
    problem q = problem_create(ctx, LOSS[kind % 3], N, R);
    q.p.s = kind / 3 % 2 ? q.s : NULL;
    q.p.intercept = kind / 6;
    return q;
}

/* A solver that takes the steps of plain_cd: the same weights after a few epochs of it.  They
 * drift apart slowly by rounding, since no step amplifies a difference. */
static inline void check_steps_of_plain_cd(kb_context *ctx, kb_l1_solver *solve) {
    for (int kind = 0; kind < L1_KINDS; kind++)
        for (size_t epochs = 1; epochs <= 7; epochs += 3) {
            problem q = problem_of_kind(ctx, kind, 80, 5);
            double b, *w = plain_cd(&q, epochs, &b);
            q.p.max_epochs = epochs;
            q.p.group = 1; /* not theirs: it is cleared */
            assert_ok(ctx, solve(ctx, &q.p));
            assert_int_equal(q.p.group, 0);
            assert_int_equal(q.p.epochs, epochs);
            assert_close(q.weights, w, q.D, 1e-9);
            assert_true(fabs(q.p.b - b) <= 1e-9);
            check_word(&q);
            free(w);
            problem_free(&q);
        }
}

#endif
