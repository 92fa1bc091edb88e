/*
 * l1.h - losses with the L1 penalty, which leaves most weights at zero; one output.
 *
 *     min over w, b   lambda |w|_1 + sum_i s_i L(w'z_i + b, y_i)
 *
 * The intercept b, if there is one, is free of penalty.  With `group` the penalty is that
 * of the group lasso (Yuan and Lin 2006), which drops whole blocks, here grids:
 *
 *     lambda sum over the blocks of sqrt(columns of the block) * |w_block|_2
 *
 * The stopping rule: gap <= tol * objective.  The gap is a duality gap, so the objective is above
 * the least by no more than that (up to rounding).  For a = -L'(f), scaled down by t <= 1 until
 * |Z'(s t a)| <= lambda in every column, the minimum is at least - sum_i s_i L*(-t a_i, y_i).  A
 * free intercept also requires sum_i s_i a_i = 0, so b is optimised first.
 */
#ifndef KB_L1_L1_H
#define KB_L1_L1_H

#include "l1/zcolumns.h"
#include "solve/loss.h"

typedef struct kb_l1 {
    const kb_zcolumns *columns;
    const kb_loss *loss;
    double lambda, tol;
    size_t max_epochs; /* passes over the columns that are being moved */
    uint64_t seed;     /* of the order of the columns */
    int intercept;
    int group;       /* kb_l1_grid_cd only; the others clear it */
    const double *y; /* N */
    const double *s; /* N: weights of the samples, not negative; NULL: ones */

    /* The arrays are the caller's.  w and b are where the solver begins, and its result. */
    double *w; /* D */
    double b;  /* 0 without an intercept */
    double *f; /* N: w'z_i + b, in the samples' order; only filled */

    double objective, gap;
    size_t nonzeros; /* of w */
    size_t epochs;
    int converged;
} kb_l1;

typedef kb_status kb_l1_solver(kb_context *ctx, kb_l1 *problem);

/* Randomised coordinate descent, as in the paper: one thread, a column drawn at random, and
 * the step of a quadratic bound.  Slow and simple. */
kb_l1_solver kb_l1_cd;

/* The same by all threads at once on shared responses, without locks (the paper's Algorithm 2).
 * The result depends on timing: it differs from run to run, even with the same seed, unless the
 * context has one thread. */
kb_l1_solver kb_l1_parallel_cd;

/* Coordinate descent on a working set, grid by grid.  The columns of a block touch disjoint rows,
 * so the threads share a block without conflict, and the result is the same, to the bit, for any
 * number of them. */
kb_l1_solver kb_l1_grid_cd;

/* Bytes that a solver takes beside the columns, of R blocks, and the caller's arrays. */
double kb_l1_bytes(size_t N, size_t R, size_t D);

/* *out = the least lambda at which all weights are zero, for the penalty and the intercept that
 * the problem asks for; its lambda, w, b and f are not used. */
kb_status kb_l1_lambda_max(kb_context *ctx, kb_l1 *problem, double *out);

/* lambda[k] = from, .., to in equal ratios; from >= to > 0, count >= 1. */
void kb_l1_lambdas(double from, double to, size_t count, double *lambda);

#endif
