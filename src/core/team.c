/*
 * team.c - see team.h.
 *
 * Everything is done by bells, which are counters that threads can wait for.  A worker has two: one
 * tells it that there is work; it rings the other at every barrier and when it is done.  So the
 * last thread to reach a barrier finds that the others have rung, and does not wait.  A thread that
 * waits for a bell spins for a moment, then sleeps on its condition.
 */
#define _GNU_SOURCE
#include "core/team.h"
#include "core/memory.h"
#include "core/machine.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

/* Seconds of spinning before sleeping.  Waking a thread takes about 50 microseconds, so spinning
 * for twice that is never much worse than sleeping at once, if there is a processor for each
 * thread.  If not, the thread that is waited for may need this processor. */
static const double WATCH = 1e-4, WATCH_IN_A_CROWD = 5e-6;
/* Checks between two readings of the clock; the time of a check differs by a factor of ten
 * between processors. */
enum { LOOKS = 32 };
enum { LINE = 64 };

/* In cache lines of its own: waiting threads read it while others write elsewhere. */
typedef struct bell {
    char before[LINE];
    atomic_uint rung;  /* how often; of `here` in this round, and DONE at its end */
    atomic_int asleep; /* threads that wait for it, or are about to */
    pthread_cond_t heard;
    char behind[LINE];
} bell;

/* More than the meetings of a round. */
enum { DONE = 1 << 30 };

/* The caller is the first, and has no thread of its own. */
typedef struct worker {
    kb_team *team;
    pthread_t thread;
    int me;
    bell start; /* of a round of work */
    bell here;
} worker;

struct kb_team {
    kb_allocator allocator;
    pid_t owner;  /* a forked child has the memory but not the threads */
    int size;     /* threads, the caller's among them */
    double watch; /* seconds */
    worker *workers;

    pthread_mutex_t lock;
    atomic_int quit;
    void (*body)(void *arg, int me, int threads);
    void *arg;
    int busy; /* threads at work: 1 between rounds */
};

static inline void look_away(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

static int has_rung(bell *b, unsigned times) {
    return (int)(atomic_load(&b->rung) - times) >= 0;
}

/* Until the bell has been rung so many times. */
static void hear(kb_team *t, bell *b, unsigned times) {
    double began = 0, now = 0;
    do {
        for (int i = 0; i < LOOKS; i++) {
            if (has_rung(b, times))
                return;
            look_away();
        }
        now = kb_seconds();
        began = began == 0 ? now : began;
    } while (now - began < t->watch);
    pthread_mutex_lock(&t->lock);
    atomic_fetch_add(&b->asleep, 1);
    while (!has_rung(b, times))
        pthread_cond_wait(&b->heard, &t->lock);
    atomic_fetch_sub(&b->asleep, 1);
    pthread_mutex_unlock(&t->lock);
}

/* Either this sees that a thread sleeps, or that thread sees the bell before it sleeps. */
static void ring(kb_team *t, bell *b, unsigned times) {
    atomic_store(&b->rung, times);
    if (atomic_load(&b->asleep) == 0)
        return;
    pthread_mutex_lock(&t->lock);
    pthread_mutex_unlock(&t->lock);
    pthread_cond_broadcast(&b->heard);
}

static unsigned times_rung(bell *b) {
    return atomic_load_explicit(&b->rung, memory_order_relaxed);
}

static void *work(void *arg) {
    worker *w = arg;
    kb_team *t = w->team;
    for (unsigned round = 1;; round++) {
        hear(t, &w->start, round);
        if (atomic_load(&t->quit))
            return NULL;
        t->body(t->arg, w->me, t->busy);
        ring(t, &w->here, DONE);
    }
}

static void open_worker(kb_team *t, int me) {
    worker *w = &t->workers[me];
    *w = (worker){.team = t, .me = me};
    pthread_cond_init(&w->start.heard, NULL);
    pthread_cond_init(&w->here.heard, NULL);
}

static void close_worker(worker *w) {
    pthread_cond_destroy(&w->start.heard);
    pthread_cond_destroy(&w->here.heard);
}

/* With fewer threads than asked for if the machine refuses. */
static kb_team *team_create(kb_context *ctx, int size) {
    kb_team *t;
    if (kb_zalloc(ctx, 1, sizeof *t, &t) != KB_OK)
        return NULL;
    t->allocator = kb_allocator_of(ctx);
    t->owner = getpid();
    t->size = t->busy = 1;
    t->watch = size <= kb_processors() ? WATCH : WATCH_IN_A_CROWD;
    if (kb_zalloc(ctx, (size_t)size, sizeof *t->workers, &t->workers) != KB_OK) {
        kb_release(ctx, t);
        return NULL;
    }
    pthread_mutex_init(&t->lock, NULL);
    open_worker(t, 0);
    /* Signals go to the program's own threads. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (t->size < size) {
        worker *w = &t->workers[t->size];
        open_worker(t, t->size);
        if (pthread_create(&w->thread, NULL, work, w) != 0) {
            close_worker(w);
            break;
        }
        t->size++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return t;
}

void kb_team_free(kb_context *ctx) {
    kb_team *t = ctx->team;
    if (!t)
        return;
    ctx->team = NULL;
    if (t->owner == getpid()) {
        atomic_store(&t->quit, 1);
        for (int i = 1; i < t->size; i++) {
            bell *start = &t->workers[i].start;
            ring(t, start, times_rung(start) + 1);
            pthread_join(t->workers[i].thread, NULL);
            close_worker(&t->workers[i]);
        }
        close_worker(&t->workers[0]);
        pthread_mutex_destroy(&t->lock);
    }
    kb_allocator_release(t->allocator, t->workers);
    kb_allocator_release(t->allocator, t);
}

/* The context's team, made when first needed. */
static kb_team *team_of(kb_context *ctx) {
    if (ctx->team && ctx->team->owner != getpid())
        kb_team_free(ctx);
    if (!ctx->team)
        ctx->team = team_create(ctx, ctx->threads);
    ctx->free_team = kb_team_free;
    return ctx->team;
}

/* The smaller limit; 0 is none. */
static int limited(int threads, int most) {
    return most > 0 && most < threads ? most : threads;
}

void kb_team_run(kb_context *ctx, int most, void (*body)(void *arg, int me, int threads),
                 void *arg) {
    int wanted = limited(limited(ctx->threads, ctx->limit), most);
    kb_team *t = wanted == 1 ? NULL : team_of(ctx);
    if (!t || t->size == 1) {
        body(arg, 0, 1);
        return;
    }
    t->body = body;
    t->arg = arg;
    t->busy = limited(t->size, wanted);
    for (int i = 0; i < t->busy; i++)
        atomic_store_explicit(&t->workers[i].here.rung, 0, memory_order_relaxed);
    for (int i = 1; i < t->busy; i++)
        ring(t, &t->workers[i].start, times_rung(&t->workers[i].start) + 1);
    body(arg, 0, t->busy);
    for (int i = 1; i < t->busy; i++)
        hear(t, &t->workers[i].here, DONE);
    t->busy = 1;
}

/* ---- parts ------------------------------------------------------------- */

/* The threads of a team while they are those of smaller teams. */
typedef struct split {
    int lanes, threads;
    kb_context *part; /* lanes */
    kb_team *team;    /* lanes */
    worker *workers;  /* threads: of all teams, one after the other */
    void (*body)(void *arg, kb_context *part, int lane);
    void *arg;
} split;

static int first_of(const split *s, int lane) {
    return (int)kb_share((size_t)s->threads, lane, s->lanes);
}

static void open_part(kb_context *ctx, split *s, int lane) {
    kb_team *t = &s->team[lane];
    kb_context *part = &s->part[lane];
    int first = first_of(s, lane), size = first_of(s, lane + 1) - first;
    t->owner = ctx->team->owner;
    t->size = size;
    t->busy = 1;
    t->watch = ctx->team->watch;
    t->workers = s->workers + first;
    pthread_mutex_init(&t->lock, NULL);
    for (int i = 0; i < size; i++)
        open_worker(t, i);
    part->config = ctx->config;
    part->config.log = NULL;
    part->config.ranks = NULL;
    part->ranks = (kb_ranks)KB_RANKS_INIT;
    part->threads = size;
    part->team = t;
    part->above = ctx;
    part->speaks = lane == 0;
    part->part[1] = 1;
    pthread_mutex_init(&part->lock, NULL);
}

static void close_part(split *s, int lane) {
    for (int i = 0; i < s->team[lane].size; i++)
        close_worker(&s->team[lane].workers[i]);
    pthread_mutex_destroy(&s->team[lane].lock);
    pthread_mutex_destroy(&s->part[lane].lock);
}

/* The first thread of a lane leads it, the others are its workers until it is done. */
static void lead_or_follow(void *arg, int me, int threads) {
    split *s = arg;
    int lane = 0;
    (void)threads;
    while (first_of(s, lane + 1) <= me)
        lane++;
    kb_team *t = &s->team[lane];
    if (me > first_of(s, lane)) {
        work(&t->workers[me - first_of(s, lane)]);
        return;
    }
    s->body(s->arg, &s->part[lane], lane);
    atomic_store(&t->quit, 1);
    for (int i = 1; i < t->size; i++)
        ring(t, &t->workers[i].start, times_rung(&t->workers[i].start) + 1);
}

static kb_status open_split(kb_context *ctx, split *s) {
    kb_status status;
    size_t lanes = (size_t)s->lanes;
    TRY(kb_zalloc(ctx, lanes, sizeof *s->part, &s->part));
    TRY(kb_zalloc(ctx, lanes, sizeof *s->team, &s->team));
    TRY(kb_zalloc(ctx, (size_t)s->threads, sizeof *s->workers, &s->workers));
    for (int lane = 0; lane < s->lanes; lane++)
        open_part(ctx, s, lane);
done:
    return status;
}

void kb_team_split(kb_context *ctx, int lanes, void (*body)(void *arg, kb_context *part, int lane),
                   void *arg) {
    int wanted = ctx->guarded || lanes < 2 ? 1 : limited(ctx->threads, ctx->limit);
    kb_team *t = wanted == 1 ? NULL : team_of(ctx);
    split s = {.body = body, .arg = arg, .threads = t ? limited(t->size, wanted) : 1};
    s.lanes = limited(s.threads, lanes);
    if (s.lanes < 2 || open_split(ctx, &s) != KB_OK) {
        body(arg, ctx, 0);
    } else {
        atomic_store(&ctx->stopped, 0);
        kb_team_run(ctx, 0, lead_or_follow, &s);
        for (int lane = 0; lane < s.lanes; lane++)
            close_part(&s, lane);
    }
    kb_release(ctx, s.part);
    kb_release(ctx, s.team);
    kb_release(ctx, s.workers);
}

void kb_team_limit(kb_context *ctx, int most) {
    ctx->limit = most;
}

void kb_team_meet(kb_context *ctx, int me, int threads) {
    kb_team *t = ctx->team;
    if (threads == 1)
        return;
    unsigned now = times_rung(&t->workers[me].here) + 1;
    ring(t, &t->workers[me].here, now);
    for (int i = 0; i < threads; i++)
        hear(t, &t->workers[i].here, now);
}

typedef struct pieces {
    size_t count;
    void (*body)(void *arg, size_t begin, size_t end);
    void *arg;
} pieces;

static void run_piece(void *arg, int me, int threads) {
    pieces *p = arg;
    size_t begin = kb_share(p->count, me, threads), end = kb_share(p->count, me + 1, threads);
    if (begin < end)
        p->body(p->arg, begin, end);
}

void kb_team_for(kb_context *ctx, size_t count, size_t least,
                 void (*body)(void *arg, size_t begin, size_t end), void *arg) {
    pieces p = {count, body, arg};
    size_t most = least > 0 ? count / least : count;
    kb_team_run(ctx, most < 1 ? 1 : most < INT_MAX ? (int)most : INT_MAX, run_piece, &p);
}

int kb_interrupt_asked(kb_interrupt *w, int me) {
    double now = me == 0 ? kb_seconds() : 0;
    if (me == 0 && now - w->asked >= 0.02 && !atomic_load(&w->stopped)) {
        w->asked = now;
        if (kb_progress_again(w->ctx) != KB_OK)
            atomic_store(&w->stopped, 1);
    }
    return atomic_load(&w->stopped);
}

kb_status kb_interrupt_status(const kb_interrupt *w) {
    return atomic_load(&w->stopped) ? KB_ERR_CANCELLED : KB_OK;
}
