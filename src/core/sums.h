/*
 * sums.h - sums over rows that do not depend on the number of threads.
 *
 * The rows are cut into parts of fixed size; each part is summed in order by whichever
 * thread takes it, then the parts in order.
 */
#ifndef KB_CORE_SUMS_H
#define KB_CORE_SUMS_H

#include "core/memory.h"

/* Rows of a part. */
enum { KB_SUM_ROWS = 2048 };

/* out[c] = sum over i of a[i*C + c] * b[i*C + c]; b = NULL stands for ones. */
kb_status kb_sums(kb_context *ctx, size_t N, size_t C, const double *a, const double *b,
                  double *out);

/* What kb_sums sums, as a body for kb_sums_by. */
typedef struct kb_pair {
    size_t C;
    const double *a, *b;
} kb_pair;
void kb_sum_pair(void *pair, size_t begin, size_t end, double *sum);

/* out[k] = the sum over the parts of what body(arg, begin, end, sum) leaves in sum[k], k < count,
 * for the rows begin up to end.  The body may do more to its rows on the way. */
kb_status kb_sums_by(kb_context *ctx, size_t N, size_t count,
                     void (*body)(void *arg, size_t begin, size_t end, double *sum), void *arg,
                     double *out);

/* The sums of each part, in order: *sum is number x count, and the caller's (kb_release).  And all
 * of them added up in order, which is what kb_sums_by gives. */
kb_status kb_sums_of_parts(kb_context *ctx, size_t N, size_t count,
                           void (*body)(void *arg, size_t begin, size_t end, double *sum),
                           void *arg, size_t *number, double **sum);
void kb_sums_join(size_t number, size_t count, const double *sum, double *out);

/* The sum of n numbers, of their sizes |x|, and the largest size; on the calling thread, in
 * eight independent chains. */
double kb_sum(size_t n, const double *x);
double kb_sum_sizes(size_t n, const double *x);
double kb_largest_size(size_t n, const double *x);

#endif
