/*
 * ranked.h - ranks as threads of one process: for tests of what ranks exchange, without MPI.
 */
#ifndef KB_TESTS_RANKED_H
#define KB_TESTS_RANKED_H

#include "support.h"

#include <pthread.h>

enum { RANKED_MOST = 8 };

/* What the ranks have in common.  A call puts its arguments here, all meet, each takes what it
 * needs, all meet again. */
typedef struct ranked {
    int ranks, threads;
    pthread_barrier_t meet;
    const void *give[RANKED_MOST];
    const size_t *sizes[RANKED_MOST];
    void (*body)(kb_context *ctx, void *arg);
    void *arg;
} ranked;

/* One of them. */
typedef struct ranked_one {
    ranked *all;
    int rank;
    pthread_t thread;
} ranked_one;

static inline int ranked_sum(void *user, int64_t *x, size_t count) {
    ranked_one *one = user;
    ranked *all = one->all;
    int64_t *sum = calloc(count, sizeof *sum);
    all->give[one->rank] = x;
    pthread_barrier_wait(&all->meet);
    for (int k = 0; k < all->ranks; k++)
        for (size_t i = 0; i < count; i++)
            sum[i] = (int64_t)((uint64_t)sum[i] + (uint64_t)((const int64_t *)all->give[k])[i]);
    pthread_barrier_wait(&all->meet);
    memcpy(x, sum, count * sizeof *sum);
    free(sum);
    return 0;
}

static inline int ranked_gather(void *user, const void *mine, void *to, const size_t *bytes_of) {
    ranked_one *one = user;
    ranked *all = one->all;
    char *at = to;
    all->give[one->rank] = mine;
    pthread_barrier_wait(&all->meet);
    for (int k = 0; k < all->ranks; at += bytes_of[k++])
        if (bytes_of[k] > 0)
            memcpy(at, all->give[k], bytes_of[k]);
    pthread_barrier_wait(&all->meet);
    return 0;
}

static inline int ranked_exchange(void *user, const void *to, const size_t *to_bytes, void *from,
                                  const size_t *from_bytes) {
    ranked_one *one = user;
    ranked *all = one->all;
    char *at = from;
    all->give[one->rank] = to;
    all->sizes[one->rank] = to_bytes;
    pthread_barrier_wait(&all->meet);
    for (int k = 0; k < all->ranks; at += from_bytes[k++]) {
        size_t offset = 0;
        for (int j = 0; j < one->rank; j++)
            offset += all->sizes[k][j];
        if (from_bytes[k] > 0)
            memcpy(at, (const char *)all->give[k] + offset, from_bytes[k]);
    }
    pthread_barrier_wait(&all->meet);
    return 0;
}

static inline void *ranked_main(void *arg) {
    ranked_one *one = arg;
    ranked *all = one->all;
    kb_ranks ranks = {.size = sizeof ranks,
                      .rank = one->rank,
                      .ranks = all->ranks,
                      .user = one,
                      .sum = ranked_sum,
                      .gather = ranked_gather,
                      .exchange = ranked_exchange};
    kb_context_config config = {.size = sizeof config, .threads = all->threads, .ranks = &ranks};
    kb_context *ctx;
    assert_int_equal(kb_context_create(&config, &ctx), KB_OK);
    all->body(ctx, all->arg);
    kb_context_free(ctx);
    return NULL;
}

/* Runs the body once on each of `ranks` ranks at the same time, with a context of its own, which
 * has `threads` threads. */
static inline void run_ranked(int ranks, int threads, void (*body)(kb_context *ctx, void *arg),
                              void *arg) {
    ranked all = {.ranks = ranks, .threads = threads, .body = body, .arg = arg};
    ranked_one one[RANKED_MOST];
    assert_true(ranks <= RANKED_MOST);
    pthread_barrier_init(&all.meet, NULL, (unsigned)ranks);
    for (int k = 0; k < ranks; k++) {
        one[k] = (ranked_one){.all = &all, .rank = k};
        assert_int_equal(pthread_create(&one[k].thread, NULL, ranked_main, &one[k]), 0);
    }
    for (int k = 0; k < ranks; k++)
        pthread_join(one[k].thread, NULL);
    pthread_barrier_destroy(&all.meet);
}

#endif
