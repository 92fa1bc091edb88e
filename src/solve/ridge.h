/*
 * ridge.h - kernel ridge regression, several right-hand sides at once.
 *
 *     (K + lambda I) alpha = y,   w = Z' alpha,   so that (Z'Z + lambda I) w = Z'y.
 *
 * All vectors have N entries: w, which may have many more, never appears.  Both solvers work in the
 * inner product <a, b> = a' K b, in which a residual rho = y - (K + lambda I) alpha has the length
 * |Z' rho| of the residual of w's own system.  They look at the same residuals as a solver of that
 * system would, at one product K v a step.  (With the plain inner product, stopping early gives bad
 * predictions.)
 *
 * The stopping rule, for every output: |Z' rho| <= tol |Z' y|.
 */
#ifndef KB_SOLVE_RIDGE_H
#define KB_SOLVE_RIDGE_H

#include "features/operator.h"

typedef struct kb_ridge {
    kb_operator *op;
    double lambda, tol;
    size_t max_steps;
    size_t C;        /* outputs */
    const double *y; /* N x C */

    /* Filled by the solver; the arrays are the caller's. */
    double *alpha; /* N x C */
    double *f;     /* N x C: K alpha */
    size_t steps;  /* products K v, of the slowest output */
    int converged;
} kb_ridge;

/* Conjugate gradients: four N x C arrays beside the caller's. */
kb_status kb_ridge_cg(kb_context *ctx, kb_ridge *problem);

/* GMRES restarted every KB_GMRES_RESTART steps: two N x C arrays for each of them. */
enum { KB_GMRES_RESTART = 30 };
kb_status kb_ridge_gmres(kb_context *ctx, kb_ridge *problem);

/* The largest sqrt(norm[c] / start[c]) of C outputs; an output that starts at 0 does not count. */
double kb_worst_residual(size_t C, const double *norm, const double *start);
/* How far a solve is, from the worst of its relative residuals: for progress bars. */
double kb_solve_progress(double tol, size_t max_steps, double residual, size_t step);

/* rho = y - lambda alpha - f, after f = K alpha if `refresh`.  rho: N x C. */
kb_status kb_ridge_residual(kb_context *ctx, kb_ridge *problem, int refresh, double *rho);

#endif
