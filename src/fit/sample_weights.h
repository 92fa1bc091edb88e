/*
 * sample_weights.h - how much each sample counts in a fit: its own weight times its class's.
 */
#ifndef KB_FIT_SAMPLE_WEIGHTS_H
#define KB_FIT_SAMPLE_WEIGHTS_H

#include "fit/targets.h"

/* The largest sum of weights: KB_ERR_DATA beyond. */
#define KB_WEIGHT_MOST 1e30

/* The weight of a class (the option class-weight) is 1; for `balanced` W / (C W_c), where W sums
 * the weights of all samples and W_c those of its class; or read from a file: lines of a label and
 * its weight with blanks or a comma between.  A class that the file does not name keeps 1.  *out
 * has data->rows weights and belongs to the caller (kb_release); it is NULL where all are 1, and on
 * failure.  KB_ERR_DATA if the weights of a class sum to 0. */
kb_status kb_sample_weights_build(kb_context *ctx, const kb_config *config, const kb_data *data,
                                  const kb_targets *targets, double **out);

#endif
