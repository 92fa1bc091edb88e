/* scale_search.c - see scale_search.h. */
#include "tune/scale_search.h"
#include "trial/compare_trials.h"
#include "trial/width_vectors.h"

#include <math.h>

/* The first look takes fewer rows, of which it holds out a share. */
enum { FIRST_ROWS = 8000, FIRST_GRIDS = 64, FIRST_STEPS = 12 };
static const double FIRST_SHARE = 0.25;

enum { MOST = 8 };
/* The share of the budget after which no width is moved any more. */
static const double TIME = 0.7;

kb_status kb_scale_search(kb_context *ctx, kb_tuner *t, const kb_subsample *sample, kb_candidate *c,
                          size_t grids, size_t steps, double by) {
    kb_status status;
    int classes = sample->class_of != NULL;
    TRY(kb_tuner_try(ctx, t, sample, c, grids, steps, &c->climb));
    t->cut = kb_tuning_is_late(t->tuning, TIME);
    for (int down = 0; down < 2; down++) {
        double factor = down ? 1 / by : by, best = c->climb.score;
        int moved = 0;
        for (int k = 0; k < MOST && !t->cut; k++) {
            kb_trial trial = {0};
            double most = down ? kb_narrow_enough(&c->climb, classes, best)
                               : kb_wide_enough(&c->climb, classes, best);
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
            kb_trial_move(ctx, &trial, &c->climb);
            t->cut = kb_tuning_is_late(t->tuning, TIME);
            moved = 1;
        }
        if (moved)
            break;
    }
done:
    return status;
}

kb_status kb_scale_search_first(kb_context *ctx, kb_tuner *t, kb_candidate *c) {
    kb_status status;
    kb_subsample some = {0};
    const kb_trial_rows *s = &t->rows;
    size_t count = s->pool < FIRST_ROWS ? s->pool : FIRST_ROWS;
    uint32_t *rows = NULL;
    if (s->folds && s->first.x->rows <= FIRST_ROWS)
        return kb_scale_search(ctx, t, &s->first, c, FIRST_GRIDS, FIRST_STEPS, 2);
    TRY(kb_alloc(ctx, count, sizeof *rows, &rows));
    for (size_t i = 0; i < count; i++)
        rows[i] = s->row[i * s->pool / count];
    TRY(kb_subsample_take(ctx, &s->first, count, rows, &some));
    TRY(kb_subsample_split(ctx, s->split, 0, FIRST_SHARE, t->seed, &some));
    TRY(kb_scale_search(ctx, t, &some, c, FIRST_GRIDS, FIRST_STEPS, 2));
done:
    kb_subsample_release(ctx, &some);
    kb_release(ctx, rows);
    return status;
}
