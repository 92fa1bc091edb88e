/*
 * margin_fit.c - sweeps, and Newton's method from where they end; see margin_sweeps.h.
 *
 * Newton's method needs alpha with w = Z' alpha.  At the optimum alpha = -s L'(f) / lambda, so that
 * of the sweeps' f is close to it, though it is not the same point.
 */
#include "core/weights.h"
#include "sweeps/margin_sweeps.h"
#include "solve/newton.h"
#include "ranks/row_sums.h"

#include <math.h>
#include <string.h>

/* Sweeps before Newton's method takes over. */
enum { MOST_SWEEPS = 300 };

typedef struct rows {
    const kb_margin *p;
    double *alpha;
} rows;

/* alpha at f, in the place of the rows. */
static void find_alpha(void *arg, size_t begin, size_t end, double *sum) {
    const rows *a = arg;
    const kb_margin *p = a->p;
    *sum = 0;
    for (size_t i = begin; i < end; i++)
        for (size_t c = 0, e = i * p->C; c < p->C; c++, e++)
            a->alpha[e] =
                -kb_weight_of(p->s, i) * p->loss->slope(p->loss, p->f[e], p->y[e]) / p->lambda;
}

static kb_status polish(kb_context *ctx, kb_margin *p) {
    kb_status status;
    size_t N = p->op->rows, C = p->C;
    double unused;
    rows a = {.p = p};
    TRY(kb_ranks_agree(ctx, kb_alloc(ctx, N * C, sizeof(double), &a.alpha)));
    TRY(kb_row_sums_by(ctx, N, 1, find_alpha, &a, &unused));
    TRY(p->op_one->apply_k(p->op_one, ctx, C, a.alpha, p->f, NULL));
    kb_smooth problem = {.op = p->op_one,
                         .loss = p->loss,
                         .lambda = p->lambda,
                         .tol = p->tol,
                         .max_steps = p->max_steps - p->steps,
                         .warm = 1,
                         .C = C,
                         .y = p->y,
                         .s = p->s,
                         .alpha = a.alpha,
                         .f = p->f};
    TRY(kb_newton(ctx, &problem));
    TRY(p->op->apply_t(p->op, ctx, C, a.alpha, p->w));
    memset(p->b, 0, C * sizeof(double));
    if (p->intercept)
        TRY(kb_row_sums(ctx, N, C, a.alpha, NULL, p->b));
    p->steps += problem.steps;
    p->converged = problem.converged;
done:
    kb_release(ctx, a.alpha);
    return status;
}

static void add_losses(void *arg, size_t begin, size_t end, double *sum) {
    const kb_margin *p = arg;
    *sum = 0;
    for (size_t i = begin; i < end; i++)
        for (size_t c = 0, e = i * p->C; c < p->C; c++, e++) {
            p->f[e] += p->b[c];
            *sum += kb_weight_of(p->s, i) * p->loss->at(p->loss, p->f[e], p->y[e]).value;
        }
}

/* f and the objective of w and b. */
static kb_status settle(kb_context *ctx, kb_margin *p) {
    kb_status status;
    double square[KB_PANEL];
    TRY(p->op->apply(p->op, ctx, p->C, p->w, p->f));
    TRY(kb_row_sums_by(ctx, p->op->rows, 1, add_losses, p, &p->objective));
    TRY(kb_sums(ctx, p->op->columns, p->C, p->w, p->w, square));
    for (size_t c = 0; c < p->C; c++)
        p->objective += p->lambda / 2 * (square[c] + p->b[c] * p->b[c]);
done:
    return status;
}

kb_bytes kb_margin_fit_bytes(size_t C) {
    double sweeps = 72 * (double)(C <= 2 ? C : C <= 4 ? 4 : KB_PANEL);
    return (kb_bytes){.row = fmax(sweeps, 80 * (double)C), .bin = sweeps / 2};
}

kb_status kb_margin_fit(kb_context *ctx, kb_margin *p) {
    kb_status status;
    size_t most = p->max_steps;
    p->max_steps = most < MOST_SWEEPS ? most : MOST_SWEEPS;
    status = kb_margin_sweeps(ctx, p);
    p->max_steps = most;
    if (status != KB_OK)
        goto done;
    if (!p->converged && p->steps < most && !kb_is_late(ctx))
        TRY(polish(ctx, p));
    TRY(settle(ctx, p));
done:
    return status;
}
