/*
 * margin_state.h - what sweeps over a smooth loss work on; for margin_sweeps.c and margin_step.c.
 */
#ifndef KB_SWEEPS_MARGIN_STATE_H
#define KB_SWEEPS_MARGIN_STATE_H

#include "simd/simd.h"
#include "sweeps/margin_problem.h"

/* The directions of a step are that of the slice and the past steps: KB_FORMS in all. */
enum { KB_MARGIN_PAST = KB_FORMS - 1 };

/* The unit of slopes, in shares of the largest weight. */
#define KB_SLOPE_UNIT 0x1p-22

typedef struct kb_margin_state {
    kb_margin *p;
    kb_context *ctx;
    const kb_loss_loops *simd;
    kb_slices *slices;
    size_t rows;    /* of all ranks */
    size_t N, D, P; /* P: columns of the arrays, a power of two */
    double Lambda;
    double most;                    /* weight of a sample */
    double unit;                    /* of g */
    double limit;                   /* of |g| in units, so that the sums of a slice fit */
    double *f, *y;                  /* N x P; columns beyond C have y = 0, and no slopes */
    double *slope, *curvature;      /* N x P: -s L' and s L'' */
    double *k_g;                    /* N x P: the rows' sums of g */
    double *k_step[KB_MARGIN_PAST]; /* N x P: those of past steps, the last one first */
    int32_t *v, *h;                 /* N x P: slopes and k_g in units */
    double *u;                      /* D x P */
    float *inverse;                 /* D x P: 1 / (H + Lambda), for g in units */
    float *step[KB_MARGIN_PAST];    /* D x P */
    int32_t *g;                     /* bins of a slice x P */
    double *blocks;                 /* blocks x P x KB_CHANGE_SUMS */
    size_t past, visits, sweep;
    size_t slice; /* the one that is visited, and whether H is refreshed there */
    int refresh;
    /* One a column. */
    double bins[KB_PANEL][KB_CHANGE_SUMS];
    double b[KB_PANEL], b_step[KB_PANEL][KB_MARGIN_PAST], b_g[KB_PANEL], H_b[KB_PANEL];
    double norm[KB_PANEL], start[KB_PANEL];                /* squared gradients, times R */
    double objective[KB_PANEL], square[KB_PANEL];          /* |u|^2 */
    double gram[KB_PANEL][KB_MARGIN_PAST][KB_MARGIN_PAST]; /* step' step */
    double along[KB_PANEL][KB_MARGIN_PAST];                /* u' step */
    double x[KB_PANEL][KB_FORMS];          /* the step is x_0 g + the sum of x_a step_(a-1) */
    double to[KB_PANEL], across[KB_PANEL]; /* u'd and d'd of the step d */
    double t[KB_PANEL], change[KB_PANEL];  /* the line search: where it is, how far it goes on */
    int combine, stuck[KB_PANEL];
} kb_margin_state;

/* Losses and slopes where it is. */
kb_status kb_margin_look(kb_context *ctx, kb_margin_state *s);

/* A step within the span of the changes of a slice and of the past steps, at which the objective of
 * each column falls; a column without one is stuck. */
kb_status kb_margin_step(kb_context *ctx, kb_margin_state *s);

#endif
