/*
 * trial.h - how good a kernel is, on rows that are held out.
 */
#ifndef KB_MODEL_TRIAL_H
#define KB_MODEL_TRIAL_H

#include "model/targets.h"
#include "solve/lanczos.h"
#include "solve/loss.h"

/* Rows to try a kernel on. */
typedef struct kb_sample {
    kb_data *x;                  /* after the transform */
    const double *shift, *scale; /* of its columns; the map's */
    size_t C;                    /* outputs */
    double *y;                   /* rows x C: targets */
    uint32_t *class_of;          /* rows; NULL: regression */
    uint32_t *group;             /* rows; NULL: none */
    double *weight, *root;       /* rows, and their roots; NULL: ones */
    kb_folds folds;
} kb_sample;

/* The listed rows of another sample; the folds are left to the caller.  kb_sample_release either
 * way. */
kb_status kb_sample_take(kb_context *ctx, const kb_sample *from, size_t count, const uint32_t *rows,
                         kb_sample *out);
void kb_sample_release(kb_context *ctx, kb_sample *s);

/* Holds out `share` of the rows, or deals them out to `folds`.  At random where the rows are all
 * of one group, or may all be of different classes. */
kb_status kb_sample_split(kb_context *ctx, kb_split_kind kind, size_t folds, double share,
                          uint64_t seed, kb_sample *s);

/* Z of a sample. */
typedef struct kb_drawn {
    kb_grids *grids;
    kb_binmat *z;
    kb_operator *op;
} kb_drawn;

kb_status kb_drawn_build(kb_context *ctx, const kb_sample *s, const kb_widths *widths, size_t grids,
                         uint64_t seed, kb_drawn *out);
void kb_drawn_release(kb_drawn *d);

/* What a kernel was tried with, and how it fared. */
typedef struct kb_trial {
    size_t grids, max_steps; /* given */
    uint64_t seed;
    double given_lambda; /* 0: it is to be chosen */
    double score;        /* less is better: kb_sample_score */
    double error;        /* share of wrong rows, or mean squared error */
    double square;       /* least mean squared error of the fewest steps: a quiet measure of R */
    double lambda;
    size_t steps; /* the fewest that are as good as the most */
} kb_trial;

/* Draws grids, and finds the best lambda and number of steps for the square loss. */
kb_status kb_trial_run(kb_context *ctx, const kb_sample *sample, const kb_widths *widths,
                       kb_trial *trial);

/* The same on grids that are drawn already. */
kb_status kb_trial_judge(kb_context *ctx, const kb_sample *sample, const kb_drawn *drawn,
                         kb_trial *trial);

/* Another loss, for the given lambda, on the first fold. */
kb_status kb_trial_smooth(kb_context *ctx, const kb_sample *sample, const kb_drawn *drawn,
                          const kb_loss *loss, kb_trial *trial);

/* How the decisions for some rows fare; f is held x C.  *error: the share of wrong rows, or as
 * *square the mean squared error.  The score is that, or for classes a mean of the share of wrong
 * rows, which is what counts, and of the squared error, which is less a matter of luck. */
double kb_sample_score(const kb_sample *s, size_t held, const uint32_t *row, const double *f,
                       double *error, double *square);

#endif
