/*
 * newton.h - Newton's method for smooth losses (smooth_problem.h).
 *
 * The gradient in w is Z' g with g = lambda alpha + s L'(f) and
 * f = K alpha; its length is that of g in the kernel inner product.
 *
 * The stopping rule, for every output: |Z' g| <= tol |Z' g_0|, g_0 being that of w = 0.
 */
#ifndef KB_SOLVE_NEWTON_H
#define KB_SOLVE_NEWTON_H

#include "solve/smooth_problem.h"

/* Newton steps with a line search.  The objective never rises from round to round. */
kb_status kb_newton(kb_context *ctx, kb_smooth *problem);

/* x = A^-1 y for a symmetric A = L D L' of n <= KB_FORMS columns, of which the upper half is given
 * by columns; directions that add next to nothing to those before them are left out. */
void kb_solve_small(size_t n, const double *A, const double *y, double *x);

#endif
