/*
 * learn.h - an encoding learned from the training rows.
 *
 * A number keeps its value, a missing one is the median.  A date becomes its parts that vary.  A
 * boolean becomes 0 or 1.  A category becomes the partial effects of its levels: one column for
 * regression and two classes, one a class for up to KB_ENCODE_CLASSES, and the first three
 * principal coordinates for more; and if asked for, the numbers of the levels after these, for a
 * kernel of levels.  A number or date gets an indicator of missing values only where
 * these tell of the targets.
 */
#ifndef KB_ENCODE_LEARN_H
#define KB_ENCODE_LEARN_H

#include "encode/encoding.h"

/* Up to so many levels a training row takes the code of all rows; with more, one that was found
 * without the rows of its fold. */
enum { KB_ENCODE_FEW_LEVELS = 20, KB_ENCODE_CLASSES = 5, KB_ENCODE_COORDINATES = 3 };

typedef struct kb_encode_spec {
    const kb_data *data;  /* dense */
    size_t C;             /* outputs; 0: there are no targets */
    const double *y;      /* rows x C */
    const double *weight; /* rows, or NULL */
    uint64_t seed;
    int levels; /* whether categories get columns of levels */
} kb_encode_spec;

/* Whether learning needs the targets: for categories, and where values are missing. */
int kb_encode_needs_targets(const kb_data *data);

/* *encoded: the training rows, rows x (*out)->features, or NULL where the data do not change.
 * Both belong to the caller (kb_encoding_free, kb_release) and are NULL on failure.  The codes of
 * training rows may differ from those of the encoding (see above).  KB_ERR_DATA for categories
 * without targets. */
kb_status kb_encode_learn(kb_context *ctx, const kb_encode_spec *spec, kb_encoding **out,
                          double **encoded);

/* Bytes that it takes beside the data. */
double kb_encode_bytes(const kb_data *data);

#endif
