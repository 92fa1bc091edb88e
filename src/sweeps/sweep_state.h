/*
 * sweep_state.h - what a run of sweeps works on, and how it begins; for sweeps.c and its parts.
 *
 * Residuals are whole numbers, in units of the targets' own.
 */
#ifndef KB_SWEEPS_SWEEP_STATE_H
#define KB_SWEEPS_SWEEP_STATE_H

#include "sweeps/sweep_problem.h"

#include <math.h>
#include <stdatomic.h>

/* Grids of a slice: experiments/NOTES.md, sweeps. */
enum { KB_SWEEP_SLICE = KB_BUNDLE };
/* Bins that are summed in order by one thread. */
enum { KB_SWEEP_BLOCK = 256 };

/* The largest target in units; residuals may grow to the size KB_SWEEP_MOST before they are in
 * danger. */
#define KB_SWEEP_TOP  0x1p27
#define KB_SWEEP_MOST (1u << 29)
/* Weights of samples in units: the largest is 2^KB_SHARE_BITS. */
enum { KB_SHARE_BITS = 30 };

typedef struct kb_sweep_state {
    kb_sweeps *p;
    kb_context *ctx;
    const kb_whole_sums *simd;
    kb_slices *slices;
    size_t N, D;
    size_t P; /* columns of the arrays: C, or the next power of two */
    double Lambda;
    double unit[KB_PANEL]; /* of the targets */
    double whole;          /* a unit of the sums of squares: 1, or that of the weights */
    int equal;             /* all samples have the same weight, or 0 */
    double total;          /* of the weights of the samples, in shares of the largest */
    int32_t *r, *before;   /* N x P: residuals now, and when the sweep began */
    int32_t *h;            /* N x P: the slice's change of the decisions */
    int32_t *last;         /* N x P: the last move's */
    int32_t *share, *v; /* N, N x P: weights of the samples, and the weighted residuals; or NULL */
    double *u;          /* D x P: weights when the sweep began */
    float *d, *u_last;  /* D x P: this sweep's change, and the last one's */
    float *n;           /* D: the weight of the samples of a bin */
    int32_t *g;         /* bins of a slice x P, in units of STEP */
    double *products;   /* blocks x 2 x P: g (S - Lambda u) and g g */
    double *gradient;   /* blocks x P: (S - Lambda u)^2 */
    __int128 *squares;  /* threads x KB_PANEL: h'h */
    uint32_t *bits;     /* threads: the sizes of all residuals, after slices */
    atomic_uint ended;  /* the same, after spans */
    double residual[KB_PANEL]; /* |Z'S r - lambda w|^2 R as the sweep saw it, in units */
    double start[KB_PANEL];
    int backward;
    kb_status status; /* of the exchange of line searches with other ranks */
    size_t kept;      /* the best sweep so far, by the watch, and its state; 0: none */
    int32_t *kept_r;
    float *kept_u;
    double kept_b[KB_PANEL];
} kb_sweep_state;

/* Columns of the arrays for C outputs. */
static inline size_t kb_sweep_pad(size_t C) {
    return C <= 1 ? 1 : C <= 2 ? 2 : C <= 4 ? 4 : KB_PANEL;
}

static inline int32_t kb_sweep_nearest(double x) {
    return (int32_t)rint(fmin(fmax(x, -2.0 * KB_SWEEP_MOST), 2.0 * KB_SWEEP_MOST));
}

/* What is summed over the bins: the residuals, times the weights of the samples. */
static inline const int32_t *kb_sweep_summed(const kb_sweep_state *s) {
    return s->share ? s->v : s->r;
}

/* The weighted residuals of some rows, from the residuals. */
void kb_sweep_weigh(const kb_sweep_state *s, size_t begin, size_t end);

/* Memory, the weights of the samples, of all bins, and the units.  Call kb_sweep_end on success and
 * on failure. */
kb_status kb_sweep_begin(kb_context *ctx, kb_sweeps *p, kb_sweep_state *s);
void kb_sweep_end(kb_context *ctx, kb_sweep_state *s);
/* Targets in units; with `warm`, less the given weights, which are taken over. */
void kb_sweep_targets(kb_sweep_state *s, int warm);

/* The best combination of this sweep's move and the last one (sweep_span.c). */
kb_status kb_sweep_span(kb_context *ctx, kb_sweep_state *s);
/* b takes the weighted mean of the residuals (sweep_span.c). */
kb_status kb_sweep_centre(kb_context *ctx, kb_sweep_state *s);

#endif
