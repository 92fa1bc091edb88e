/*
 * lanczos.h - ridge for every lambda at once, with decisions for validation rows.
 *
 * Lanczos on K in the kernel inner product <a,b> = a'Kb, from the targets y.  After m steps
 * the basis V and the tridiagonal T give, for any lambda,
 *
 *     alpha = V (T + lambda I)^-1 |y| e_1,     decisions elsewhere = (K_held V) (..)
 *
 * which is what m steps of CG on the primal problem would give (solve/cg.c), so a whole path of
 * lambdas, and every number of steps below m, cost one run.  The operator spans fitted and
 * held-out rows: where v is zero on the held-out rows of a fold, K v holds the decisions there.
 * All outputs and all folds share each product.
 */
#ifndef KB_SOLVE_LANCZOS_H
#define KB_SOLVE_LANCZOS_H

#include "data/folds.h"
#include "features/operator.h"

typedef struct kb_lanczos {
    /* Given. */
    kb_operator *op;
    const kb_folds *folds;
    size_t C;           /* outputs */
    const double *y;    /* N x C */
    const double *root; /* N: roots of the weights of the samples; NULL: ones */
    int keeps_basis;
    int uncentred; /* the mean of the targets is not subtracted */

    /* Its own.  M = folds x C columns side by side, fold after fold. */
    size_t M, steps, room;
    size_t held;       /* rows that are held out of a fold */
    uint32_t *row;     /* held: which */
    double *mean;      /* M: of the targets of the fitted rows */
    double *r, *p;     /* N x M: the next vector, not yet of length 1, and K D r */
    double *old;       /* N x M: the last vector */
    double *square;    /* M: |Z' D r|^2 */
    double *diagonal;  /* steps x M: T */
    double *beside;    /* steps x M: T's entry left of the diagonal; in step 0 |y| */
    double **basis;    /* steps: N x M each, if kept */
    double **image;    /* steps: held x C each, of the row's own fold */
    double *c, *pivot; /* room x M */
} kb_lanczos;

/* The given part is filled in.  kb_lanczos_release either way. */
kb_status kb_lanczos_begin(kb_context *ctx, kb_lanczos *l);
void kb_lanczos_release(kb_context *ctx, kb_lanczos *l);

/* Takes steps until there are `steps`: one product K v each. */
kb_status kb_lanczos_extend(kb_context *ctx, kb_lanczos *l, size_t steps);

/* The decisions for the held-out rows, held x C in the order of l->row, by the first m steps. */
kb_status kb_lanczos_decide(kb_context *ctx, kb_lanczos *l, size_t m, double lambda, double *out);

/* alpha, N x M, if the basis was kept. */
kb_status kb_lanczos_alpha(kb_context *ctx, kb_lanczos *l, size_t m, double lambda, double *alpha);

#endif
