/*
 * tune.h - the tuner: finds values for the options left at auto.
 *
 * It takes the resolved options and the data, and makes a plan for the fit: scaling, widths, extra
 * columns, lambda, steps, loss and grids, as numbers and enums.  tune.c decides who sets the open
 * options: the defaults where nothing is tuned, tune_binning.c for random binning with the L2
 * penalty, and fit_search.c, by whole fits, for all else.  The numbers of the rules are in
 * trial/rules.h.
 */
#ifndef KB_TUNE_TUNE_H
#define KB_TUNE_TUNE_H

#include "tune/tuning.h"

/* `budget` is that of the run, or NULL: the trials then end in time for the fit.
 *
 * out->plan is ready for a fit, and out->trial has the trials; none where nothing was tuned.
 * KB_ERR_ARGUMENT and KB_ERR_DATA for what a fit would refuse.  Call kb_tuning_release on success
 * and on failure. */
kb_status kb_tune(kb_context *ctx, const kb_config *given, const kb_data *data, kb_budget *budget,
                  kb_tuning *out);

#endif
