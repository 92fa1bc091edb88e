/*
 * tuning.h - the result of the tuner's stages: the plan, and the trials that led to it.
 */
#ifndef KB_TUNE_TUNING_H
#define KB_TUNE_TUNING_H

#include "fit/plan.h"

typedef struct kb_tuning {
    const kb_config *given; /* the options as they were set */
    kb_plan plan;
    kb_trial_info *trial;
    size_t count, room;
    size_t chosen; /* the number of the trial that won */
    double began;  /* seconds; the budget is the config's */
} kb_tuning;

/* The plan of a config before tuning.  `given` must outlive it. */
kb_tuning kb_tuning_begin(const kb_config *given);
void kb_tuning_release(kb_context *ctx, kb_tuning *tuning);

/* Stores a trial, whose texts must be static. */
kb_status kb_tuning_note(kb_context *ctx, kb_tuning *tuning, const kb_trial_info *trial);
/* Whether `share` of the budget is spent. */
int kb_tuning_is_late(const kb_tuning *tuning, double share);

#endif
