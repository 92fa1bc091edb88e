/*
 * sweep_trial.h - trials of the square loss by sweeps: the score after each sweep.
 */
#ifndef KB_TRIAL_SWEEP_TRIAL_H
#define KB_TRIAL_SWEEP_TRIAL_H

#include "trial/trial.h"

/* Fits with t->given_lambda by at most t->max_steps sweeps, and scores the best number of them.
 * Call kb_trial_release on success and on failure. */
kb_status kb_sweep_trial_run(kb_context *ctx, const kb_subsample *sample, const kb_binned *drawn,
                             kb_trial *trial);

#endif
