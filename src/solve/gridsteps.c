/*
 * gridsteps.c - what an epoch of grid-cd does in one column, or in one grid; see gridcd.h.
 *
 * Every step comes in phases: sums over the parts of the rows, then the move that they lead to, and
 * for the squared hinge a way back.  All threads find the same new weights, and each moves
 * its own rows.
 *
 * For the group penalty a grid is one step: its columns have disjoint rows, so its Hessian is
 * diagonal, and the least of the model is x = c / (H + lambda_g / |x|) with c = G + H w: one
 * equation for the length of x.
 */
#include "core/team.h"
#include "solve/gridcd.h"

#include <math.h>
#include <string.h>

/* Of the most that a curvature can be: the least that it is taken for with the squared hinge, whose
 * own is all or nothing. */
static const double HINGE_FLAT = 0.005;

/* ---- steps in one column ----------------------------------------------- */

double kb_grid_miss(double w, double G, double lambda) {
    return w != 0 ? fabs(G - copysign(lambda, w)) : fmax(fabs(G) - lambda, 0);
}

/* What part p has of column k. */
static double *part_of(const kb_grid_cd *g, const kb_turn *t, kb_part_kind kind, size_t p,
                       size_t k) {
    size_t line = ((size_t)t->odd * KB_PART_KINDS + kind) * KB_PARTS + p;
    return g->sums + line * g->widest + (k - g->set.start[t->block]);
}

static double total(const kb_grid_cd *g, const kb_turn *t, kb_part_kind kind, size_t k) {
    double sum = 0;
    for (size_t p = 0; p < KB_PARTS; p++)
        sum += *part_of(g, t, kind, p, k);
    return sum;
}

/* What another thread has written is far away: asked for in time, it comes while there is work. */
static void ask_for_parts(const kb_grid_cd *g, const kb_turn *t, kb_part_kind kind) {
    enum { IN_A_LINE = 8 };
    for (size_t p = 0; p < KB_PARTS; p++)
        for (size_t k = t->begin; k < t->end && (p < t->part || p >= t->part_end); k += IN_A_LINE)
            __builtin_prefetch(part_of(g, t, kind, p, k));
}

/* All threads find the same; one of them writes it down. */
static int writes(const kb_turn *t) {
    return t->part == 0;
}

static void sum_square(void *arg, const kb_turn *t) {
    kb_grid_cd *g = arg;
    for (size_t k = t->begin; k < t->end; k++) {
        for (size_t p = t->part; p < t->part_end; p++)
            *part_of(g, t, KB_PART_PULL, p, k) =
                kb_run_dot(g->r.c, kb_part_run(g->r.c, g->set.column[k], p), g->u);
    }
}

static void step_square(void *arg, const kb_turn *t) {
    kb_grid_cd *g = arg;
    const kb_columns *c = g->r.c;
    double lambda = g->r.p->lambda;
    ask_for_parts(g, t, KB_PART_PULL);
    for (size_t k = t->begin; k < t->end; k++) {
        size_t j = g->set.column[k];
        double w = g->w[k], G = total(g, t, KB_PART_PULL, k);
        double H = c->value * c->value * (double)kb_column_count(c, j);
        double x = H > 0 ? kb_l1_soft(G + H * w, lambda) / H : 0;
        for (size_t p = t->part; p < t->part_end && x != w; p++)
            kb_run_add(c, kb_part_run(c, j, p), w - x, g->u);
        if (writes(t)) {
            g->miss[k] = kb_grid_miss(w, G, lambda);
            g->x[k] = x;
        }
    }
}

/* The curvature may be larger on the way than where it was taken, so the step may go too far.
 * The slope at its end, which comes with the update, tells: if it has turned and is more than
 * half as steep, go back to where a line between the two slopes is zero, but not across w = 0.
 * Returns how far. */
static double too_far(double w, double x, double G, double G_there, double lambda) {
    double way = x > w ? 1 : -1, side = x != 0 ? (x > 0 ? 1 : -1) : (w > 0 ? 1 : -1);
    double from = w != 0 ? (w > 0 ? 1 : -1) : way;
    double slope = way * (from * lambda - G), there = way * (side * lambda - G_there);
    if (!(slope < 0 && there > -slope / 2)) /* slope >= 0: a step of rounding */
        return 0;
    double back = (w - x) * (there / (there - slope));
    return (x + back) * side < 0 ? -x : back;
}

static void sum_hinge(void *arg, const kb_turn *t) {
    kb_grid_cd *g = arg;
    const kb_columns *c = g->r.c;
    for (size_t k = t->begin; k < t->end; k++) {
        for (size_t p = t->part; p < t->part_end; p++) {
            kb_run run = kb_part_run(c, g->set.column[k], p);
            kb_open_gaps gaps =
                c->loops->open(c->octet + run.begin, run.end - run.begin, g->up, g->u);
            *part_of(g, t, KB_PART_PULL, p, k) = 2 * c->value * gaps.sum;
            *part_of(g, t, KB_PART_SECOND, p, k) = gaps.count;
        }
    }
}

static void step_hinge(void *arg, const kb_turn *t) {
    kb_grid_cd *g = arg;
    const kb_columns *c = g->r.c;
    ask_for_parts(g, t, KB_PART_PULL);
    ask_for_parts(g, t, KB_PART_SECOND);
    for (size_t k = t->begin; k < t->end; k++) {
        size_t j = g->set.column[k];
        double w = g->w[k], G = total(g, t, KB_PART_PULL, k);
        double count = total(g, t, KB_PART_SECOND, k) + HINGE_FLAT * (double)kb_column_count(c, j);
        double H = 2 * c->value * c->value * count;
        double x = H > 0 ? kb_l1_soft(G + H * w, g->r.p->lambda) / H : 0, by = c->value * (w - x);
        for (size_t p = t->part; p < t->part_end && x != w; p++) {
            kb_run run = kb_part_run(c, j, p);
            *part_of(g, t, KB_PART_THERE, p, k) =
                2 * c->value *
                c->loops->move(c->octet + run.begin, run.end - run.begin, g->up, by, g->u);
        }
        *part_of(g, t, KB_PART_ALL, t->part, k) = G;
        *part_of(g, t, KB_PART_X, t->part, k) = x;
        if (writes(t)) {
            g->miss[k] = kb_grid_miss(w, G, g->r.p->lambda);
            g->x[k] = x;
        }
    }
}

static void step_back(void *arg, const kb_turn *t) {
    kb_grid_cd *g = arg;
    const kb_columns *c = g->r.c;
    for (size_t k = t->begin; k < t->end; k++) {
        size_t j = g->set.column[k];
        double w = g->w[k], x = *part_of(g, t, KB_PART_X, t->part, k);
        if (x == w)
            continue;
        double G = *part_of(g, t, KB_PART_ALL, t->part, k), there = total(g, t, KB_PART_THERE, k);
        double back = too_far(w, x, G, there, g->r.p->lambda);
        if (back == 0)
            continue;
        for (size_t p = t->part; p < t->part_end; p++)
            kb_run_add(c, kb_part_run(c, j, p), -back, g->u);
        if (writes(t))
            g->x[k] = x + back;
    }
}

/* u -= h d z. */
static void add_curved(const kb_columns *c, kb_run run, double d, const double *h, double *u) {
    size_t count = run.end - run.begin;
    if (c->octet) {
        c->loops->add_times(c->octet + run.begin, count, -c->value * d, h, u);
        return;
    }
    const double *z = c->dense + run.begin;
    for (size_t e = 0; e < count; e++)
        u[run.row + e] -= d * z[e] * h[run.row + e];
}

static void sum_model(void *arg, const kb_turn *t) {
    kb_grid_cd *g = arg;
    for (size_t k = t->begin; k < t->end; k++) {
        for (size_t p = t->part; p < t->part_end; p++) {
            kb_run run = kb_part_run(g->r.c, g->set.column[k], p);
            *part_of(g, t, KB_PART_PULL, p, k) = kb_run_dot(g->r.c, run, g->u);
            if (g->fresh)
                *part_of(g, t, KB_PART_SECOND, p, k) = kb_run_square(g->r.c, run, g->h);
        }
    }
}

/* The weight of place k becomes x. */
static void move_on_model(kb_grid_cd *g, const kb_turn *t, size_t k, double x) {
    const kb_columns *c = g->r.c;
    size_t j = g->set.column[k];
    double d = x - g->w[k];
    for (size_t p = t->part; p < t->part_end && d != 0; p++)
        add_curved(c, kb_part_run(c, j, p), d, g->h, g->u);
    if (writes(t))
        g->x[k] = x;
}

static void step_model(void *arg, const kb_turn *t) {
    kb_grid_cd *g = arg;
    double lambda = g->r.p->lambda;
    ask_for_parts(g, t, KB_PART_PULL);
    if (g->fresh)
        ask_for_parts(g, t, KB_PART_SECOND);
    for (size_t k = t->begin; k < t->end; k++) {
        double w = g->w[k], G = total(g, t, KB_PART_PULL, k);
        double H = g->fresh ? total(g, t, KB_PART_SECOND, k) : g->H[k];
        move_on_model(g, t, k, H > 0 ? kb_l1_soft(G + H * w, lambda) / H : 0);
        if (writes(t))
            g->miss[k] = kb_grid_miss(w, G, lambda);
        if (writes(t) && g->fresh)
            g->H[k] = H;
    }
}

/* ---- steps in one grid ------------------------------------------------- */

/* way = G + H w; a thread takes its share of the places. */
static void group_wants(void *arg, const kb_turn *t) {
    kb_grid_cd *g = arg;
    size_t count = t->end - t->begin, end = t->begin + kb_share(count, t->me + 1, t->threads);
    for (size_t k = t->begin + kb_share(count, t->me, t->threads); k < end; k++) {
        if (g->fresh)
            g->H[k] = total(g, t, KB_PART_SECOND, k);
        g->way[k] = total(g, t, KB_PART_PULL, k) + g->H[k] * g->w[k];
    }
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
    for (size_t k = t->begin; k < t->end; k++) {
        double x = length > 0 ? g->way[k] * length / (g->H[k] * length + lambda) : 0;
        move_on_model(g, t, k, x);
        if (writes(t))
            g->miss[k] = fabs(x - g->w[k]) * g->H[k];
    }
}

/* ---- all of them ------------------------------------------------------- */

void kb_grid_visits(const kb_grid_cd *g, kb_visit **visit) {
    static kb_visit *const steps[][KB_PHASES] = {
        [KB_GRID_SQUARE] = {sum_square, step_square},
        [KB_GRID_HINGE] = {sum_hinge, step_hinge, step_back},
        [KB_GRID_MODEL] = {sum_model, step_model},
    };
    static kb_visit *const group_steps[KB_PHASES] = {sum_model, group_wants, group_step};
    memcpy(visit, g->r.p->group ? group_steps : steps[g->engine], sizeof group_steps);
}
