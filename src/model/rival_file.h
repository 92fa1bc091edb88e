/*
 * rival_file.h - the part of a model file that is a rival map's; model_file.c does the rest.
 */
#ifndef KB_MODEL_RIVAL_FILE_H
#define KB_MODEL_RIVAL_FILE_H

#include "model/map_file.h"
#include "model/model.h"
#include "model/tensors.h"

/* `map`: what any map has. */
kb_status kb_model_write_rival(kb_context *ctx, const kb_model *model, const kb_map_tensors *map,
                               const json_t *metadata, const kb_sink *sink);
/* Fills in the rival, the weights, the intercept and the prior of a model that has its info and
 * the rest of its map. */
kb_status kb_model_read_rival(kb_context *ctx, const kb_tensor_file *file, kb_map_kind kind,
                              kb_model *model);

#endif
