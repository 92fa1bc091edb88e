/*
 * permutation.h - permutation importance: how much worse a model scores on rows in which the cells
 * of one feature are shuffled (Breiman, Random forests, Machine Learning 45, 2001).
 *
 * The score is the accuracy, or r2 for regression.  The drop of feature j is the mean over the
 * repeats of score - score with j shuffled.  Every row has its share of the drop, so the standard
 * error over samples of rows is that of a weighted mean.  A row whose cells do not change is not
 * decided again, so sparse columns cost as much as their entries.
 */
#ifndef KB_EXPLAIN_PERMUTATION_H
#define KB_EXPLAIN_PERMUTATION_H

#include "model/model.h"

typedef struct kb_permutation {
    const kb_model *model;
    const kb_data *data; /* labelled rows; all of them count */
    size_t features;
    const size_t *feature_of; /* columns of the data: the feature that each was made from, all of
                                 which are shuffled together; NULL: the features are the columns */
    size_t repeats;
    uint64_t seed;
} kb_permutation;

/* drop and standard_error: one number for each feature.  KB_ERR_DATA if the rows have no labels. */
kb_status kb_permutation_measure(kb_context *ctx, const kb_permutation *p, double *score,
                                 double *drop, double *standard_error);

/* Rows that are decided again for each row and repeat: at most the features, fewer where columns
 * are sparse. */
double kb_permutation_changes(const kb_data *data, size_t features);

#endif
