/* extra_columns.c - see extra_columns.h. */
#include "tune/extra_columns.h"
#include "trial/compare_trials.h"
#include "trial/rules.h"
#include "tune/scale_search.h"
#include "tune/blend.h"
#include "solve/linear.h"
#include "trial/width_vectors.h"

/* Not with so many columns that few of them matter: a sum of all is the opposite.  Levels are not
 * summed. */
static int may_mix(const kb_tuner *t) {
    size_t columns = t->rows.map->columns - kb_map_levels(t->rows.map);
    return t->given->linear != KB_LINEAR_OFF && t->given->sigma.kind == KB_SIGMA_AUTO &&
           t->rows.map->transform && columns > 1 && columns < KB_RULE_MANY_COLUMNS &&
           t->rows.pool >= KB_RULE_LINEAR_ROWS_PER_COLUMN * columns &&
           t->rows.targets.outputs <= KB_RULE_LINEAR_OUTPUTS &&
           !kb_tuning_is_late(t->tuning, KB_RULE_BUDGET_LINEAR);
}

static int may_level(const kb_tuner *t) {
    return t->given->sigma.kind == KB_SIGMA_AUTO && t->rows.map->transform && t->rows.data->level &&
           !kb_tuning_is_late(t->tuning, KB_RULE_BUDGET_LINEAR);
}

/* Rows and candidates with the extra columns while the tuner has those without, or the reverse. */
typedef struct side {
    kb_map *map;
    kb_subsample first;
    kb_mixtures mixtures;
    int levels;
    kb_candidate candidate[KB_CANDIDATES];
} side;

static void exchange(kb_tuner *t, side *s) {
    kb_plan *plan = &t->tuning->plan;
    kb_mixtures mixtures = plan->mixtures;
    int levels = plan->levels;
    plan->mixtures = s->mixtures;
    plan->levels = s->levels;
    s->mixtures = mixtures;
    s->levels = levels;
    kb_trial_rows_exchange(&t->rows, &s->map, &s->first);
    for (int k = 0; k < KB_CANDIDATES; k++)
        kb_candidate_exchange(&t->candidate[k], &s->candidate[k]);
}

static void release(kb_context *ctx, side *s) {
    for (int k = 0; k < KB_CANDIDATES; k++)
        kb_candidate_release(ctx, &s->candidate[k]);
    kb_subsample_release(ctx, &s->first);
    kb_map_free(s->map);
    kb_mixtures_release(kb_allocator_of(ctx), &s->mixtures);
}

/* *promising: unless equal widths are worse with the levels.  Some levels may help where all of
 * them do not. */
static kb_status look_at_levels(kb_context *ctx, kb_tuner *t, side *s, int *promising) {
    kb_status status;
    const kb_candidate *without = &t->candidate[KB_CANDIDATE_EQUAL];
    kb_candidate *with = &s->candidate[KB_CANDIDATE_EQUAL];
    *promising = 0;
    TRY(kb_map_begin(ctx, &t->tuning->plan.config, 1, t->rows.data, &s->map));
    if (kb_map_levels(s->map) == 0)
        goto done;
    TRY(kb_trial_rows_redraw(ctx, &t->rows, s->map, &s->first));
    if (!s->first.x) /* little memory: no rows to compare on */
        goto done;
    s->levels = 1;
    with->what = "equal, levels";
    with->sigma = without->sigma;
    TRY(kb_widths_equal(ctx, s->map->columns, s->first.x->level, t->law, with->sigma,
                        &with->widths));
    TRY(kb_scale_search(ctx, t, &s->first, with, KB_RULE_SCALE_GRIDS, KB_RULE_SCALE_STEPS,
                        KB_RULE_SCALE_FACTOR));
    *promising = !kb_is_better(&without->search, &with->search, KB_RULE_BETTER_STANDARD_ERRORS);
done:
    return status;
}

/* *promising: whether equal widths are clearly better with the mixtures. */
static kb_status look_at_mixtures(kb_context *ctx, kb_tuner *t, side *s, int *promising) {
    kb_status status;
    const kb_candidate *without = &t->candidate[KB_CANDIDATE_EQUAL];
    kb_candidate *with = &s->candidate[KB_CANDIDATE_EQUAL];
    *promising = 0;
    kb_linear fit = {t->rows.first.x, t->rows.first.C, t->rows.first.y, t->rows.first.weight};
    TRY(kb_linear_learn(ctx, &fit, t->rows.pool, t->rows.row, &s->mixtures));
    TRY(kb_map_mix(ctx, t->rows.map, &s->mixtures, &s->map));
    TRY(kb_trial_rows_redraw(ctx, &t->rows, s->map, &s->first));
    if (!s->first.x) /* little memory: no rows to compare on */
        goto done;
    s->levels = t->tuning->plan.levels;
    with->what = s->levels ? "equal, levels, linear" : "equal, linear";
    with->sigma = without->sigma;
    TRY(kb_widths_equal(ctx, s->map->columns, s->first.x->level, t->law, with->sigma,
                        &with->widths));
    TRY(kb_tuner_try(ctx, t, &s->first, with, KB_RULE_SCALE_GRIDS, KB_RULE_SCALE_STEPS,
                     &with->search));
    if (!kb_is_better(&with->search, &without->search, KB_RULE_BETTER_STANDARD_ERRORS))
        goto done;
    TRY(kb_scale_moves(ctx, t, &s->first, with, KB_RULE_SCALE_GRIDS, KB_RULE_SCALE_STEPS,
                       KB_RULE_SCALE_FACTOR));
    *promising = kb_is_better(&with->search, &without->search, KB_RULE_LINEAR_STANDARD_ERRORS);
done:
    return status;
}

static const kb_trial *best_search(const kb_candidate *c) {
    int learned = c[KB_CANDIDATE_LEARNED].widths.width &&
                  c[KB_CANDIDATE_LEARNED].search.score < c[KB_CANDIDATE_EQUAL].search.score;
    return &c[learned ? KB_CANDIDATE_LEARNED : KB_CANDIDATE_EQUAL].search;
}

/* The tuner has the extra columns afterwards if they help.  For classes, levels must also save more
 * than a few errors. */
static kb_status compete(kb_context *ctx, kb_tuner *t, side *other, kb_learn_again *learn) {
    kb_status status = KB_OK;
    exchange(t, other);
    if (learn)
        TRY(learn(ctx, t, &other->candidate[KB_CANDIDATE_LEARNED].widths));
    int counts_errors =
        t->tuning->plan.levels != other->levels && kb_subsample_counts_errors(&t->rows.first);
    if (!kb_is_worth_it(best_search(t->candidate), best_search(other->candidate), counts_errors,
                        KB_RULE_BETTER_STANDARD_ERRORS))
        exchange(t, other);
done:
    return status;
}

kb_status kb_level_columns_try(kb_context *ctx, kb_tuner *t, kb_learn_again *learn) {
    kb_status status = KB_OK;
    side other = {0};
    int promising;
    if (!may_level(t))
        goto done;
    TRY(look_at_levels(ctx, t, &other, &promising));
    if (promising)
        TRY(compete(ctx, t, &other, learn));
done:
    release(ctx, &other);
    return status;
}

kb_status kb_extra_columns_try(kb_context *ctx, kb_tuner *t, kb_learn_again *learn) {
    kb_status status = KB_OK;
    side other = {0};
    int promising;
    if (!may_mix(t))
        goto done;
    TRY(look_at_mixtures(ctx, t, &other, &promising));
    if (promising)
        TRY(compete(ctx, t, &other, learn));
done:
    release(ctx, &other);
    return status;
}
