/*
 * forecast.h - the memory that a fit, a map or a trial will take, known before it is allocated.
 *
 * Every part of the work reports its own bytes (core/bytes.h); they are added up here.
 */
#ifndef KB_FIT_FORECAST_H
#define KB_FIT_FORECAST_H

#include "core/bytes.h"
#include "fit/targets.h"

/* A whole fit.  weighted: whether the samples have weights. */
kb_memory_plan kb_forecast_fit(const kb_context *ctx, const kb_config *config, size_t rows,
                               const kb_targets *targets, int weighted);

/* A map without a model, which takes `fixed` bytes in addition to its bins. */
kb_memory_plan kb_forecast_map(const kb_config *config, double fixed);

/* Adds one part. */
kb_memory_plan kb_forecast_with(const kb_memory_plan *plan, kb_bytes part, size_t rows);

/* An upper bound for a trial. */
typedef struct kb_trial_size {
    size_t rows, held;     /* rows of the trial, and how many of them are validation rows */
    size_t grids, columns; /* columns: of the data after the transform */
    double entries;        /* numbers stored per row */
    size_t copies;         /* of the rows */
    size_t outputs, folds; /* folds: at least 1 */
    size_t steps;          /* of the solver */
} kb_trial_size;
double kb_forecast_trial(const kb_trial_size *size);

#endif
