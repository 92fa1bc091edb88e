/* ridge.c - what both ridge solvers share; see ridge.h. */
#include "solve/ridge.h"
#include "core/team.h"

#include <math.h>

double kb_solve_progress(double tol, size_t max_steps, double residual, size_t step) {
    double by_steps = (double)step / (double)max_steps;
    double by_residual = residual > 0 ? log(fmin(residual, 1)) / log(fmin(tol, 0.99)) : 1;
    return fmin(fmax(by_steps, by_residual), 1);
}

double kb_worst_residual(size_t C, const double *norm, const double *start) {
    double most = 0;
    for (size_t c = 0; c < C; c++)
        if (start[c] > 0)
            most = fmax(most, sqrt(norm[c] / start[c]));
    return most;
}

typedef struct subtraction {
    const kb_ridge *p;
    double *rho;
} subtraction;

static void subtract(void *arg, size_t begin, size_t end) {
    subtraction *s = arg;
    for (size_t i = begin; i < end; i++)
        s->rho[i] = s->p->y[i] - s->p->lambda * s->p->alpha[i] - s->p->f[i];
}

kb_status kb_ridge_residual(kb_context *ctx, kb_ridge *problem, int refresh, double *rho) {
    const kb_ridge *p = problem;
    kb_status status = KB_OK;
    if (refresh)
        TRY(p->op->apply_k(p->op, ctx, p->C, p->alpha, p->f, NULL));
    subtraction s = {p, rho};
    kb_team_for(ctx, p->op->rows * p->C, KB_WORTH_A_THREAD, subtract, &s);
done:
    return status;
}
