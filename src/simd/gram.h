/*
 * gram.h - all products of a few long vectors with each other.
 */
#ifndef KB_SIMD_GRAM_H
#define KB_SIMD_GRAM_H

#include <stddef.h>

/* The lower triangle of L = GG', n x n, of n vectors of length p.  They lie side by side: G is p
 * x kb_gram_width(n), with zeros behind the n-th.  Each sum has the same bits as a plain loop
 * over p.  n^2 p / 2 products, several at a time. */
void kb_gram(size_t n, size_t p, const double *G, double *L);
size_t kb_gram_width(size_t n);

#endif
