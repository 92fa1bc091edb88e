/*
 * loss_trial.h - trials of a loss other than the square one, lambda after lambda.
 *
 * The solver's products take only the training rows; validation rows are needed once, at the end.
 * Each lambda starts from the solution of the one before it, also on other grids.
 */
#ifndef KB_TRIAL_LOSS_TRIAL_H
#define KB_TRIAL_LOSS_TRIAL_H

#include "trial/trial.h"
#include "solve/loss.h"

typedef struct kb_loss_trial {
    const kb_subsample *sample;
    const kb_binned *drawn;
    const kb_loss *loss;
    kb_metric_kind metric; /* of a loss of numbers: what it is scored by */
    double tol;
    int redrawn; /* set by the caller after a run: the grids are now others */
    /* Private: for each fold the weights of its training rows, and their decisions; NULL before the
     * first lambda. */
    double **alpha, **f;
} kb_loss_trial;

/* The caller fills in the first block; call kb_loss_trial_release on success and on failure. */
kb_status kb_loss_trial_begin(kb_context *ctx, kb_loss_trial *s);

/* Fits with t->given_lambda and scores.  The decisions are no estimates of the targets, so the
 * score is that across losses.  Call kb_trial_release on success and on failure. */
kb_status kb_loss_trial_run(kb_context *ctx, kb_loss_trial *s, kb_trial *t);

void kb_loss_trial_release(kb_context *ctx, kb_loss_trial *s);

#endif
