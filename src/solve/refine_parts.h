/*
 * refine_parts.h - what the files of refine share.
 */
#ifndef KB_SOLVE_REFINE_PARTS_H
#define KB_SOLVE_REFINE_PARTS_H

#include "solve/refine.h"

typedef struct kb_refining {
    kb_refine *p;
    double *slope, *curve; /* N x C: derivatives of the loss, times the weights of the samples */
    double *image;         /* N x C: Z x of a direction, with its intercept */
    double *r, *x, *dir;   /* D x C: minus the gradient, later residual; solution; CG's direction */
    double *product;       /* D x C */
    double *diagonal;      /* D x C: of Newton's system, the preconditioner */
    double *moved, *strict; /* D x C, with past: w - c, and Lambda */
    double *scalars;        /* what follows, C numbers each */
    double *b_r, *b_x, *b_dir, *b_product, *b_moved, *b_strict, *b_curve;
    double *offset, *unit, *spread;
    double *norm, *start, *inner, *old, *a, *t, *sum, *sum2, *sum3, *loss, *trial;
    int *done;
} kb_refining;

/* Lambda of weight e of D x C. */
static inline double kb_refining_strictness(const kb_refining *m, size_t e) {
    return m->strict ? m->strict[e] : m->p->lambda;
}

/* Runs the body over the bins. */
void kb_refining_on_bins(kb_context *ctx, kb_refining *m,
                         void (*body)(void *arg, size_t begin, size_t end));
/* out: the length of r and b_r of each output. */
kb_status kb_refining_length(kb_context *ctx, kb_refining *m, double *out);

/* Newton's system (Z'HZ + Lambda) x = r by conjugate gradients, until the length of each output's
 * residual is at most `inner`; sum3 has it at the beginning.  r becomes the residual. */
kb_status kb_refining_solve(kb_context *ctx, kb_refining *m);

#endif
