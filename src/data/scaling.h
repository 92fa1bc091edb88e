/*
 * scaling.h - one affine map a feature, learned on the training data:
 * scaled = (x - shift) * factor.
 */
#ifndef KB_DATA_SCALING_H
#define KB_DATA_SCALING_H

#include "data/data.h"
#include "options/choices.h"

/* kind: MINMAX, MAXABS or STANDARD; all others leave the data as they are.  shift and factor:
 * `features` numbers each, the caller's.  A constant column gets factor 1, and MINMAX and STANDARD
 * shift it to 0; levels stay as they are.  The zeros that a sparse row leaves out count as zeros.
 * A row of weight 2 counts as two such rows would, and one of weight 0 not at all.  Sums run in row
 * order, so nothing depends on threads.  Both numbers are finite, and so is (x - shift) * factor
 * for the data themselves: a column whose range is beyond the largest double goes to [-1/2, 1/2]
 * under MINMAX. (Other data may still overflow there.)  With ranks: of the rows of all, and sums
 * are of fixed parts of them. */
kb_status kb_scaling_learn(kb_context *ctx, kb_scale_kind kind, const kb_data *data, double *shift,
                           double *factor);

/* Smallest and largest value of each column, of all ranks; zeros that are left out included. */
kb_status kb_scaling_ranges(kb_context *ctx, const kb_data *data, double *low, double *high);

/* Shift and factor of MINMAX for columns of these ranges. */
void kb_scaling_minmax(size_t features, const double *low, const double *high, double *shift,
                       double *factor);

enum { KB_DEVIATION_ROWS = 10000 };
/* out: for each feature the mean absolute deviation from the median of the scaled values, or for
 * levels the chance that two rows differ, with the rows' weights, taken on at most
 * KB_DEVIATION_ROWS evenly spaced rows.  The same bits for dense and sparse rows.  Of these data
 * alone: with ranks, the caller gives such rows of all (deal/collect.h). */
kb_status kb_scaling_deviations(kb_context *ctx, const kb_data *data, const double *shift,
                                const double *factor, double *out);
/* The mean of such numbers, and the mean of those of the data. */
double kb_scaling_mean(const double *deviation, size_t features);
kb_status kb_scaling_mean_deviation(kb_context *ctx, const kb_data *data, const double *shift,
                                    const double *factor, double *out);

#endif
