/*
 * team.c - see team.h.
 *
 * Bells do everything: a worker's own tells it that there is work, and a meeting point counts who
 * has arrived and rings when all have; the end of the work is one.  Whoever waits for a bell first
 * watches it for a moment, then sleeps on its condition.
 */
#define _GNU_SOURCE
#include "core/team.h"
#include "core/memory.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

/* Seconds of watching before sleeping.  To be woken takes about 50 microseconds: watching for the
 * double of that is never much worse than sleeping at once, if there is a processor for each
 * thread; else the one that is waited for may need this one's. */
static const double WATCH = 1e-4, WATCH_IN_A_CROWD = 5e-6;
/* Looks until the clock is read again: how long one takes differs by a factor of ten between
 * processors. */
enum { LOOKS = 32 };
enum { LINE = 64 };

/* In cache lines of its own: those who wait look at it while others count elsewhere. */
typedef struct bell {
    char before[LINE];
    atomic_uint rung;  /* how often */
    atomic_int asleep; /* threads that wait for it, or are about to */
    pthread_cond_t heard;
    char behind[LINE];
} bell;

typedef struct meeting_point {
    bell all_here;
    atomic_int gathered;
} meeting_point;

typedef struct worker {
    kb_team *team;
    pthread_t thread;
    int me;
    bell start; /* of a round of work */
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

    meeting_point end; /* of a round */
    meeting_point inside;
};

static inline void look_away(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* Until the bell has been rung more than `old` times. */
static void hear(kb_team *t, bell *b, unsigned old) {
    double began = 0, now = 0;
    do {
        for (int i = 0; i < LOOKS; i++) {
            if (atomic_load_explicit(&b->rung, memory_order_acquire) != old)
                return;
            look_away();
        }
        now = kb_seconds();
        began = began == 0 ? now : began;
    } while (now - began < t->watch);
    pthread_mutex_lock(&t->lock);
    atomic_fetch_add(&b->asleep, 1);
    while (atomic_load(&b->rung) == old)
        pthread_cond_wait(&b->heard, &t->lock);
    atomic_fetch_sub(&b->asleep, 1);
    pthread_mutex_unlock(&t->lock);
}

/* Either this sees that somebody is asleep, or that one, about to be, sees the bell. */
static void ring(kb_team *t, bell *b) {
    atomic_fetch_add(&b->rung, 1);
    if (atomic_load(&b->asleep) == 0)
        return;
    pthread_mutex_lock(&t->lock);
    pthread_mutex_unlock(&t->lock);
    pthread_cond_broadcast(&b->heard);
}

static void meet(kb_team *t, meeting_point *here, int threads) {
    /* Read before this thread counts as here: afterwards it may change. */
    unsigned rung = atomic_load_explicit(&here->all_here.rung, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&here->gathered, 1, memory_order_acq_rel) + 1 == threads) {
        atomic_store_explicit(&here->gathered, 0, memory_order_relaxed);
        ring(t, &here->all_here);
    } else {
        hear(t, &here->all_here, rung);
    }
}

static void *work(void *arg) {
    worker *w = arg;
    kb_team *t = w->team;
    for (unsigned seen = 0;; seen++) {
        hear(t, &w->start, seen);
        if (atomic_load(&t->quit))
            return NULL;
        int busy = t->busy;
        t->body(t->arg, w->me, busy);
        meet(t, &t->end, busy);
    }
}

/* With fewer threads than asked for if the machine refuses. */
static kb_team *team_create(kb_context *ctx, int size) {
    kb_team *t;
    if (kb_zalloc(ctx, 1, sizeof *t, &t) != KB_OK)
        return NULL;
    t->allocator = kb_allocator_of(ctx);
    t->owner = getpid();
    t->size = t->busy = 1;
    t->watch = size <= kb_team_processors() ? WATCH : WATCH_IN_A_CROWD;
    if (kb_zalloc(ctx, (size_t)size, sizeof *t->workers, &t->workers) != KB_OK) {
        kb_release(ctx, t);
        return NULL;
    }
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->end.all_here.heard, NULL);
    pthread_cond_init(&t->inside.all_here.heard, NULL);
    /* Signals are the program's business: its own thread gets them. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (t->size < size) {
        worker *w = &t->workers[t->size];
        *w = (worker){.team = t, .me = t->size};
        pthread_cond_init(&w->start.heard, NULL);
        if (pthread_create(&w->thread, NULL, work, w) != 0) {
            pthread_cond_destroy(&w->start.heard);
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
            ring(t, &t->workers[i].start);
            pthread_join(t->workers[i].thread, NULL);
            pthread_cond_destroy(&t->workers[i].start.heard);
        }
        pthread_cond_destroy(&t->end.all_here.heard);
        pthread_cond_destroy(&t->inside.all_here.heard);
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
    for (int i = 1; i < t->busy; i++)
        ring(t, &t->workers[i].start);
    body(arg, 0, t->busy);
    meet(t, &t->end, t->busy);
    t->busy = 1;
}

void kb_team_limit(kb_context *ctx, int most) {
    ctx->limit = most;
}

void kb_team_meet_first(kb_context *ctx, int threads) {
    if (threads > 1)
        meet(ctx->team, &ctx->team->inside, threads);
}

void kb_team_meet(kb_context *ctx) {
    if (ctx->team)
        kb_team_meet_first(ctx, ctx->team->busy);
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

int kb_team_processors(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}
