/*
 * refine.c - see refine.h.
 *
 * A round solves Newton's system by conjugate gradients, with the diagonal as preconditioner, and
 * halves its step until the objective falls.  For the square loss one round is enough.  All
 * outputs share the products; each has a step of its own.
 *
 * The losses of numbers are solved in the units of unit_fit.h:
 *
 *     L(f, y) = unit spread loss((f - offset) / unit, (y - offset) / unit),   unit = width spread
 *
 * and for poisson the targets are divided by exp(offset).
 */
#include "solve/refine_parts.h"
#include "core/sums.h"
#include "core/team.h"
#include "core/weights.h"
#include "solve/ridge.h"
#include "solve/unit_fit.h"

#include <math.h>
#include <string.h>

enum { MOST_ROUNDS = 100, MOST_HALVINGS = 30 };
/* A round solves its system until the residual is this share of the gradient. */
static const double INNER_TOL = 0.1;
/* Of the fall that the slope promises, a step must keep this share. */
static const double ARMIJO = 1e-4;

enum { SCALARS = 21 };

static kb_status create(kb_context *ctx, kb_refine *p, kb_refining *m) {
    kb_status status;
    size_t rows = p->op->rows * p->C, bins = p->op->columns * p->C;
    double **of_rows[] = {&m->slope, &m->curve, &m->image};
    double **of_bins[] = {&m->r, &m->x, &m->dir, &m->product, &m->diagonal, &m->moved, &m->strict};
    double **scalar[SCALARS] = {
        &m->b_r,    &m->b_x,  &m->b_dir,  &m->b_product, &m->b_moved, &m->b_strict, &m->b_curve,
        &m->offset, &m->unit, &m->spread, &m->norm,      &m->start,   &m->inner,    &m->old,
        &m->a,      &m->t,    &m->sum,    &m->sum2,      &m->sum3,    &m->loss,     &m->trial};
    m->p = p;
    for (size_t k = 0; k < sizeof of_rows / sizeof *of_rows; k++)
        TRY(kb_alloc(ctx, rows, sizeof(double), of_rows[k]));
    for (size_t k = 0; k < (p->past > 0 ? 7 : 5); k++)
        TRY(kb_zalloc(ctx, bins, sizeof(double), of_bins[k]));
    TRY(kb_zalloc(ctx, SCALARS * p->C, sizeof(double), &m->scalars));
    TRY(kb_zalloc(ctx, p->C, sizeof *m->done, &m->done));
    for (size_t k = 0; k < SCALARS; k++)
        *scalar[k] = m->scalars + k * p->C;
done:
    return status;
}

static void release(kb_context *ctx, kb_refining *m) {
    void *all[] = {m->slope, m->curve,    m->image, m->r,      m->x,       m->dir,
                   m->moved, m->diagonal, m->done,  m->strict, m->scalars, m->product};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kb_release(ctx, all[i]);
}

kb_bytes kb_refine_bytes(size_t C) {
    return (kb_bytes){.row = 3 * 8 * (double)C, .bin = 7 * 8 * (double)C};
}

/* ---- the loss ---------------------------------------------------------- */

static kb_status find_units(kb_context *ctx, kb_refining *m) {
    const kb_refine *p = m->p;
    for (size_t c = 0; c < p->C; c++)
        m->unit[c] = m->spread[c] = 1;
    if (!p->loss->in_units)
        return KB_OK;
    kb_status status =
        kb_unit_centre(ctx, p->loss, p->op->rows, p->C, p->y, p->s, m->offset, m->spread);
    for (size_t c = 0; c < p->C; c++) {
        m->unit[c] = p->loss->kind == KB_LOSS_POISSON ? 1 : KB_UNIT_WIDTH * m->spread[c];
        m->offset[c] = p->intercept ? m->offset[c] : 0;
    }
    return status;
}

/* Where the decisions of some rows are looked at: f + t image. */
typedef struct place {
    kb_refining *m;
    const double *t; /* NULL: at f */
    int derive;
} place;

static void look_at_rows(void *arg, size_t begin, size_t end, double *sum) {
    const place *a = arg;
    const kb_refining *m = a->m;
    const kb_refine *p = m->p;
    int poisson = p->loss->kind == KB_LOSS_POISSON;
    double z[KB_LOSS_SUM], y[KB_LOSS_SUM];
    double value[KB_LOSS_SUM], slope[KB_LOSS_SUM], curve[KB_LOSS_SUM];
    size_t C = p->C, count;
    memset(sum, 0, C * sizeof *sum);
    for (size_t first = begin * C; first < end * C; first += count) {
        count = end * C - first < KB_LOSS_SUM ? end * C - first : KB_LOSS_SUM;
        for (size_t k = 0; k < count; k++) {
            size_t e = first + k, c = e % C;
            double f = p->f[e] + (a->t && a->t[c] != 0 ? a->t[c] * m->image[e] : 0);
            z[k] = (f - m->offset[c]) / m->unit[c];
            y[k] = poisson ? p->y[e] / kb_exp_bounded(m->offset[c])
                           : (p->y[e] - m->offset[c]) / m->unit[c];
        }
        p->loss->rows(p->loss, count, z, y, (kb_loss_rows){value, slope, curve});
        for (size_t k = 0; k < count; k++) {
            size_t e = first + k, c = e % C;
            double s = kb_weight_of(p->s, e / C);
            sum[c] += s * value[k] * m->unit[c] * m->spread[c];
            if (a->derive) {
                m->slope[e] = s * slope[k] * m->spread[c];
                m->curve[e] = s * curve[k] * m->spread[c] / m->unit[c];
            }
        }
    }
}

/* The losses, and at f also their derivatives. */
static kb_status look(kb_context *ctx, kb_refining *m, const double *t, double *loss) {
    place at = {m, t, t == NULL};
    return kb_sums_by(ctx, m->p->op->rows, m->p->C, look_at_rows, &at, loss);
}

/* ---- the penalty ------------------------------------------------------- */

static const double *from_centre(const kb_refining *m) {
    return m->moved ? m->moved : m->p->w;
}

/* The second derivatives of the loss in each weight. */
static kb_status find_diagonal(kb_context *ctx, kb_refining *m) {
    kb_status status;
    kb_refine *p = m->p;
    TRY(p->op->apply_t(p->op, ctx, p->C, m->curve, m->diagonal));
    for (size_t e = 0; e < p->op->columns * p->C; e++)
        m->diagonal[e] *= p->value;
    TRY(kb_sums(ctx, p->op->rows, p->C, m->curve, NULL, m->b_curve));
done:
    return status;
}

/* Lambda of refine.h.  The intercept has the past rows alone, or the penalty of a fit. */
static void set_penalty(kb_refining *m) {
    const kb_refine *p = m->p;
    double least = p->loss->kind == KB_LOSS_SQUARE ? 0 : p->lambda;
    for (size_t e = 0; m->strict && e < p->op->columns * p->C; e++)
        m->strict[e] = p->lambda + (p->known[e / p->C] ? p->past * m->diagonal[e] : 0);
    for (size_t c = 0; c < p->C; c++) {
        m->b_strict[c] = least + p->past * m->b_curve[c];
        m->b_moved[c] = p->past > 0 ? 0 : p->b[c] - m->offset[c];
    }
}

/* ---- the gradient ------------------------------------------------------ */

static void add_penalty(void *arg, size_t begin, size_t end) {
    kb_refining *m = arg;
    const double *v = from_centre(m);
    for (size_t e = begin * m->p->C; e < end * m->p->C; e++)
        m->r[e] = -m->r[e] - kb_refining_strictness(m, e) * v[e];
}

/* r = minus the gradient, from the slopes; norm: its length. */
static kb_status find_gradient(kb_context *ctx, kb_refining *m) {
    kb_status status;
    kb_refine *p = m->p;
    TRY(p->op->apply_t(p->op, ctx, p->C, m->slope, m->r));
    TRY(kb_sums(ctx, p->op->rows, p->C, m->slope, NULL, m->b_r));
    kb_refining_on_bins(ctx, m, add_penalty);
    for (size_t c = 0; c < p->C; c++)
        m->b_r[c] = p->intercept ? -m->b_r[c] - m->b_strict[c] * m->b_moved[c] : 0;
    TRY(kb_refining_length(ctx, m, m->norm));
done:
    return status;
}

/* What the gradient is measured by: its length at the start, or for the objective of a fit at w = 0
 * and the best constant. */
static kb_status find_scale(kb_context *ctx, kb_refining *m) {
    kb_status status = KB_OK;
    kb_refine *p = m->p;
    size_t N = p->op->rows, C = p->C;
    if (p->past > 0) {
        memcpy(m->start, m->norm, C * sizeof *m->start);
        return KB_OK;
    }
    memcpy(m->sum, m->offset, C * sizeof *m->sum);
    if (p->intercept && p->loss->kind == KB_LOSS_SQUARE) {
        double total = 0;
        for (size_t i = 0; i < N; i++) {
            total += kb_weight_of(p->s, i);
            for (size_t c = 0; c < C; c++)
                m->sum[c] += kb_weight_of(p->s, i) * p->y[i * C + c];
        }
        for (size_t c = 0; c < C; c++)
            m->sum[c] /= total;
    }
    double *f = p->f;
    p->f = m->image;
    for (size_t e = 0; e < N * C; e++)
        m->image[e] = m->sum[e % C];
    status = look(ctx, m, NULL, m->loss);
    p->f = f;
    TRY(status);
    TRY(p->op->apply_t(p->op, ctx, C, m->slope, m->product));
    TRY(kb_sums(ctx, p->op->columns, C, m->product, m->product, m->start));
    for (size_t c = 0; c < C; c++)
        m->start[c] = sqrt(m->start[c]);
done:
    return status;
}

/* ---- the step ---------------------------------------------------------- */

/* First and second derivative of the penalty along x. */
static void penalty_slopes(void *arg, size_t begin, size_t end, double *sum) {
    const kb_refining *m = arg;
    const double *v = from_centre(m);
    size_t C = m->p->C;
    memset(sum, 0, 2 * C * sizeof *sum);
    for (size_t e = begin * C; e < end * C; e++) {
        sum[e % C] += kb_refining_strictness(m, e) * v[e] * m->x[e];
        sum[C + e % C] += kb_refining_strictness(m, e) * m->x[e] * m->x[e];
    }
}

static void take_step(void *arg, size_t begin, size_t end) {
    kb_refining *m = arg;
    size_t C = m->p->C;
    for (size_t e = begin * C; e < end * C; e++) {
        m->p->w[e] += m->t[e % C] * m->x[e];
        if (m->moved)
            m->moved[e] += m->t[e % C] * m->x[e];
    }
}

/* The longest of 1, 1/2, 1/4, .. for each output whose objective falls enough. */
static kb_status find_lengths(kb_context *ctx, kb_refining *m, const double *along) {
    kb_status status;
    kb_refine *p = m->p;
    size_t C = p->C;
    TRY(kb_sums(ctx, p->op->rows, C, m->slope, m->image, m->sum));
    for (size_t c = 0; c < C; c++)
        m->t[c] = m->done[c] ? 0 : 1;
    for (int k = 0, open = 1; open && k <= MOST_HALVINGS; k++) {
        TRY(look(ctx, m, m->t, m->trial));
        open = 0;
        for (size_t c = 0; c < C; c++) {
            double t = m->t[c];
            double change = m->trial[c] - m->loss[c] + t * along[c] + t * t / 2 * along[C + c];
            double noise = 1e-14 * fabs(m->loss[c]);
            if (t == 0 || change <= ARMIJO * t * (m->sum[c] + along[c]) + noise)
                continue;
            m->t[c] = k < MOST_HALVINGS ? t / 2 : 0;
            open = 1;
        }
    }
done:
    return status;
}

static kb_status step(kb_context *ctx, kb_refining *m) {
    kb_status status;
    kb_refine *p = m->p;
    size_t C = p->C;
    double *along = NULL;
    TRY(kb_alloc(ctx, 2 * C, sizeof *along, &along));
    TRY(p->op->apply(p->op, ctx, C, m->x, m->image));
    for (size_t e = 0; e < p->op->rows * C; e++)
        m->image[e] += m->b_x[e % C];
    TRY(kb_sums_by(ctx, p->op->columns, 2 * C, penalty_slopes, m, along));
    for (size_t c = 0; c < C; c++) {
        along[c] += m->b_strict[c] * m->b_moved[c] * m->b_x[c];
        along[C + c] += m->b_strict[c] * m->b_x[c] * m->b_x[c];
    }
    TRY(find_lengths(ctx, m, along));
    kb_refining_on_bins(ctx, m, take_step);
    for (size_t c = 0; c < C; c++) {
        m->done[c] |= m->t[c] == 0; /* no step lowers it: it is at its minimum up to rounding */
        p->b[c] += m->t[c] * m->b_x[c];
        m->b_moved[c] += m->t[c] * m->b_x[c];
    }
    for (size_t e = 0; e < p->op->rows * C; e++)
        p->f[e] += m->t[e % C] * m->image[e];
done:
    kb_release(ctx, along);
    return status;
}

/* ---- the whole --------------------------------------------------------- */

static kb_status begin(kb_context *ctx, kb_refining *m) {
    kb_status status;
    kb_refine *p = m->p;
    TRY(find_units(ctx, m));
    for (size_t c = 0; c < p->C; c++)
        m->b_moved[c] = p->past > 0 ? 0 : p->b[c] - m->offset[c];
    if (p->past == 0)
        TRY(find_scale(ctx, m));
    TRY(p->op->apply(p->op, ctx, p->C, p->w, p->f));
    for (size_t e = 0; e < p->op->rows * p->C; e++)
        p->f[e] += p->b[e % p->C];
    TRY(look(ctx, m, NULL, m->loss));
    TRY(find_diagonal(ctx, m));
    set_penalty(m);
    TRY(find_gradient(ctx, m));
    if (p->past > 0)
        TRY(find_scale(ctx, m));
done:
    return status;
}

/* Whether an output is still to be improved; how closely its round is solved. */
static int plan_round(kb_refining *m) {
    kb_refine *p = m->p;
    int open = 0, square = p->loss->kind == KB_LOSS_SQUARE;
    for (size_t c = 0; c < p->C; c++) {
        double goal = p->tol * m->start[c];
        m->done[c] |= m->norm[c] <= goal;
        m->inner[c] = square ? goal : fmax(INNER_TOL * m->norm[c], goal / 2);
        m->sum3[c] = m->norm[c];
        open |= !m->done[c];
    }
    return open;
}

static kb_status finish(kb_context *ctx, kb_refining *m) {
    kb_status status;
    kb_refine *p = m->p;
    double least = p->loss->kind == KB_LOSS_SQUARE ? 0 : p->lambda;
    TRY(kb_sums(ctx, p->op->columns, p->C, p->w, p->w, m->sum));
    for (size_t c = 0; c < p->C; c++) {
        double b = p->intercept ? p->b[c] - m->offset[c] : 0;
        double objective = m->loss[c] + p->lambda / 2 * m->sum[c] + least / 2 * b * b;
        p->objective += objective / (m->spread[c] * m->spread[c]); /* as unit_fit.c has it */
    }
done:
    return status;
}

kb_status kb_refine_run(kb_context *ctx, kb_refine *p) {
    kb_status status;
    kb_refining m = {0};
    int open;
    p->steps = 0;
    p->objective = 0;
    TRY(create(ctx, p, &m));
    TRY(begin(ctx, &m));
    for (size_t round = 0; (open = plan_round(&m)) && round < MOST_ROUNDS; round++) {
        if (p->steps >= p->max_steps)
            break;
        if (round > 0)
            TRY(find_diagonal(ctx, &m));
        for (size_t e = 0; e < p->op->columns * p->C; e++)
            m.diagonal[e] += kb_refining_strictness(&m, e);
        TRY(kb_refining_solve(ctx, &m));
        TRY(step(ctx, &m));
        TRY(look(ctx, &m, NULL, m.loss));
        TRY(find_gradient(ctx, &m));
    }
    p->converged = !open;
    TRY(finish(ctx, &m));
done:
    release(ctx, &m);
    return status;
}
