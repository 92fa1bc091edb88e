/*
 * copy.h - a model of its own from another.
 */
#ifndef KB_UPDATE_COPY_H
#define KB_UPDATE_COPY_H

#include "model/model.h"

/* What a model file keeps of `model`: a file that is written and read, in memory.  It
 * takes twice its bytes for a moment: KB_ERR_MEMORY, before, if those are more than `limit`.  On
 * success *out belongs to the caller (kb_model_free); on failure it is NULL. */
kb_status kb_model_copy(kb_context *ctx, const kb_model *model, double limit, kb_model **out);

/* Takes the map out of such a copy of a random-binning model, without its bins, and frees the bins
 * and the weights.  The names, the settings and the record of the fit stay.  On success *map
 * belongs to the caller (kb_map_free). */
kb_status kb_model_take_map(kb_context *ctx, kb_model *copy, kb_map **map);

#endif
