/* scale_search.c - see scale_search.h. */
#include "tune/scale_search.h"
#include "trial/compare_trials.h"
#include "trial/rules.h"
#include "trial/width_vectors.h"

#include <math.h>

kb_status kb_scale_moves(kb_context *ctx, kb_tuner *t, const kb_subsample *sample, kb_candidate *c,
                         size_t grids, size_t steps, double by) {
    kb_status status = KB_OK;
    int classes = sample->class_of != NULL;
    t->cut = kb_tuning_is_late(t->tuning, KB_RULE_BUDGET_SCALE);
    for (int down = 0; down < 2; down++) {
        double factor = down ? 1 / by : by, best = c->search.score;
        int moved = 0;
        for (int k = 0; k < KB_RULE_SCALE_MOVES && !t->cut; k++) {
            kb_trial trial = {0};
            double most = down ? kb_narrow_enough(&c->search, classes, best)
                               : kb_wide_enough(&c->search, classes, best);
            kb_widths_multiply(&c->widths, factor);
            c->sigma *= factor;
            TRY(kb_tuner_try(ctx, t, sample, c, grids, steps, &trial));
            if (trial.score >= most) {
                kb_widths_multiply(&c->widths, 1 / factor);
                c->sigma /= factor;
                kb_trial_release(ctx, &trial);
                break;
            }
            best = fmin(best, trial.score);
            kb_trial_move(ctx, &trial, &c->search);
            t->cut = kb_tuning_is_late(t->tuning, KB_RULE_BUDGET_SCALE);
            moved = 1;
        }
        if (moved)
            break;
    }
done:
    return status;
}

kb_status kb_scale_search(kb_context *ctx, kb_tuner *t, const kb_subsample *sample, kb_candidate *c,
                          size_t grids, size_t steps, double by) {
    kb_status status;
    TRY(kb_tuner_try(ctx, t, sample, c, grids, steps, &c->search));
    TRY(kb_scale_moves(ctx, t, sample, c, grids, steps, by));
done:
    return status;
}

kb_status kb_scale_search_first(kb_context *ctx, kb_tuner *t, kb_candidate *c) {
    kb_status status;
    kb_subsample some = {0};
    const kb_trial_rows *s = &t->rows;
    size_t count = s->pool < KB_RULE_FIRST_SIGMA_ROWS ? s->pool : KB_RULE_FIRST_SIGMA_ROWS;
    uint32_t *rows = NULL;
    if (s->folds && s->first.x->rows <= KB_RULE_FIRST_SIGMA_ROWS)
        return kb_scale_search(ctx, t, &s->first, c, KB_RULE_FIRST_SIGMA_GRIDS,
                               KB_RULE_FIRST_SIGMA_STEPS, KB_RULE_FIRST_SIGMA_FACTOR);
    TRY(kb_alloc(ctx, count, sizeof *rows, &rows));
    for (size_t i = 0; i < count; i++)
        rows[i] = s->row[i * s->pool / count];
    TRY(kb_subsample_take(ctx, &s->first, count, rows, &some));
    TRY(kb_subsample_split(ctx, s->split, 0, KB_RULE_FIRST_SIGMA_VALIDATION_SHARE, t->seed, &some));
    TRY(kb_scale_search(ctx, t, &some, c, KB_RULE_FIRST_SIGMA_GRIDS, KB_RULE_FIRST_SIGMA_STEPS,
                        KB_RULE_FIRST_SIGMA_FACTOR));
done:
    kb_subsample_release(ctx, &some);
    kb_release(ctx, rows);
    return status;
}
