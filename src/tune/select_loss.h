/*
 * select_loss.h - for classes a loss other than the square one, if it has clearly fewer errors.
 */
#ifndef KB_TUNE_SELECT_LOSS_H
#define KB_TUNE_SELECT_LOSS_H

#include "tune/tuner.h"

/* Tries the logistic loss, or the one that was asked for, on the grids of t->best, with lambdas up
 * and down from a share of that of the square loss.  Sets loss and lambda of the choice where it
 * has clearly fewer errors, or was asked for. */
kb_status kb_select_loss(kb_context *ctx, kb_tuner *t);

/* How closely such a loss is solved, by the trials and by the fit. */
double kb_loss_tol(const kb_tuner *t);

#endif
