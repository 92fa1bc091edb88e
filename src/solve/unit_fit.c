/* unit_fit.c - see unit_fit.h. */
#include "solve/unit_fit.h"
#include "core/fixed_math.h"
#include "core/memory.h"
#include "core/order.h"
#include "core/weights.h"
#include "solve/newton.h"

#include <math.h>
#include <stdlib.h>

/* Widths before the last one, as multiples of it, and how closely they are solved. */
static const double WIDER[] = {30, 10, 3};
static const double WIDER_TOL = 0.03;

/* ---- offset and unit --------------------------------------------------- */

typedef struct weighed {
    double y, weight;
} weighed;

static int by_target(const void *a, const void *b) {
    double x = ((const weighed *)a)->y, y = ((const weighed *)b)->y;
    return (x > y) - (x < y);
}

/* The least y with at least a share q of the weight up to it; `row` is sorted. */
static double quantile_of(size_t rows, const weighed *row, double total, double q) {
    double sum = 0;
    for (size_t i = 0; i < rows; i++) {
        sum += row[i].weight;
        if (row[i].weight > 0 && sum >= q * total * (1 - 1e-12))
            return row[i].y;
    }
    return row[rows - 1].y;
}

static double spread_of(size_t rows, const weighed *row, double total) {
    double middle = quantile_of(rows, row, total, 0.5), sum = 0;
    double range = quantile_of(rows, row, total, 0.75) - quantile_of(rows, row, total, 0.25);
    for (size_t i = 0; i < rows; i++)
        sum += row[i].weight / total * fabs(row[i].y - middle);
    return range > 0 ? range : sum > 0 ? sum : 1;
}

kb_status kb_unit_centre(kb_context *ctx, const kb_loss *loss, size_t rows, size_t C,
                         const double *y, const double *s, double *centre, double *spread) {
    kb_status status;
    weighed *row = NULL;
    TRY(kb_alloc(ctx, rows, sizeof *row, &row));
    for (size_t c = 0; c < C; c++) {
        double total = 0, mean = 0;
        for (size_t i = 0; i < rows; i++) {
            row[i] = (weighed){y[i * C + c], kb_weight_of(s, i)};
            total += row[i].weight;
            mean += row[i].weight * row[i].y;
        }
        if (spread)
            spread[c] = 1;
        if (loss->kind == KB_LOSS_POISSON) {
            centre[c] = mean > 0 ? kb_log_fixed(mean / total) : 0;
            continue;
        }
        qsort(row, rows, sizeof *row, by_target);
        centre[c] = quantile_of(rows, row, total, loss->quantile);
        if (spread)
            spread[c] = spread_of(rows, row, total);
    }
done:
    kb_release(ctx, row);
    return status;
}

/* ---- the problem in its units ------------------------------------------ */

typedef struct unit_problem {
    kb_smooth *p;
    double *y;             /* N x C: the targets in units */
    double *offset, *unit; /* C: of decisions; the targets of poisson are divided by exp(offset) */
} unit_problem;

static void set_targets(unit_problem *u) {
    size_t C = u->p->C;
    int poisson = u->p->loss->kind == KB_LOSS_POISSON;
    for (size_t i = 0; i < u->p->op->rows; i++)
        for (size_t c = 0; c < C; c++) {
            double y = u->p->y[i * C + c];
            u->y[i * C + c] =
                poisson ? y / kb_exp_bounded(u->offset[c]) : (y - u->offset[c]) / u->unit[c];
        }
}

static void multiply(kb_smooth *p, const double *unit, int inverse) {
    for (size_t i = 0; i < p->op->rows; i++)
        for (size_t c = 0; c < p->C; c++) {
            double by = inverse ? 1 / unit[c] : unit[c];
            p->alpha[i * p->C + c] *= by;
            p->f[i * p->C + c] *= by;
        }
}

/* In units of `width` times the spread: w = unit v turns lambda/2 |w|^2 + spread sum P into
 * width spread^2 times (lambda width)/2 |v|^2 + sum of the loss in its units. */
static kb_status solve_at(kb_context *ctx, unit_problem *u, double width, double tol) {
    kb_status status;
    kb_smooth *p = u->p, problem = *p;
    for (size_t c = 0; c < p->C; c++)
        u->unit[c] *= width;
    set_targets(u);
    if (p->warm)
        multiply(p, u->unit, 1);
    problem.y = u->y;
    problem.lambda = p->lambda * width;
    problem.tol = tol;
    problem.max_steps = p->max_steps > p->steps ? p->max_steps - p->steps : 1;
    TRY(kb_newton(ctx, &problem));
    multiply(p, u->unit, 0);
    p->warm = 1;
    p->steps += problem.steps;
    p->rounds += problem.rounds;
    p->converged = problem.converged;
    p->objective = problem.objective * width;
    for (size_t c = 0; c < p->C; c++)
        u->unit[c] /= width;
done:
    return status;
}

kb_status kb_unit_fit(kb_context *ctx, kb_smooth *p) {
    kb_status status;
    unit_problem u = {.p = p};
    int warm = p->warm;
    size_t C = p->C;
    p->steps = p->rounds = 0;
    TRY(kb_alloc(ctx, p->op->rows * C, sizeof *u.y, &u.y));
    TRY(kb_alloc(ctx, C, sizeof *u.offset, &u.offset));
    TRY(kb_alloc(ctx, C, sizeof *u.unit, &u.unit));
    TRY(kb_unit_centre(ctx, p->loss, p->op->rows, C, p->y, p->s, u.offset, u.unit));
    for (size_t c = 0; c < C; c++)
        u.offset[c] = p->offset ? u.offset[c] : 0;
    if (p->loss->kind == KB_LOSS_POISSON) {
        TRY(solve_at(ctx, &u, 1, p->tol));
    } else {
        for (size_t k = 0; !warm && k < sizeof WIDER / sizeof *WIDER; k++)
            TRY(solve_at(ctx, &u, WIDER[k] * KB_UNIT_WIDTH, fmax(p->tol, WIDER_TOL)));
        TRY(solve_at(ctx, &u, KB_UNIT_WIDTH, p->tol));
    }
    for (size_t c = 0; p->offset && c < C; c++)
        p->offset[c] = u.offset[c];
done:
    p->warm = warm;
    kb_release(ctx, u.y);
    kb_release(ctx, u.offset);
    kb_release(ctx, u.unit);
    return status;
}
