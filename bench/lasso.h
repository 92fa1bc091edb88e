/*
 * lasso.h - a textbook lasso: cyclic coordinate descent on compressed columns of doubles, the
 * residual kept up to date, columns skipped while they stay at zero, and a duality gap as stopping
 * rule.
 */
#ifndef KB_BENCH_LASSO_H
#define KB_BENCH_LASSO_H

#include "features/binmat.h"

typedef struct lasso lasso;

lasso *lasso_build(const kb_binmat *z);
void lasso_free(lasso *m);
/* min lambda |w|_1 + |y - Z w|^2 / 2 from w = 0 until the gap is below tol times the objective,
 * which is returned. */
double lasso_solve(const lasso *m, const double *y, double lambda, double tol, double *w);

#endif
