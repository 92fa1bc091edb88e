/*
 * context.h - what every routine of the library is handed: memory, threads, a
 * place for the message of a failure, and the caller's callbacks.
 */
#ifndef KB_CORE_CONTEXT_H
#define KB_CORE_CONTEXT_H

#include "kerbin.h"

#include <pthread.h>

typedef struct kb_team kb_team;

struct kb_context {
    kb_context_config config;
    int threads;
    kb_team *team;                      /* team.h; NULL until it is needed */
    void (*free_team)(kb_context *ctx); /* likewise */
    int limit;                          /* of the team; 0: none */
    int late;             /* how long the team was last left out for being late; see sweep.h */
    pthread_mutex_t lock; /* of the allocator and the message */
    double part[2];       /* from and to, of the phase that progress now tells of */
    const char *outer;    /* a phase that hides those inside it, or NULL */
    double outer_done;    /* how far that is */
    char message[1024];
};

/* The one error path: on failure go to the clean-up at `done:`. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != KB_OK)                                                                       \
            goto done;                                                                             \
    } while (0)

/* Keeps the sentence in the context and returns `status`, so that a failure reads
 * `TRY(kb_fail(ctx, KB_ERR_DATA, "..", ..))` or `return kb_fail(..)`. */
kb_status kb_fail(kb_context *ctx, kb_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void kb_log(kb_context *ctx, kb_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Tells the caller how far a phase is; KB_ERR_CANCELLED if it wants to stop.  To be
 * called by the caller's own thread, often enough for Ctrl-C to feel immediate. */
kb_status kb_progress(kb_context *ctx, const char *phase, double done);

/* What kb_progress tells from now on runs from `from` to `to` of the phase, which is made of
 * several such parts; 0 and 1 for the whole. */
void kb_progress_part(kb_context *ctx, double from, double to);

/* Until it is called with NULL, only this phase is told of, and nothing is logged but warnings:
 * for work that is made of many small fits. */
void kb_progress_outer(kb_context *ctx, const char *phase);

/* Seconds of a clock that never goes back. */
double kb_seconds(void);

#endif
