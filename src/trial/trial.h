/*
 * trial.h - how good a kernel is, on validation rows.
 */
#ifndef KB_TRIAL_TRIAL_H
#define KB_TRIAL_TRIAL_H

#include "trial/subsample.h"
#include "solve/lanczos.h"

/* What a kernel was tried with, and how good it was. */
typedef struct kb_trial {
    size_t grids, max_steps; /* given */
    uint64_t seed;
    double given_lambda; /* 0: it is to be chosen */
    double score;        /* less is better: kb_subsample_score */
    double error;        /* share of wrong rows, or mean squared error */
    double square;  /* least mean squared error of the fewest steps: tells of R with little noise */
    double nothing; /* score of the mean of the targets, which knows nothing of the row */
    double lambda;
    size_t steps;  /* the fewest that are as good as the most */
    size_t fitted; /* rows that were learned from, in the first fold */
    size_t held;   /* validation rows */
    double *each;  /* held: of which the score is the mean */
    double *miss;  /* held: of which the error is the mean */
} kb_trial;

void kb_trial_release(kb_context *ctx, kb_trial *trial);
/* Puts a trial in the place of another, which is released. */
void kb_trial_move(kb_context *ctx, kb_trial *from, kb_trial *to);

/* Draws grids, and finds the best lambda and number of steps for the square loss.
 * kb_trial_release either way, for all three. */
kb_status kb_trial_run(kb_context *ctx, const kb_subsample *sample, const kb_widths *widths,
                       kb_trial *trial);

/* The same on grids that are drawn already. */
kb_status kb_trial_run_on(kb_context *ctx, const kb_subsample *sample, const kb_binned *drawn,
                          kb_trial *trial);

/* How good decisions for the validation rows are: score, error and the parts of the rows. */
kb_status kb_trial_score(kb_context *ctx, const kb_subsample *sample, size_t held,
                         const uint32_t *row, const double *f, kb_trial *trial);

/* By how much trial a is better than b on the same rows, and the standard error of that.  Rows that
 * are as hard for both do not add to it, as they would to the standard error of either score. */
typedef struct kb_gain {
    double gain, standard_error;
} kb_gain;

kb_gain kb_trial_gain(const kb_trial *a, const kb_trial *b);
/* The same by errors alone: for trials whose decisions mean different things. */
kb_gain kb_trial_fewer_errors(const kb_trial *a, const kb_trial *b);

#endif
