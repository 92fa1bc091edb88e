/*
 * learn.h - an encoding learned from the training rows.
 *
 * A number keeps its value, a missing one is the median.  A date becomes its days and those other
 * parts that vary.  A boolean becomes 0 or 1.  A category becomes the partial effects of its levels
 * (category_codes.h), and if asked for also their numbers, for a kernel of levels.  A number or
 * date gets an indicator of missing values only where these tell of the targets.
 */
#ifndef KB_ENCODE_LEARN_H
#define KB_ENCODE_LEARN_H

#include "encode/category_codes.h"

/* Whether learning needs the targets: for categories, and where values are missing. */
int kb_encode_needs_targets(const kb_data *data);

/* *encoded: the training rows, rows x (*out)->features, or NULL where the data do not change.
 * Both belong to the caller (kb_encoding_free, kb_release) and are NULL on failure.  The codes of
 * training rows may differ from those of the encoding (KB_ENCODE_FEW_LEVELS).  KB_ERR_DATA for
 * categories without targets. */
kb_status kb_encode_learn(kb_context *ctx, const kb_encode_spec *spec, kb_encoding **out,
                          double **encoded);

/* Bytes that it takes beside data and targets, at most, and what of them stays: the encoded rows
 * and the encoding.  levels: as in the spec. */
typedef struct kb_encode_memory {
    double taken, kept;
} kb_encode_memory;
kb_encode_memory kb_encode_forecast(const kb_data *data, size_t C, int levels, int threads);

#endif
