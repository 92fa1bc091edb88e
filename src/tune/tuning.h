/*
 * tuning.h - the result of the tuner's stages: the plan, and the trials that led to it.
 */
#ifndef KB_TUNE_TUNING_H
#define KB_TUNE_TUNING_H

#include "budget/budget.h"
#include "fit/plan.h"
#include "fit/targets.h"

typedef struct kb_tuning {
    const kb_config *given; /* the options as they were set */
    kb_plan plan;
    kb_trial_info *trial;
    size_t count, room;
    size_t chosen;     /* the number of the trial that won */
    double began;      /* by the clock */
    kb_clock clock;    /* the context's */
    double seconds;    /* for the trials; INFINITY: no limit but the config's */
    kb_budget *budget; /* or NULL: of the run */
} kb_tuning;

/* The plan of a config before tuning.  `given` must outlive it. */
kb_tuning kb_tuning_begin(const kb_config *given);
void kb_tuning_release(kb_context *ctx, kb_tuning *tuning);

/* Stores a trial, whose texts must be static. */
kb_status kb_tuning_note(kb_context *ctx, kb_tuning *tuning, const kb_trial_info *trial);
/* Whether `share` of the time for the trials is spent; when it will be; and how much of it is left,
 * INFINITY without a limit. */
int kb_tuning_is_late(const kb_tuning *tuning, double share);
double kb_tuning_moment(const kb_tuning *tuning, double share);
double kb_tuning_left(const kb_tuning *tuning, double share);

/* Sets the time for the trials: what is left of the budget but for a fit by this plan, of which the
 * kernel counts. */
void kb_tuning_reserve(kb_tuning *tuning, const kb_plan *like, const kb_targets *targets,
                       size_t rows);

#endif
