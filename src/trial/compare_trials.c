/* compare_trials.c - see compare_trials.h. */
#include "trial/compare_trials.h"

#include <math.h>

/* Few errors are so many, and no more than one in so many rows; wider bins may cost them up to this
 * share of the score. */
static const double FEW_ERRORS = 2, ROWS_OF_AN_ERROR = 500, MOST_SLACK = 0.5;
/* Nor may wider bins cost more than this share of what the best has over knowing nothing. */
static const double MOST_LOST = 0.1;

int kb_is_better(const kb_trial *a, const kb_trial *b, double luck) {
    kb_gain g = kb_trial_gain(a, b);
    return g.gain > fmax(luck * g.luck, KB_LEAST_GAIN * b->score);
}

double kb_few_errors(const kb_trial *trial) {
    return fmin(FEW_ERRORS / (double)trial->held, 1 / ROWS_OF_AN_ERROR);
}

int kb_is_worth_it(const kb_trial *learnt, const kb_trial *equal, int classes, double luck) {
    return kb_is_better(learnt, equal, luck) &&
           (!classes || kb_trial_fewer_errors(learnt, equal).gain > kb_few_errors(learnt));
}

/* Trials have the rows that are held out in the order of the sample. */
int kb_is_better_in_first(const kb_subsample *s, const kb_trial *a, const kb_trial *b) {
    double gain = 0, score = 0;
    for (size_t i = 0, h = 0; i < s->folds.rows; i++) {
        if (kb_folds_holds(&s->folds, i, 0)) {
            gain += b->each[h] - a->each[h];
            score += b->each[h];
        }
        h += s->folds.fold[i] != KB_FOLD_NONE;
    }
    return gain > KB_LEAST_GAIN * score;
}

/* By how much of the score wider bins may be worse. */
static double slack_of(const kb_trial *trial, int classes) {
    double least = 1 / (double)trial->held;
    return classes ? fmin(kb_few_errors(trial) / fmax(trial->error, least), MOST_SLACK) : 0;
}

/* They may cost a few errors, but only a part of what has been learnt.  Where one class is rare, a
 * few errors are all there is to learn, and nothing would stop the bins from growing. */
double kb_wide_enough(const kb_trial *last, int classes, double best) {
    return best + fmin(slack_of(last, classes) * best, fmax(MOST_LOST * (last->nothing - best), 0));
}

double kb_narrow_enough(const kb_trial *last, int classes, double best) {
    return best * (1 - slack_of(last, classes) / 2);
}
