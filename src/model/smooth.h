/*
 * smooth.h - trials of a loss other than the square one, lambda after lambda on the same grids.
 *
 * Only the rows that are learnt from take part in the products of the solver: those held out are
 * needed once, when it has ended.  Each lambda begins where the one before it ended.
 */
#ifndef KB_MODEL_SMOOTH_H
#define KB_MODEL_SMOOTH_H

#include "model/trial.h"
#include "solve/loss.h"

typedef struct kb_smoothing {
    const kb_sample *sample;
    const kb_drawn *drawn;
    const kb_loss *loss;
    double tol;
    /* Its own: for each fold the weights of the rows it is learnt from, and their decisions; NULL
     * before the first lambda. */
    double **alpha, **f;
} kb_smoothing;

/* The first block filled in; kb_smoothing_release either way. */
kb_status kb_smoothing_begin(kb_context *ctx, kb_smoothing *s);

/* Fits with t->given_lambda and judges.  The logistic loss is scored by what its decisions say of
 * the probabilities, as numbers from -1 to 1.  kb_trial_release either way. */
kb_status kb_smoothing_try(kb_context *ctx, kb_smoothing *s, kb_trial *t);

void kb_smoothing_release(kb_context *ctx, kb_smoothing *s);

#endif
