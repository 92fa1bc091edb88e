/*
 * select_loss.h - for classes, selects another loss than the square one if it is clearly better.
 *
 * Losses of classes want wider bins than the square one where there is little noise, and a lambda
 * of their own.  There all widths grow by a common factor with a first lambda; then lambda moves.
 * Each trial starts from the solution of the one before.  There they are also tried with equal
 * widths, where others were the best ones of the square loss.
 */
#ifndef KB_TUNE_SELECT_LOSS_H
#define KB_TUNE_SELECT_LOSS_H

#include "solve/loss.h"
#include "tune/tuner.h"

/* Tries the logistic loss and the squared hinge, or the one that was asked for.  Sets
 * loss, lambda, t->best and its widths where one is clearly better, or was asked for. */
kb_status kb_select_loss(kb_context *ctx, kb_tuner *t);

/* The tolerance for such a loss, in trials and in the fit. */
double kb_loss_tol(const kb_tuner *t);

/* The lambda that it is tried with first. */
double kb_loss_first_lambda(const kb_tuner *t, const kb_loss *loss);

/* ---- one loss ---------------------------------------------------------- */

/* A loss, and its best trial. */
typedef struct kb_loss_found {
    const kb_loss *loss;
    kb_trial trial;
    double factor; /* of the widths */
} kb_loss_found;

/* The kernel t->best while its widths are multiplied. */
typedef struct kb_loss_search {
    kb_tuner *t;
    double tol;
    const kb_trial *rival; /* a loss that is clearly behind this is given up; NULL: none is */
    double factor;         /* of the widths now: the next loss begins there */
    kb_candidate scaled;   /* its grids are those of the kernel at first */
} kb_loss_search;

/* Takes the grids of t->best, or draws them.  Call kb_loss_search_release on success and on
 * failure. */
kb_status kb_loss_search_begin(kb_context *ctx, kb_tuner *t, double tol, kb_loss_search *out);
void kb_loss_search_release(kb_context *ctx, kb_loss_search *s);

/* Tries out->loss, with this lambda first.  The caller releases out->trial, on success and on
 * failure. */
kb_status kb_loss_search_run(kb_context *ctx, kb_loss_search *s, double lambda, kb_loss_found *out);

/* Multiplies the widths of t->best as the loss wants them. */
void kb_loss_search_take(kb_tuner *t, const kb_loss_found *found);

/* Whether it has clearly more errors, or a clearly worse score across losses. */
int kb_loss_is_behind(const kb_tuner *t, const kb_trial *other, const kb_trial *rival);

#endif
