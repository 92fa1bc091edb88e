/*
 * context.h - what every routine of the library is handed: memory, threads, a
 * place for the message of a failure, and the caller's callbacks.
 */
#ifndef KB_CORE_CONTEXT_H
#define KB_CORE_CONTEXT_H

#include "kerbin.h"

#include "core/try.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct kb_team kb_team;

/* Where the time comes from; all zero: kb_seconds.  Tests bring a clock of their own. */
typedef struct kb_clock {
    double (*now)(void *arg);
    void *arg;
} kb_clock;

double kb_clock_now(const kb_clock *clock);

struct kb_context {
    kb_context_config config;
    kb_ranks ranks;    /* of the config: ranks.h; of a part: none */
    kb_ranks aside;    /* that were left (kb_ranks_leave): they may share trials; size 0: none */
    int least_threads; /* that a rank has, while it is told so (api/ranked.c) */
    double sent;       /* bytes that this rank gave to others */
    double pass_sent, pass_foreseen; /* the same in a sweep or step, and by docs/scaling.md */
    int ended;                       /* all ranks know that one has failed, and end their work */
    char *checkpoint;                /* file for the state of long work, or NULL; not in parts */
    double checkpoint_every;
    int checkpoint_paused;   /* work is not of the fit: no state is kept (ranks/checkpoint.h) */
    size_t checkpoint_stage; /* solves that offered their state so far, */
    uint64_t checkpoint_run; /* and the fingerprint of the first */
    int threads;
    kb_team *team;                      /* team.h; NULL until it is needed */
    void (*free_team)(kb_context *ctx); /* likewise */
    struct kb_device *device;           /* device.h; NULL until one is asked for */
    void (*free_device)(kb_context *ctx);
    int limit; /* of the team; 0: none */
    int late;  /* passes left to one thread when the team was last slow: l1/column_pass.h */
    pthread_mutex_t lock; /* of the message, and of the caller's allocator */
    int guarded;          /* whether the allocator may be called by one thread at a time only */
    kb_context *above;    /* NULL, or the context whose threads these are a part of: team.h */
    int speaks;           /* of a part: whether the caller's thread leads it, and may call back */
    atomic_int stopped;   /* parts of this one are to end */
    long long ceiling;    /* bytes that may be charged (memory.h); 0: nothing is counted */
    atomic_llong charged;
    atomic_int refused; /* an allocation failed for that */
    double part[2];     /* from and to: the part of the phase that progress reports now */
    const char *outer;  /* a phase that hides those inside it, or NULL */
    double outer_done;  /* how far it is */
    const char *told;   /* the phase that the caller was told last, */
    double told_done;   /* and how far it was */
    kb_clock clock;     /* of the option budget */
    double started;     /* kb_context_start_clock; NAN: not called since the last fit */
    double cut_at;      /* by that clock: work is cut short from then on; INFINITY: never */
    double stop_at;     /* by that clock: solvers stop from then on; INFINITY: never */
    int cut;            /* work was cut short */
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

/* Tells the caller how far a phase is; KB_ERR_CANCELLED if it wants to stop.  Call it from the
 * thread that called the library, often enough that Ctrl-C feels immediate. */
kb_status kb_progress(kb_context *ctx, const char *phase, double done);

/* Tells the caller what it was told last: for work without a measure of its own. */
kb_status kb_progress_again(kb_context *ctx);

/* From now on kb_progress reports a part of the phase: its 0 to 1 becomes `from` to `to`.  0 and
 * 1 for the whole phase. */
void kb_progress_part(kb_context *ctx, double from, double to);

/* Until it is called with NULL, only this phase is reported, and only warnings are logged: for
 * work that consists of many small fits. */
void kb_progress_outer(kb_context *ctx, const char *phase);

/* ---- time ---- */

/* The clock, cut_at and stop_at belong to the context above all parts; only the thread that called
 * the library sets them. */
double kb_now(const kb_context *ctx);

/* From this moment on kb_progress returns KB_ERR_CANCELLED, as if the caller wanted to stop.
 * Returns the moment that was set before. */
double kb_cut_at(kb_context *ctx, double moment);
/* Whether *status comes from such a cut: it is KB_OK then, and the work may go on elsewhere. */
int kb_take_cut(kb_context *ctx, kb_status *status);

/* From this moment on solvers stop after the step that they are at, with what they have.  Returns
 * the moment that was set before. */
double kb_stop_at(kb_context *ctx, double moment);
int kb_is_late(const kb_context *ctx);
/* The moment when this part of all the time until then is spent. */
double kb_share_of_time(const kb_context *ctx, double until, double part, double all);

/* Seconds of a clock that never goes back. */
double kb_seconds(void);

#endif
