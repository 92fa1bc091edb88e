/*
 * primal_cg.h - ridge by conjugate gradients on the weights themselves, from any start.
 *
 *     (Z'Z + lambda I) w = Z'y
 *
 * The steps are those of solve/cg.c, which has vectors of the rows alone; but weights that another
 * solver found are not of its form Z'alpha, so this one keeps vectors of the bins.  A step takes
 * the products Z p and Z'r, together one product K v.
 */
#ifndef KB_SWEEPS_PRIMAL_CG_H
#define KB_SWEEPS_PRIMAL_CG_H

#include "core/bytes.h"
#include "features/operator.h"

typedef struct kb_primal {
    kb_operator *op;
    double lambda;
    double tol; /* stop when |Z'r - lambda w| <= tol |Z'y| for every output */
    size_t max_steps;
    size_t C;        /* outputs */
    const double *y; /* N x C */

    /* The start, and the result; the arrays are the caller's. */
    double *w; /* D x C */
    size_t steps;
    int converged;
} kb_primal;

kb_status kb_primal_cg(kb_context *ctx, kb_primal *problem);

/* Memory beside the caller's arrays. */
kb_bytes kb_primal_cg_bytes(size_t C);

#endif
