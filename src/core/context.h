/*
 * context.h - what every routine of the library is handed: memory, threads, a
 * place for the message of a failure, and the caller's callbacks.
 */
#ifndef KB_CORE_CONTEXT_H
#define KB_CORE_CONTEXT_H

#include "kerbin.h"

#include "core/try.h"

#include <pthread.h>

typedef struct kb_team kb_team;

struct kb_context {
    kb_context_config config;
    int threads;
    kb_team *team;        /* team.h; NULL until it is needed */
    int limit;            /* of the team; 0: none */
    int late;             /* how long the team was last left out for being late; see sweep.h */
    pthread_mutex_t lock; /* of the allocator and the message */
    double part[2];       /* from and to, of the phase that progress now tells of */
    const char *outer;    /* a phase that hides those inside it, or NULL */
    double outer_done;    /* how far that is */
    char message[1024];
};

/* Keeps the sentence in the context and returns `status`, so that a failure reads
 * `TRY(kb_fail(ctx, KB_ERR_DATA, "..", ..))` or `return kb_fail(..)`. */
kb_status kb_fail(kb_context *ctx, kb_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A struct of a caller, which begins with its size: copies it to `to`, of which we know `known`
 * bytes; what the caller does not have becomes 0.  0 where the size cannot be right. */
int kb_take_sized(const void *from, void *to, size_t known);
/* The same with a sentence about the struct of that name. */
kb_status kb_take_struct(kb_context *ctx, const char *name, const void *from, void *to,
                         size_t known);

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
