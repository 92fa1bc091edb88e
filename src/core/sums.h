/*
 * sums.h - sums over rows that do not depend on the number of threads.
 *
 * The rows are cut into parts of fixed size; each part is summed in order by whichever
 * thread takes it, then the parts in order.
 */
#ifndef KB_CORE_SUMS_H
#define KB_CORE_SUMS_H

#include "core/memory.h"

/* out[c] = sum over i of a[i*C + c] * b[i*C + c]; b = NULL stands for ones. */
kb_status kb_sums(kb_context *ctx, size_t N, size_t C, const double *a, const double *b,
                  double *out);

#endif
