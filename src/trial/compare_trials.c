/* compare_trials.c - see compare_trials.h. */
#include "trial/compare_trials.h"
#include "trial/rules.h"

#include <math.h>

int kb_is_better(const kb_trial *a, const kb_trial *b, double standard_errors) {
    kb_gain g = kb_trial_gain(a, b);
    return g.gain > fmax(standard_errors * g.standard_error, KB_RULE_LEAST_GAIN * b->score);
}

double kb_few_errors(const kb_trial *trial) {
    return fmin(KB_RULE_FEW_ERRORS / (double)trial->held, 1 / KB_RULE_ROWS_PER_ERROR);
}

int kb_is_worth_it(const kb_trial *learned, const kb_trial *equal, int classes,
                   double standard_errors) {
    return kb_is_better(learned, equal, standard_errors) &&
           (!classes || kb_trial_fewer_errors(learned, equal).gain > kb_few_errors(learned));
}

/* Trials keep the validation rows in the order of the sample. */
int kb_is_better_in_first(const kb_subsample *s, const kb_trial *a, const kb_trial *b) {
    double gain = 0, score = 0;
    for (size_t i = 0, h = 0; i < s->folds.rows; i++) {
        if (kb_folds_holds(&s->folds, i, 0)) {
            gain += b->each[h] - a->each[h];
            score += b->each[h];
        }
        h += s->folds.fold[i] != KB_FOLD_NONE;
    }
    return gain > KB_RULE_LEAST_GAIN * score;
}

/* How much worse the score of wider bins may be, as a share. */
static double slack_of(const kb_trial *trial, int classes) {
    double least = 1 / (double)trial->held;
    return classes
               ? fmin(kb_few_errors(trial) / fmax(trial->error, least), KB_RULE_WIDER_SCORE_SHARE)
               : 0;
}

/* Wider bins may cost a few errors, but only part of what has been learned.  Where one class is
 * rare, a few errors are all there is to learn, and nothing else would stop the bins from
 * growing. */
double kb_wide_enough(const kb_trial *last, int classes, double best) {
    return best + fmin(slack_of(last, classes) * best,
                       fmax(KB_RULE_WIDER_LEARNED_SHARE * (last->nothing - best), 0));
}

double kb_narrow_enough(const kb_trial *last, int classes, double best) {
    return best * (1 - KB_RULE_NARROWER_SHARE * slack_of(last, classes));
}
