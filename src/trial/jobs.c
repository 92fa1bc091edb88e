/* jobs.c - see jobs.h. */
#define _POSIX_C_SOURCE 200809L
#include "trial/jobs.h"
#include "core/team.h"

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

kb_status kb_jobs_ahead(kb_context *ctx, int threads, size_t count, kb_job *const *job) {
    queue q = {0};
    size_t most = (size_t)(ctx->threads / threads);
    for (size_t i = 0; i < count && q.count < most && q.count < MOST; i++)
        if (job[i] && !job[i]->done)
            q.job[q.count++] = job[i];
    if (q.count < 2 || ctx->guarded)
        return KB_OK;
    q.left = q.count;
    pthread_mutex_init(&q.lock, NULL);
    pthread_cond_init(&q.empty, NULL);
    kb_team_split(ctx, (int)q.count, work_off, &q);
    pthread_cond_destroy(&q.empty);
    pthread_mutex_destroy(&q.lock);
    kb_status status = KB_OK;
    for (size_t i = 0; i < q.count && status == KB_OK; i++)
        if (q.job[i]->done && q.job[i]->status == KB_ERR_CANCELLED)
            status = kb_job_take(ctx, q.job[i]);
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
