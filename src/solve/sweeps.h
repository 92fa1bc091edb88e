/*
 * sweeps.h - ridge regression by sweeps over slices of grids.
 *
 *     min over w, b   1/2 sum_i s_i (y_i - w'z_i - b)^2 + lambda/2 |w|^2
 *
 * Within one grid the bins are disjoint, so with the residual given the best change of all its
 * weights has a closed form.  A slice of grids is changed at once: each bin's own best change, then
 * one exact line search for all of them.  The next slice sees the new residual.  A sweep visits all
 * slices, and ends with the best combination of its move and the last one.
 *
 * A sweep reads every bin number twice, like a product K v.  On large and noisy tables 2 to 8
 * sweeps predict as well as 50 to 150 steps of CG.  To solve to many digits, CG is faster from
 * where the first sweeps end (primal_cg.h).  With lambda near 0 the first slices interpolate the
 * targets: sweeps then end at a solution that fits, but not at the one of least norm to which CG
 * goes.
 *
 * Residuals and steps are whole numbers (simd/whole_sums.h), so the result is the same for any
 * number of threads.
 */
#ifndef KB_SOLVE_SWEEPS_H
#define KB_SOLVE_SWEEPS_H

#include "core/bytes.h"
#include "features/slices.h"

/* Go on from this sweep; the same, but keep it as the best so far; or stop, with the one that was
 * kept. */
typedef enum kb_watch_answer { KB_WATCH_ON, KB_WATCH_KEEP, KB_WATCH_STOP } kb_watch_answer;

/* Rows whose decisions are looked at after every sweep. */
typedef struct kb_watch {
    size_t rows;
    const uint32_t *row;
    double *f; /* rows x C */
    /* What to do after every sweep; the first one must not be KB_WATCH_STOP. */
    kb_watch_answer (*look)(void *arg, size_t sweep);
    void *arg;
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

kb_status kb_sweeps_run(kb_context *ctx, kb_sweeps *problem);

/* Memory beside the caller's arrays, for a batch of C outputs and R grids. */
kb_bytes kb_sweeps_bytes(size_t C, size_t R);

#endif
