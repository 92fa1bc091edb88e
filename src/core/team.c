/*
 * team.c - see team.h.
 *
 * Two counters do everything: `round` tells sleeping workers that there is work, `gathered`
 * counts who has arrived at a meeting point, of which the end of the work is one.  Whoever
 * waits first watches the counter for some microseconds, then sleeps on a condition.
 */
#define _GNU_SOURCE
#include "core/team.h"
#include "core/memory.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

/* Looks before sleeping: about 20 microseconds. */
enum { LOOKS = 500 };

typedef struct worker {
    kb_team *team;
    pthread_t thread;
    int me;
} worker;

struct kb_team {
    kb_allocator allocator;
    pid_t owner; /* a forked child has the memory but not the threads */
    int size;    /* threads, the caller's among them */
    worker *workers;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    atomic_uint round;   /* of work */
    atomic_uint meeting; /* how many have been completed */
    atomic_int gathered; /* threads at the current one */
    atomic_int quit;

    void (*body)(void *arg, int me, int threads);
    void *arg;
    int busy; /* threads at work: size during a round, else 1 */
};

static inline void look_away(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* Until *counter is no longer `old`. */
static void wait_for_change(kb_team *t, atomic_uint *counter, unsigned old) {
    for (int i = 0; i < LOOKS; i++) {
        if (atomic_load_explicit(counter, memory_order_acquire) != old)
            return;
        look_away();
    }
    pthread_mutex_lock(&t->lock);
    while (atomic_load_explicit(counter, memory_order_acquire) == old)
        pthread_cond_wait(&t->changed, &t->lock);
    pthread_mutex_unlock(&t->lock);
}

static void advance(kb_team *t, atomic_uint *counter) {
    pthread_mutex_lock(&t->lock);
    atomic_fetch_add_explicit(counter, 1, memory_order_release);
    pthread_mutex_unlock(&t->lock);
    pthread_cond_broadcast(&t->changed);
}

static void meet(kb_team *t) {
    /* Both are read before this thread counts as here: afterwards they may change. */
    unsigned meeting = atomic_load_explicit(&t->meeting, memory_order_relaxed);
    int busy = t->busy;
    if (busy == 1)
        return;
    if (atomic_fetch_add_explicit(&t->gathered, 1, memory_order_acq_rel) + 1 == busy) {
        atomic_store_explicit(&t->gathered, 0, memory_order_relaxed);
        advance(t, &t->meeting);
    } else {
        wait_for_change(t, &t->meeting, meeting);
    }
}

static void *work(void *arg) {
    worker *w = arg;
    kb_team *t = w->team;
    for (unsigned seen = 0;; seen++) {
        wait_for_change(t, &t->round, seen);
        if (atomic_load(&t->quit))
            return NULL;
        t->body(t->arg, w->me, t->busy);
        meet(t);
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
    if (kb_zalloc(ctx, (size_t)size, sizeof *t->workers, &t->workers) != KB_OK) {
        kb_release(ctx, t);
        return NULL;
    }
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->changed, NULL);
    /* Signals are the program's business: its own thread gets them. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (t->size < size) {
        worker *w = &t->workers[t->size];
        *w = (worker){.team = t, .me = t->size};
        if (pthread_create(&w->thread, NULL, work, w) != 0)
            break;
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
        advance(t, &t->round);
        for (int i = 1; i < t->size; i++)
            pthread_join(t->workers[i].thread, NULL);
        pthread_mutex_destroy(&t->lock);
        pthread_cond_destroy(&t->changed);
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

void kb_team_run(kb_context *ctx, int alone, void (*body)(void *arg, int me, int threads),
                 void *arg) {
    kb_team *t = alone || ctx->threads == 1 ? NULL : team_of(ctx);
    if (!t || t->size == 1) {
        body(arg, 0, 1);
        return;
    }
    t->body = body;
    t->arg = arg;
    t->busy = t->size;
    advance(t, &t->round);
    body(arg, 0, t->busy);
    meet(t);
    t->busy = 1;
}

void kb_team_meet(kb_context *ctx) {
    if (ctx->team)
        meet(ctx->team);
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
    kb_team_run(ctx, count < 2 * least, run_piece, &p);
}

int kb_team_processors(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}
