/*
 * out_of_fold.h - decisions for the training samples by fits that have not seen them.
 */
#ifndef KB_FIT_OUT_OF_FOLD_H
#define KB_FIT_OUT_OF_FOLD_H

#include "fit/learner.h"

/* Whether the probabilities of a fit need it: five extra fits. */
enum { KB_OUT_OF_FOLDS = 5 };
static inline int kb_out_of_fold_is_needed(const kb_config *config, const kb_targets *targets) {
    return targets->classes && config->probability == KB_PROBABILITY_ON;
}
/* In addition to the learner. */
kb_bytes kb_out_of_fold_bytes(size_t batch, size_t outputs);

/* Deals the rows into `folds` by (seed, row), and leaves each fold out in turn with weight 0: the
 * bins stay the same.  f: N x outputs.  `like` is not prepared.  Costs `folds` fits. */
kb_status kb_out_of_fold(kb_context *ctx, const kb_learner *like, size_t folds, uint64_t seed,
                         double *f);

#endif
