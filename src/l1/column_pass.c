/* column_pass.c - see column_pass.h. */
#include "l1/column_pass.h"
#include "core/team.h"
#include "l1/l1_rows.h"

#include <math.h>
#include <string.h>

/* A visit costs as much as so many nonzeros. */
enum { VISIT = 8 };
/* The least work of a thread in a block that is worth a barrier, and the most that it does
 * between two: the rows of a step must not leave the cache between its phases. */
enum { WORTH_A_MEETING = 1500, AT_ONCE = 32768 };
/* Passes until the speed of one thread is measured again, and the most passes that are left to
 * one thread; one block in so many is used to measure. */
enum { REMEMBER = 64, LONGEST_WAIT = 64, SAMPLE = 8 };
/* A team may be slower than one thread by so much, plus what it has saved before, of which at
 * most so much counts: a processor that pauses now and then is no reason to give up the team. */
static const double GRACE = 1e-3, MOST_CREDIT = 5e-3;

kb_status kb_set_create(kb_context *ctx, const kb_zcolumns *c, kb_set *set) {
    kb_status status;
    TRY(kb_zalloc(ctx, c->blocks + 1, sizeof *set->start, &set->start));
    TRY(kb_alloc(ctx, c->columns, sizeof *set->column, &set->column));
    TRY(kb_alloc(ctx, c->columns + 1, sizeof *set->work, &set->work));
    set->work[0] = 0;
done:
    return status;
}

void kb_set_release(kb_context *ctx, kb_set *set) {
    kb_release(ctx, set->start);
    kb_release(ctx, set->column);
    kb_release(ctx, set->work);
}

void kb_set_add(kb_set *set, const kb_zcolumns *c, size_t j) {
    size_t k = set->count++;
    set->column[k] = j;
    set->work[k + 1] = set->work[k] + kb_column_count(c, j) + VISIT;
}

void kb_set_end_block(kb_set *set, size_t block) {
    set->start[block + 1] = set->count;
}

typedef struct running {
    kb_context *ctx;
    const kb_column_pass *sweep;
    size_t from, to; /* blocks, in order */
    double began;
    double allowed; /* seconds behind one thread */
    size_t done;    /* work */
    int leave[2];   /* used alternately, so that a slow reader does not see the next one */
    int left;
} running;

static size_t work_of(const kb_set *set, size_t begin, size_t end) {
    return set->work[end] - set->work[begin];
}

/* By the first thread, before a barrier. */
static int too_slow(running *r, const kb_turn *turn) {
    if (r->sweep->pace->steady)
        return 0;
    r->done += work_of(r->sweep->set, turn->begin, turn->end);
    return kb_seconds() - r->began > r->sweep->pace->alone * (double)r->done + r->allowed;
}

static void share_parts(const kb_zcolumns *c, kb_turn *turn, int threads) {
    turn->threads = threads;
    turn->part = kb_share(c->parts, turn->me, threads);
    turn->part_end = kb_share(c->parts, turn->me + 1, threads);
}

/* Where the places end that are visited at once from turn->begin on. */
static size_t turn_end(const kb_column_pass *w, const kb_turn *turn) {
    const kb_set *set = w->set;
    size_t last = set->start[turn->block + 1], end = turn->begin + 1;
    size_t most = AT_ONCE * (size_t)turn->threads;
    if (w->whole || work_of(set, turn->begin, last) <= most)
        return last;
    while (end < last && work_of(set, turn->begin, end + 1) <= most)
        end++;
    return end;
}

/* Fewer threads may go on.  The previous turn is amended first if necessary.  Its threads have
 * reached a barrier only now, so the first visit must be repeated if the amendment touches rows. */
static void visit(running *r, kb_turn *turn, kb_turn *before) {
    const kb_column_pass *w = r->sweep;
    w->visit[0](w->arg, turn);
    if (turn->threads > 1) {
        int *leave = &r->leave[turn->odd];
        if (turn->me == 0)
            *leave = too_slow(r, turn);
        kb_team_meet(r->ctx, turn->me, turn->threads);
        if (*leave && turn->me > 0) {
            turn->threads = 0;
        } else if (*leave) {
            r->left = 1;
            share_parts(w->columns, turn, 1);
            if (before->threads > 0)
                share_parts(w->columns, before, 1);
        }
    }
    if (turn->threads > 0 && before->threads > 0 && w->amend(w->arg, before)) {
        w->visit[0](w->arg, turn);
        kb_team_meet(r->ctx, turn->me, turn->threads);
    }
    for (int phase = 1; turn->threads > 0 && phase < KB_PHASES && w->visit[phase]; phase++) {
        if (phase > 1)
            kb_team_meet(r->ctx, turn->me, turn->threads);
        w->visit[phase](w->arg, turn);
    }
    before->threads = 0;
    if (w->amend && turn->threads == 1)
        w->amend(w->arg, turn);
    else if (w->amend)
        *before = *turn;
}

static void sweep_blocks(void *arg, int me, int threads) {
    running *r = arg;
    const kb_column_pass *w = r->sweep;
    kb_turn turn = {.me = me}, before = {0};
    share_parts(w->columns, &turn, threads);
    for (size_t q = r->from; q < r->to; q++) {
        turn.block = w->order ? w->order[q] : q;
        turn.begin = w->set->start[turn.block];
        for (; turn.begin < w->set->start[turn.block + 1]; turn.begin = turn.end) {
            turn.end = turn_end(w, &turn);
            turn.odd ^= 1;
            visit(r, &turn, &before);
            if (turn.threads == 0)
                return;
        }
    }
    if (before.threads > 0) {
        kb_team_meet(r->ctx, me, before.threads);
        w->amend(w->arg, &before);
    }
}

/* The first blocks, by one thread. */
static void measure(running *r) {
    const kb_column_pass *w = r->sweep;
    size_t work = 0;
    r->to = w->columns->blocks / SAMPLE + 1;
    sweep_blocks(r, 0, 1);
    for (size_t q = 0; q < r->to; q++) {
        const size_t *start = w->set->start + (w->order ? w->order[q] : q);
        work += work_of(w->set, start[0], start[1]);
    }
    double now = kb_seconds();
    w->pace->alone = work > 0 ? (now - r->began) / (double)work : 0;
    w->pace->since = 0;
    r->began = now;
    r->from = r->to;
    r->to = w->columns->blocks;
}

void kb_pace_begin(kb_context *ctx, kb_pace *pace) {
    *pace = (kb_pace){.steady = kb_has_ranks(ctx)};
    if (!pace->steady)
        pace->rest = pace->wait = ctx->late / 4;
}

void kb_pace_end(kb_context *ctx, const kb_pace *pace) {
    ctx->late = pace->wait;
}

void kb_column_pass_run(kb_context *ctx, const kb_column_pass *w) {
    const kb_set *set = w->set;
    size_t work = set->work[set->count], busy = 0;
    kb_pace *pace = w->pace;
    running r = {.ctx = ctx,
                 .sweep = w,
                 .to = w->columns->blocks,
                 .began = kb_seconds(),
                 .allowed = GRACE + pace->credit};
    for (size_t block = 0; block < w->columns->blocks; block++)
        busy += set->start[block] < set->start[block + 1];
    size_t parts = w->columns->parts;
    size_t threads = (size_t)ctx->threads < parts ? (size_t)ctx->threads : parts;
    int small = threads == 1 || work <= busy * threads * WORTH_A_MEETING;
    int alone = small || pace->rest > 0;
    if (!alone && !pace->steady && (pace->alone == 0 || pace->since >= REMEMBER))
        measure(&r);
    kb_team_run(ctx, alone ? 1 : (int)parts, sweep_blocks, &r);
    pace->rest -= pace->rest > 0;
    if (small || pace->steady)
        return;
    if (alone) {
        pace->alone = (kb_seconds() - r.began) / (double)work;
        pace->since = 0;
    } else if (r.left) {
        pace->wait = 4 * pace->wait + 7 < LONGEST_WAIT ? 4 * pace->wait + 7 : LONGEST_WAIT;
        pace->rest = pace->wait;
        pace->credit = 0;
    } else {
        pace->wait -= pace->wait > 0;
        pace->since++;
        pace->credit += pace->alone * (double)r.done - (kb_seconds() - r.began);
        pace->credit = fmin(fmax(pace->credit, 0), MOST_CREDIT);
    }
}

/* ---- without meetings -------------------------------------------------- */

void kb_set_add_part(const kb_zcolumns *c, const kb_set *set, const double *a, size_t p,
                     double *u) {
    for (size_t k = 0; k < set->count; k++)
        if (a[k] != 0)
            kb_run_add(c, kb_part_run(c, set->column[k], p), a[k], u);
}

typedef struct summing {
    const kb_zcolumns *c;
    const kb_set *set;
    const double *a;
    double *u;
} summing;

static void sum_parts(void *arg, size_t begin, size_t end) {
    const summing *s = arg;
    for (size_t p = begin; p < end; p++) {
        size_t first = s->c->part[p], last = s->c->part[p + 1];
        memset(s->u + first, 0, (last - first) * sizeof *s->u);
        kb_set_add_part(s->c, s->set, s->a, p, s->u);
    }
}

void kb_set_sum(kb_context *ctx, const kb_zcolumns *c, const kb_set *set, const double *a,
                double *u) {
    summing s = {c, set, a, u};
    int small = set->work[set->count] < 2 * KB_WORTH_A_THREAD;
    kb_team_for(ctx, c->parts, small ? c->parts : 1, sum_parts, &s);
}
