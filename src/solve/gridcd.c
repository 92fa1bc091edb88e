/*
 * gridcd.c - coordinate descent on a working set, grid by grid; see l1.h.
 *
 *     repeat
 *       look at all columns: pulls G, duality gap, and the working set of those with w != 0 or
 *         |G| > lambda; V = how far they are in all from where they should be
 *       some times, or until an epoch finds less than 0.3 V:
 *         an epoch over the grids in a fresh random order, and in each the columns of the set:
 *             x = soft(G + H w, lambda) / H
 *         after each the best that its move and the last ones do together (span.c)
 *     until the gap is closed
 *
 * G and H come from the loss itself where that is quick: square, and squared hinge.  For the rest
 * the losses are replaced by their quadratic models at the present f, two epochs go to the
 * least of that, and a line search says how far to follow it.  Where the losses are flat the models
 * would lead too far, so their curvatures have a floor, which rises when the way turns out too
 * long, up to where the models bound the losses, and else falls.
 *
 * For the group penalty a grid is one step: its columns have disjoint rows, so its Hessian is
 * diagonal, and the least of the model is x = c / (H + lambda_g / |x|) with c = G + H w: one
 * equation for the length of x.
 */
#include "solve/gridcd.h"
#include "core/random.h"
#include "core/sums.h"
#include "core/team.h"

#include <math.h>
#include <string.h>

enum { MOST_EPOCHS = 5, MOST_MODELS = 4, EPOCHS_A_MODEL = 2, MOST_HALVINGS = 6 };
static const double ENOUGH = 0.3;
/* Of the most that a curvature can be: the least that it is taken for, at first and at last. */
static const double CAUTIOUS = 0.05, FLAT = 4e-6;
/* The same for the squared hinge, whose curvature is all or nothing. */
static const double HINGE_FLAT = 0.005;
static const double ROUNDING = 1e-14;

void kb_grid_on_rows(kb_grid_cd *g, void (*body)(void *arg, size_t begin, size_t end)) {
    kb_team_for(g->r.ctx, g->r.N, KB_WORTH_A_THREAD / 4, body, g);
}

/* ---- steps in one column ----------------------------------------------- */

/* How far w is from where the pull G would have it. */
static double miss_of(double w, double G, double lambda) {
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

/* All threads find the same; one of them writes it down. */
static int writes(const kb_turn *t) {
    return t->part == 0;
}

static void sum_square(void *arg, const kb_turn *t) {
    kb_grid_cd *g = arg;
    for (size_t k = t->begin; k < t->end; k++)
        for (size_t p = t->part; p < t->part_end; p++)
            *part_of(g, t, KB_PART_PULL, p, k) =
                kb_run_dot(g->r.c, kb_part_run(g->r.c, g->set.column[k], p), g->u);
}

static void step_square(void *arg, const kb_turn *t) {
    kb_grid_cd *g = arg;
    const kb_columns *c = g->r.c;
    double lambda = g->r.p->lambda;
    for (size_t k = t->begin; k < t->end; k++) {
        size_t j = g->set.column[k];
        double w = g->r.p->w[j], G = total(g, t, KB_PART_PULL, k);
        double H = c->value * c->value * (double)kb_column_count(c, j);
        double x = kb_l1_soft(G + H * w, lambda) / H;
        for (size_t p = t->part; p < t->part_end && x != w; p++)
            kb_run_add(c, kb_part_run(c, j, p), w - x, g->u);
        if (writes(t)) {
            g->miss[k] = miss_of(w, G, lambda);
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
    for (size_t k = t->begin; k < t->end; k++)
        for (size_t p = t->part; p < t->part_end; p++) {
            kb_run run = kb_part_run(c, g->set.column[k], p);
            kb_open_gaps gaps =
                c->loops->open(c->octet + run.begin, run.end - run.begin, g->up, g->u);
            *part_of(g, t, KB_PART_PULL, p, k) = 2 * c->value * gaps.sum;
            *part_of(g, t, KB_PART_SECOND, p, k) = gaps.count;
        }
}

static void step_hinge(void *arg, const kb_turn *t) {
    kb_grid_cd *g = arg;
    const kb_columns *c = g->r.c;
    for (size_t k = t->begin; k < t->end; k++) {
        size_t j = g->set.column[k];
        double w = g->r.p->w[j], G = total(g, t, KB_PART_PULL, k);
        double count = total(g, t, KB_PART_SECOND, k) + HINGE_FLAT * (double)kb_column_count(c, j);
        double H = 2 * c->value * c->value * count;
        double x = kb_l1_soft(G + H * w, g->r.p->lambda) / H, by = c->value * (w - x);
        for (size_t p = t->part; p < t->part_end && x != w; p++) {
            kb_run run = kb_part_run(c, j, p);
            *part_of(g, t, KB_PART_THERE, p, k) =
                2 * c->value *
                c->loops->move(c->octet + run.begin, run.end - run.begin, g->up, by, g->u);
        }
        *part_of(g, t, KB_PART_ALL, t->part, k) = G;
        *part_of(g, t, KB_PART_X, t->part, k) = x;
        if (writes(t)) {
            g->miss[k] = miss_of(w, G, g->r.p->lambda);
            g->x[k] = x;
        }
    }
}

static void step_back(void *arg, const kb_turn *t) {
    kb_grid_cd *g = arg;
    const kb_columns *c = g->r.c;
    for (size_t k = t->begin; k < t->end; k++) {
        size_t j = g->set.column[k];
        double w = g->r.p->w[j], x = *part_of(g, t, KB_PART_X, t->part, k);
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
    for (size_t k = t->begin; k < t->end; k++)
        for (size_t p = t->part; p < t->part_end; p++) {
            kb_run run = kb_part_run(g->r.c, g->set.column[k], p);
            *part_of(g, t, KB_PART_PULL, p, k) = kb_run_dot(g->r.c, run, g->u);
            if (g->fresh)
                *part_of(g, t, KB_PART_SECOND, p, k) = kb_run_square(g->r.c, run, g->h);
        }
}

/* The weight of place k becomes x. */
static void move_on_model(kb_grid_cd *g, const kb_turn *t, size_t k, double x) {
    const kb_columns *c = g->r.c;
    size_t j = g->set.column[k];
    double d = x - g->r.p->w[j];
    for (size_t p = t->part; p < t->part_end && d != 0; p++)
        add_curved(c, kb_part_run(c, j, p), d, g->h, g->u);
    if (writes(t))
        g->x[k] = x;
}

static void step_model(void *arg, const kb_turn *t) {
    kb_grid_cd *g = arg;
    double lambda = g->r.p->lambda;
    for (size_t k = t->begin; k < t->end; k++) {
        double w = g->r.p->w[g->set.column[k]], G = total(g, t, KB_PART_PULL, k);
        double H = g->fresh ? total(g, t, KB_PART_SECOND, k) : g->H[k];
        move_on_model(g, t, k, H > 0 ? kb_l1_soft(G + H * w, lambda) / H : 0);
        if (writes(t))
            g->miss[k] = miss_of(w, G, lambda);
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
        g->way[k] = total(g, t, KB_PART_PULL, k) + g->H[k] * g->r.p->w[g->set.column[k]];
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
            g->miss[k] = fabs(x - g->r.p->w[g->set.column[k]]) * g->H[k];
    }
}

/* ---- epochs ------------------------------------------------------------ */

static void shuffle(kb_grid_cd *g) {
    size_t R = g->r.c->blocks;
    for (size_t q = 0; q < R; q++)
        g->order[q] = q;
    for (size_t q = R; q > 1; q--) {
        uint32_t word =
            kb_random(g->r.p->seed, KB_STREAM_DESCENT, g->draws, (uint32_t)(q - 1)).word[0];
        size_t at = (size_t)(((uint64_t)word * q) >> 32), kept = g->order[q - 1];
        g->order[q - 1] = g->order[at];
        g->order[at] = kept;
    }
    g->draws++;
}

/* *miss = how far the columns were, each at its turn. */
static void epoch(kb_grid_cd *g, double *miss) {
    static kb_visit *const steps[][KB_PHASES] = {
        [KB_GRID_SQUARE] = {sum_square, step_square},
        [KB_GRID_HINGE] = {sum_hinge, step_hinge, step_back},
        [KB_GRID_MODEL] = {sum_model, step_model},
    };
    static kb_visit *const group_steps[] = {sum_model, group_wants, group_step};
    int group = g->r.p->group;
    kb_sweep sweep = {.columns = g->r.c,
                      .set = &g->set,
                      .order = g->order,
                      .whole = group,
                      .arg = g,
                      .pace = &g->pace};
    memcpy(sweep.visit, group ? group_steps : steps[g->engine], sizeof sweep.visit);
    shuffle(g);
    kb_sweep_run(g->r.ctx, &sweep);
    kb_team_rest(g->r.ctx,
                 g->pace.rest > 0); /* then the work between epochs is not shared either */
    *miss = 0;
    for (size_t k = 0; k < g->set.count; k++) {
        *miss += g->miss[k];
        g->r.p->w[g->set.column[k]] = g->x[k];
    }
    g->r.p->epochs++;
}

/* Outside of the set all weights are zero. */
double kb_grid_penalty(const kb_grid_cd *g) {
    double sum = 0;
    if (g->r.p->group)
        return kb_l1_penalty(&g->r);
    for (size_t k = 0; k < g->set.count; k++)
        sum += fabs(g->r.p->w[g->set.column[k]]);
    return g->r.p->lambda * sum;
}

/* ---- on the loss itself ------------------------------------------------ */

/* u = y - f. */
static void gaps_from_f(void *arg, size_t begin, size_t end) {
    kb_grid_cd *g = arg;
    for (size_t i = begin; i < end; i++)
        g->u[i] = g->r.y[i] - g->r.f[i];
}

static void f_from_gaps(void *arg, size_t begin, size_t end) {
    kb_grid_cd *g = arg;
    for (size_t i = begin; i < end; i++)
        g->r.f[i] = g->r.y[i] - g->u[i];
}

void kb_grid_keep_f(kb_grid_cd *g) {
    double *kept = g->r.f;
    g->r.f = g->old_f;
    g->old_f = kept;
}

static void step_on_loss(kb_grid_cd *g, double *miss) {
    kb_grid_on_rows(g, gaps_from_f);
    epoch(g, miss);
    kb_grid_keep_f(g);
    kb_grid_on_rows(g, f_from_gaps);
    kb_l1_fit_intercept(&g->r);
}

/* ---- on a model -------------------------------------------------------- */

/* The model at f: pushes, and curvatures that are not too small to divide by. */
static void model_rows(void *arg, size_t begin, size_t end) {
    kb_grid_cd *g = arg;
    double least = g->floor * g->r.p->loss->beta;
    for (size_t i = begin; i < end; i++) {
        double weight = g->r.s ? g->r.s[i] : 1;
        g->u[i] = g->r.push[i];
        g->h[i] = fmax(g->r.curvature[i], least * weight);
    }
}

static void make_model(kb_grid_cd *g) {
    kb_grid_on_rows(g, model_rows);
    for (size_t k = 0; k < g->set.count; k++)
        g->old[k] = g->r.p->w[g->set.column[k]];
    g->fresh = 1;
}

/* The intercept is one more column, of ones. */
static kb_status move_intercept(kb_grid_cd *g) {
    kb_status status = KB_OK;
    double G, H;
    if (!g->r.p->intercept)
        return KB_OK;
    TRY(kb_sums(g->r.ctx, g->r.N, 1, g->u, NULL, &G));
    TRY(kb_sums(g->r.ctx, g->r.N, 1, g->h, NULL, &H));
    if (!(H > 0))
        goto done;
    g->r.p->b += G / H;
    for (size_t i = 0; i < g->r.N; i++)
        g->u[i] -= G / H * g->h[i];
done:
    return status;
}

/* u was push - h (change of f): it becomes that change. */
static void way_of_rows(void *arg, size_t begin, size_t end) {
    kb_grid_cd *g = arg;
    for (size_t i = begin; i < end; i++)
        g->u[i] = g->h[i] > 0 ? (g->r.push[i] - g->u[i]) / g->h[i] : 0;
}

static void go_rows(void *arg, size_t begin, size_t end) {
    kb_grid_cd *g = arg;
    for (size_t i = begin; i < end; i++)
        g->r.f[i] = g->old_f[i] + g->t * g->u[i];
}

/* w, b and f at a share t of the way from `old` to `way`, from old_b by way_b, and from old_f by u.
 */
static void go(kb_grid_cd *g, double t, double old_b, double way_b) {
    kb_l1 *p = g->r.p;
    for (size_t k = 0; k < g->set.count; k++)
        p->w[g->set.column[k]] = t == 1 ? g->way[k] : g->old[k] + t * (g->way[k] - g->old[k]);
    p->b = old_b + t * way_b;
    g->t = t;
    kb_grid_on_rows(g, go_rows);
}

/* Follows the model's epochs as far as the objective falls. */
static kb_status search(kb_grid_cd *g, double old_b) {
    kb_status status = KB_OK;
    kb_l1_rows *r = &g->r;
    double way_b = r->p->b - old_b, t = 1, loss;
    kb_grid_on_rows(g, way_of_rows);
    kb_grid_keep_f(g);
    for (size_t k = 0; k < g->set.count; k++)
        g->way[k] = r->p->w[g->set.column[k]];
    for (int halving = 0; halving <= MOST_HALVINGS + 1; halving++, t /= 2) {
        if (halving > MOST_HALVINGS)
            t = 0;
        go(g, t, old_b, way_b);
        TRY(kb_l1_evaluate(r, &loss));
        double there = loss + kb_grid_penalty(g);
        if (t > 0 && !(there <= g->objective * (1 + ROUNDING)))
            continue;
        g->objective = there;
        break;
    }
    g->stuck = t == 0 && g->floor == 1;
    g->floor = t == 1 ? fmax(FLAT, g->floor / 2) : fmin(1, 4 * g->floor);
done:
    return status;
}

/* The pushes and curvatures must be those of f. */
static kb_status step_on_model(kb_grid_cd *g, double *miss) {
    kb_status status = KB_OK;
    double later, b = g->r.p->b;
    make_model(g);
    for (int k = 0; k < EPOCHS_A_MODEL; k++) {
        epoch(g, k == 0 ? miss : &later);
        g->fresh = 0;
        TRY(move_intercept(g));
    }
    TRY(search(g, b));
done:
    return status;
}

/* ---- rounds ------------------------------------------------------------ */

static int group_moves(const kb_grid_cd *g, size_t block, double *miss) {
    const kb_columns *c = g->r.c;
    double pull = 0, lambda = g->r.p->lambda * kb_l1_group_weight(c, block);
    int moves = 0;
    for (size_t j = c->block_start[block]; j < c->block_start[block + 1]; j++) {
        pull += g->r.pull[j] * g->r.pull[j];
        moves |= g->r.p->w[j] != 0;
    }
    moves |= sqrt(pull) > lambda;
    *miss = INFINITY; /* the first epoch will tell */
    return moves;
}

/* *miss = how far all columns are. */
static void choose_set(kb_grid_cd *g, double *miss) {
    const kb_columns *c = g->r.c;
    const kb_l1 *p = g->r.p;
    *miss = 0;
    g->set.count = 0;
    for (size_t block = 0; block < c->blocks; block++) {
        int all = p->group && group_moves(g, block, miss);
        for (size_t j = c->block_start[block]; j < c->block_start[block + 1]; j++) {
            if (p->group ? !all : p->w[j] == 0 && fabs(g->r.pull[j]) <= p->lambda)
                continue;
            kb_set_add(&g->set, c, j);
            if (!p->group)
                *miss += miss_of(p->w[j], g->r.pull[j], p->lambda);
        }
        kb_set_end_block(&g->set, block);
    }
}

/* Leaves out the columns that rested at zero in the last epoch, until the next look. */
static void shrink_set(kb_grid_cd *g) {
    size_t kept = 0, k = 0;
    for (size_t block = 0; block < g->r.c->blocks; block++) {
        size_t end = g->set.start[block + 1];
        for (; k < end; k++) {
            size_t j = g->set.column[k];
            if (g->r.p->w[j] == 0 && g->miss[k] == 0 && !kb_grid_is_moving(g, j))
                continue;
            g->set.count = kept;
            kb_set_add(&g->set, g->r.c, j);
            kept++;
        }
        g->set.count = kept;
        kb_set_end_block(&g->set, block);
    }
}

/* f afresh from w and b, without the rounding of all the steps. */
static void respond(kb_grid_cd *g) {
    for (size_t k = 0; k < g->set.count; k++)
        g->way[k] = g->r.p->w[g->set.column[k]];
    kb_set_sum(g->r.ctx, g->r.c, &g->set, g->way, g->r.f);
    for (size_t i = 0; i < g->r.N; i++)
        g->r.f[i] += g->r.p->b;
}

static kb_status round_of(kb_grid_cd *g) {
    kb_status status = KB_OK;
    kb_l1 *p = g->r.p;
    int on_model = g->engine == KB_GRID_MODEL;
    double first, miss = 0;
    choose_set(g, &first);
    g->objective = p->objective;
    for (int k = 1; k <= (on_model ? MOST_MODELS : MOST_EPOCHS) && p->epochs < p->max_epochs; k++) {
        if (!p->group)
            kb_grid_begin_move(g);
        if (on_model)
            TRY(step_on_model(g, &miss));
        else
            step_on_loss(g, &miss);
        if (first == INFINITY)
            first = miss;
        if (!p->group) {
            TRY(kb_grid_span(g));
            shrink_set(g);
        }
        TRY(kb_progress(g->r.ctx, "solve", kb_l1_progress(p)));
        if (miss < ENOUGH * first || g->stuck)
            break;
    }
    if (!p->group)
        kb_grid_drop_zeros(g);
done:
    return status;
}

static kb_grid_engine engine_for(const kb_l1 *p) {
    if (p->s || !p->columns->octet || p->group)
        return KB_GRID_MODEL;
    return p->loss == kb_loss_find("square")          ? KB_GRID_SQUARE
           : p->loss == kb_loss_find("squared-hinge") ? KB_GRID_HINGE
                                                      : KB_GRID_MODEL;
}

/* Which targets are positive, for the loops over octets. */
static kb_status note_signs(kb_grid_cd *g) {
    kb_status status =
        kb_zalloc(g->r.ctx, (g->r.N + KB_OCTET - 1) / KB_OCTET, sizeof *g->up, &g->up);
    for (size_t i = 0; status == KB_OK && i < g->r.N; i++)
        if (g->r.y[i] > 0)
            g->up[i / KB_OCTET] |= (uint8_t)(1 << i % KB_OCTET);
    return status;
}

static kb_status create(kb_context *ctx, kb_l1 *p, kb_grid_cd *g) {
    kb_status status;
    TRY(kb_l1_open(ctx, p, &g->r));
    g->engine = engine_for(p);
    g->floor = CAUTIOUS;
    double **row[3 + KB_GRID_MOVES] = {&g->u, &g->h, &g->old_f},
                     **place[] = {&g->H, &g->x, &g->old, &g->way, &g->miss};
    for (size_t q = 0; q < KB_GRID_MOVES; q++)
        row[3 + q] = &g->move[q].row;
    TRY(kb_l1_arrays(&g->r, 3 + KB_GRID_MOVES, row, &g->memory));
    for (size_t i = 0; i < sizeof place / sizeof *place; i++)
        TRY(kb_alloc(ctx, g->r.D, sizeof(double), place[i]));
    for (size_t block = 0; block < p->columns->blocks; block++) {
        size_t width = p->columns->block_start[block + 1] - p->columns->block_start[block];
        g->widest = width > g->widest ? width : g->widest;
    }
    g->widest = (g->widest + 7) / 8 * 8; /* so that parts do not share cache lines */
    TRY(kb_alloc(ctx, 2 * KB_PART_KINDS * KB_PARTS * g->widest, sizeof *g->sums, &g->sums));
    TRY(kb_grid_moves_create(g));
    TRY(kb_alloc(ctx, g->r.c->blocks, sizeof *g->order, &g->order));
    TRY(kb_set_create(ctx, g->r.c, &g->set));
    if (g->engine == KB_GRID_HINGE)
        TRY(note_signs(g));
done:
    return status;
}

static void release(kb_context *ctx, kb_grid_cd *g) {
    kb_team_rest(ctx, 0);
    kb_l1_close(&g->r); /* first: f may be of this memory */
    void *all[] = {g->memory, g->H, g->x, g->old, g->way, g->miss, g->order, g->sums, g->up};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kb_release(ctx, all[i]);
    if (g->r.ctx)
        kb_grid_moves_release(g);
    kb_set_release(ctx, &g->set);
}

kb_status kb_l1_grid_cd(kb_context *ctx, kb_l1 *p) {
    kb_status status;
    kb_grid_cd g = {0};
    TRY(create(ctx, p, &g));
    TRY(kb_l1_look(&g.r));
    while (!p->converged && p->epochs < p->max_epochs && !g.stuck) {
        TRY(round_of(&g));
        TRY(kb_l1_look(&g.r));
    }
    if (p->epochs > 0)
        respond(&g);
done:
    release(ctx, &g);
    return status;
}
