/*
 * tried_file.h - the trials of the tuner in the JSON text of a model file.
 */
#ifndef KB_MODEL_TRIED_FILE_H
#define KB_MODEL_TRIED_FILE_H

#include "model/model.h"

#include <jansson.h>

/* Adds "tried" and "chosen" to the description of a model, but not the seconds, which differ from
 * fit to fit; 0 if memory ran out. */
int kb_tried_describe(const kb_model *model, json_t *json);

/* Into a model without trials; none where the description has none.  KB_ERR_MODEL if anything is
 * wrong.  The seconds are NAN. */
kb_status kb_tried_read(kb_context *ctx, const json_t *json, kb_model *model);

#endif
