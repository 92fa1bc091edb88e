/*
 * relevance.h - widths by the univariate relevance of each column to the targets.
 *
 * Crude, but cheap and with little noise: a score of one column is a mean over all rows, where the
 * gradient of learn_widths.h is that of all columns at once.  It is what few rows with many columns
 * can tell, and what only several columns tell together it does not see.
 */
#ifndef KB_TUNE_RELEVANCE_H
#define KB_TUNE_RELEVANCE_H

#include "trial/subsample.h"

/* score, one a column: the share of the variance of the targets that lies between the rows of low,
 * of high and of middling values of the column, less what a useless column has of it by chance; no
 * less than 0.  Of the listed rows of the sample. */
kb_status kb_relevance_columns(kb_context *ctx, const kb_subsample *s, size_t count,
                               const uint32_t *row, double *score);

/* One vector: bins as much narrower as the score of a column is larger.  Columns without a score
 * keep a little of the cutting, and the mean of 1 / sigma_j is 1 / sigma.  *out belongs to the
 * caller (kb_release out->width). */
kb_status kb_relevance_widths(kb_context *ctx, size_t features, const double *score,
                              const kb_law *law, double sigma, kb_widths *out);

#endif
