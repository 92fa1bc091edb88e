/*
 * prepare.h - training data as the tuner and the fit take them: numbers only, none missing.
 *
 * Dense data get an encoding (encode/learn.h), learned here from all rows.  Sparse data have
 * numbers only, and are taken as they are.
 *
 * Where the tuner may use the kernel of levels, categories have a column of levels beside their
 * codes; if it does not, these columns are removed before the fit.
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
    unsigned char *level; /* columns of the encoded data: 1 for levels; NULL: none */
    double bytes;         /* forecast of the memory that learning takes */
} kb_prepared;

/* Learns the encoding, and notes in config->held what the encoded rows take.  KB_ERR_MEMORY, before
 * any is taken, if learning needs more than the config allows.  The source must outlive *out;
 * release that also after a failure. */
kb_status kb_prepare(kb_context *ctx, kb_config *config, const kb_data *source, kb_prepared *out);
void kb_prepared_release(kb_context *ctx, kb_prepared *prepared);

/* After the tuner: the model is to take data as they were given.  Without plan->levels the columns
 * of levels are removed. */
void kb_prepared_tell(kb_prepared *prepared, kb_plan *plan);

#endif
