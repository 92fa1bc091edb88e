/*
 * of_all.h - what depends on the rows of all ranks, while each has those that it has read.
 */
#ifndef KB_DATA_OF_ALL_H
#define KB_DATA_OF_ALL_H

#include "data/data.h"
#include "ranks/ranks.h"

/* kb_data_choose_form for the rows of all ranks: their form is the same. */
kb_status kb_data_choose_form_of_all(kb_context *ctx, kb_data *data);
/* kb_data_count_missing, likewise. */
kb_status kb_data_count_missing_of_all(kb_context *ctx, kb_data *data);

/* kb_weights_check, likewise. */
kb_status kb_weights_check_of_all(kb_context *ctx, const char *name, size_t count,
                                  const double *weight);

#endif
