/*
 * trial.h - the score of a kernel on validation rows.
 */
#ifndef KB_TRIAL_TRIAL_H
#define KB_TRIAL_TRIAL_H

#include "ranks/parcel.h"
#include "trial/subsample.h"
#include "solve/lanczos.h"

/* The settings of a trial, and its result. */
typedef struct kb_trial {
    size_t grids, max_steps; /* given */
    uint64_t seed;
    double given_lambda; /* 0: it is to be chosen */
    double score;        /* lower is better: kb_subsample_score */
    double error;        /* share of wrong rows, or mean squared error */
    double square;       /* least mean squared error of the fewest steps: shows the effect of R with
                            little noise */
    double nothing;      /* of CG: score of the mean of the targets, which ignores the row */
    double lambda;
    size_t steps;  /* the fewest that are as good as the most */
    int sweeps;    /* whether these are sweeps, not steps of CG */
    size_t fitted; /* training rows, of the first fold */
    size_t held;   /* validation rows */
    size_t number; /* among all trials of the tuner */
    double *each;  /* held: the score is their mean */
    double *miss;  /* held: the error is their mean */
    /* Where errors are counted, half of the error and half of the smooth error (smooth_error.h): a
     * score for decisions of any size, so that losses can be compared; else as each and score. */
    double across;
    double *each_across; /* held */
} kb_trial;

void kb_trial_release(kb_context *ctx, kb_trial *trial);
/* Replaces a trial by another; the old one is released. */
void kb_trial_move(kb_context *ctx, kb_trial *from, kb_trial *to);

/* To another rank, or from it: a trial that is read replaces the one that is there. */
kb_status kb_trial_carry(kb_parcel *parcel, kb_trial *trial);

/* Draws grids, and finds the best lambda and number of steps for the square loss.  For all three:
 * call kb_trial_release on success and on failure. */
kb_status kb_trial_run(kb_context *ctx, const kb_subsample *sample, const kb_widths *widths,
                       kb_trial *trial);

/* The same with given grids. */
kb_status kb_trial_run_on(kb_context *ctx, const kb_subsample *sample, const kb_binned *drawn,
                          kb_trial *trial);

/* Scores decisions for the validation rows: score, error and the terms of each row. */
kb_status kb_trial_score(kb_context *ctx, const kb_subsample *sample, size_t held,
                         const uint32_t *row, const double *f, kb_trial *trial);

/* By how much trial a is better than b on the same rows, and the standard error of the difference.
 * Rows that are equally hard for both do not add to it, as they would to the standard error of
 * either score. */
typedef struct kb_gain {
    double gain, standard_error;
} kb_gain;

kb_gain kb_trial_gain(const kb_trial *a, const kb_trial *b);
/* The same for errors alone, and across losses. */
kb_gain kb_trial_fewer_errors(const kb_trial *a, const kb_trial *b);
kb_gain kb_trial_gain_across(const kb_trial *a, const kb_trial *b);

#endif
