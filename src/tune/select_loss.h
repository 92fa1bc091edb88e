/*
 * select_loss.h - for classes, selects another loss than the square one if it has clearly fewer
 * errors.
 */
#ifndef KB_TUNE_SELECT_LOSS_H
#define KB_TUNE_SELECT_LOSS_H

#include "tune/tuner.h"

/* Tries the logistic loss, or the one that was asked for, on the grids of t->best, with lambdas up
 * and down from a share of that of the square loss.  Sets loss and lambda of the plan where it has
 * clearly fewer errors, or was asked for. */
kb_status kb_select_loss(kb_context *ctx, kb_tuner *t);

/* The tolerance for such a loss, in trials and in the fit. */
double kb_loss_tol(const kb_tuner *t);

#endif
