/*
 * out_of_fold.h - decisions for the training samples by fits that have not seen them.
 */
#ifndef KB_FIT_OUT_OF_FOLD_H
#define KB_FIT_OUT_OF_FOLD_H

#include "data/folds.h"
#include "fit/learner.h"

/* In addition to the learner. */
kb_bytes kb_out_of_fold_bytes(size_t batch, size_t outputs);

/* Leaves each fold out in turn with weight 0, and with it, where the folds are ordered, the later
 * ones: the bins stay the same.  f: N x outputs, of which the rows of folds are written.  `like` is
 * not prepared.  Costs a fit for each fold. */
kb_status kb_out_of_fold(kb_context *ctx, const kb_learner *like, const kb_folds *folds, double *f);

#endif
