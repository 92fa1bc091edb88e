/*
 * prepare.h - training data as the tuner and the fit take them: numbers only, none missing.
 */
#ifndef KB_API_PREPARE_H
#define KB_API_PREPARE_H

#include "encode/learn.h"
#include "fit/plan.h"

typedef struct kb_prepared {
    const kb_data *source; /* as given */
    const kb_data *data;   /* encoded, or the same */
    kb_encoding *encoding; /* NULL for sparse data */
    kb_data view;          /* the source with other cells */
    double *cells;
} kb_prepared;

/* Learns the encoding.  The source must outlive *out; release that also after a failure. */
kb_status kb_prepare(kb_context *ctx, const kb_config *config, const kb_data *source,
                     kb_prepared *out);
void kb_prepared_release(kb_context *ctx, kb_prepared *prepared);

/* So that the model takes data as they were given. */
void kb_prepared_tell(const kb_prepared *prepared, kb_plan *plan);

#endif
