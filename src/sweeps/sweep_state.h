/*
 * sweep_state.h - what a run of sweeps works on, and the steps that it is made of; for sweeps.c and
 * its parts.
 *
 * Residuals are whole numbers, in units of the targets' own.  The arrays of the rows and bins
 * belong to the steps, so that they may be on another device: sweep_cpu.c, sweep_device.c.
 *
 * With ranks, N and the rows are those of this rank, and D, the bins and all sums those of all: the
 * steps of the CPU exchange what they sum over rows.  A device has no such steps.
 */
#ifndef KB_SWEEPS_SWEEP_STATE_H
#define KB_SWEEPS_SWEEP_STATE_H

#include "sweeps/sweep_math.h"
#include "sweeps/sweep_problem.h"

/* Grids of a slice: experiments/NOTES.md, sweeps. */
enum { KB_SWEEP_SLICE = KB_BUNDLE };

typedef struct kb_sweep_steps kb_sweep_steps;

typedef struct kb_sweep_state {
    kb_sweeps *p;
    kb_context *ctx;
    const kb_sweep_steps *steps;
    void *own; /* of the steps */
    size_t N, D;
    size_t P; /* columns of the arrays: C, or the next power of two */
    double Lambda;
    double unit[KB_PANEL]; /* of the targets */
    double whole;          /* a unit of the sums of squares: 1, or that of the weights */
    int equal;             /* all samples have the same weight, or 0 */
    double total;          /* of the weights of the samples, in shares of the largest */
    /* Samples stand at their places in z (kb_binmat_place). */
    int32_t *share; /* N: weights of the samples; NULL: ones */
    int32_t *r;     /* N x P: residuals.  Here and in u the steps take the start from, and */
    double *u;      /* D x P: weights.    leave the end. */
    double *own_u;  /* u, unless that is the caller's w */
    double residual[KB_PANEL]; /* |Z'S r - lambda w|^2 R as the sweep saw it, in units */
    double start[KB_PANEL];
    uint32_t bits; /* of the sizes of all residuals so far */
    int backward;
    int32_t *seen; /* watched rows x P: their residuals */
    size_t kept;   /* the best sweep so far, by the watch; 0: none */
    double kept_b[KB_PANEL];
} kb_sweep_state;

/* One table for each place where rows and bins may be. */
struct kb_sweep_steps {
    /* Memory, and the weights of the samples of all bins.  Release on success and on failure. */
    kb_status (*create)(kb_context *ctx, kb_sweep_state *s);
    void (*release)(kb_context *ctx, kb_sweep_state *s);
    /* r is a new start, and so is u if `weights`. */
    kb_status (*load)(kb_context *ctx, kb_sweep_state *s, int weights);
    /* The sums of the weighted residuals, and all residuals less by[c]. */
    kb_status (*sum)(kb_context *ctx, kb_sweep_state *s, double *sum);
    kb_status (*shift)(kb_context *ctx, kb_sweep_state *s, const int32_t *by);
    /* All slices; fills residual, and adds to bits. */
    kb_status (*sweep)(kb_context *ctx, kb_sweep_state *s);
    /* Fills residual alone. */
    kb_status (*slopes)(kb_context *ctx, kb_sweep_state *s);
    /* The sums of the span, P x KB_SPAN_SUMS each, and the move to the best of it. */
    kb_status (*span)(kb_context *ctx, kb_sweep_state *s, double *row, double *bin);
    kb_status (*combine)(kb_context *ctx, kb_sweep_state *s, const double *of_move,
                         const double *of_last);
    /* r of the rows that are watched, rows x P. */
    kb_status (*watched)(kb_context *ctx, kb_sweep_state *s, int32_t *r);
    /* Keeps the state beside, or returns to the one that is kept. */
    kb_status (*keep)(kb_context *ctx, kb_sweep_state *s);
    kb_status (*go_back)(kb_context *ctx, kb_sweep_state *s);
    /* r and u are the end. */
    kb_status (*fetch)(kb_context *ctx, kb_sweep_state *s);
};

extern const kb_sweep_steps KB_SWEEP_ON_CPU, KB_SWEEP_ON_DEVICE;

/* Columns of the arrays for C outputs. */
static inline size_t kb_sweep_pad(size_t C) {
    return C <= 1 ? 1 : C <= 2 ? 2 : C <= 4 ? 4 : KB_PANEL;
}

/* Memory, the weights of the samples, of all bins, and the units.  Call kb_sweep_end on success and
 * on failure. */
kb_status kb_sweep_begin(kb_context *ctx, kb_sweeps *p, kb_sweep_state *s);
void kb_sweep_end(kb_context *ctx, kb_sweep_state *s);
/* Targets in units; with `warm`, less the given weights, which are taken over. */
kb_status kb_sweep_targets(kb_context *ctx, kb_sweep_state *s, int warm);

/* The best combination of this sweep's move and the last one (sweep_span.c). */
kb_status kb_sweep_span(kb_context *ctx, kb_sweep_state *s);
/* b takes the weighted mean of the residuals (sweep_span.c). */
kb_status kb_sweep_centre(kb_context *ctx, kb_sweep_state *s);

#endif
