/* select_widths.c - see select_widths.h. */
#include "tune/select_widths.h"
#include "options/say.h"
#include "trial/compare_trials.h"
#include "trial/rules.h"
#include "tune/scale_search.h"
#include "tune/blend.h"
#include "tune/extra_columns.h"
#include "tune/final_trial.h"
#include "tune/learn_widths.h"
#include "trial/width_vectors.h"

#include <math.h>

/* ---- learning ---------------------------------------------------------- */

/* Of the time for learning widths this share is for the search that follows. */
static const double SEARCH_SHARE = 0.15;

/* With categories there are many columns and few of them matter, so that sparse widths are learned
 * at once.  Extra columns do not count: widths that are learned again are of the same kind. */
static int is_sparse_at_once(const kb_tuner *t) {
    const kb_map *map = t->rows.map;
    return t->rows.data->level && map->columns - kb_map_levels(map) - kb_map_mixtures(map) >=
                                      KB_RULE_SPARSE_COLUMNS_LEVELS;
}

/* Levels leave the other widths nearly as they are; mixtures do not. */
static size_t steps_of(const kb_tuner *t, const kb_widths *found) {
    return found && kb_map_mixtures(t->rows.map) == 0 ? KB_RULE_LEARN_AGAIN_STEPS
                                                      : KB_RULE_LEARN_STEPS;
}

/* The first widths of all leave time for the rest. */
static double learn_until(const kb_tuner *t, int which, const kb_widths *found) {
    int first = which == KB_CANDIDATE_LEARNED && !found;
    double share = first ? KB_RULE_BUDGET_STEPS : KB_RULE_BUDGET_EXTRA;
    return kb_tuning_moment(t->tuning, share) -
           kb_tuning_left(t->tuning, share) * (isfinite(t->tuning->seconds) ? SEARCH_SHARE : 0);
}

static kb_cutback cutback_of(int which, const kb_widths *found) {
    return which == KB_CANDIDATE_SELECTIVE ? KB_CUT_SPARSE
           : found                         ? KB_CUT_MIXTURES
                                           : KB_CUT_LEARNED;
}

static kb_status learn(kb_context *ctx, kb_tuner *t, int which, const kb_widths *found, double from,
                       double to) {
    kb_status status;
    kb_candidate *c = &t->candidate[which];
    int sparse = which == KB_CANDIDATE_SELECTIVE || is_sparse_at_once(t), hurried = 0;
    kb_width_learning shaping = {.sample = &t->rows.first,
                                 .split = t->rows.split,
                                 .pool = t->rows.pool,
                                 .row = t->rows.row,
                                 .law = t->law,
                                 .sigma = t->candidate[KB_CANDIDATE_EQUAL].sigma,
                                 .start = t->candidate[KB_CANDIDATE_RELEVANCE].widths.width,
                                 .found = found,
                                 .steps = steps_of(t, found),
                                 .vectors = KB_RULE_LEARN_VECTORS,
                                 .selective = sparse,
                                 .seed = t->seed * KB_RULE_LEARN_SEEDS + (uint64_t)which,
                                 .from = from,
                                 .to = to,
                                 .clock = t->tuning->clock,
                                 .until = learn_until(t, which, found),
                                 .hurried = &hurried};
    c->what = sparse ? "learned, sparse" : "learned";
    TRY(kb_learn_widths(ctx, &shaping, &c->widths));
    if (hurried)
        kb_budget_cut(t->tuning->budget,
                      c->widths.width ? KB_CUT_LEARNING_STEPS : cutback_of(which, found));
    if (!c->widths.width)
        goto done;
    TRY(kb_scale_search(ctx, t, &t->rows.first, c, KB_RULE_SCALE_GRIDS, KB_RULE_SCALE_STEPS,
                        KB_RULE_SCALE_FACTOR));
    if (which == KB_CANDIDATE_LEARNED)
        TRY(kb_blend(ctx, t, c));
    TRY(kb_progress(ctx, "tune", to));
done:
    if (status != KB_OK && !c->search.each) { /* it was cut short */
        kb_candidate_release(ctx, c);
        *c = (kb_candidate){0};
    }
    return status;
}

static int must_learn(const kb_tuner *t) {
    return t->given->widths == KB_WIDTHS_LEARNED;
}

static int may_learn(const kb_tuner *t) {
    return t->given->widths != KB_WIDTHS_EQUAL && t->given->sigma.kind == KB_SIGMA_AUTO &&
           t->law->kind == KB_KERNEL_LAPLACE && t->rows.map->columns > 1 &&
           t->rows.pool >= KB_RULE_LEARN_ROWS &&
           (t->rows.map->columns <= KB_RULE_LEARN_COLUMNS || must_learn(t));
}

/* Widths by the slopes of the targets: learned ones are blended with them, and mixtures are
 * compared with them before widths are learned. */
static kb_status slopes_candidate(kb_context *ctx, kb_tuner *t) {
    kb_status status = KB_OK;
    kb_candidate *c = &t->candidate[KB_CANDIDATE_SLOPES];
    if (!kb_tuner_may_slope(t))
        goto done;
    TRY(kb_tuner_slope(ctx, t));
    c->what = "by slopes";
    TRY(kb_slopes_widths(ctx, &t->slopes, &t->rows.first, t->law,
                         t->candidate[KB_CANDIDATE_EQUAL].sigma, &c->widths));
    TRY(kb_scale_search(ctx, t, &t->rows.first, c, KB_RULE_SCALE_GRIDS, KB_RULE_SCALE_STEPS,
                        KB_RULE_SCALE_FACTOR));
done:
    if (status != KB_OK && !c->search.each) {
        kb_candidate_release(ctx, c);
        *c = (kb_candidate){0};
    }
    return status;
}

static kb_status learn_candidate(kb_context *ctx, kb_tuner *t, const kb_widths *found, double from,
                                 double to) {
    kb_status status = KB_OK;
    if (t->rows.map->columns >= KB_RULE_MANY_COLUMNS)
        TRY(kb_relevance_candidate(ctx, t));
    TRY(learn(ctx, t, KB_CANDIDATE_LEARNED, found, from, to));
done:
    return status;
}

static kb_status learn_with_levels(kb_context *ctx, kb_tuner *t, const kb_widths *found) {
    return learn_candidate(ctx, t, found, 0.35, 0.42);
}

static kb_status learn_with_mixtures(kb_context *ctx, kb_tuner *t, const kb_widths *found) {
    return learn_candidate(ctx, t, found, 0.42, 0.5);
}

static int is_too_late(const kb_tuner *t, double share, kb_cutback what) {
    int late = kb_tuning_is_late(t->tuning, share);
    if (late)
        kb_budget_cut(t->tuning->budget, what);
    return late;
}

static int may_be_sparse(const kb_tuner *t) {
    size_t least = t->rows.first.class_of ? KB_RULE_SPARSE_COLUMNS_CLASSES : KB_RULE_SPARSE_COLUMNS;
    return !t->rows.data->level && t->rows.map->columns - kb_map_mixtures(t->rows.map) >= least &&
           t->candidate[KB_CANDIDATE_LEARNED].search.each &&
           !is_too_late(t, KB_RULE_BUDGET_SPARSE, KB_CUT_SPARSE) &&
           !kb_is_better(&t->candidate[KB_CANDIDATE_EQUAL].search,
                         &t->candidate[KB_CANDIDATE_LEARNED].search,
                         KB_RULE_BETTER_STANDARD_ERRORS);
}

/* Whether equal widths have so few errors that learned ones cannot save enough of them. */
static int has_few_errors(const kb_tuner *t) {
    const kb_trial *equal = &t->candidate[KB_CANDIDATE_EQUAL].search;
    return kb_subsample_counts_errors(&t->rows.first) && equal->error <= kb_few_errors(equal);
}

/* Levels are of little use where not even the codes want widths of their own. */
static int may_want_levels(const kb_tuner *t, int learned) {
    return !learned || !t->candidate[KB_CANDIDATE_LEARNED].search.each ||
           kb_is_better(&t->candidate[KB_CANDIDATE_LEARNED].search,
                        &t->candidate[KB_CANDIDATE_EQUAL].search, KB_RULE_BETTER_STANDARD_ERRORS);
}

static kb_status learn_first(kb_context *ctx, kb_tuner *t) {
    return learn_candidate(ctx, t, NULL, 0.15, 0.35);
}

static kb_status learn_sparse(kb_context *ctx, kb_tuner *t) {
    return learn(ctx, t, KB_CANDIDATE_SELECTIVE, NULL, 0.5, 0.65);
}

static kb_status try_levels(kb_context *ctx, kb_tuner *t) {
    return kb_level_columns_try(ctx, t, NULL);
}

static kb_status try_levels_and_learn(kb_context *ctx, kb_tuner *t) {
    return kb_level_columns_try(ctx, t, learn_with_levels);
}

static kb_status try_mixtures(kb_context *ctx, kb_tuner *t) {
    return kb_mixtures_try(ctx, t, NULL);
}

static kb_status try_mixtures_and_learn(kb_context *ctx, kb_tuner *t) {
    return kb_mixtures_try(ctx, t, learn_with_mixtures);
}

kb_status kb_learn_candidates(kb_context *ctx, kb_tuner *t) {
    kb_status status = KB_OK;
    int may = may_learn(t), cut;
    int learns = may && !kb_tuning_is_late(t->tuning, KB_RULE_BUDGET_LEARN);
    if (!learns && must_learn(t))
        kb_log(ctx, KB_LOG_WARNING, "%s: the widths are equal, because %s",
               kb_say_value(ctx, KB_OPT_WIDTHS, "learned").text,
               may                                  ? "the budget is spent"
               : t->rows.pool >= KB_RULE_LEARN_ROWS ? "one column only varies"
                                                    : "there are too few rows to learn from");
    int wanted = may && (must_learn(t) || !has_few_errors(t));
    if (wanted && !learns)
        kb_budget_cut(t->tuning->budget, KB_CUT_LEARNED);
    learns = learns && wanted;
    if (learns) {
        if (!is_too_late(t, KB_RULE_BUDGET_SLOPES, KB_CUT_SLOPES))
            TRY(kb_tuner_within(ctx, t, KB_RULE_BUDGET_SLOPED, KB_CUT_SLOPES, slopes_candidate,
                                &cut));
        TRY(kb_tuner_within(ctx, t, KB_RULE_BUDGET_EXTRA, KB_CUT_LEARNED, learn_first, &cut));
    }
    if (may_want_levels(t, learns))
        TRY(kb_tuner_within(ctx, t, KB_RULE_BUDGET_EXTRA, KB_CUT_LEVELS,
                            learns ? try_levels_and_learn : try_levels, &cut));
    TRY(kb_tuner_within(ctx, t, KB_RULE_BUDGET_EXTRA, KB_CUT_MIXTURES,
                        learns ? try_mixtures_and_learn : try_mixtures, &cut));
    if (learns && may_be_sparse(t))
        TRY(kb_tuner_within(ctx, t, KB_RULE_BUDGET_EXTRA, KB_CUT_SPARSE, learn_sparse, &cut));
    TRY(kb_progress(ctx, "tune", 0.65));
done:
    return status;
}

/* ---- selecting --------------------------------------------------------- */

static kb_status final_trial(kb_context *ctx, kb_tuner *t, int which) {
    return kb_final_trial(ctx, t, &t->candidate[which]);
}

/* Makes candidate `which` the best if it is better; releases the grids of the other. */
static void settle(kb_tuner *t, int which, int better) {
    kb_binned_release(&t->candidate[better ? t->best : which].drawn);
    t->best = better ? which : t->best;
}

/* With several folds, except by time, only the rows of the first were not used to learn the
 * widths.  In a wide table, learned widths look better in all other folds even where there is
 * nothing to learn. */
static int is_partial(const kb_tuner *t) {
    return t->rows.folds && !t->rows.held.ordered &&
           kb_is_wide_table(t->rows.map->columns, kb_rows_of_all(t->rows.data));
}

/* Learned widths must be better than equal ones, sparse ones better than those that cut every
 * column, and both together better than the better of them.  Where other folds are biased the first
 * must agree, and no final trial is skipped. */
kb_status kb_select_widths(kb_context *ctx, kb_tuner *t) {
    kb_status status;
    kb_candidate *c = t->candidate;
    int classes = kb_subsample_counts_errors(&t->rows.first), partial = is_partial(t);
    int behind = !partial && c[KB_CANDIDATE_LEARNED].widths.width &&
                 kb_is_worth_it(&c[KB_CANDIDATE_LEARNED].search, &c[KB_CANDIDATE_EQUAL].search,
                                classes, KB_RULE_CLEAR_STANDARD_ERRORS);
    TRY(kb_trial_rows_draw_large(ctx, &t->rows));
    if (!behind)
        TRY(final_trial(ctx, t, KB_CANDIDATE_EQUAL));
    TRY(kb_progress(ctx, "tune", 0.7));
    if (!c[KB_CANDIDATE_LEARNED].widths.width)
        goto done;
    TRY(final_trial(ctx, t, KB_CANDIDATE_LEARNED));
    settle(t, KB_CANDIDATE_LEARNED,
           must_learn(t) || behind ||
               (kb_is_worth_it(&c[KB_CANDIDATE_LEARNED].final, &c[KB_CANDIDATE_EQUAL].final,
                               classes, KB_RULE_BETTER_STANDARD_ERRORS) &&
                (!partial ||
                 kb_is_better_in_first(kb_tuner_last_sample(t), &c[KB_CANDIDATE_LEARNED].final,
                                       &c[KB_CANDIDATE_EQUAL].final))));
    TRY(kb_progress(ctx, "tune", 0.75));
    if (!c[KB_CANDIDATE_SELECTIVE].widths.width || (partial && t->best == KB_CANDIDATE_EQUAL))
        goto done;
    TRY(final_trial(ctx, t, KB_CANDIDATE_SELECTIVE));
    settle(t, KB_CANDIDATE_SELECTIVE,
           kb_is_better(&c[KB_CANDIDATE_SELECTIVE].final, &c[t->best].final,
                        KB_RULE_BETTER_STANDARD_ERRORS));
    c[KB_CANDIDATE_BOTH].what = "learned, both";
    TRY(kb_widths_join(ctx, &c[KB_CANDIDATE_LEARNED].widths, &c[KB_CANDIDATE_SELECTIVE].widths,
                       &c[KB_CANDIDATE_BOTH].widths));
    TRY(final_trial(ctx, t, KB_CANDIDATE_BOTH));
    settle(t, KB_CANDIDATE_BOTH,
           kb_is_better(&c[KB_CANDIDATE_BOTH].final, &c[t->best].final,
                        KB_RULE_BETTER_STANDARD_ERRORS));
done:
    return status;
}

/* ---- without final trials ---------------------------------------------- */

static int has_better_search(const kb_tuner *t, int which) {
    const kb_candidate *c = &t->candidate[which], *best = &t->candidate[t->best];
    if (!c->search.each || c->final.each || !best->search.each)
        return 0;
    return which == KB_CANDIDATE_SELECTIVE
               ? kb_is_better(&c->search, &best->search, KB_RULE_BETTER_STANDARD_ERRORS)
               : must_learn(t) || kb_is_worth_it(&c->search, &best->search,
                                                 kb_subsample_counts_errors(&t->rows.first),
                                                 KB_RULE_BETTER_STANDARD_ERRORS);
}

void kb_settle_widths(kb_tuner *t) {
    static const int later[] = {KB_CANDIDATE_LEARNED, KB_CANDIDATE_SELECTIVE};
    const kb_trial *like = t->candidate[t->best].final.each ? &t->candidate[t->best].final : NULL;
    for (size_t k = 0; k < 2; k++)
        if (has_better_search(t, later[k]))
            settle(t, later[k], 1);
    if (!t->candidate[t->best].final.each)
        kb_final_by_search(t, &t->candidate[t->best], like);
}
