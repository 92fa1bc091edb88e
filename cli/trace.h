/*
 * trace.h - what a fit tried before it chose, for people and for programs.
 */
#ifndef CLI_TRACE_H
#define CLI_TRACE_H

#include "kerbin.h"

#include <jansson.h>
#include <stdio.h>

/* One line for each kernel that came to the last round, with its best trial. */
void trace_print(FILE *to, const kb_model *model);
/* All trials: a list of objects. */
json_t *trace_json(const kb_model *model);

#endif
