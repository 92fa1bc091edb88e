/*
 * span.c - the minimum of the objective over the span of the last moves; see grid_parts.h.
 *
 * An epoch moved w by d_0, and f by F_0 = Z d_0; the moves before it were d_1, d_2, ... While the
 * signs of w do not change, the penalty is linear, and with the quadratic model of the losses at f
 * the best combination c solves a small system, one equation a move:
 *
 *     sum over l of (F_k' diag(h) F_l) c_l = F_k' push - lambda sign(w)' d_k
 *
 * For the group penalty, smooth where a group is not zero, its own quadratic model is added
 * instead. That costs O(N) for a pair of moves, much less than an epoch, and does for coordinate
 * descent what conjugate directions do for steepest descent.  (Narkiss and Zibulevsky, Sequential
 * subspace optimization, 2005.)  Weights at zero have no part in the moves, those that would change
 * sign become zero, and the step is taken only if the objective falls.
 */
#include "core/sums.h"
#include "core/team.h"
#include "l1/grid_parts.h"
#include "simd/simd.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { MOVES = KB_GRID_MOVES, PAIRS = MOVES * (MOVES + 1) / 2, MOST_HALVINGS = 2 };
static_assert((int)MOVES <= (int)KB_FORMS, "the loops have room for so many");
/* The share of a move that must be independent of the others for it to count. */
static const double NEW = 1e-6;
/* The moves are differences, so they carry rounding.  Combinations that would amplify it, or
 * that hardly lower the objective, are not used. */
static const double MOST_OF_A_MOVE = 100, LEAST_FALL = 1e-13;

kb_status kb_grid_moves_create(kb_grid_cd *g) {
    kb_status status;
    for (int q = 0; q < MOVES; q++)
        g->move[q].slot = q;
    TRY(kb_alloc(g->r.ctx, g->r.D, sizeof *g->moved, &g->moved));
    TRY(kb_alloc(g->r.ctx, g->r.D, sizeof *g->parked, &g->parked));
done:
    return status;
}

void kb_grid_moves_release(kb_grid_cd *g) {
    kb_release(g->r.ctx, g->moved);
    kb_release(g->r.ctx, g->parked);
}

/* Places that are worth a thread. */
enum { PLACES_A_THREAD = 512 };

/* A column whose weight is zero is in no move. */
static void fetch_places(void *arg, size_t begin, size_t end) {
    kb_grid_cd *g = arg;
    const kb_zcolumns *c = g->r.c;
    for (size_t k = begin; k < end; k++) {
        size_t j = g->set.column[k];
        g->w[k] = g->r.p->w[j];
        g->H[k] = c->value * c->value * (double)kb_column_count(c, j);
        g->miss[k] = kb_grid_miss(g->w[k], g->r.pull[j], g->r.p->lambda);
        if (g->w[k] == 0 || g->moves == 0)
            memset(g->moved[k], 0, sizeof *g->moved);
        else
            memcpy(g->moved[k], g->parked[j], sizeof *g->moved);
    }
}

void kb_grid_fetch(kb_grid_cd *g) {
    kb_team_for(g->r.ctx, g->set.count, PLACES_A_THREAD, fetch_places, g);
}

static void park_places(void *arg, size_t begin, size_t end) {
    kb_grid_cd *g = arg;
    for (size_t k = begin; k < end; k++) {
        size_t j = g->set.column[k];
        g->r.p->w[j] = g->w[k];
        if (g->w[k] != 0)
            memcpy(g->parked[j], g->moved[k], sizeof *g->moved);
    }
}

void kb_grid_park(kb_grid_cd *g) {
    kb_team_for(g->r.ctx, g->set.count, PLACES_A_THREAD, park_places, g);
}

void kb_grid_shift(kb_grid_cd *g, size_t from, size_t to) {
    g->w[to] = g->w[from];
    g->H[to] = g->H[from];
    memmove(g->moved[to], g->moved[from], sizeof *g->moved);
}

/* What move q did to the weight of place k. */
static double *moved(const kb_grid_cd *g, size_t k, size_t q) {
    return &g->moved[k][g->move[q].slot];
}

/* Replaces the oldest move. */
void kb_grid_begin_move(kb_grid_cd *g) {
    kb_grid_move oldest = g->move[MOVES - 1];
    memmove(g->move + 1, g->move, (MOVES - 1) * sizeof *g->move);
    g->move[0] = oldest;
    g->moves += g->moves < MOVES;
    for (size_t k = 0; k < g->set.count; k++)
        *moved(g, k, 0) = g->w[k];
    g->move[0].b = g->r.p->b;
}

int kb_grid_is_moving(const kb_grid_cd *g, size_t k) {
    for (size_t q = 0; q < g->moves; q++)
        if (*moved(g, k, q) != 0)
            return 1;
    return 0;
}

static void end_rows(const kb_grid_cd *g, size_t begin, size_t end) {
    for (size_t i = begin; i < end; i++)
        g->move[0].row[i] = g->r.f[i] - g->old_f[i];
}

static void end_only(void *arg, size_t begin, size_t end) {
    end_rows(arg, begin, end);
}

static void end_and_evaluate(void *arg, size_t begin, size_t end, double *sum) {
    kb_grid_cd *g = arg;
    end_rows(g, begin, end);
    kb_l1_evaluate_rows(&g->r, begin, end, sum);
}

/* The model's line search has left pushes and curvatures at f, and the objective. */
static kb_status end_move(kb_grid_cd *g) {
    kb_status status = KB_OK;
    double loss;
    for (size_t k = 0; k < g->set.count; k++)
        *moved(g, k, 0) = g->w[k] - *moved(g, k, 0);
    g->move[0].b = g->r.p->b - g->move[0].b;
    if (g->engine == KB_GRID_MODEL) {
        kb_grid_on_rows(g, end_only);
        return KB_OK;
    }
    TRY(kb_row_sums_by(g->r.ctx, g->r.N, 1, end_and_evaluate, g, &loss));
    g->objective = loss + kb_grid_penalty(g);
done:
    return status;
}

/* First each thread in its parts of the rows, then each in its share of the columns. */
static void drop_zeros(void *arg, int me, int threads) {
    kb_grid_cd *g = arg;
    const kb_zcolumns *c = g->r.c;
    size_t part_end = kb_share(c->parts, me + 1, threads);
    for (size_t k = 0; k < g->set.count; k++) {
        size_t j = g->set.column[k];
        for (size_t q = 0; q < g->moves && g->w[k] == 0; q++)
            for (size_t p = kb_share(c->parts, me, threads); p < part_end; p++)
                if (*moved(g, k, q) != 0)
                    kb_run_add(c, kb_part_run(c, j, p), -*moved(g, k, q), g->move[q].row);
    }
    kb_team_meet(g->r.ctx, me, threads);
    size_t end = kb_share(g->set.count, me + 1, threads);
    for (size_t k = kb_share(g->set.count, me, threads); k < end; k++)
        if (g->w[k] == 0)
            memset(g->moved[k], 0, sizeof *g->moved);
}

void kb_grid_drop_zeros(kb_grid_cd *g) {
    kb_team_run(g->r.ctx, g->r.N < KB_WORTH_A_THREAD ? 1 : (int)g->r.c->parts, drop_zeros, g);
}

/* ---- the best combination ---------------------------------------------- */

/* The rows' share of the system: of its triangle line by line, and of the right side. */
static void sum_system(void *arg, size_t begin, size_t end, double *sum) {
    const kb_grid_cd *g = arg;
    const double *F[MOVES] = {NULL};
    for (size_t k = 0; k < g->moves; k++)
        F[k] = g->move[k].row + begin;
    memset(sum, 0, (PAIRS + MOVES) * sizeof *sum);
    kb_simd_best()->losses->forms(end - begin, g->moves, g->r.curvature + begin, g->r.push + begin,
                                  F, sum, sum + PAIRS);
}

/* The penalty's share: lambda sign(w)' d_k on the right side. */
static void add_sizes(const kb_grid_cd *g, double *right) {
    double sum[MOVES] = {0}; /* by slots */
    for (size_t p = 0; p < g->set.count; p++) {
        double sign = g->w[p] > 0 ? 1 : g->w[p] < 0 ? -1 : 0;
        for (int slot = 0; slot < MOVES; slot++)
            sum[slot] += sign * g->moved[p][slot];
    }
    for (size_t k = 0; k < g->moves; k++)
        right[k] -= g->r.p->lambda * sum[g->move[k].slot];
}

/* The same of a group of length |w| > 0, which is curved too: with a_k = w'd_k / |w|, lambda a_k on
 * the right side, and lambda (d_k'd_l - a_k a_l) / |w| in the system. */
static void add_group(const kb_grid_cd *g, size_t block, double *system, double *right) {
    double square = 0, a[MOVES] = {0}, product[PAIRS] = {0};
    for (size_t p = g->set.start[block]; p < g->set.start[block + 1]; p++) {
        size_t pair = 0;
        square += g->w[p] * g->w[p];
        for (size_t k = 0; k < g->moves; k++) {
            a[k] += g->w[p] * *moved(g, p, k);
            for (size_t l = 0; l <= k; l++)
                product[pair++] += *moved(g, p, k) * *moved(g, p, l);
        }
    }
    double length = sqrt(square), lambda = g->r.p->lambda * kb_l1_group_weight(g->r.c, block);
    for (size_t k = 0, pair = 0; k < g->moves && length > 0; k++) {
        right[k] -= lambda * a[k] / length;
        for (size_t l = 0; l <= k; l++, pair++)
            system[pair] += lambda * (product[pair] - a[k] * a[l] / square) / length;
    }
}

static void add_penalty(const kb_grid_cd *g, double *sum) {
    if (!g->r.p->group)
        add_sizes(g, sum + PAIRS);
    for (size_t block = 0; g->r.p->group && block < g->r.c->blocks; block++)
        add_group(g, block, sum, sum + PAIRS);
}

/* By Cholesky, leaving out moves that depend on those before them.  Returns whether the step is
 * worth a try. */
static int solve(const kb_grid_cd *g, const double *sum, double *c) {
    double L[MOVES][MOVES] = {{0}}, fall = 0, most = 0;
    const double *right = sum + PAIRS;
    for (size_t k = 0; k < g->moves; k++, sum += k) {
        for (size_t l = 0; l <= k; l++) {
            double rest = sum[l];
            for (size_t q = 0; q < l; q++)
                rest -= L[k][q] * L[l][q];
            if (l == k)
                L[k][k] = rest > NEW * sum[k] ? sqrt(rest) : 0;
            else
                L[k][l] = L[l][l] > 0 ? rest / L[l][l] : 0;
        }
        c[k] = right[k];
        for (size_t q = 0; q < k; q++)
            c[k] -= L[k][q] * c[q];
        c[k] = L[k][k] > 0 ? c[k] / L[k][k] : 0;
        fall += c[k] * c[k] / 2;
    }
    for (size_t k = g->moves; k-- > 0;) {
        for (size_t q = k + 1; q < g->moves; q++)
            c[k] -= L[q][k] * c[q];
        c[k] = L[k][k] > 0 ? c[k] / L[k][k] : 0;
        most = fmax(most, fabs(c[k]));
    }
    return most <= MOST_OF_A_MOVE && fall > LEAST_FALL * g->objective;
}

/* ---- the step ---------------------------------------------------------- */

/* f from old_f by the combination, and by what `way` says of the columns. */
static void go_parts(void *arg, size_t begin, size_t end) {
    kb_grid_cd *g = arg;
    enum { PIECE = 512 };
    size_t rows_end = g->r.c->part[end];
    for (size_t piece = g->r.c->part[begin]; piece < rows_end; piece += PIECE) {
        size_t last = rows_end - piece < PIECE ? rows_end : piece + PIECE;
        double *restrict f = g->r.f;
        memcpy(f + piece, g->old_f + piece, (last - piece) * sizeof *f);
        for (size_t q = 0; q < g->moves; q++) {
            const double *restrict move = g->move[q].row;
            double c = g->c[q];
            for (size_t i = piece; i < last; i++)
                f[i] += c * move[i];
        }
    }
    for (size_t p = begin; p < end; p++)
        kb_set_add_part(g->r.c, &g->set, g->way, p, g->r.f);
}

/* w, b and f from `old`, old_b and old_f by the combination c.  The signs of groups are free. */
static void go(kb_grid_cd *g, double old_b) {
    g->r.p->b = old_b;
    for (size_t q = 0; q < g->moves; q++)
        g->r.p->b += g->c[q] * g->move[q].b;
    for (size_t k = 0; k < g->set.count; k++) {
        double there = g->old[k];
        for (size_t q = 0; q < g->moves && g->old[k] != 0; q++)
            there += g->c[q] * *moved(g, k, q);
        double x = g->r.p->group || there * g->old[k] > 0 ? there : 0;
        g->way[k] = x - there;
        g->w[k] = x;
    }
    size_t parts = g->r.c->parts;
    kb_team_for(g->r.ctx, parts, g->r.N < KB_WORTH_A_THREAD / 2 ? parts : 1, go_parts, g);
}

static void add_rows(void *arg, size_t begin, size_t end) {
    kb_grid_cd *g = arg;
    for (size_t i = begin; i < end; i++)
        g->move[0].row[i] += g->r.f[i] - g->old_f[i];
}

/* The step belongs to the last move. */
static void add_step(kb_grid_cd *g, double old_b) {
    for (size_t k = 0; k < g->set.count; k++)
        *moved(g, k, 0) += g->w[k] - g->old[k];
    kb_grid_on_rows(g, add_rows);
    g->move[0].b += g->r.p->b - old_b;
}

kb_status kb_grid_span(kb_grid_cd *g) {
    kb_status status = KB_OK;
    kb_l1_rows *r = &g->r;
    double sum[PAIRS + MOVES], loss, old_b = r->p->b;
    TRY(end_move(g));
    kb_grid_drop_zeros(g);
    TRY(kb_row_sums_by(r->ctx, r->N, PAIRS + MOVES, sum_system, g, sum));
    add_penalty(g, sum);
    if (!solve(g, sum, g->c))
        goto done;
    memcpy(g->old, g->w, g->set.count * sizeof *g->old);
    kb_grid_keep_f(g);
    for (int halving = 0; halving <= MOST_HALVINGS + 1; halving++) {
        for (size_t q = 0; q < g->moves && halving > 0; q++)
            g->c[q] = halving > MOST_HALVINGS ? 0 : g->c[q] / 2;
        go(g, old_b);
        TRY(g->engine == KB_GRID_MODEL ? kb_l1_evaluate(r, &loss) : kb_l1_loss(r, &loss));
        double there = loss + kb_grid_penalty(g);
        if (there < g->objective) {
            g->objective = there;
            break;
        }
    }
    add_step(g, old_b);
done:
    return status;
}
