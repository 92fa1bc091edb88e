/*
 * sweep_fit.h - ridge by sweeps, with an end: how many of them, and what follows.
 *
 * Where rows are given that tell when to stop, they are left out of the sums.  When their error
 * does not fall any more, as many sweeps as were best are made over all rows, unless the rows left
 * out are few.  Else the tolerance is reached by conjugate gradients, which close in on the last
 * digits faster.
 */
#ifndef KB_SWEEPS_SWEEP_FIT_H
#define KB_SWEEPS_SWEEP_FIT_H

#include "features/operator.h"
#include "sweeps/sweeps.h"

typedef struct kb_sweep_fit {
    const kb_binmat *z;
    kb_operator *op;      /* Z of the tolerance: times the roots of the weights, and centred */
    const double *target; /* N x C: y of the tolerance, likewise */
    double lambda, tol;
    size_t max_steps; /* sweeps and steps of CG in all */
    size_t C;
    const double *y; /* N x C */
    const double *s; /* N: weights of the samples; NULL: ones */
    int intercept;   /* whether b is free */
    size_t stop_rows;
    const uint32_t *stop_row;
    double *stop_f; /* stop_rows x C: their decisions by the best sweep; NULL: not wanted */

    /* Filled; the arrays are the caller's. */
    double *w; /* D x C */
    double *b; /* C: the start values on entry */
    double *f; /* N x C, scratch */
    size_t steps;
    int converged; /* to the tolerance, or stopped as planned */
    int stopped;   /* by the stop rows: stop_f is there */
} kb_sweep_fit;

kb_status kb_sweep_fit_run(kb_context *ctx, kb_sweep_fit *fit);

/* Memory beside the caller's arrays, for a batch of C outputs and R grids. */
kb_bytes kb_sweep_fit_bytes(size_t C, size_t R);

#endif
