/*
 * tune.h - the tuner: what the options leave open, chosen for the data at hand.
 *
 * It takes the resolved options and the data, and gives a plan for the fit: scaling, widths, extra
 * columns, lambda, steps, loss and grids, as numbers and enums.  tune.c knows what is open and who
 * closes it: the values without tuning where nothing is to be tuned, tune_binning.c for random
 * binning with the L2 penalty, fit_search.c by whole fits for all else.  trial/rules.h has the
 * numbers that decide.
 */
#ifndef KB_TUNE_TUNE_H
#define KB_TUNE_TUNE_H

#include "tune/tuning.h"

/* out->plan is ready for a fit, and out->trial has the trials; none where nothing was tuned.
 * KB_ERR_ARGUMENT and KB_ERR_DATA for what a fit would refuse.  kb_tuning_release either way. */
kb_status kb_tune(kb_context *ctx, const kb_config *given, const kb_data *data, kb_tuning *out);

#endif
