/*
 * importance.h - the importance of features, as text, figure and JSON.
 *
 * Permutation importance where the model has it, beside the share of the grids' splits, which says
 * how finely a feature is split; that alone where importance was not measured.  Equal widths say
 * nothing and are not shown.
 */
#ifndef CLI_IMPORTANCE_H
#define CLI_IMPORTANCE_H

#include "plot.h"
#include "session.h"

#include <jansson.h>

/* The name of a feature, or its number as in the data, for which `number` is a buffer. */
enum { FEATURE_NUMBER_LENGTH = 24 };
const char *feature_name(const kb_model *model, size_t feature, char *number);

/* A list on standard output, the most important first; nothing where nothing is known. */
kb_status importance_print(kb_context *ctx, const kb_model *model);

/* The same as bars in a figure; NULL where nothing is known or memory ran out.  title NULL: one
 * that says what is drawn. */
figure *importance_figure(kb_context *ctx, const kb_model *model, const char *title);
int importance_is_known(const kb_model *model);
kb_status importance_plot(session *s, const kb_model *model, const char *path);

/* The numbers of the most important features, at most so many; returns how many.  In the order of
 * the data where nothing is known. */
size_t importance_top(kb_context *ctx, const kb_model *model, size_t most, size_t *feature);

/* "importance": {"score": "accuracy", .., "drop": {"name": x, ..}, ..} or null, and "fineness":
 * {"name": share, ..} or null. */
void importance_add_json(json_t **object, kb_context *ctx, const kb_model *model);

#endif
