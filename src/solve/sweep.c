/* sweep.c - see sweep.h. */
#include "solve/sweep.h"
#include "core/team.h"

#include <string.h>

/* A visit costs as much as so many nonzeros. */
enum { VISIT = 8 };
/* Work of a thread in a block that a meeting is worth. */
enum { WORTH_A_MEETING = 1500 };
/* Sweeps until the speed of one thread is measured anew, and the most it is left alone. */
enum { REMEMBER = 64, LONGEST_WAIT = 64 };
/* The team may be late by this much. */
static const double GRACE = 1e-4;

kb_status kb_set_create(kb_context *ctx, const kb_columns *c, kb_set *set) {
    kb_status status;
    TRY(kb_zalloc(ctx, c->blocks + 1, sizeof *set->start, &set->start));
    TRY(kb_alloc(ctx, c->columns, sizeof *set->column, &set->column));
    TRY(kb_zalloc(ctx, c->columns + 1, sizeof *set->work, &set->work));
done:
    return status;
}

void kb_set_release(kb_context *ctx, kb_set *set) {
    kb_release(ctx, set->start);
    kb_release(ctx, set->column);
    kb_release(ctx, set->work);
}

void kb_set_add(kb_set *set, const kb_columns *c, size_t j) {
    size_t k = set->count++;
    set->column[k] = j;
    set->work[k + 1] = set->work[k] + kb_column_count(c, j) + VISIT;
}

void kb_set_end_block(kb_set *set, size_t block) {
    set->start[block + 1] = set->count;
}

typedef struct running {
    kb_context *ctx;
    const kb_sweep *sweep;
    double began;
    size_t done;  /* work */
    int leave[2]; /* in turn, so that a slow reader does not see the next one */
    int left;
} running;

/* Where thread `me` begins among the places from low to high: the work is dealt out evenly. */
static size_t cut(const kb_set *set, size_t low, size_t high, int me, int threads) {
    size_t target = set->work[low] + kb_share(set->work[high] - set->work[low], me, threads);
    if (me == threads)
        return high;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (set->work[middle] < target)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* By the first thread, before a meeting. */
static int too_slow(running *r, size_t block) {
    const kb_set *set = r->sweep->set;
    r->done += set->work[set->start[block + 1]] - set->work[set->start[block]];
    return kb_seconds() - r->began > r->sweep->pace->alone * (double)r->done + GRACE;
}

static void sweep_blocks(void *arg, int me, int threads) {
    running *r = arg;
    const kb_sweep *w = r->sweep;
    int turn = 0;
    for (size_t q = 0; q < w->columns->blocks; q++) {
        size_t block = w->order ? w->order[q] : q;
        if (w->set->start[block] == w->set->start[block + 1])
            continue;
        size_t low = w->set->start[block], high = w->set->start[block + 1];
        size_t begin = cut(w->set, low, high, me, threads);
        size_t end = cut(w->set, low, high, me + 1, threads);
        w->visit[0](w->arg, block, begin, end);
        if (w->visit[1]) {
            if (threads > 1)
                kb_team_meet(r->ctx);
            w->visit[1](w->arg, block, begin, end);
        }
        if (threads == 1)
            continue;
        int *leave = &r->leave[turn++ % 2];
        if (me == 0)
            *leave = too_slow(r, block);
        kb_team_meet(r->ctx);
        if (*leave) {
            if (me > 0)
                return;
            threads = 1;
            r->left = 1;
        }
    }
}

void kb_sweep_run(kb_context *ctx, const kb_sweep *w) {
    const kb_set *set = w->set;
    size_t work = set->work[set->count], busy = 0;
    kb_pace *pace = w->pace;
    running r = {.ctx = ctx, .sweep = w};
    for (size_t block = 0; block < w->columns->blocks; block++)
        busy += set->start[block] < set->start[block + 1];
    int small = ctx->threads == 1 || work < busy * (size_t)ctx->threads * WORTH_A_MEETING;
    int alone = small || pace->alone == 0 || pace->rest > 0 || pace->since >= REMEMBER;
    r.began = kb_seconds();
    kb_team_run(ctx, alone, sweep_blocks, &r);
    if (small || work == 0)
        return;
    if (alone) {
        pace->alone = (kb_seconds() - r.began) / (double)work;
        pace->rest -= pace->rest > 0;
        pace->since = 0;
    } else if (r.left) {
        pace->wait = pace->wait == 0              ? 1
                     : pace->wait >= LONGEST_WAIT ? LONGEST_WAIT
                                                  : 2 * pace->wait;
        pace->rest = pace->wait;
    } else {
        pace->wait = 0;
        pace->since++;
    }
}

/* ---- without meetings -------------------------------------------------- */

typedef struct summing {
    const kb_columns *c;
    const kb_set *set;
    const double *a;
    double *u;
} summing;

/* The first of the rows, which increase, that is not below `least`. */
static size_t first_row(const uint32_t *row, size_t count, size_t least) {
    size_t low = 0;
    while (low < count) {
        size_t middle = low + (count - low) / 2;
        if (row[middle] < least)
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

static void add_rows(const uint32_t *row, size_t count, size_t begin, size_t end, double by,
                     double *u) {
    for (size_t e = first_row(row, count, begin); e < count && row[e] < end; e++)
        u[row[e]] += by;
}

static void sum_rows(void *arg, int me, int threads) {
    const summing *s = arg;
    const kb_columns *c = s->c;
    size_t begin = kb_share(c->rows, me, threads), end = kb_share(c->rows, me + 1, threads);
    memset(s->u + begin, 0, (end - begin) * sizeof *s->u);
    for (size_t k = 0; k < s->set->count; k++) {
        size_t j = s->set->column[k];
        if (s->a[k] == 0)
            continue;
        if (!c->row) {
            for (size_t i = begin; i < end; i++)
                s->u[i] += s->a[k] * c->dense[j * c->rows + i];
            continue;
        }
        const uint32_t *row = c->row + c->start[j];
        size_t up = c->positive[j], count = kb_column_count(c, j);
        add_rows(row, up, begin, end, c->value * s->a[k], s->u);
        add_rows(row + up, count - up, begin, end, c->value * s->a[k], s->u);
    }
}

void kb_set_sum(kb_context *ctx, const kb_columns *c, const kb_set *set, const double *a,
                double *u) {
    summing s = {c, set, a, u};
    kb_team_run(ctx, set->work[set->count] < 2 * KB_WORTH_A_THREAD, sum_rows, &s);
}
