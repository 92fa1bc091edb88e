/*
 * columns.h - Z by columns, for the solvers that move one weight at a time.
 *
 * The columns stand in blocks, and those of one block touch disjoint rows: the bins of a grid
 * do.  A column is the list of its rows, 4 bytes each, and all nonzeros have the same value.
 * Or the matrix is dense, every column with N values, and each is a block of its own.
 *
 * Samples that are close share most of their bins.  So the rows are numbered anew, close ones
 * side by side, and a column's rows lie in few cache lines: order[k] is the sample of row k.
 *
 * The rows are cut into a few parts, always as many, and so is every column: a thread that keeps
 * to some of the parts keeps those rows in its cache, and sums by parts do not depend on the
 * number of threads.
 */
#ifndef KB_SOLVE_COLUMNS_H
#define KB_SOLVE_COLUMNS_H

#include "features/binmat.h"

/* More of them are for more threads, and slower on one. */
enum { KB_PARTS = 4 };

typedef struct kb_columns {
    kb_allocator allocator;
    size_t rows, columns, blocks; /* N, D, R */
    size_t *block_start;          /* blocks + 1: the first column of each */
    size_t part[KB_PARTS + 1];    /* the first row of each */
    size_t *start;                /* D x parts + 1: into row */
    uint32_t *row;                /* NULL: dense */
    uint32_t *positive;           /* D x parts: how many rows there kb_columns_split put first */
    uint32_t *order;              /* N */
    int dealt;                    /* a split has changed the order of rows in columns */
    double value;                 /* of every nonzero; 1 if dense */
    double *dense;                /* N x D, column after column */
} kb_columns;

/* From bin numbers: one pass over them on all threads, and four more over few of them for the
 * order.  With class_of (N, or NULL) the rows of class 1 come first in every part, which makes
 * the split by that class quick.  On success *out belongs to the caller (kb_columns_free); on
 * failure it is NULL. */
kb_status kb_columns_from_binmat(kb_context *ctx, const kb_binmat *z, const uint32_t *class_of,
                                 kb_columns **out);
/* A copy of N x D values, row after row. */
kb_status kb_columns_from_dense(kb_context *ctx, size_t N, size_t D, const double *Z,
                                kb_columns **out);
void kb_columns_free(kb_columns *c);

/* Bytes that kb_columns_from_binmat takes for N rows, R grids and D bins. */
double kb_columns_bytes(size_t N, size_t R, size_t D);

/* In every part of a column, puts the rows with y > 0 (N targets in the columns' order) before
 * the others; both stay in order.  Which split was there before does not matter.  Nothing to do
 * if dense. */
kb_status kb_columns_split(kb_context *ctx, kb_columns *c, const double *y);

/* Where column j begins in the row of nonzeros of all columns. */
static inline size_t kb_column_begin(const kb_columns *c, size_t j) {
    return c->row ? c->start[j * KB_PARTS] : j * c->rows;
}

/* Nonzeros of column j. */
static inline size_t kb_column_count(const kb_columns *c, size_t j) {
    return kb_column_begin(c, j + 1) - kb_column_begin(c, j);
}

#endif
