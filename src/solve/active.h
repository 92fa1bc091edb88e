/*
 * active.h - a Newton round by CG, with products over the rows that have curvature.
 *
 *     (lambda I + h K) d = -g       in the inner product <a, b> = a' K b
 *
 * In a row with h = 0 that matrix is lambda I, so that there all vectors of CG are multiples of the
 * first residual u: one number represents all these rows, and products run over the other rows
 * only.  With the squared hinge those are few.
 */
#ifndef KB_SOLVE_ACTIVE_H
#define KB_SOLVE_ACTIVE_H

#include "solve/smooth_problem.h"

typedef struct kb_active kb_active;

/* One output and N rows. */
kb_status kb_active_create(kb_context *ctx, size_t N, kb_active **out);
void kb_active_free(kb_context *ctx, kb_active *a);

/* Whether enough rows have h = 0 for this to be faster. */
int kb_active_worth(const kb_active *a, const double *h);

typedef struct kb_newton_system {
    kb_smooth *p;                  /* its steps are counted on */
    const double *h, *rho, *k_rho; /* N; rho = -g */
    double norm;                   /* <g, g> */
    double residual;               /* the relative one of the round, which the progress bar shows */
} kb_newton_system;

/* Products that a round takes at least. */
enum { KB_ACTIVE_LEAST = 2 };

/* d and K d (N each), and <d, d>.  CG stops when one more step would gain little of the quadratic
 * model (Nash and Sofer 1990): steps * (gain of the last) <= xi * (gain of all). */
kb_status kb_active_solve(kb_context *ctx, kb_active *a, const kb_newton_system *system, double *d,
                          double *k_d, double *square);

#endif
