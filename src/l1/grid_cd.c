/*
 * grid_cd.c - coordinate descent on a working set, grid by grid; see l1.h.
 *
 *     repeat
 *       look at all columns: pulls G, duality gap, and the working set of those with w != 0 or
 *         |G| > lambda; V = how far they are from their optimum, summed
 *       some times, or until an epoch finds less than 0.3 V:
 *         an epoch over the grids in a fresh random order, and in each the columns of the set:
 *             x = soft(G + H w, lambda) / H
 *         after each the best combination of its move and the last ones (span.c)
 *     until the gap is closed
 *
 * G and H come from the loss itself where that is quick: square, and squared hinge.  For the rest
 * the losses are replaced by their quadratic models at the present f, two epochs minimise that, and
 * a line search decides how far to follow it.  Where the losses are flat the steps of the models
 * would be too long, so their curvatures have a floor.  It rises when a step was too long, up to
 * where the models bound the losses, and else falls.
 */
#include "l1/grid_parts.h"
#include "core/random.h"
#include "core/sums.h"
#include "core/team.h"
#include "core/weights.h"

#include <math.h>
#include <string.h>

enum { MOST_EPOCHS = 5, MOST_MODELS = 4, EPOCHS_A_MODEL = 2, MOST_HALVINGS = 6 };
static const double ENOUGH = 0.3;
/* The floor of the curvatures, as a share of the largest possible one: at first and at least. */
static const double CAUTIOUS = 0.05, FLAT = 4e-6;
static const double ROUNDING = 1e-14;

void kb_grid_on_rows(kb_grid_cd *g, void (*body)(void *arg, size_t begin, size_t end)) {
    kb_team_for(g->r.ctx, g->r.N, KB_WORTH_A_THREAD / 4, body, g);
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

/* A part of the rows is in the cache of one thread: more threads than parts would only move rows
 * between caches.  While epochs run on one thread, so does the work between them. */
static void share_work(kb_grid_cd *g) {
    kb_team_limit(g->r.ctx, g->pace.rest > 0 ? 1 : (int)g->r.c->parts);
}

/* *miss = how far the columns were from their optimum, each at its turn. */
static void epoch(kb_grid_cd *g, double *miss) {
    kb_column_pass sweep = {.columns = g->r.c,
                            .set = &g->set,
                            .order = g->order,
                            .whole = g->r.p->group || g->r.ranked,
                            .arg = g,
                            .pace = &g->pace};
    kb_grid_visits(g, &sweep);
    shuffle(g);
    kb_column_pass_run(g->r.ctx, &sweep);
    share_work(g);
    double *before = g->w;
    g->w = g->x;
    g->x = before;
    *miss = kb_sum(g->set.count, g->miss);
    g->r.p->epochs++;
}

/* Outside of the set all weights are zero. */
double kb_grid_penalty(const kb_grid_cd *g) {
    const size_t *start = g->set.start;
    double sum = 0;
    if (!g->r.p->group)
        return g->r.p->lambda * kb_sum_sizes(g->set.count, g->w);
    for (size_t block = 0; block < g->r.c->blocks; block++)
        sum +=
            kb_l1_group_weight(g->r.c, block) * kb_l1_length(g->w, start[block], start[block + 1]);
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

static kb_status step_on_loss(kb_grid_cd *g, double *miss) {
    kb_grid_on_rows(g, gaps_from_f);
    epoch(g, miss);
    kb_grid_keep_f(g);
    kb_grid_on_rows(g, f_from_gaps);
    return kb_l1_fit_intercept(&g->r);
}

/* ---- on a model -------------------------------------------------------- */

/* The model at f: pushes, and curvatures that are not too small to divide by. */
static void model_rows(void *arg, size_t begin, size_t end) {
    kb_grid_cd *g = arg;
    double least = g->floor * g->r.p->loss->beta;
    for (size_t i = begin; i < end; i++) {
        double weight = kb_weight_of(g->r.s, i);
        g->u[i] = g->r.push[i];
        g->h[i] = fmax(g->r.curvature[i], least * weight);
    }
}

static kb_status make_model(kb_grid_cd *g) {
    kb_grid_on_rows(g, model_rows);
    memcpy(g->old, g->w, g->set.count * sizeof *g->old);
    g->fresh = 1;
    return g->r.ranked ? kb_grid_round(g) : KB_OK;
}

/* b has moved by t. */
static void shift_rows(void *arg, size_t begin, size_t end) {
    kb_grid_cd *g = arg;
    if (g->r.ranked) {
        kb_grid_shift_rounded(g, begin, end, -g->t);
        return;
    }
    for (size_t i = begin; i < end; i++)
        g->u[i] -= g->t * g->h[i];
}

/* The intercept is one more column, of ones. */
static kb_status move_intercept(kb_grid_cd *g) {
    kb_status status = KB_OK;
    double G, H;
    if (!g->r.p->intercept)
        return KB_OK;
    TRY(kb_row_sums(g->r.ctx, g->r.N, 1, g->u, NULL, &G));
    TRY(kb_row_sums(g->r.ctx, g->r.N, 1, g->h, NULL, &H));
    if (!(H > 0))
        goto done;
    g->t = G / H;
    g->r.p->b += g->t;
    kb_grid_on_rows(g, shift_rows);
done:
    return status;
}

/* u was push - h (change of f): it becomes that change. */
static void way_of_rows(void *arg, size_t begin, size_t end) {
    kb_grid_cd *g = arg;
    for (size_t i = begin; i < end; i++)
        g->u[i] = g->h[i] > 0 ? (g->r.push[i] - g->u[i]) / g->h[i] : 0;
}

static void add_shift(void *arg, size_t begin, size_t end) {
    kb_grid_cd *g = arg;
    for (size_t i = begin; i < end; i++)
        g->u[i] += g->t;
}

/* u becomes the change of f by the epochs of a model, in which b has moved by way_b.  With ranks
 * it comes from the weights: a rounded u does not tell it where curvatures are small. */
static void find_way(kb_grid_cd *g, double way_b) {
    if (!g->r.ranked) {
        kb_grid_on_rows(g, way_of_rows);
        return;
    }
    for (size_t k = 0; k < g->set.count; k++)
        g->x[k] = g->w[k] - g->old[k];
    kb_set_sum(g->r.ctx, g->r.c, &g->set, g->x, g->u);
    g->t = way_b;
    kb_grid_on_rows(g, add_shift);
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
        g->w[k] = t == 1 ? g->way[k] : g->old[k] + t * (g->way[k] - g->old[k]);
    p->b = old_b + t * way_b;
    g->t = t;
    kb_grid_on_rows(g, go_rows);
}

/* Follows the model's epochs as far as the objective falls. */
static kb_status search(kb_grid_cd *g, double old_b) {
    kb_status status = KB_OK;
    kb_l1_rows *r = &g->r;
    double way_b = r->p->b - old_b, t = 1, loss;
    find_way(g, way_b);
    kb_grid_keep_f(g);
    memcpy(g->way, g->w, g->set.count * sizeof *g->way);
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
    TRY(make_model(g));
    for (int k = 0; k < EPOCHS_A_MODEL; k++) {
        epoch(g, k == 0 ? miss : &later);
        TRY(g->status);
        g->fresh = 0;
        TRY(move_intercept(g));
    }
    TRY(search(g, b));
done:
    return status;
}

/* ---- rounds ------------------------------------------------------------ */

/* Whether some column of the block may move. */
static int group_moves(const kb_grid_cd *g, size_t block) {
    const kb_zcolumns *c = g->r.c;
    int moves = g->r.strongest[block] > g->r.p->lambda;
    for (size_t j = c->block_start[block]; j < c->block_start[block + 1] && !moves; j++)
        moves = g->r.p->w[j] != 0;
    return moves;
}

/* The columns of some blocks that are to be visited, and how many; a block's lie where all of its
 * own would. */
static void choose_columns(void *arg, size_t begin, size_t end) {
    kb_grid_cd *g = arg;
    const kb_zcolumns *c = g->r.c;
    const kb_l1 *p = g->r.p;
    for (size_t block = begin; block < end; block++) {
        int all = p->group && group_moves(g, block);
        size_t count = 0, *at = g->set.column + c->block_start[block];
        for (size_t j = c->block_start[block]; j < c->block_start[block + 1]; j++) {
            int moves = (p->w[j] != 0) | (fabs(g->r.pull[j]) > p->lambda);
            at[count] = j;
            count += (size_t)(p->group ? all : moves);
        }
        g->set.start[block + 1] = count;
    }
}

/* *miss = how far all columns are from their optimum. */
static void choose_set(kb_grid_cd *g, double *miss) {
    const kb_zcolumns *c = g->r.c;
    kb_team_for(g->r.ctx, c->blocks, c->columns < KB_WORTH_A_THREAD ? c->blocks : 1, choose_columns,
                g);
    g->set.count = 0;
    for (size_t block = 0; block < c->blocks; block++) {
        const size_t *from = g->set.column + c->block_start[block];
        for (const size_t *end = from + g->set.start[block + 1]; from < end; from++)
            kb_set_add(&g->set, c, *from);
        kb_set_end_block(&g->set, block);
    }
    kb_grid_fetch(g);
    *miss = g->r.p->group ? INFINITY : kb_sum(g->set.count, g->miss); /* the first epoch tells */
}

/* Leaves out the columns that rested at zero in the last epoch, until the next look. */
static void shrink_set(kb_grid_cd *g) {
    size_t kept = 0, k = 0;
    for (size_t block = 0; block < g->r.c->blocks; block++) {
        size_t end = g->set.start[block + 1];
        for (; k < end; k++) {
            if (g->w[k] == 0 && g->miss[k] == 0 && !kb_grid_is_moving(g, k)) {
                g->r.p->w[g->set.column[k]] = 0;
                continue;
            }
            kb_grid_shift(g, k, kept);
            g->set.count = kept;
            kb_set_add(&g->set, g->r.c, g->set.column[k]);
            kept++;
        }
        g->set.count = kept;
        kb_set_end_block(&g->set, block);
    }
}

/* f computed again from w and b, without the rounding of all the steps. */
static void respond(kb_grid_cd *g) {
    kb_set_sum(g->r.ctx, g->r.c, &g->set, g->w, g->r.f);
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
        kb_grid_begin_move(g);
        TRY(on_model ? step_on_model(g, &miss) : step_on_loss(g, &miss));
        if (first == INFINITY)
            first = miss;
        TRY(kb_grid_span(g));
        if (!p->group)
            shrink_set(g);
        TRY(kb_ranks_progress(g->r.ctx, "solve", kb_l1_progress(p)));
        if (miss < ENOUGH * first || g->stuck || kb_is_late(g->r.ctx))
            break;
    }
    kb_grid_drop_zeros(g);
done:
    kb_grid_park(g);
    return status;
}

static kb_grid_engine engine_for(const kb_l1 *p, int ranked) {
    if (p->s || !p->columns->octet || p->group || ranked)
        return KB_GRID_MODEL;
    return p->loss->kind == KB_LOSS_SQUARE          ? KB_GRID_SQUARE
           : p->loss->kind == KB_LOSS_SQUARED_HINGE ? KB_GRID_HINGE
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
    g->engine = engine_for(p, g->r.ranked);
    g->floor = CAUTIOUS;
    double **row[3 + KB_GRID_MOVES] = {&g->u, &g->h, &g->old_f},
                     **place[] = {&g->w, &g->H, &g->x, &g->old, &g->way, &g->miss};
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
    TRY(kb_alloc(ctx, 2 * KB_PART_KINDS * g->r.c->parts * g->widest, sizeof *g->sums, &g->sums));
    if (g->r.ranked)
        TRY(kb_alloc(ctx, 2 * g->widest, sizeof *g->whole, &g->whole));
    TRY(kb_grid_moves_create(g));
    TRY(kb_alloc(ctx, g->r.c->blocks, sizeof *g->order, &g->order));
    TRY(kb_set_create(ctx, g->r.c, &g->set));
    if (g->engine == KB_GRID_HINGE)
        TRY(note_signs(g));
done:
    return status;
}

static void release(kb_context *ctx, kb_grid_cd *g) {
    kb_team_limit(ctx, 0);
    kb_pace_end(ctx, &g->pace);
    kb_l1_close(&g->r); /* first: f may be of this memory */
    void *all[] = {g->memory, g->w,     g->H,    g->x,  g->old,  g->way,
                   g->miss,   g->order, g->sums, g->up, g->whole};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kb_release(ctx, all[i]);
    if (g->r.ctx)
        kb_grid_moves_release(g);
    kb_set_release(ctx, &g->set);
}

/* Of all ranks. */
static kb_status count_rows(kb_l1_rows *r) {
    int64_t rows = (int64_t)r->N;
    kb_status status = kb_ranks_sum(r->ctx, &rows, 1);
    r->rows = (size_t)rows;
    return status;
}

kb_status kb_l1_grid_cd(kb_context *ctx, kb_l1 *p) {
    kb_status status;
    kb_grid_cd g = {0};
    kb_pace_begin(ctx, &g.pace);
    kb_team_limit(ctx, g.pace.rest > 0);
    TRY(kb_ranks_agree(ctx, create(ctx, p, &g)));
    TRY(count_rows(&g.r));
    TRY(kb_l1_look(&g.r));
    while (!p->converged && p->epochs < p->max_epochs && !g.stuck &&
           !(p->epochs > 0 && kb_is_late(ctx))) {
        share_work(&g);
        TRY(round_of(&g));
        kb_team_limit(ctx, g.pace.rest > 0); /* else all may look */
        TRY(kb_l1_look(&g.r));
    }
    if (p->epochs > 0)
        respond(&g);
done:
    release(ctx, &g);
    return status;
}
