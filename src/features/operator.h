/*
 * operator.h - what a solver sees of a feature map.
 *
 * Z is N x D; an array of several columns is stored row after row (N x C or D x C).
 * To add a map, fill in the three products.  Where the features are spread over machines,
 * K V is each one's own product and one sum of an N x C array; no solver changes.
 */
#ifndef KB_FEATURES_OPERATOR_H
#define KB_FEATURES_OPERATOR_H

#include "features/binmat.h"

typedef struct kb_operator kb_operator;

struct kb_operator {
    kb_allocator allocator;
    size_t rows, columns; /* N, D */
    /* out = Z Z' V.  N x C from N x C.  square[c] = |Z' v_c|^2 = v_c' K v_c, unless NULL:
     * summed over the features it keeps all its digits where v'(Kv) would lose them, since
     * most of v may lie where K is zero. */
    kb_status (*apply_k)(kb_operator *op, kb_context *ctx, size_t C, const double *v, double *out,
                         double *square);
    /* out = Z W.  N x C from D x C. */
    kb_status (*apply)(kb_operator *op, kb_context *ctx, size_t C, const double *w, double *out);
    /* out = Z' V.  D x C from N x C. */
    kb_status (*apply_t)(kb_operator *op, kb_context *ctx, size_t C, const double *v, double *out);
    void (*release)(kb_operator *op); /* what the map keeps beyond this struct */
};

void kb_operator_free(kb_operator *op);

/* Z of random binning; `z` must outlive the operator.  Memory beside the arguments: the
 * sums of a few grids. */
kb_status kb_operator_binmat(kb_context *ctx, const kb_binmat *z, kb_operator **out);

/* The same map with the mean of every feature taken off, which is what a free
 * intercept amounts to: Z becomes H Z with H = I - 11'/N.  Expects columns of v that
 * sum to zero, as all are that a solver builds from centred targets.  `base` must
 * outlive it. */
kb_status kb_operator_centred(kb_context *ctx, kb_operator *base, kb_operator **out);

/* Takes the mean off each of the C columns of v (N x C), and gives it back in mean. */
kb_status kb_centre(kb_context *ctx, size_t N, size_t C, double *v, double *mean);

#endif
