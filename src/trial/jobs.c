/* jobs.c - see jobs.h. */
#define _POSIX_C_SOURCE 200809L
#include "trial/jobs.h"
#include "core/team.h"
#include "ranks/ranks.h"

#include <string.h>
#include <time.h>

/* Jobs that are done at once, at most. */
enum { MOST = 16 };

/* Nanoseconds between two questions to the caller whether to go on. */
enum { PAUSE = 20000000 };

typedef struct queue {
    size_t count;
    kb_job *job[MOST];
    atomic_size_t next;
    size_t left; /* jobs that are not done */
    pthread_mutex_t lock;
    pthread_cond_t empty;
} queue;

/* The caller's thread waits for the others, and may be interrupted meanwhile. */
static void wait_for_all(queue *q, kb_context *part) {
    pthread_mutex_lock(&q->lock);
    while (q->left > 0) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += PAUSE;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&q->empty, &q->lock, &until);
        pthread_mutex_unlock(&q->lock);
        kb_progress(part, "solve", -1); /* if it says stop, the jobs hear of it */
        pthread_mutex_lock(&q->lock);
    }
    pthread_mutex_unlock(&q->lock);
}

static void work_off(void *arg, kb_context *part, int lane) {
    queue *q = arg;
    for (size_t i; (i = atomic_fetch_add(&q->next, 1)) < q->count;) {
        kb_job *job = q->job[i];
        job->status = job->run(part, job->arg);
        job->done = job->status != KB_ERR_MEMORY;
        memcpy(job->message, part->message, sizeof job->message);
        pthread_mutex_lock(&q->lock);
        if (--q->left == 0)
            pthread_cond_signal(&q->empty);
        pthread_mutex_unlock(&q->lock);
    }
    if (lane == 0)
        wait_for_all(q, part);
}

/* The first of the jobs that are not done, at most `most`; returns how many. */
static size_t list_jobs(size_t count, kb_job *const *job, size_t most, kb_job **out) {
    size_t listed = 0;
    for (size_t i = 0; i < count && listed < most && listed < MOST; i++)
        if (job[i] && !job[i]->done)
            out[listed++] = job[i];
    return listed;
}

/* On the threads of this process. */
static kb_status do_ahead(kb_context *ctx, int threads, size_t count, kb_job *const *job) {
    queue q = {0};
    q.count = list_jobs(count, job, (size_t)(ctx->threads / threads), q.job);
    if (q.count < 2 || ctx->guarded)
        return KB_OK;
    q.left = q.count;
    pthread_mutex_init(&q.lock, NULL);
    pthread_cond_init(&q.empty, NULL);
    kb_team_split(ctx, (int)q.count, work_off, &q);
    pthread_cond_destroy(&q.empty);
    pthread_mutex_destroy(&q.lock);
    return KB_OK;
}

/* ---- with other ranks -------------------------------------------------- */

/* Job i of a list is that of rank i % ranks. */
static int is_of(const kb_ranks *ranks, size_t i, int rank) {
    return (int)(i % (size_t)ranks->ranks) == rank;
}

/* Its result from the rank that did it, or to it. */
static kb_status carry(kb_parcel *p, kb_job *job) {
    kb_status status;
    TRY(kb_parcel_carry(p, &job->done, sizeof job->done));
    TRY(kb_parcel_carry(p, &job->status, sizeof job->status));
    TRY(kb_parcel_carry(p, job->message, sizeof job->message));
    if (job->done && job->status == KB_OK)
        TRY(job->carry(p, job->arg));
done:
    return status;
}

/* The jobs of this rank, some of them side by side. */
static void do_own(kb_context *ctx, const kb_ranks *ranks, int threads, size_t count,
                   kb_job *const *job) {
    kb_job *own[MOST];
    size_t owned = 0;
    for (size_t i = 0; i < count; i++)
        if (is_of(ranks, i, ranks->rank))
            own[owned++] = job[i];
    do_ahead(ctx, threads, owned, own);
    for (size_t i = 0; i < owned; i++) {
        if (own[i]->done)
            continue;
        own[i]->status = own[i]->run(ctx, own[i]->arg);
        own[i]->done = own[i]->status != KB_ERR_MEMORY;
        memcpy(own[i]->message, ctx->message, sizeof ctx->message);
    }
}

static kb_status exchange(kb_context *ctx, const kb_ranks *ranks, size_t count,
                          kb_job *const *job) {
    kb_status status = KB_OK;
    kb_parcel mine = {.ctx = ctx};
    void *all = NULL;
    size_t *end = NULL;
    for (size_t i = 0; i < count && status == KB_OK; i++)
        if (is_of(ranks, i, ranks->rank))
            status = carry(&mine, job[i]);
    TRY(kb_ranks_agree(ctx, status));
    TRY(kb_ranks_gather(ctx, mine.bytes, mine.count, &all, &end));
    for (int k = 0; k < ranks->ranks; k++) {
        kb_parcel p = {.ctx = ctx, .reads = 1, .bytes = all, .count = end[k]};
        p.at = k > 0 ? end[k - 1] : 0;
        for (size_t i = 0; i < count && k != ranks->rank; i++)
            if (is_of(ranks, i, k))
                TRY(carry(&p, job[i]));
    }
done:
    kb_release(ctx, mine.bytes);
    kb_release(ctx, all);
    kb_release(ctx, end);
    return status;
}

/* While a rank does its jobs it is alone: these may have jobs in turn. */
static kb_status share_out(kb_context *ctx, int threads, size_t count, kb_job *const *job) {
    kb_ranks ranks = ctx->aside;
    kb_job *list[MOST];
    int least = ctx->least_threads / threads;
    size_t most = (size_t)ranks.ranks * (size_t)(least > 1 ? least : 1);
    size_t listed = list_jobs(count, job, most, list);
    if (listed < 2)
        return KB_OK;
    ctx->aside = (kb_ranks){0};
    do_own(ctx, &ranks, threads, listed, list);
    kb_ranks_return(ctx, ranks);
    kb_status status = exchange(ctx, &ranks, listed, list);
    kb_ranks_leave(ctx);
    return status;
}

kb_status kb_jobs_ahead(kb_context *ctx, int threads, size_t count, kb_job *const *job) {
    kb_status status = ctx->aside.size && ctx->aside.ranks > 1 ? share_out(ctx, threads, count, job)
                                                               : do_ahead(ctx, threads, count, job);
    for (size_t i = 0; i < count && status == KB_OK; i++)
        if (job[i] && job[i]->done && job[i]->status == KB_ERR_CANCELLED)
            status = kb_job_take(ctx, job[i]);
    return status;
}

kb_status kb_job_take(kb_context *ctx, kb_job *job) {
    if (!job->done) {
        job->status = job->run(ctx, job->arg);
        job->done = 1;
    } else if (job->status != KB_OK) {
        memcpy(ctx->message, job->message, sizeof ctx->message);
    }
    return job->status;
}
