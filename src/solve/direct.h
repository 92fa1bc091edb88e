/*
 * direct.h - kernel ridge by Cholesky, for the rival maps blocks and exact.
 */
#ifndef KB_SOLVE_DIRECT_H
#define KB_SOLVE_DIRECT_H

#include "rivals/rival_type.h"

/* y and alpha are N x C.  With weights s of the samples (NULL: ones; 0 leaves a sample out) and a
 * free intercept b (C numbers, or NULL for none):
 *
 *     (K + lambda diag(s)^-1) alpha = y - b,   the sum of alpha = 0
 *
 * KB_ERR_ARGUMENT if the matrix is not positive definite as far as rounding lets us see, and for
 * fourier and nystrom. */
kb_status kb_rival_solve(kb_context *ctx, const kb_rival *rival, double lambda,
                         const double *weight, size_t C, const double *y, double *alpha, double *b);

#endif
