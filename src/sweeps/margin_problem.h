/*
 * margin_problem.h - what is solved by sweeps over a smooth loss (margin_sweeps.h), and what comes
 * out.
 */
#ifndef KB_SWEEPS_MARGIN_PROBLEM_H
#define KB_SWEEPS_MARGIN_PROBLEM_H

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

#endif
