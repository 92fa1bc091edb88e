/*
 * compare_trials.h - whether one trial is better than another: by enough standard errors, and by
 * more than a few errors if the other one is simpler.
 */
#ifndef KB_TRIAL_COMPARE_TRIALS_H
#define KB_TRIAL_COMPARE_TRIALS_H

#include "trial/trial.h"

/* Whether a has the lower score on the same rows: by this many standard errors, and by
 * KB_RULE_LEAST_GAIN. */
int kb_is_better(const kb_trial *a, const kb_trial *b, double standard_errors);
/* The same for learned widths; for classes they must also save more than a few errors. */
int kb_is_worth_it(const kb_trial *learned, const kb_trial *equal, int classes,
                   double standard_errors);
/* Whether a has the lower score by KB_RULE_LEAST_GAIN on the validation rows of the first fold of
 * s. */
int kb_is_better_in_first(const kb_subsample *s, const kb_trial *a, const kb_trial *b);

/* How many errors count as few, as a share of the validation rows. */
double kb_few_errors(const kb_trial *trial);

/* The scores below which wider bins are taken, and narrower ones: `best` is the lowest so far and
 * `last` the current trial.  For classes, wide bins are safer for rows that differ from the
 * validation rows, and may cost a few errors. */
double kb_wide_enough(const kb_trial *last, int classes, double best);
double kb_narrow_enough(const kb_trial *last, int classes, double best);

#endif
