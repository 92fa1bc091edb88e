/*
 * prune.h - removes what has no weight from a model.
 */
#ifndef KB_FIT_PRUNE_H
#define KB_FIT_PRUNE_H

#include "model/model.h"

/* Bins without a weight are dropped, and grids without a bin. */
kb_status kb_model_prune(kb_context *ctx, kb_model *model);

#endif
