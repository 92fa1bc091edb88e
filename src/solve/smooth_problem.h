/*
 * smooth_problem.h - a smooth loss with the L2 penalty, several outputs at once.
 *
 *     min over w   lambda/2 |w|^2 + sum_i s_i L(w'z_i, y_i),     w = Z' alpha
 *
 * All vectors have N entries.
 */
#ifndef KB_SOLVE_SMOOTH_PROBLEM_H
#define KB_SOLVE_SMOOTH_PROBLEM_H

#include "features/operator.h"
#include "solve/loss.h"

typedef struct kb_smooth {
    kb_operator *op;
    const kb_loss *loss;
    int softmax; /* instead of `loss`: the multinomial logistic loss of all outputs together */
    double lambda, tol;
    size_t max_steps; /* products K v in all */
    int warm;         /* begin at the given alpha, with f = K alpha, instead of at w = 0 */
    size_t C;         /* outputs */
    const double *y;  /* N x C: -1 and +1, or a number */
    const double *s;  /* N: weights of the samples; NULL: ones */

    /* Filled by the solver; the arrays are the caller's. */
    double *alpha;  /* N x C */
    double *offset; /* C, or NULL: a constant of the decisions beside f; unit_fit.h only */
    double *f;      /* N x C: K alpha */
    size_t steps;   /* products K v */
    size_t rounds;  /* Newton steps */
    int converged;
    double objective; /* over all outputs */
} kb_smooth;

#endif
