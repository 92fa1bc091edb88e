/*
 * sweep_problem.h - what is solved by sweeps (sweeps.h), and what comes out.
 */
#ifndef KB_SWEEPS_SWEEP_PROBLEM_H
#define KB_SWEEPS_SWEEP_PROBLEM_H

#include "features/slices.h"

/* Go on from this sweep; the same, but keep it as the best so far; or stop, with the one that was
 * kept. */
typedef enum kb_watch_answer { KB_WATCH_ON, KB_WATCH_KEEP, KB_WATCH_STOP } kb_watch_answer;

/* Rows whose decisions are looked at after every sweep. */
typedef struct kb_watch {
    size_t rows;
    const uint32_t *row;
    double *f; /* rows x C */
    /* What to do after every sweep; the first one must not be KB_WATCH_STOP.  With ranks, each has
     * its own rows, and all get the same answer. */
    kb_status (*look)(kb_context *ctx, void *arg, size_t sweep, kb_watch_answer *answer);
    void *arg;
    /* For a checkpoint: what `look` remembers, up to 32 bytes, the same on all ranks; and what to
     * do when that is as it was after an earlier run's sweep, with f of the sweep that was kept. */
    void *state;
    size_t state_bytes;
    void (*restore)(void *arg);
} kb_watch;

typedef struct kb_sweeps {
    const kb_binmat *z;
    double lambda;
    double tol; /* stop when |Z'S r - lambda w| <= tol |Z'S y| for every output */
    size_t max_sweeps;
    size_t C;              /* outputs, at most KB_PANEL */
    const double *y;       /* N x C */
    const double *s;       /* N: weights of the samples; NULL: ones.  0 leaves a sample out. */
    int intercept;         /* whether b is free, else it stays as it is */
    int warm;              /* begin at the given w, with f = Z w, instead of at 0 */
    const kb_watch *watch; /* or NULL */

    /* Filled by the solver; the arrays are the caller's. */
    double *w; /* D x C */
    double *b; /* C: subtracted from y on entry */
    double *f; /* N x C: Z w + b */
    size_t sweeps;
    int converged;
    int too_wide; /* the residuals left the range of the whole numbers: the result is useless */
} kb_sweeps;

#endif
