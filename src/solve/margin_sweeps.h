/*
 * margin_sweeps.h - a smooth loss of classes with the L2 penalty, by sweeps over slices of grids.
 *
 *     min over w, b   lambda/2 (|w|^2 + b^2) + sum_i s_i L(w'z_i + b, y_i)
 *
 * A slice is half of the grids.  With the slopes of the losses given, each of its bins has a best
 * change of its own; these changes together are one direction, and the last three steps are
 * others.  A step minimises the quadratic model of the objective over the span of the four, as a
 * round of solve/newton.c does, and the next slice sees the new slopes.
 *
 * A sweep reads every bin number twice, like a product K v, and its two steps reach further than
 * one round of Newton's method.
 *
 * Slopes and changes are whole numbers where they are summed over bins (simd/whole_sums.h), and all
 * other sums are by fixed parts, so the result is the same for any number of threads.
 */
#ifndef KB_SOLVE_MARGIN_SWEEPS_H
#define KB_SOLVE_MARGIN_SWEEPS_H

#include "core/bytes.h"
#include "features/slices.h"
#include "solve/smooth_problem.h"

typedef struct kb_margin {
    const kb_binmat *z;
    kb_operator *op;     /* of z */
    kb_operator *op_one; /* the same; with an intercept, that with one more feature */
    const kb_loss *loss;
    double lambda;
    double tol; /* stop when the gradient is tol times that of w = 0 for every output: newton.h */
    size_t max_steps; /* sweeps, and products K v after them */
    size_t C;         /* outputs, at most KB_PANEL */
    const double *y;  /* N x C: -1 and +1 */
    const double *s;  /* N: weights of the samples; NULL: ones */
    int intercept;    /* b is one more weight, of a feature that is 1 */
    int warm;         /* begin at the given w and b, with f = Z w + b, instead of at 0 */

    /* Filled by the solver; the arrays are the caller's. */
    double *w; /* D x C */
    double *b; /* C */
    double *f; /* N x C: Z w + b */
    size_t steps;
    int converged;
    double objective; /* over all outputs */
} kb_margin;

/* Sweeps alone; op is not used.  Ends before max_steps where no step lowers the objective. */
kb_status kb_margin_sweeps(kb_context *ctx, kb_margin *problem);

/* Sweeps, and Newton's method from there if they did not reach the tolerance.  f and the objective
 * are those of w and b to the last digits. */
kb_status kb_margin_fit(kb_context *ctx, kb_margin *problem);

/* Memory of the second beside the caller's arrays, for a batch of C outputs. */
kb_bytes kb_margin_fit_bytes(size_t C);

#endif
