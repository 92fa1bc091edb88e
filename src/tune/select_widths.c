/* select_widths.c - see select_widths.h. */
#include "tune/select_widths.h"
#include "trial/compare_trials.h"
#include "tune/scale_search.h"
#include "tune/blend.h"
#include "tune/extra_columns.h"
#include "tune/learn_widths.h"
#include "trial/width_vectors.h"

/* Widths are learnt from no fewer rows. */
enum { LEARN_ROWS = 60 };
/* Unless they are asked for, widths are learnt for no more columns: each step draws a width for
 * every column and grid, however few entries the rows have. */
enum { LEARN_COLUMNS = 10000 };
/* What is learnt once has a seed of its own: so many for each of the user's. */
enum { SEEDS = 4 };

/* ---- learning ---------------------------------------------------------- */

static kb_status learn(kb_context *ctx, kb_tuner *t, int which, double from, double to) {
    kb_status status;
    kb_candidate *c = &t->candidate[which];
    kb_width_learning shaping = {.sample = &t->rows.first,
                                 .split = t->rows.split,
                                 .pool = t->rows.pool,
                                 .row = t->rows.row,
                                 .law = t->law,
                                 .sigma = t->candidate[KB_CANDIDATE_EQUAL].sigma,
                                 .start = t->candidate[KB_CANDIDATE_RELEVANCE].widths.width,
                                 .vectors = 2,
                                 .sparse = which == KB_CANDIDATE_SELECTIVE,
                                 .seed = t->seed * SEEDS + (uint64_t)which,
                                 .from = from,
                                 .to = to};
    c->what = which == KB_CANDIDATE_SELECTIVE ? "learned, sparse" : "learned";
    TRY(kb_learn_widths(ctx, &shaping, &c->widths));
    TRY(kb_scale_search(ctx, t, &t->rows.first, c, KB_SEARCH_GRIDS, KB_SEARCH_STEPS, 1.5));
    if (which == KB_CANDIDATE_LEARNED)
        TRY(kb_blend(ctx, t, c));
    TRY(kb_progress(ctx, "tune", to));
done:
    return status;
}

static int must_learn(const kb_tuner *t) {
    return t->given->widths == KB_WIDTHS_LEARNED;
}

static int may_learn(const kb_tuner *t) {
    return t->given->widths != KB_WIDTHS_EQUAL && t->given->sigma.kind == KB_SIGMA_AUTO &&
           t->law->kind == KB_KERNEL_LAPLACE && t->rows.map->columns > 1 &&
           t->rows.pool >= LEARN_ROWS && (t->rows.map->columns <= LEARN_COLUMNS || must_learn(t));
}

static kb_status learn_dense(kb_context *ctx, kb_tuner *t, double from, double to) {
    kb_status status = KB_OK;
    if (t->rows.map->columns >= KB_MANY_COLUMNS)
        TRY(kb_relevance_candidate(ctx, t));
    TRY(learn(ctx, t, KB_CANDIDATE_LEARNED, from, to));
done:
    return status;
}

static kb_status learn_again(kb_context *ctx, kb_tuner *t) {
    return learn_dense(ctx, t, 0.35, 0.5);
}

kb_status kb_learn_candidates(kb_context *ctx, kb_tuner *t) {
    kb_status status = KB_OK;
    int may = may_learn(t), learns = may && !kb_tuning_is_late(t->tuning, 0.3);
    if (!learns && must_learn(t))
        kb_log(ctx, KB_LOG_WARNING, "--widths learned: the widths are equal, because %s",
               may                          ? "the budget is spent"
               : t->rows.pool >= LEARN_ROWS ? "one column only varies"
                                            : "there are too few rows to learn from");
    if (learns)
        TRY(learn_dense(ctx, t, 0.15, 0.35));
    TRY(kb_extra_columns_try(ctx, t, learns ? learn_again : NULL));
    if (learns && t->candidate[KB_CANDIDATE_RELEVANCE].widths.width &&
        !kb_tuning_is_late(t->tuning, 0.5) &&
        !kb_is_better(&t->candidate[KB_CANDIDATE_EQUAL].climb,
                      &t->candidate[KB_CANDIDATE_LEARNED].climb, KB_LUCK))
        TRY(learn(ctx, t, KB_CANDIDATE_SELECTIVE, 0.5, 0.65));
    TRY(kb_progress(ctx, "tune", 0.65));
done:
    return status;
}

/* ---- judging ----------------------------------------------------------- */

static kb_status judge(kb_context *ctx, kb_tuner *t, int which) {
    kb_candidate *c = &t->candidate[which];
    return kb_tuner_try_on(ctx, t, kb_tuner_last_sample(t), c, kb_tuner_last_grids(t),
                           kb_trial_rows_steps(&t->rows), &c->drawn, &c->judge);
}

/* The best so far is this one, if it is; of the other the grids are no longer needed. */
static void settle(kb_tuner *t, int which, int better) {
    kb_trial_z_release(&t->candidate[better ? t->best : which].drawn);
    t->best = better ? which : t->best;
}

/* Of several folds, but for those by time, only the first took no part in learning the widths.  In
 * a wide table all others are better with them even where there is nothing to learn. */
static int is_partial(const kb_tuner *t) {
    return t->rows.folds && !t->rows.held.ordered &&
           kb_is_wide_table(t->rows.map->columns, t->rows.data->rows);
}

/* Learnt widths must be better than equal ones, sparse ones than dense, and both together than
 * the better of them.  Where the folds are partial the first must agree, and there are no short
 * cuts. */
kb_status kb_select_widths(kb_context *ctx, kb_tuner *t) {
    kb_status status;
    kb_candidate *c = t->candidate;
    int classes = t->rows.first.class_of != NULL, partial = is_partial(t);
    int behind = !partial && c[KB_CANDIDATE_LEARNED].widths.width &&
                 kb_is_worth_it(&c[KB_CANDIDATE_LEARNED].climb, &c[KB_CANDIDATE_EQUAL].climb,
                                classes, KB_FAR_BEHIND);
    TRY(kb_trial_rows_draw_large(ctx, &t->rows));
    if (!behind)
        TRY(judge(ctx, t, KB_CANDIDATE_EQUAL));
    TRY(kb_progress(ctx, "tune", 0.7));
    if (!c[KB_CANDIDATE_LEARNED].widths.width)
        goto done;
    TRY(judge(ctx, t, KB_CANDIDATE_LEARNED));
    settle(t, KB_CANDIDATE_LEARNED,
           must_learn(t) || behind ||
               (kb_is_worth_it(&c[KB_CANDIDATE_LEARNED].judge, &c[KB_CANDIDATE_EQUAL].judge,
                               classes, KB_LUCK) &&
                (!partial ||
                 kb_is_better_in_first(kb_tuner_last_sample(t), &c[KB_CANDIDATE_LEARNED].judge,
                                       &c[KB_CANDIDATE_EQUAL].judge))));
    TRY(kb_progress(ctx, "tune", 0.75));
    if (!c[KB_CANDIDATE_SELECTIVE].widths.width || (partial && t->best == KB_CANDIDATE_EQUAL))
        goto done;
    TRY(judge(ctx, t, KB_CANDIDATE_SELECTIVE));
    settle(t, KB_CANDIDATE_SELECTIVE,
           kb_is_better(&c[KB_CANDIDATE_SELECTIVE].judge, &c[t->best].judge, KB_LUCK));
    c[KB_CANDIDATE_BOTH].what = "learned, both";
    TRY(kb_widths_join(ctx, &c[KB_CANDIDATE_LEARNED].widths, &c[KB_CANDIDATE_SELECTIVE].widths,
                       &c[KB_CANDIDATE_BOTH].widths));
    TRY(judge(ctx, t, KB_CANDIDATE_BOTH));
    settle(t, KB_CANDIDATE_BOTH,
           kb_is_better(&c[KB_CANDIDATE_BOTH].judge, &c[t->best].judge, KB_LUCK));
done:
    return status;
}
