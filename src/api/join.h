/*
 * join.h - several models of the same rows as one: the mean of their decisions.
 *
 * The grids of the models stand in turns, so that the widths of grid r are those of vector r mod V.
 * All models have the same labels, encoding, scaling, number of grids and factors of the hash.
 * They may have different widths and extra columns: the joined one has all of these, and a grid
 * does not cut those of another model.
 *
 *     f = 1/K sum_k (b_k + Z_k w_k / sqrt(R)) = mean of b_k + sum_k Z_k (w_k / sqrt(K)) / sqrt(K R)
 */
#ifndef KB_API_JOIN_H
#define KB_API_JOIN_H

#include "model/model.h"

/* model[0] becomes the joined one; the others stay as they are.  What the rows held out say is
 * worked out anew, from the mean of the decisions for rows that all models held out; train_score is
 * that of model[0].  O(D outputs + K R columns) time and memory.  After a failure
 * model[0] is good for kb_model_free alone. */
kb_status kb_models_join(kb_context *ctx, const kb_config *config, size_t count,
                         kb_model *const *model);

#endif
