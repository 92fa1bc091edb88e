/*
 * cholesky.h - dense triangular algebra over the team, the same bits for any number of threads.
 * KB_ERR_CANCELLED, with what was written left undone, if the caller wants to stop.
 */
#ifndef KB_SIMD_CHOLESKY_H
#define KB_SIMD_CHOLESKY_H

#include "core/memory.h"
#include "simd/tiles.h"

typedef struct kb_triangle {
    size_t n;
    double *L;       /* n x n, of which the lower triangle counts */
    double *inverse; /* n: 1 / L_kk, or 0 for a column that was dropped */
} kb_triangle;

/* The lower triangle of t->L holds a symmetric matrix A and becomes L with L L' = A. A pivot at
 * or below `drop` counts as 0 and its row and column of A are dropped; *rank counts the others.
 * n^3/6 fused operations and 16 * 128 n bytes of scratch. */
kb_status kb_cholesky(kb_context *ctx, const kb_tiles *tiles, kb_triangle *t, double drop,
                      size_t *rank);
double kb_cholesky_bytes(size_t n);

/* y = L^-1 y, y = L'^-1 y, for C vectors that lie one after the other (C x n). */
kb_status kb_triangle_forward(kb_context *ctx, const kb_tiles *tiles, const kb_triangle *t,
                              size_t C, double *y);
kb_status kb_triangle_backward(kb_context *ctx, const kb_tiles *tiles, const kb_triangle *t,
                               size_t C, double *y);

/* to (columns x rows) = the transpose of from (rows x columns). */
void kb_transpose(size_t rows, size_t columns, const double *from, double *to);

#endif
