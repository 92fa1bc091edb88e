/*
 * operator.h - what a solver sees of a feature map.
 *
 * A solver does not know how Z is stored, only its products.  Z is N x D; an array of several
 * columns is stored row after row (N x C or D x C).  To add a map, or another storage, fill in the
 * three products.  If each machine has some of the features, K V is each one's own product and one
 * sum of an N x C array; no solver changes.
 *
 * Solvers that move one weight at a time read Z by columns instead: l1/zcolumns.h.
 */
#ifndef KB_FEATURES_OPERATOR_H
#define KB_FEATURES_OPERATOR_H

#include "core/memory.h"

typedef struct kb_operator kb_operator;

struct kb_operator {
    kb_allocator allocator;
    size_t rows, columns; /* N, D */
    /* out = Z Z' V, unless NULL.  N x C from N x C.  square[c] = |Z' v_c|^2 = v_c' K v_c, unless
     * NULL: summed over the features it keeps all its digits where v'(Kv) would lose them, since
     * most of v may lie where K is zero. */
    kb_status (*apply_k)(kb_operator *op, kb_context *ctx, size_t C, const double *v, double *out,
                         double *square);
    /* out = Z W.  N x C from D x C. */
    kb_status (*apply)(kb_operator *op, kb_context *ctx, size_t C, const double *w, double *out);
    /* out = Z' V.  D x C from N x C. */
    kb_status (*apply_t)(kb_operator *op, kb_context *ctx, size_t C, const double *v, double *out);
    /* The same map for some of its rows, which must outlive the answer.  May be NULL. */
    kb_status (*subset)(kb_operator *op, kb_context *ctx, size_t count, const uint32_t *rows,
                        kb_operator **out);
    void (*release)(kb_operator *op); /* what the map keeps beyond this struct */
};

void kb_operator_free(kb_operator *op);

/* Four maps made from another, which must outlive them. */

/* Each sample counts root_i^2 times: Z becomes D Z with D = diag(root). */
kb_status kb_operator_weighted(kb_context *ctx, kb_operator *base, const double *root,
                               kb_operator **out);

/* The mean of every feature is subtracted, which is the same as a free intercept: Z becomes P Z
 * with P = I - r r'/|r|^2, where r is `root` of the weights in the base, or ones for NULL.
 * Expects columns of v that are orthogonal to r, as all are that a solver builds from centred
 * targets. */
kb_status kb_operator_centred(kb_context *ctx, kb_operator *base, const double *root,
                              kb_operator **out);

/* Rows in another order: row i of the answer is row place[i] of the base, which the answer owns.
 * subset is that of the base, which is asked for rows of the answer. */
kb_status kb_operator_placed(kb_context *ctx, kb_operator *base, const uint32_t *place,
                             kb_operator **out);

/* One more feature that is 1 for every sample: K becomes K + 11'.  Its weight is the sum of
 * alpha.  (Only apply_k; it is for solvers that see nothing else.) */
kb_status kb_operator_constant(kb_context *ctx, kb_operator *base, kb_operator **out);

/* v -= r (r'v / |r|^2) for each of the C columns of v (N x C); mean[c] = r'v / |r|^2. */
kb_status kb_centre(kb_context *ctx, size_t N, size_t C, const double *root, double *v,
                    double *mean);

#endif
