/*
 * compare_trials.h - whether one trial is a better bet than another: by more than luck, and by more
 * than a few errors where the other is the simpler.
 */
#ifndef KB_TRIAL_COMPARE_TRIALS_H
#define KB_TRIAL_COMPARE_TRIALS_H

#include "trial/trial.h"

/* Standard errors: what may be luck, and what is so much that no closer look is needed. */
#define KB_LUCK       1.0
#define KB_FAR_BEHIND 3.0
/* What is to be better must be so by this share of the score too. */
#define KB_LEAST_GAIN 0.01

/* Whether a has the lower score on the same rows: by so many standard errors, and by
 * KB_LEAST_GAIN. */
int kb_is_better(const kb_trial *a, const kb_trial *b, double luck);
/* Whether learnt widths are so; for classes they must save more than a few errors too. */
int kb_is_worth_it(const kb_trial *learnt, const kb_trial *equal, int classes, double luck);
/* Whether a has the lower score by KB_LEAST_GAIN in the rows that the first fold of s holds out. */
int kb_is_better_in_first(const kb_subsample *s, const kb_trial *a, const kb_trial *b);

/* How many errors are few, as a share of the rows held out. */
double kb_few_errors(const kb_trial *trial);

/* Below which score wider bins are taken, and narrower ones: `best` is the lowest so far and `last`
 * the trial to be left.  For classes wide bins are the safer bet for rows that differ from those
 * held out, and may cost a few errors. */
double kb_wide_enough(const kb_trial *last, int classes, double best);
double kb_narrow_enough(const kb_trial *last, int classes, double best);

#endif
