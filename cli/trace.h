/*
 * trace.h - the trials of the tuner, as text and as JSON.
 */
#ifndef CLI_TRACE_H
#define CLI_TRACE_H

#include "kerbin.h"

#include <jansson.h>
#include <stdio.h>

/* One line for each kind of widths and loss: its best trial with the most grids. */
void trace_print(FILE *to, const kb_model *model);
/* All trials: a list of objects. */
json_t *trace_json(const kb_model *model);

#endif
