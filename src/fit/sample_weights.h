/*
 * sample_weights.h - how much each sample counts in a fit: its own weight times its class's.
 */
#ifndef KB_FIT_SAMPLE_WEIGHTS_H
#define KB_FIT_SAMPLE_WEIGHTS_H

#include "fit/targets.h"

/* Weights sum to at most this: KB_ERR_DATA otherwise. */
#define KB_WEIGHT_MOST 1e30

/* The weight of a class (the option class-weight) is 1, or for `balanced` W / (C W_c), where W sums
 * the weights of all samples and W_c those of its class, or what a file says: lines of a
 * label and its weight with blanks or a comma between; a class that it does not name keeps 1.
 * *out has data->rows weights and belongs to the caller (kb_release); it is NULL where all
 * are 1, and on failure.  KB_ERR_DATA if nothing of a class is left. */
kb_status kb_sample_weights_build(kb_context *ctx, const kb_config *config, const kb_data *data,
                                  const kb_targets *targets, double **out);

#endif
