/*
 * grid_steps.c - what an epoch of grid-cd does in one column, or in one grid; see grid_parts.h.
 *
 * Every step comes in phases: sums over the parts of the rows, then the move, and for the squared
 * hinge a correction, which after the first epochs happens in a few grids of a hundred at most. All
 * threads find the same new weights, and each moves its own rows.
 *
 * For the group penalty a grid is one step: its columns have disjoint rows, so its Hessian is
 * diagonal, and the least of the model is x = c / (H + lambda_g / |x|) with c = G + H w: one
 * equation for the length of x.
 */
#include "core/team.h"
#include "l1/grid_parts.h"

#include <math.h>
#include <string.h>

/* The floor of the curvatures for the squared hinge, whose own are all or nothing; as a share of
 * the largest one. */
static const double HINGE_FLAT = 0.005;

/* ---- sums and weights -------------------------------------------------- */

double kb_grid_miss(double w, double G, double lambda) {
    double far = w != 0 ? fabs(G - copysign(lambda, w)) : fabs(G) - lambda;
    return far > 0 ? far : 0;
}

/* This thread's own. */
static double *own(const kb_grid_cd *g, const kb_turn *t, kb_part_kind kind) {
    return kb_grid_part(g, t, kind, t->part, t->begin);
}

/* The sums over the parts, place by place. */
static void total(const kb_grid_cd *g, const kb_turn *t, kb_part_kind kind, double *restrict out) {
    size_t count = t->end - t->begin;
    memcpy(out, kb_grid_part(g, t, kind, 0, t->begin), count * sizeof *out);
    for (size_t p = 1; p < g->r.c->parts; p++) {
        const double *restrict part = kb_grid_part(g, t, kind, p, t->begin);
        for (size_t k = 0; k < count; k++)
            out[k] += part[k];
    }
}

/* All threads find the same; one of them writes it down. */
static int writes(const kb_turn *t) {
    return t->part == 0;
}

/* The weights that the columns' pulls G and second derivatives H lead to. */
static const double *choose_weights(const kb_grid_cd *g, const kb_turn *t, const double *restrict G,
                                    const double *restrict H) {
    size_t count = t->end - t->begin;
    const double lambda = g->r.p->lambda, *restrict w = g->w + t->begin;
    double *restrict x = own(g, t, KB_PART_X);
    for (size_t k = 0; k < count; k++) {
        double there = G[k] + H[k] * w[k];
        double kept = there > lambda ? lambda : there < -lambda ? -lambda : there;
        double far = (there - kept) / H[k];
        x[k] = H[k] > 0 ? far : 0;
    }
    if (!writes(t))
        return x;
    memcpy(g->x + t->begin, x, count * sizeof *x);
    double *restrict miss = g->miss + t->begin;
    for (size_t k = 0; k < count; k++)
        miss[k] = kb_grid_miss(w[k], G[k], lambda);
    return x;
}

/* ---- steps in one column ----------------------------------------------- */

static void sum_square(void *arg, const kb_turn *t) {
    kb_grid_cd *g = arg;
    for (size_t k = t->begin; k < t->end; k++)
        for (size_t p = t->part; p < t->part_end; p++)
            *kb_grid_part(g, t, KB_PART_PULL, p, k) =
                kb_run_dot(g->r.c, kb_part_run(g->r.c, g->set.column[k], p), g->u);
}

static void step_square(void *arg, const kb_turn *t) {
    kb_grid_cd *g = arg;
    const kb_zcolumns *c = g->r.c;
    double *G = own(g, t, KB_PART_ALL);
    total(g, t, KB_PART_PULL, G);
    const double *x = choose_weights(g, t, G, g->H + t->begin), *w = g->w + t->begin;
    for (size_t k = 0; k < t->end - t->begin; k++)
        for (size_t p = t->part; p < t->part_end && x[k] != w[k]; p++)
            kb_run_add(c, kb_part_run(c, g->set.column[t->begin + k], p), w[k] - x[k], g->u);
}

/* 1 or -1. */
static double sign_of(double x) {
    return x > 0 ? 1 : -1;
}

/* The curvature may be larger along the step than where it was computed, so the step may be too
 * long.  The slope at its end, which comes with the update, shows this: if it has changed sign
 * and is more than half as steep, go back to the zero of the line through the two slopes, but
 * not across w = 0.  Returns how far. */
static double too_far(double w, double x, double G, double G_there, double lambda) {
    double way = sign_of(x - w), side = sign_of(x != 0 ? x : w), from = w != 0 ? sign_of(w) : way;
    double slope = way * (from * lambda - G), there = way * (side * lambda - G_there);
    double back = (w - x) * (there / (there - slope));
    back = (x + back) * side < 0 ? -x : back;
    int turned = (slope < 0) & (there > -slope / 2); /* slope >= 0: a step of rounding */
    return turned & (x != w) ? back : 0;
}

static void sum_hinge(void *arg, const kb_turn *t) {
    kb_grid_cd *g = arg;
    const kb_zcolumns *c = g->r.c;
    for (size_t k = t->begin; k < t->end; k++) {
        for (size_t p = t->part; p < t->part_end; p++) {
            kb_run run = kb_part_run(c, g->set.column[k], p);
            kb_open_gaps gaps =
                c->loops->open(c->octet + run.begin, run.end - run.begin, g->up, g->u);
            *kb_grid_part(g, t, KB_PART_PULL, p, k) = 2 * c->value * gaps.sum;
            *kb_grid_part(g, t, KB_PART_SECOND, p, k) = gaps.count;
        }
    }
}

static void step_hinge(void *arg, const kb_turn *t) {
    kb_grid_cd *g = arg;
    const kb_zcolumns *c = g->r.c;
    double *G = own(g, t, KB_PART_ALL), *restrict H = own(g, t, KB_PART_H);
    const double *restrict all = g->H + t->begin, *w = g->w + t->begin;
    size_t count = t->end - t->begin;
    total(g, t, KB_PART_PULL, G);
    total(g, t, KB_PART_SECOND, H);
    for (size_t k = 0; k < count; k++)
        H[k] = 2 * (c->value * c->value * H[k] + HINGE_FLAT * all[k]);
    const double *x = choose_weights(g, t, G, H);
    for (size_t k = 0; k < count; k++) {
        for (size_t p = t->part; p < t->part_end; p++) {
            kb_run run = kb_part_run(c, g->set.column[t->begin + k], p);
            double *there = kb_grid_part(g, t, KB_PART_THERE, p, t->begin + k);
            *there = 0;
            if (x[k] != w[k])
                *there = 2 * c->value *
                         c->loops->move(c->octet + run.begin, run.end - run.begin, g->up,
                                        c->value * (w[k] - x[k]), g->u);
        }
    }
}

static int step_back(void *arg, const kb_turn *t) {
    kb_grid_cd *g = arg;
    const kb_zcolumns *c = g->r.c;
    const double *restrict G = own(g, t, KB_PART_ALL), *restrict x = own(g, t, KB_PART_X);
    const double *restrict w = g->w + t->begin, lambda = g->r.p->lambda;
    double *restrict back = own(g, t, KB_PART_H);
    size_t count = t->end - t->begin;
    int any = 0;
    total(g, t, KB_PART_THERE, back);
    for (size_t k = 0; k < count; k++) {
        back[k] = too_far(w[k], x[k], G[k], back[k], lambda);
        any |= back[k] != 0;
    }
    for (size_t k = 0; any && k < count; k++)
        for (size_t p = t->part; p < t->part_end && back[k] != 0; p++)
            kb_run_add(c, kb_part_run(c, g->set.column[t->begin + k], p), -back[k], g->u);
    for (size_t k = 0; any && writes(t) && k < count; k++)
        g->x[t->begin + k] = x[k] + back[k];
    return any;
}

/* u -= h d z. */
static void add_curved(const kb_zcolumns *c, kb_run run, double d, const double *h, double *u) {
    size_t count = run.end - run.begin;
    if (c->octet) {
        c->loops->add_times(c->octet + run.begin, count, -c->value * d, h, u);
        return;
    }
    const double *z = c->dense + run.begin;
    for (size_t e = 0; e < count; e++)
        u[run.row + e] -= d * z[e] * h[run.row + e];
}

/* With ranks, without the value of the nonzeros, so that the sums are exact. */
static void sum_ranked(void *arg, const kb_turn *t) {
    kb_grid_cd *g = arg;
    const kb_zcolumns *c = g->r.c;
    for (size_t k = t->begin; k < t->end; k++) {
        for (size_t p = t->part; p < t->part_end; p++) {
            kb_run run = kb_part_run(c, g->set.column[k], p);
            const uint32_t *octet = c->octet + run.begin;
            size_t count = run.end - run.begin;
            *kb_grid_part(g, t, KB_PART_PULL, p, k) = c->loops->sum(octet, count, g->u);
            if (g->fresh)
                *kb_grid_part(g, t, KB_PART_SECOND, p, k) = c->loops->sum(octet, count, g->h);
        }
    }
}

static void sum_model(void *arg, const kb_turn *t) {
    kb_grid_cd *g = arg;
    for (size_t k = t->begin; k < t->end; k++) {
        for (size_t p = t->part; p < t->part_end; p++) {
            kb_run run = kb_part_run(g->r.c, g->set.column[k], p);
            *kb_grid_part(g, t, KB_PART_PULL, p, k) = kb_run_dot(g->r.c, run, g->u);
            if (g->fresh)
                *kb_grid_part(g, t, KB_PART_SECOND, p, k) = kb_run_square(g->r.c, run, g->h);
        }
    }
}

/* The weights from t->begin on become x. */
static void move_on_model(const kb_grid_cd *g, const kb_turn *t, const double *x) {
    const kb_zcolumns *c = g->r.c;
    for (size_t k = t->begin; k < t->end; k++) {
        double d = x[k - t->begin] - g->w[k];
        for (size_t p = t->part; p < t->part_end && d != 0; p++) {
            kb_run run = kb_part_run(c, g->set.column[k], p);
            if (g->r.ranked)
                kb_grid_add_rounded(g, run, -d);
            else
                add_curved(c, run, d, g->h, g->u);
        }
    }
}

static void step_model(void *arg, const kb_turn *t) {
    kb_grid_cd *g = arg;
    double *G = own(g, t, KB_PART_ALL), *H = g->H + t->begin;
    total(g, t, KB_PART_PULL, G);
    if (g->fresh) {
        H = own(g, t, KB_PART_H);
        total(g, t, KB_PART_SECOND, H);
    }
    move_on_model(g, t, choose_weights(g, t, G, H));
    if (writes(t) && g->fresh)
        memcpy(g->H + t->begin, H, (t->end - t->begin) * sizeof *H);
}

/* ---- steps in one grid ------------------------------------------------- */

/* way = G + H w; a thread takes its share of the places. */
static void group_wants(void *arg, const kb_turn *t) {
    kb_grid_cd *g = arg;
    size_t count = t->end - t->begin;
    kb_turn mine = *t;
    mine.begin = t->begin + kb_share(count, t->me, t->threads);
    mine.end = t->begin + kb_share(count, t->me + 1, t->threads);
    total(g, &mine, KB_PART_PULL, g->way + mine.begin);
    if (g->fresh)
        total(g, &mine, KB_PART_SECOND, g->H + mine.begin);
    for (size_t k = mine.begin; k < mine.end; k++)
        g->way[k] += g->H[k] * g->w[k];
}

/* The length r of the new weights: sum of c^2 / (H r + lambda)^2 = 1, by Newton's method on one
 * over the root of that sum, which is concave and rises, from 0 on. */
static double group_length(const double *c, const double *H, size_t count, double lambda) {
    double r = 0;
    for (int step = 0; step < 100; step++) {
        double sum = 0, slope = 0;
        for (size_t k = 0; k < count; k++) {
            double share = c[k] / (H[k] * r + lambda);
            sum += share * share;
            slope += share * share * H[k] / (H[k] * r + lambda);
        }
        if (step == 0 && sum <= 1)
            return 0;
        if (!(slope > 0))
            break;
        double next = r + sum * (sqrt(sum) - 1) / slope;
        if (!(fabs(next - r) > 1e-15 * r))
            break;
        r = next > 0 ? next : r / 2;
    }
    return r;
}

static void group_step(void *arg, const kb_turn *t) {
    kb_grid_cd *g = arg;
    double lambda = g->r.p->lambda * kb_l1_group_weight(g->r.c, t->block);
    double length = group_length(g->way + t->begin, g->H + t->begin, t->end - t->begin, lambda);
    double *x = own(g, t, KB_PART_X);
    for (size_t k = t->begin; k < t->end; k++) {
        double there = length > 0 ? g->way[k] * length / (g->H[k] * length + lambda) : 0;
        x[k - t->begin] = there;
        if (writes(t)) {
            g->x[k] = there;
            g->miss[k] = fabs(there - g->w[k]) * g->H[k];
        }
    }
    move_on_model(g, t, x);
}

/* ---- all of them ------------------------------------------------------- */

void kb_grid_visits(const kb_grid_cd *g, kb_column_pass *sweep) {
    static kb_visit *const steps[][KB_PHASES] = {
        [KB_GRID_SQUARE] = {sum_square, step_square},
        [KB_GRID_HINGE] = {sum_hinge, step_hinge},
        [KB_GRID_MODEL] = {sum_model, step_model},
    };
    static kb_visit *const group_steps[KB_PHASES] = {sum_model, group_wants, group_step};
    static kb_visit *const ranked[][KB_PHASES] = {
        {sum_ranked, kb_grid_join, step_model},
        {sum_ranked, kb_grid_join, group_wants, group_step},
    };
    memcpy(sweep->visit,
           g->r.ranked     ? ranked[g->r.p->group != 0]
           : g->r.p->group ? group_steps
                           : steps[g->engine],
           sizeof group_steps);
    sweep->amend = g->engine == KB_GRID_HINGE ? step_back : NULL;
}
