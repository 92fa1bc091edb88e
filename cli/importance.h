/*
 * importance.h - which features a model looks at most, for people and for programs.
 */
#ifndef CLI_IMPORTANCE_H
#define CLI_IMPORTANCE_H

#include "session.h"

#include <jansson.h>

/* A list on standard output, the most important first; nothing where all widths are equal. */
kb_status importance_print(kb_context *ctx, const kb_model *model);

/* The same as bars in a figure. */
kb_status importance_plot(session *s, const kb_model *model, const char *path);

/* {"name": share, ..} for all features; null for a model that does not tell.  NULL: no memory. */
json_t *importance_json(kb_context *ctx, const kb_model *model);

#endif
