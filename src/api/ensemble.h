/*
 * ensemble.h - the option ensemble: more models like the first, and the mean of all.
 *
 * Each is tuned with random numbers of its own, and has the loss, the solver and the number of
 * grids of the first.  Its grids are others of the same seed, so that all have the same hash.
 * Chance in the widths, directions and samples of a tuning is averaged out (Breiman 1996, Bagging
 * predictors; here all models have all rows).
 */
#ifndef KB_API_ENSEMBLE_H
#define KB_API_ENSEMBLE_H

#include "api/holdout.h"
#include "model/model.h"
#include "tune/tuning.h"

typedef struct kb_ensemble_spec {
    const kb_config *given;  /* as the first was tuned by */
    const kb_tuning *tuning; /* of the first */
    const kb_data *data;     /* encoded, as the fit of the first took them */
    const kb_data *source;   /* as they were given */
    const kb_aside *aside;   /* rows set aside before the tuning */
} kb_ensemble_spec;

/* KB_ERR_ARGUMENT where the config cannot be that of an ensemble. */
kb_status kb_ensemble_check(kb_context *ctx, const kb_config *given);

/* config->ensemble - 1 more models, joined with the first, which `model` is before and the whole
 * after.  After a failure `model` is good for kb_model_free alone.  Takes the time of as many fits
 * with their tuning, and the memory of one beside the models that are done. */
kb_status kb_ensemble_complete(kb_context *ctx, const kb_ensemble_spec *spec, kb_model *model);

#endif
