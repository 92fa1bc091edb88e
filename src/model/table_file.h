/*
 * table_file.h - what the columns hold, in the JSON text of a model file.
 */
#ifndef KB_MODEL_TABLE_FILE_H
#define KB_MODEL_TABLE_FILE_H

#include "table/table.h"

#include <jansson.h>

/* Adds "columns" and "left_out" to the description of a model; 0 if memory ran out. */
int kb_table_describe(const kb_table *table, json_t *json);

/* *out is NULL where the description has no columns, and on failure.  KB_ERR_MODEL if anything is
 * wrong. */
kb_status kb_table_read(kb_context *ctx, const json_t *json, size_t columns, kb_table **out);

#endif
