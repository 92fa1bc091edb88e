/*
 * zcolumns.h - Z by columns, for the solvers that move one weight at a time.
 *
 * These solvers see this struct, not how a map stores Z; the others see the products of
 * features/operator.h.
 *
 * The columns are divided into blocks, and those of a block touch disjoint rows, as the bins of a
 * grid do.  Or the matrix is dense, every column with N values, and each is a block of its own.
 *
 * Samples that are close share most of their bins.  So the rows are renumbered, close ones side by
 * side: order[k] is the sample of row k.  A column is then a short list of octets
 * (simd/masked_rows.h), 4 bytes each, and all nonzeros have the same value.
 *
 * The rows are cut into a few parts, and so is every column: a thread that works on some of the
 * parts keeps those rows in its cache.  Their number depends on the rows alone, so sums by parts do
 * not depend on the number of threads.  No octet is in two parts.
 */
#ifndef KB_L1_ZCOLUMNS_H
#define KB_L1_ZCOLUMNS_H

#include "core/memory.h"
#include "simd/masked_rows.h"

typedef struct kb_binmat kb_binmat; /* features/binmat.h */

enum { KB_LEAST_PARTS = 2, KB_MOST_PARTS = 8 };
/* More parts suit more threads, and are slower on one where they are small. */
size_t kb_zcolumns_parts(size_t N);

typedef struct kb_zcolumns {
    kb_allocator allocator;
    size_t rows, columns, blocks; /* N, D, R */
    size_t *block_start;          /* blocks + 1: the first column of each */
    size_t parts;
    size_t part[KB_MOST_PARTS + 1]; /* the first row of each */
    size_t *start;                  /* D x parts + 1: into octet */
    uint32_t *octet;                /* NULL: dense */
    uint32_t *count;                /* D: rows of each */
    uint32_t *order;                /* N */
    const kb_masked_rows *loops;    /* over octets */
    double value;                   /* of every nonzero; 1 if dense */
    double *dense;                  /* N x D, column after column */
} kb_zcolumns;

/* From bin numbers: two passes over them on all threads, and some more over few of them for the
 * order.  On success *out belongs to the caller (kb_zcolumns_free); on failure it is NULL. */
kb_status kb_zcolumns_from_binmat(kb_context *ctx, const kb_binmat *z, kb_zcolumns **out);
/* A copy of N x D values, row after row. */
kb_status kb_zcolumns_from_dense(kb_context *ctx, size_t N, size_t D, const double *Z,
                                 kb_zcolumns **out);
void kb_zcolumns_free(kb_zcolumns *c);

/* Bytes of the columns of N rows, R grids and D bins, and what so many threads take besides while
 * they build them. */
double kb_zcolumns_bytes(size_t N, size_t R, size_t D);
double kb_zcolumns_scratch_bytes(size_t N, size_t R, int threads);

/* Nonzeros of column j. */
static inline size_t kb_column_count(const kb_zcolumns *c, size_t j) {
    return c->octet ? c->count[j] : c->rows;
}

/* One after the other: for (kb_nonzero z = kb_nonzeros(c, j); kb_nonzero_next(c, &z);) */
typedef struct kb_nonzero {
    size_t row;
    double value;
    size_t at, end; /* octets to come, or values */
    size_t first;   /* row of the present octet */
    uint32_t bits;  /* that are to come there */
} kb_nonzero;

static inline kb_nonzero kb_nonzeros(const kb_zcolumns *c, size_t j) {
    if (c->octet)
        return (kb_nonzero){
            .value = c->value, .at = c->start[j * c->parts], .end = c->start[(j + 1) * c->parts]};
    return (kb_nonzero){.row = SIZE_MAX, .at = j * c->rows, .end = (j + 1) * c->rows};
}

static inline int kb_nonzero_next(const kb_zcolumns *c, kb_nonzero *z) {
    if (z->bits == 0 && z->at == z->end)
        return 0;
    if (!c->octet) {
        z->row++;
        z->value = c->dense[z->at++];
        return 1;
    }
    if (z->bits == 0) {
        z->first = (size_t)(c->octet[z->at] >> 8) * KB_OCTET;
        z->bits = c->octet[z->at++] & 255;
    }
    z->row = z->first + (size_t)__builtin_ctz(z->bits);
    z->bits &= z->bits - 1;
    return 1;
}

#endif
