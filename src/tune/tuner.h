/*
 * tuner.h - what the stages of tune_binning.c share: the rows, the kernels, and how these are
 * tried.
 */
#ifndef KB_TUNE_TUNER_H
#define KB_TUNE_TUNER_H

#include "trial/jobs.h"
#include "trial/trial_rows.h"
#include "trial/trial.h"
#include "slopes/slopes.h"
#include "tune/tuning.h"

/* A kernel and its trials. */
typedef struct kb_candidate {
    const char *what;
    kb_widths widths;       /* without width: it is not tried */
    double sigma;           /* of equal widths, else 0 */
    kb_trial search, final; /* the last of the scale search, and the final one */
    kb_binned drawn; /* of the final trial, while it is the best: other losses are tried on it */
} kb_candidate;

void kb_candidate_release(kb_context *ctx, kb_candidate *c);
void kb_candidate_exchange(kb_candidate *a, kb_candidate *b);

enum {
    KB_CANDIDATE_EQUAL,
    KB_CANDIDATE_LEARNED,
    KB_CANDIDATE_SELECTIVE,
    KB_CANDIDATE_BOTH,
    KB_CANDIDATE_RELEVANCE,
    KB_CANDIDATE_SLOPES,
    KB_CANDIDATES
};

typedef struct kb_tuner {
    kb_tuning *tuning;
    const kb_config *given;
    kb_law *law;
    kb_trial_rows rows;
    kb_slopes slopes; /* of these rows, once they are learned */
    uint64_t seed;
    double given_lambda; /* 0: it is to be chosen */
    kb_candidate candidate[KB_CANDIDATES];
    int best;
    int cut;              /* the budget ended the last scale search */
    double slope_seconds; /* that the slopes took */
    double cell_seconds;  /* of the last trial, for a row, a grid and a step */
} kb_tuner;

/* Rows for a tuning whose plan has its scaling; call kb_tuner_release on success and on failure. */
kb_status kb_tuner_prepare(kb_context *ctx, kb_tuning *tuning, const kb_data *data, kb_tuner *out);
void kb_tuner_release(kb_context *ctx, kb_tuner *t);

/* A stage that is cut short when this share of the time for the trials is spent; what it leaves out
 * is then named.  The stage must leave the tuner in order when it fails. */
kb_status kb_tuner_within(kb_context *ctx, kb_tuner *t, double share, kb_cutback what,
                          kb_status (*stage)(kb_context *ctx, kb_tuner *t), int *cut);
/* The forecast of a trial by Lanczos, from the last one; 0 before there is one. */
double kb_tuner_trial_seconds(const kb_tuner *t, size_t rows, size_t grids, size_t steps);
void kb_tuner_note_seconds(kb_tuner *t, const kb_subsample *sample, const kb_trial *trial,
                           double seconds);

/* A trial of a kernel that may be made ahead of its turn (trial/jobs.h). */
typedef struct kb_probe {
    kb_job job;
    const kb_subsample *sample;
    kb_widths widths;
    kb_trial trial;
    double seconds; /* that it took */
} kb_probe;

/* Its widths are the caller's to set before it is tried; kb_probe_release releases them too.  It is
 * recorded when it is taken, as a trial of c; *out is released and replaced. */
void kb_probe_plan(const kb_tuner *t, const kb_subsample *sample, size_t grids, size_t steps,
                   kb_probe *out);
kb_status kb_tuner_take(kb_context *ctx, kb_tuner *t, kb_probe *probe, const kb_candidate *c,
                        kb_trial *out);
/* The record of a tuner beside the first one, of trials of c with the square loss. */
kb_status kb_tuner_carry_record(kb_parcel *parcel, const kb_tuner *t, const kb_candidate *c);
void kb_probe_release(kb_context *ctx, kb_probe *probe);

/* Whether slopes may be learned: there are enough rows for the columns, and memory.  It takes as
 * much again as the trials, at most. */
int kb_tuner_may_slope(const kb_tuner *t);
/* Learns t->slopes, unless they are there for these columns. */
kb_status kb_tuner_slope(kb_context *ctx, kb_tuner *t);
/* Whether there are more rows to learn them from, and memory; learns them again from these. */
int kb_tuner_may_slope_more(const kb_tuner *t);
kb_status kb_tuner_slope_more(kb_context *ctx, kb_tuner *t);

/* Tries a kernel with the square loss, and records the trial.  *out is released and replaced.  The
 * second leaves the grids to the caller: call kb_binned_release on success and on failure. */
kb_status kb_tuner_try(kb_context *ctx, kb_tuner *t, const kb_subsample *sample, kb_candidate *c,
                       size_t grids, size_t steps, kb_trial *out);
kb_status kb_tuner_try_on(kb_context *ctx, kb_tuner *t, const kb_subsample *sample, kb_candidate *c,
                          size_t grids, size_t steps, kb_binned *drawn, kb_trial *out);
/* Records a trial of another loss too. */
kb_status kb_tuner_note(kb_context *ctx, kb_tuner *t, const kb_candidate *c, const char *loss,
                        kb_trial *trial);

/* The rows and grids of the final trials. */
const kb_subsample *kb_tuner_last_sample(const kb_tuner *t);
size_t kb_tuner_last_grids(const kb_tuner *t);

/* Whether the fit may stop before it has reached the option tol. */
int kb_tuner_may_stop(const kb_tuner *t);

#endif
