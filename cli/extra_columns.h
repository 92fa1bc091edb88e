/*
 * extra_columns.h - what the extra columns of a model are made of: the predictions of a linear fit,
 * and directions.
 */
#ifndef CLI_EXTRA_COLUMNS_H
#define CLI_EXTRA_COLUMNS_H

#include "command.h"

#include <jansson.h>

/* A line for each on standard output, with the features that move it most. */
kb_status extra_columns_print(const kb_model *model);

/* "extra_columns": [{"name": share, ..}, ..], of the features whose share is not 0. */
void extra_columns_add_json(json_t **object, const kb_model *model);

#endif
