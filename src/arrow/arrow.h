/*
 * arrow.h - a data frame in the Arrow C data interface as samples.
 */
#ifndef KB_ARROW_ARROW_H
#define KB_ARROW_ARROW_H

#include "data/data.h"

typedef struct kb_arrow_spec {
    const struct ArrowSchema *schema;
    const struct ArrowArray *const *batch;
    size_t batches;
    /* To train: lists of columns, and their types, as in kb_read_spec; or NULL. */
    const char *columns, *ignore, *types;

    /* For data that a model is to predict; 0 and NULL to train.  Where frame and model have names,
     * columns are found by name, in any order; those that the model does not know are ignored with
     * a warning.  Else there are as many columns as features, or also those left out, in their
     * places. */
    int to_predict;
    size_t features;
    char *const *feature_name; /* of a model that has names, else NULL */
    const kb_table *table;     /* of the model; NULL: its features are numbers */
    const char *label_name;    /* a column that may be there as well, or NULL */
} kb_arrow_spec;

/* Fills an empty `data` with dense rows, their names and types.  A message names the column. */
kb_status kb_arrow_read(kb_context *ctx, const kb_arrow_spec *spec, kb_data *data);

#endif
