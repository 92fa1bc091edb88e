/*
 * refine.h - weights improved from a start: a smooth loss with the L2 penalty, by Newton's method
 * and conjugate gradients on the weights themselves.
 *
 *     min over w, b   sum over the bins of Lambda_b/2 (w_b - c_b)^2 + Lambda_0/2 (b - c_0)^2
 *                     + sum_i s_i L(w'z_i + b, y_i)
 *
 * Again to the same rows (past = 0): c = 0 and Lambda_b = lambda, the objective of a fit, which
 * begins here at the given w and b.
 *
 * To new rows (past > 0): c is the start, Lambda_b = lambda + past * H_b for the bins that it
 * knows, and H_b is the second derivative of the new rows' loss at the start in w_b.  So the new
 * rows stand for the rows that the start was learned from, of which there were `past` times as
 * many (docs/theory.md).
 */
#ifndef KB_SOLVE_REFINE_H
#define KB_SOLVE_REFINE_H

#include "core/bytes.h"
#include "features/operator.h"
#include "solve/loss.h"

typedef struct kb_refine {
    kb_operator *op;
    const kb_loss *loss;
    double value; /* every nonzero of Z */
    double lambda;
    double past;                /* 0: the objective of a fit */
    const unsigned char *known; /* D: bins that the start knows; with past > 0 */
    double tol;       /* stop when |gradient| <= tol times its length at the beginning; for past = 0
                         at w = 0 */
    size_t max_steps; /* products with Z'Z */
    size_t C;         /* outputs */
    const double *y;  /* N x C: -1 and +1, or a number */
    const double *s;  /* N: weights of the samples; NULL: ones */
    int intercept;    /* b is learned */

    /* The start, and the result. */
    double *w; /* D x C */
    double *b; /* C */
    double *f; /* N x C: the decisions; result only */
    size_t steps;
    int converged;
    double objective; /* lambda/2 |w|^2 and the losses of the rows, over all outputs */
} kb_refine;

kb_status kb_refine_run(kb_context *ctx, kb_refine *problem);

/* Memory beside the caller's arrays. */
kb_bytes kb_refine_bytes(size_t C);

#endif
