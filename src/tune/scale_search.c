/* scale_search.c - see scale_search.h. */
#include "tune/scale_search.h"
#include "core/order.h"
#include "trial/compare_trials.h"
#include "trial/rules.h"
#include "trial/width_vectors.h"

#include <math.h>
#include <stdlib.h>

enum { MOVES = KB_RULE_SCALE_MOVES };

/* The trials of a search, by how many moves they are above or below the start; those that will
 * probably be wanted are made ahead. */
typedef struct search {
    kb_tuner *t;
    const kb_subsample *sample;
    kb_candidate *c;
    size_t grids, steps;
    double by;
    kb_widths start;            /* the widths before any move */
    kb_probe at[2 * MOVES + 1]; /* without widths: not planned */
    size_t abreast;             /* trials that the memory allows */
} search;

static kb_status begin(kb_context *ctx, search *s) {
    s->abreast = kb_trial_rows_abreast(&s->t->rows, s->sample, s->grids);
    return kb_widths_copy(ctx, &s->c->widths, &s->start);
}

static void end(kb_context *ctx, search *s) {
    for (int k = 0; k <= 2 * MOVES; k++)
        kb_probe_release(ctx, &s->at[k]);
    kb_release(ctx, s->start.width);
}

/* Downwards there was a move up and back first, which may have changed the last bits. */
static kb_status plan(kb_context *ctx, search *s, int move, kb_probe **out) {
    kb_status status = KB_OK;
    kb_probe *p = *out = &s->at[MOVES + move];
    if (p->widths.width)
        return KB_OK;
    kb_probe_plan(s->t, s->sample, s->grids, s->steps, p);
    TRY(kb_widths_copy(ctx, &s->start, &p->widths));
    if (move < 0) {
        kb_widths_multiply(&p->widths, s->by);
        kb_widths_multiply(&p->widths, 1 / s->by);
    }
    for (int k = 0; k < abs(move); k++)
        kb_widths_multiply(&p->widths, move < 0 ? 1 / s->by : s->by);
done:
    return status;
}

/* Makes the trials of these moves ahead; a move of 0 after the first is none. */
static kb_status go_ahead(kb_context *ctx, search *s, int first, int second, int third) {
    kb_status status = KB_OK;
    int move[] = {first, second, third};
    kb_job *job[3] = {NULL};
    kb_probe *p;
    for (size_t k = 0; k < 3 && k < s->abreast; k++)
        if ((k == 0 || move[k] != 0) && abs(move[k]) <= MOVES) {
            TRY(plan(ctx, s, move[k], &p));
            job[k] = &p->job;
        }
    TRY(kb_jobs_ahead(ctx, KB_RULE_THREADS_A_TRIAL, 3, job));
done:
    return status;
}

static kb_status take(kb_context *ctx, search *s, int move, kb_trial *out) {
    kb_status status;
    kb_probe *p;
    TRY(plan(ctx, s, move, &p));
    if (!p->job.done && move != 0)
        TRY(go_ahead(ctx, s, move, move == 1 ? -1 : move < 0 ? move - 1 : move + 1, 0));
    TRY(kb_tuner_take(ctx, s->t, p, s->c, out));
done:
    return status;
}

/* As long as it helps, upwards, and if that does not help downwards. */
static kb_status move_on(kb_context *ctx, search *s) {
    kb_status status = KB_OK;
    kb_tuner *t = s->t;
    kb_candidate *c = s->c;
    int classes = kb_subsample_counts_errors(s->sample);
    t->cut = kb_tuning_is_late(t->tuning, KB_RULE_BUDGET_SCALE);
    for (int down = 0; down < 2; down++) {
        double factor = down ? 1 / s->by : s->by, best = c->search.score;
        int moved = 0;
        for (int k = 1; k <= MOVES && !t->cut; k++) {
            kb_trial trial = {0};
            double most = down ? kb_narrow_enough(&c->search, classes, best)
                               : kb_wide_enough(&c->search, classes, best);
            kb_widths_multiply(&c->widths, factor);
            c->sigma *= factor;
            status = take(ctx, s, down ? -k : k, &trial);
            if (status != KB_OK || trial.score >= most) {
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
        if (moved || status != KB_OK)
            break;
    }
    return status;
}

kb_status kb_scale_moves(kb_context *ctx, kb_tuner *t, const kb_subsample *sample, kb_candidate *c,
                         size_t grids, size_t steps, double by) {
    kb_status status;
    search s = {.t = t, .sample = sample, .c = c, .grids = grids, .steps = steps, .by = by};
    TRY(begin(ctx, &s));
    TRY(move_on(ctx, &s));
done:
    end(ctx, &s);
    return status;
}

kb_status kb_scale_search(kb_context *ctx, kb_tuner *t, const kb_subsample *sample, kb_candidate *c,
                          size_t grids, size_t steps, double by) {
    kb_status status;
    search s = {.t = t, .sample = sample, .c = c, .grids = grids, .steps = steps, .by = by};
    TRY(begin(ctx, &s));
    TRY(go_ahead(ctx, &s, 0, 1, -1));
    TRY(take(ctx, &s, 0, &c->search));
    TRY(move_on(ctx, &s));
done:
    end(ctx, &s);
    return status;
}

/* Some rows of the first sample, split anew. */
static kb_status take_some(kb_context *ctx, const kb_tuner *t, size_t count, kb_subsample *out) {
    kb_status status;
    const kb_trial_rows *s = &t->rows;
    uint32_t *rows = NULL;
    TRY(kb_alloc(ctx, count, sizeof *rows, &rows));
    for (size_t i = 0; i < count; i++)
        rows[i] = s->row[i * s->pool / count];
    TRY(kb_subsample_take(ctx, &s->first, count, rows, out));
    TRY(kb_subsample_split(ctx, s->split, 0, KB_RULE_FIRST_SIGMA_VALIDATION_SHARE, t->seed, out));
done:
    kb_release(ctx, rows);
    return status;
}

/* How fast trials are: one that counts for nothing else. */
static kb_status measure_speed(kb_context *ctx, kb_tuner *t, const kb_candidate *c) {
    kb_status status;
    kb_subsample some = {0};
    kb_probe p;
    kb_probe_plan(t, &some, KB_RULE_FIRST_SIGMA_GRIDS, KB_RULE_FIRST_SIGMA_STEPS, &p);
    TRY(take_some(ctx, t, kb_least(t->rows.pool, KB_RULE_BUDGET_MEASURED_ROWS), &some));
    TRY(kb_widths_copy(ctx, &c->widths, &p.widths));
    TRY(kb_job_take(ctx, &p.job));
    kb_tuner_note_seconds(t, &some, &p.trial, p.seconds);
done:
    kb_probe_release(ctx, &p);
    kb_subsample_release(ctx, &some);
    return status;
}

/* Fewer where there is little time. */
static size_t first_rows(const kb_tuner *t) {
    size_t count = kb_least(t->rows.pool, KB_RULE_FIRST_SIGMA_ROWS);
    double all = KB_RULE_BUDGET_FIRST_TRIALS * kb_tuner_trial_seconds(t, count,
                                                                      KB_RULE_FIRST_SIGMA_GRIDS,
                                                                      KB_RULE_FIRST_SIGMA_STEPS),
           left = kb_tuning_left(t->tuning, KB_RULE_BUDGET_FIRST_SHARE);
    if (!(all > left))
        return count;
    kb_budget_cut(t->tuning->budget, KB_CUT_TRIAL_ROWS);
    size_t fewer = (size_t)((double)count * fmax(left, 0) / all);
    return kb_least(count, fewer > KB_RULE_BUDGET_ROWS_LEAST ? fewer : KB_RULE_BUDGET_ROWS_LEAST);
}

kb_status kb_scale_search_first(kb_context *ctx, kb_tuner *t, kb_candidate *c) {
    kb_status status = KB_OK;
    kb_subsample some = {0};
    const kb_trial_rows *s = &t->rows;
    if (t->tuning->budget)
        TRY(measure_speed(ctx, t, c));
    size_t count = first_rows(t);
    if (s->folds && s->first.x->rows <= KB_RULE_FIRST_SIGMA_ROWS && count == s->pool)
        return kb_scale_search(ctx, t, &s->first, c, KB_RULE_FIRST_SIGMA_GRIDS,
                               KB_RULE_FIRST_SIGMA_STEPS, KB_RULE_FIRST_SIGMA_FACTOR);
    TRY(take_some(ctx, t, count, &some));
    TRY(kb_scale_search(ctx, t, &some, c, KB_RULE_FIRST_SIGMA_GRIDS, KB_RULE_FIRST_SIGMA_STEPS,
                        KB_RULE_FIRST_SIGMA_FACTOR));
done:
    kb_subsample_release(ctx, &some);
    return status;
}
