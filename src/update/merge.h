/*
 * merge.h - the bins of a model and those of new rows, as one dictionary.
 */
#ifndef KB_UPDATE_MERGE_H
#define KB_UPDATE_MERGE_H

#include "model/model.h"

/* Both dictionaries are of the same grids.  weight: of the bins of `fresh`, D x outputs, which go
 * before the old model's.  On success *out (kb_dictionary_release) and *merged (kb_release) belong
 * to the caller. */
kb_status kb_merge_bins(kb_context *ctx, const kb_model *old, const kb_dictionary *fresh,
                        const float *weight, kb_dictionary *out, float **merged);

#endif
