/*
 * importance.h - the importance of features, as text, figure and JSON.
 */
#ifndef CLI_IMPORTANCE_H
#define CLI_IMPORTANCE_H

#include "session.h"

#include <jansson.h>

/* A list on standard output, the most important first; nothing where all widths are equal. */
kb_status importance_print(kb_context *ctx, const kb_model *model);

/* The same as bars in a figure. */
kb_status importance_plot(session *s, const kb_model *model, const char *path);

/* {"name": share, ..} for all features; null if the model does not have them.  NULL: no memory. */
json_t *importance_json(kb_context *ctx, const kb_model *model);

#endif
