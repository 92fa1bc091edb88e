/*
 * synthetic.h - generated data sets, for demonstrations and tests.
 */
#ifndef KB_DATA_SYNTHETIC_H
#define KB_DATA_SYNTHETIC_H

#include "data/data.h"

/* `name` is one of kb_synthetic_names(); synthetic.c says what they are.  Classes are
 * labelled 0, 1, ..  `noise`: share of flipped labels (classification), or deviation of
 * the added normal noise in units of the target's own deviation (regression).  Row i
 * depends on (seed, i) alone. */
kb_status kb_synthetic_build(kb_context *ctx, const char *name, size_t rows, double noise,
                             uint64_t seed, kb_data **out);

#endif
