/*
 * row_sums.h - sums over the rows of all ranks, the same for any number of them.
 *
 * As core/sums.h, with the sums of the parts gathered from all ranks, a few numbers for 2048 rows,
 * and added in order.  N are the rows of this rank.
 */
#ifndef KB_RANKS_ROW_SUMS_H
#define KB_RANKS_ROW_SUMS_H

#include "ranks/ranks.h"

kb_status kb_row_sums(kb_context *ctx, size_t N, size_t C, const double *a, const double *b,
                      double *out);
kb_status kb_row_sums_by(kb_context *ctx, size_t N, size_t count,
                         void (*body)(void *arg, size_t begin, size_t end, double *sum), void *arg,
                         double *out);

/* Sums that one process makes in the order of its rows, by one thread: so it is without ranks. With
 * ranks, be it one, they are those of kb_row_sums_by. */
kb_status kb_row_totals(kb_context *ctx, size_t N, size_t count,
                        void (*body)(void *arg, size_t begin, size_t end, double *sum), void *arg,
                        double *out);

#endif
