/*
 * subspace.c - a Newton step on the nonzero weights; see gridcd.h.
 *
 * Where their signs stay, the penalty is linear, and with A the columns of the nonzeros and h
 * the curvatures, the step solves
 *
 *     A' diag(h) A d = A' push - lambda sign(w)
 *
 * by some steps of CG with the diagonal as preconditioner.  Weights that would change sign become
 * zero.  Coordinate descent is slow along directions in which many columns together do what
 * none does alone; this is not.
 */
#include "solve/gridcd.h"
#include "core/sums.h"

#include <math.h>
#include <string.h>

enum { MOST_STEPS = 128, MOST_HALVINGS = 4 };
/* Of the first residual, what is left for the next time. */
static const double ENOUGH = 0.01;

/* b = what the nonzero columns want; H = the diagonal. */
static void start_places(void *arg, size_t block, size_t begin, size_t end) {
    kb_grid_cd *g = arg;
    (void)block;
    for (size_t k = begin; k < end; k++) {
        size_t j = g->set.column[k];
        double w = g->r.p->w[j];
        g->b[k] = g->H[k] = 0;
        if (w == 0)
            continue;
        g->H[k] = kb_column_square(g->r.c, j, g->r.curvature);
        if (g->H[k] > 0)
            g->b[k] = kb_column_dot(g->r.c, j, g->r.push) - copysign(g->r.p->lambda, w);
    }
}

/* miss = A' u. */
static void dot_places(void *arg, size_t block, size_t begin, size_t end) {
    kb_grid_cd *g = arg;
    (void)block;
    for (size_t k = begin; k < end; k++)
        g->miss[k] = g->H[k] > 0 ? kb_column_dot(g->r.c, g->set.column[k], g->u) : 0;
}

/* b'b in the preconditioner's sense. */
static double size_of(const kb_grid_cd *g) {
    double sum = 0;
    for (size_t k = 0; k < g->set.count; k++)
        if (g->H[k] > 0)
            sum += g->b[k] * g->b[k] / g->H[k];
    return sum;
}

/* u *= curvatures.  An intercept would follow u to its weighted mean at once: take that off. */
static kb_status weigh(kb_grid_cd *g) {
    kb_status status = KB_OK;
    const double *h = g->r.curvature;
    double sum = 0, all = 1;
    if (g->r.p->intercept) {
        TRY(kb_sums(g->r.ctx, g->r.N, 1, h, g->u, &sum));
        TRY(kb_sums(g->r.ctx, g->r.N, 1, h, NULL, &all));
    }
    double mean = all > 0 ? sum / all : 0;
    for (size_t i = 0; i < g->r.N; i++)
        g->u[i] = h[i] * (g->u[i] - mean);
done:
    return status;
}

/* CG: b is the residual, a the direction, `old` the step so far. */
static kb_status solve(kb_grid_cd *g) {
    kb_status status = KB_OK;
    size_t count = g->set.count;
    double first = size_of(g), size = first, before = INFINITY;
    memset(g->a, 0, count * sizeof(double));
    memset(g->old, 0, count * sizeof(double));
    for (int step = 0; step < g->cg_steps && size > ENOUGH * ENOUGH * first; step++) {
        for (size_t k = 0; k < count; k++)
            if (g->H[k] > 0)
                g->a[k] = g->b[k] / g->H[k] + size / before * g->a[k];
        kb_set_sum(g->r.ctx, g->r.c, &g->set, g->a, g->u);
        TRY(weigh(g));
        kb_set_visit(g->r.ctx, &g->set, dot_places, g);
        double below = 0;
        for (size_t k = 0; k < count; k++)
            below += g->a[k] * g->miss[k];
        if (!(below > 0))
            break;
        for (size_t k = 0; k < count; k++) {
            g->old[k] += size / below * g->a[k];
            g->b[k] -= size / below * g->miss[k];
        }
        before = size;
        size = size_of(g);
    }
done:
    return status;
}

/* w = old + t step, zero where that changes the sign; f and b with it.  Returns how many do. */
static size_t go(kb_grid_cd *g, double t, double old_b) {
    kb_l1_rows *r = &g->r;
    size_t clipped = 0;
    for (size_t k = 0; k < g->set.count; k++) {
        double there = g->old[k] + t * g->b[k];
        double x = there * g->old[k] > 0 ? there : 0;
        clipped += x == 0 && g->old[k] != 0;
        g->a[k] = x - g->old[k];
        r->p->w[g->set.column[k]] = x;
    }
    kb_set_sum(r->ctx, r->c, &g->set, g->a, g->u);
    for (size_t i = 0; i < r->N; i++)
        r->f[i] = g->old_f[i] + g->u[i];
    r->p->b = old_b;
    kb_l1_fit_intercept(r);
    return clipped;
}

/* Once the signs stay as they are, only these steps are left to do: the more of them the better. */
static void adapt(kb_grid_cd *g, double t, size_t clipped) {
    if (t == 1 && clipped * 100 <= g->set.count)
        g->cg_steps = g->cg_steps < MOST_STEPS ? 2 * g->cg_steps : MOST_STEPS;
    else if (g->cg_steps > KB_GRID_CG_STEPS)
        g->cg_steps /= 2;
}

kb_status kb_grid_subspace(kb_grid_cd *g) {
    kb_status status = KB_OK;
    kb_l1_rows *r = &g->r;
    double loss, before, t = 1, old_b = g->r.p->b;
    size_t clipped = 0;
    int fell = 0;
    if (g->engine != KB_GRID_MODEL) { /* else the line search has left all at f */
        TRY(kb_l1_evaluate(r, &loss));
        g->objective = loss + kb_l1_penalty(r);
    }
    before = g->objective;
    kb_set_visit(r->ctx, &g->set, start_places, g);
    TRY(solve(g));
    for (size_t k = 0; k < g->set.count; k++) {
        g->b[k] = g->old[k];
        g->old[k] = r->p->w[g->set.column[k]];
    }
    memcpy(g->old_f, r->f, r->N * sizeof(double));
    for (int halving = 0; !fell; halving++, t /= 2) {
        if (halving > MOST_HALVINGS)
            t = 0;
        clipped = go(g, t, old_b);
        TRY(kb_l1_evaluate(r, &loss));
        double there = loss + kb_l1_penalty(r);
        fell = there < before;
        if (fell)
            g->objective = there;
        if (t == 0)
            break;
        if (fell)
            adapt(g, t, clipped);
    }
done:
    return status;
}
