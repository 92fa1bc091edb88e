/*
 * eigenvectors.h - the first eigenvectors of a symmetric matrix without negative eigenvalues.
 */
#ifndef KB_SLOPES_EIGENVECTORS_H
#define KB_SLOPES_EIGENVECTORS_H

#include "core/memory.h"

/* vector: count x n, of length 1, those of the largest eigenvalues, in their order; value: count.
 * The number of the largest size in a vector is positive.  Behind the rank of M both are 0.  Where
 * eigenvalues are nearly equal, their vectors are some in between.  O(count n^2) an iteration, of
 * which there are at most some tens. */
kb_status kb_eigenvectors(kb_context *ctx, size_t n, const double *M, size_t count, double *vector,
                          double *value);

#endif
