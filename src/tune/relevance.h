/*
 * relevance.h - widths by the univariate relevance of each column to the targets.
 *
 * It is crude, but cheap and has little noise: the score of one column is a mean over all rows,
 * while the gradient of learn_widths.h is for all columns at once.  It suits few rows with many
 * columns.  It does not see interactions of columns.
 */
#ifndef KB_TUNE_RELEVANCE_H
#define KB_TUNE_RELEVANCE_H

#include "trial/subsample.h"

/* score, one per column: the share of the variance of the targets between the rows with low, middle
 * and high values of the column, minus the share that an irrelevant column has by chance; at least
 * 0.  Levels have the mean score.  Computed on the listed rows of the sample. */
kb_status kb_relevance_columns(kb_context *ctx, const kb_subsample *s, size_t count,
                               const uint32_t *row, double *score);

/* One vector: the larger the score of a column, the narrower its bins.  Columns with score 0 are
 * still cut a little, and the mean of 1 / sigma_j is 1 / sigma.  *out belongs to the caller
 * (kb_release out->width).  level: as for kb_widths_equal. */
kb_status kb_relevance_widths(kb_context *ctx, size_t features, const unsigned char *level,
                              const double *score, const kb_law *law, double sigma, kb_widths *out);

#endif
