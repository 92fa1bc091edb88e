/*
 * loss_trial.h - trials of a loss other than the square one, lambda after lambda on the same grids.
 *
 * Only the rows that are learned from take part in the products of the solver: validation rows are
 * needed once, when it has ended.  Each lambda begins where the one before it ended.
 */
#ifndef KB_TRIAL_LOSS_TRIAL_H
#define KB_TRIAL_LOSS_TRIAL_H

#include "trial/trial.h"
#include "solve/loss.h"

typedef struct kb_loss_trial {
    const kb_subsample *sample;
    const kb_binned *drawn;
    const kb_loss *loss;
    double tol;
    /* Its own: for each fold the weights of the rows it is learned from, and their decisions; NULL
     * before the first lambda. */
    double **alpha, **f;
} kb_loss_trial;

/* The first block filled in; kb_loss_trial_release either way. */
kb_status kb_loss_trial_begin(kb_context *ctx, kb_loss_trial *s);

/* Fits with t->given_lambda and scores.  The logistic loss is scored by what its decisions say of
 * the probabilities, as numbers from -1 to 1.  kb_trial_release either way. */
kb_status kb_loss_trial_run(kb_context *ctx, kb_loss_trial *s, kb_trial *t);

void kb_loss_trial_release(kb_context *ctx, kb_loss_trial *s);

#endif
