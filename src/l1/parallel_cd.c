/*
 * parallel_cd.c - randomised coordinate descent by many threads (the paper's Algorithm 2); see
 * l1.h.
 *
 * Every thread draws its own columns and takes the step of random_cd.c with the current responses.
 * They are shared: read without locks and added to atomically, so that no addition is lost and f =
 * Z w + b holds after every epoch, up to rounding.  The pushes follow them.  A weight is exchanged
 * atomically too; a thread that finds that another has moved its column meanwhile skips it.
 *
 * Two threads that move columns with common rows at the same time may together overshoot.  Columns
 * of random binning share few rows, so that is rare, but possible: the objective is computed after
 * every epoch, and if it rose the epoch is undone and the steps are halved, down to one over the
 * number of threads, with which simultaneous steps do not diverge (Richtarik and Takac 2016).  If
 * the objective rises even then, one thread continues alone.
 */
#include "core/random.h"
#include "core/team.h"
#include "core/weights.h"
#include "l1/l1_rows.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

/* Epochs between two computations of the gap. */
enum { LOOK = 5 };
static const double ROUNDING = 1e-12;

typedef struct parallel {
    kb_l1_rows r;
    _Atomic double *f, *push; /* N */
    _Atomic double *w;        /* D */
    double *M;                /* D: bounds on the second derivatives */
    double *old;              /* D: weights before the epoch */
    double damp;
    size_t first; /* draw of the epoch */
    int alone;
} parallel;

static double read_shared(const _Atomic double *x) {
    return atomic_load_explicit(x, memory_order_relaxed);
}

static void write_shared(_Atomic double *x, double value) {
    atomic_store_explicit(x, value, memory_order_relaxed);
}

/* Returns the sum. */
static double add_shared(_Atomic double *x, double d) {
    double old = read_shared(x);
    while (!atomic_compare_exchange_weak_explicit(x, &old, old + d, memory_order_relaxed,
                                                  memory_order_relaxed))
        ;
    return old + d;
}

static double pull_of(const parallel *a, size_t j) {
    double sum = 0;
    for (kb_nonzero z = kb_nonzeros(a->r.c, j); kb_nonzero_next(a->r.c, &z);)
        sum += read_shared(&a->push[z.row]) * z.value;
    return sum;
}

/* Of two threads that move a row at once, the later push may be the older one; it stays so until
 * the row moves again or the epoch ends. */
static void add_column(const parallel *a, size_t j, double d) {
    const kb_l1_rows *r = &a->r;
    for (kb_nonzero z = kb_nonzeros(r->c, j); kb_nonzero_next(r->c, &z);) {
        size_t i = z.row;
        double f = add_shared(&a->f[i], d * z.value);
        write_shared(&a->push[i],
                     -r->p->loss->slope(r->p->loss, f, r->y[i]) * kb_weight_of(r->s, i));
    }
}

static void step(const parallel *a, size_t j) {
    double w = read_shared(&a->w[j]), M = a->damp * a->M[j];
    double x = M > 0 ? kb_l1_soft(pull_of(a, j) + M * w, a->r.p->lambda) / M : 0, d = x - w;
    if (d != 0 && atomic_compare_exchange_strong_explicit(&a->w[j], &w, x, memory_order_relaxed,
                                                          memory_order_relaxed))
        add_column(a, j, d);
}

static void draw_columns(void *arg, int me, int threads) {
    const parallel *a = arg;
    size_t D = a->r.D;
    for (size_t t = kb_share(D, me, threads); t < kb_share(D, me + 1, threads); t++) {
        uint32_t word = kb_random(a->r.p->seed, KB_STREAM_DESCENT, a->first + t, 0).word[0];
        step(a, (size_t)(((uint64_t)word * D) >> 32));
    }
}

static void share_rows(void *arg, size_t begin, size_t end) {
    parallel *a = arg;
    for (size_t k = begin; k < end; k++) {
        atomic_init(&a->f[k], a->r.f[k]);
        atomic_init(&a->push[k], a->r.push[k]);
    }
}

static void share_weights(void *arg, size_t begin, size_t end) {
    parallel *a = arg;
    memcpy(a->old + begin, a->r.p->w + begin, (end - begin) * sizeof(double));
    for (size_t j = begin; j < end; j++)
        atomic_init(&a->w[j], a->old[j]);
}

static void share(parallel *a) {
    kb_team_for(a->r.ctx, a->r.N, KB_WORTH_A_THREAD / 2, share_rows, a);
    kb_team_for(a->r.ctx, a->r.D, KB_WORTH_A_THREAD / 2, share_weights, a);
}

static void collect_rows(void *arg, size_t begin, size_t end) {
    parallel *a = arg;
    for (size_t k = begin; k < end; k++)
        a->r.f[k] = read_shared(&a->f[k]);
}

static void collect_weights(void *arg, size_t begin, size_t end) {
    parallel *a = arg;
    for (size_t j = begin; j < end; j++)
        a->r.p->w[j] = read_shared(&a->w[j]);
}

static void collect(parallel *a) {
    kb_team_for(a->r.ctx, a->r.N, KB_WORTH_A_THREAD / 2, collect_rows, a);
    kb_team_for(a->r.ctx, a->r.D, KB_WORTH_A_THREAD / 2, collect_weights, a);
}

/* An epoch that does not raise the objective. */
static kb_status epoch(parallel *a, double *objective) {
    kb_status status = KB_OK;
    kb_l1 *p = a->r.p;
    double loss, b = p->b;
    share(a);
    kb_team_run(a->r.ctx, a->alone, draw_columns, a);
    a->first += a->r.D;
    p->epochs++;
    collect(a);
    TRY(kb_l1_fit_intercept(&a->r));
    TRY(kb_l1_evaluate(&a->r, &loss));
    double there = loss + kb_l1_penalty(&a->r);
    if (there <= *objective * (1 + ROUNDING)) {
        *objective = there;
        goto done;
    }
    memcpy(p->w, a->old, a->r.D * sizeof(double));
    p->b = b;
    kb_l1_respond(&a->r);
    TRY(kb_l1_evaluate(&a->r, &loss));
    a->alone = a->alone || a->damp >= a->r.ctx->threads;
    a->damp = a->alone ? 1 : 2 * a->damp;
done:
    return status;
}

static kb_status create(kb_context *ctx, kb_l1 *p, parallel *a) {
    kb_status status;
    p->group = 0;
    TRY(kb_l1_open(ctx, p, &a->r));
    TRY(kb_alloc(ctx, a->r.N, sizeof *a->f, &a->f));
    TRY(kb_alloc(ctx, a->r.N, sizeof *a->push, &a->push));
    TRY(kb_alloc(ctx, a->r.D, sizeof *a->w, &a->w));
    TRY(kb_alloc(ctx, a->r.D, sizeof(double), &a->M));
    TRY(kb_alloc(ctx, a->r.D, sizeof(double), &a->old));
    kb_l1_bounds(&a->r, a->M);
    a->damp = 1;
done:
    return status;
}

kb_status kb_l1_parallel_cd(kb_context *ctx, kb_l1 *p) {
    kb_status status;
    parallel a = {0};
    TRY(create(ctx, p, &a));
    TRY(kb_l1_look(&a.r));
    double objective = p->objective;
    while (!p->converged && p->epochs < p->max_epochs && !(p->epochs > 0 && kb_is_late(ctx))) {
        TRY(epoch(&a, &objective));
        TRY(kb_progress(ctx, "solve", kb_l1_progress(p)));
        if (p->epochs % LOOK == 0 || p->epochs == p->max_epochs)
            TRY(kb_l1_look(&a.r));
    }
    kb_l1_respond(&a.r);
done:
    kb_release(ctx, a.f);
    kb_release(ctx, a.push);
    kb_release(ctx, a.w);
    kb_release(ctx, a.M);
    kb_release(ctx, a.old);
    kb_l1_close(&a.r);
    return status;
}
