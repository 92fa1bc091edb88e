/*
 * sweep_cpu.h - the steps of sweeps by the threads of the CPU; for sweep_cpu.c and sweep_slices.c.
 */
#ifndef KB_SWEEPS_SWEEP_CPU_H
#define KB_SWEEPS_SWEEP_CPU_H

#include "sweeps/sweep_state.h"

#include <stdatomic.h>

typedef struct kb_sweep_cpu {
    const kb_whole_sums *simd;
    kb_slices *slices;
    int32_t *before;   /* N x P: residuals when the sweep began */
    int32_t *h;        /* N x P: the slice's change of the decisions */
    int32_t *last;     /* N x P: the last move's */
    int32_t *v;        /* N x P: the weighted residuals; NULL without weights */
    float *d, *u_last; /* D x P: this sweep's change of the weights, and the last one's */
    float *n;          /* D: the weight of the samples of a bin */
    int32_t *g;        /* bins of a slice x P, in units of KB_SWEEP_STEP */
    double *products;  /* blocks x 2 x P: g (S - Lambda u) and g g */
    double *gradient;  /* blocks x P: (S - Lambda u)^2 */
    __int128 *squares; /* threads x KB_PANEL: h'h */
    uint32_t *bits;    /* threads: the sizes of all residuals, after slices */
    atomic_uint ended; /* the same, after spans */
    kb_status status;  /* of the exchange of line searches with other ranks */
    int32_t *kept_r;   /* what is kept for the watch */
    float *kept_u;
} kb_sweep_cpu;

static inline kb_sweep_cpu *kb_sweep_cpu_of(const kb_sweep_state *s) {
    return s->own;
}

/* What is summed over the bins: the residuals, times the weights of the samples. */
static inline const int32_t *kb_sweep_summed(const kb_sweep_state *s) {
    return s->share ? kb_sweep_cpu_of(s)->v : s->r;
}

/* The weighted residuals of some rows, from the residuals. */
void kb_sweep_weigh(const kb_sweep_state *s, size_t begin, size_t end);

/* The weights of the samples of each bin, from those of the rows in h (sweep_slices.c). */
kb_status kb_sweep_count(kb_context *ctx, kb_sweep_state *s);
/* The steps sweep and slopes (sweep_slices.c). */
kb_status kb_sweep_slices(kb_context *ctx, kb_sweep_state *s);
kb_status kb_sweep_slopes(kb_context *ctx, kb_sweep_state *s);

#endif
