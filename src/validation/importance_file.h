/*
 * importance_file.h - permutation importance in the JSON text of a model file.
 */
#ifndef KB_VALIDATION_IMPORTANCE_FILE_H
#define KB_VALIDATION_IMPORTANCE_FILE_H

#include "core/memory.h"

#include <jansson.h>

/* Zeros for so many features, in one block that begins at `drop`. */
kb_status kb_importance_create(kb_context *ctx, size_t features, kb_importance *out);

/* Adds "importance" to the description of a model; 0 if memory ran out. */
int kb_importance_describe(const kb_importance *importance, size_t features, json_t *json);

/* out->drop is NULL where the description has none.  KB_ERR_MODEL if anything is wrong.  The one
 * block of memory begins at out->drop, also after a failure. */
kb_status kb_importance_read(kb_context *ctx, const json_t *json, size_t features,
                             kb_importance *out);

#endif
