/*
 * heldout.h - decisions for the training samples by fits that have not seen them.
 */
#ifndef KB_MODEL_HELDOUT_H
#define KB_MODEL_HELDOUT_H

#include "model/learn.h"

/* Deals the rows into `folds` by (seed, row), and leaves each out in turn by a weight of 0: no
 * bins are made anew.  f: N x outputs.  `like` is not prepared.  Costs `folds` fits. */
kb_status kb_heldout(kb_context *ctx, const kb_learner *like, size_t folds, uint64_t seed,
                     double *f);

#endif
