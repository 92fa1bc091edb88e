/*
 * whole_sums.h - sums over bins in whole numbers, for the solver by sweeps.
 *
 * Sums of integers do not depend on the order, so any number of threads may share the rows.  They
 * are also faster than sums of doubles: an addition takes one cycle instead of four, and where many
 * rows in turn fall into one bin each addition waits for the one before it.
 *
 * `columns` is 1, 2, 4 or KB_PANEL, and the columns of a row or bin lie side by side.  Loops over
 * a group take all its KB_GROUP grids if lane == KB_GROUP, else the one with this number.
 */
#ifndef KB_SIMD_WHOLE_SUMS_H
#define KB_SIMD_WHOLE_SUMS_H

#include "simd/bins.h"

/* An exact sum of squares: high * 2^32 + low. */
typedef struct kb_wide_sum {
    uint64_t high, low;
} kb_wide_sum;

static inline double kb_wide_value(kb_wide_sum s) {
    return (double)s.high * 0x1p32 + (double)s.low;
}

typedef struct kb_whole_sums {
    /* sums[g][bin * columns + c] += v[i * columns + c] for the rows begin up to end. */
    void (*scatter)(const kb_id_group *group, size_t lane, size_t begin, size_t end, size_t columns,
                    const int32_t *v, int64_t *const *sums);
    /* The same for values that are sums themselves. */
    void (*scatter_sums)(const kb_id_group *group, size_t lane, size_t begin, size_t end,
                         size_t columns, const int64_t *v, int64_t *const *sums);
    /* out[i * columns + c] += the sum over the grids of step[g][bin * columns + c]; with `first` it
     * is set instead of added to. */
    void (*gather)(const kb_id_group *group, size_t lane, size_t begin, size_t end, size_t columns,
                   const int32_t *const *step, int first, int32_t *out);
    /* sum[c] += the squares of column c of x, n numbers in all; at most 2^32 rows. */
    void (*squares)(size_t n, size_t columns, const int32_t *x, kb_wide_sum *sum);
    /* r[i * columns + c] -= t[c] h[i * columns + c], rounded to the nearest; n numbers in all.
     * Returns the OR of the sizes of all r: no bit beyond those is set in any. */
    uint32_t (*advance)(size_t n, size_t columns, const double *t, const int32_t *h, int32_t *r);
} kb_whole_sums;

#endif
