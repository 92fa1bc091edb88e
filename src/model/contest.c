/* contest.c - see contest.h. */
#include "model/contest.h"
#include "model/better.h"
#include "model/climb.h"
#include "model/hedge.h"
#include "model/mixing.h"
#include "model/shape.h"
#include "model/widths.h"

#include <string.h>

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
    kb_shaping shaping = {.sample = &t->rows.first,
                          .split = t->rows.split,
                          .pool = t->rows.pool,
                          .row = t->rows.row,
                          .law = t->law,
                          .sigma = t->candidate[KB_EQUAL].sigma,
                          .start = t->candidate[KB_SCREENED].widths.width,
                          .vectors = 2,
                          .sparse = which == KB_SPARSE,
                          .seed = t->seed * SEEDS + (uint64_t)which,
                          .from = from,
                          .to = to};
    c->what = which == KB_SPARSE ? "learned, sparse" : "learned";
    TRY(kb_shape_learn(ctx, &shaping, &c->widths));
    TRY(kb_climb(ctx, t, &t->rows.first, c, KB_CLIMB_GRIDS, KB_CLIMB_STEPS, 1.5));
    if (which == KB_DENSE)
        TRY(kb_hedge(ctx, t, c));
    TRY(kb_progress(ctx, "tune", to));
done:
    return status;
}

static int must_learn(const kb_tuner *t) {
    return strcmp(kb_options_text(t->options, KB_OPT_WIDTHS), "learned") == 0;
}

static int may_learn(const kb_tuner *t) {
    return strcmp(kb_options_text(t->options, KB_OPT_WIDTHS), "equal") != 0 &&
           kb_options_is_auto(t->options, KB_OPT_SIGMA) && t->law->kind == KB_LAW_LAPLACE &&
           t->rows.map->columns > 1 && t->rows.pool >= LEARN_ROWS &&
           (t->rows.map->columns <= LEARN_COLUMNS || must_learn(t));
}

static kb_status learn_dense(kb_context *ctx, kb_tuner *t, double from, double to) {
    kb_status status = KB_OK;
    if (t->rows.map->columns >= KB_MANY_COLUMNS)
        TRY(kb_hedge_screen(ctx, t));
    TRY(learn(ctx, t, KB_DENSE, from, to));
done:
    return status;
}

static kb_status learn_again(kb_context *ctx, kb_tuner *t) {
    return learn_dense(ctx, t, 0.35, 0.5);
}

kb_status kb_contest_learn(kb_context *ctx, kb_tuner *t) {
    kb_status status = KB_OK;
    int may = may_learn(t), learns = may && !kb_choice_is_late(t->choice, 0.3);
    if (!learns && must_learn(t))
        kb_log(ctx, KB_LOG_WARNING, "--widths learned: the widths are equal, because %s",
               may                          ? "the budget is spent"
               : t->rows.pool >= LEARN_ROWS ? "one column only varies"
                                            : "there are too few rows to learn from");
    if (learns)
        TRY(learn_dense(ctx, t, 0.15, 0.35));
    TRY(kb_mixing_try(ctx, t, learns ? learn_again : NULL));
    if (learns && t->candidate[KB_SCREENED].widths.width && !kb_choice_is_late(t->choice, 0.5) &&
        !kb_is_better(&t->candidate[KB_EQUAL].climb, &t->candidate[KB_DENSE].climb, KB_LUCK))
        TRY(learn(ctx, t, KB_SPARSE, 0.5, 0.65));
    TRY(kb_progress(ctx, "tune", 0.65));
done:
    return status;
}

/* ---- judging ----------------------------------------------------------- */

static kb_status judge(kb_context *ctx, kb_tuner *t, int which) {
    kb_candidate *c = &t->candidate[which];
    return kb_tuner_try_on(ctx, t, kb_tuner_last_sample(t), c, kb_tuner_last_grids(t),
                           kb_samples_steps(&t->rows), &c->drawn, &c->judge);
}

/* The best so far is this one, if it is; of the other the grids are no longer needed. */
static void settle(kb_tuner *t, int which, int better) {
    kb_drawn_release(&t->candidate[better ? t->best : which].drawn);
    t->best = better ? which : t->best;
}

/* Of several folds, but for those by time, only the first took no part in learning the widths.  In
 * a wide table all others are better with them even where there is nothing to learn. */
static int is_partial(const kb_tuner *t) {
    return t->rows.folds && !t->rows.held.ordered &&
           kb_hedge_is_wide(t->rows.map->columns, t->rows.data->rows);
}

/* Learnt widths must be better than equal ones, sparse ones than dense, and both together than
 * the better of them.  Where the folds are partial the first must agree, and there are no short
 * cuts. */
kb_status kb_contest_judge(kb_context *ctx, kb_tuner *t) {
    kb_status status;
    kb_candidate *c = t->candidate;
    int classes = t->rows.first.class_of != NULL, partial = is_partial(t);
    int behind = !partial && c[KB_DENSE].widths.width &&
                 kb_is_worth_it(&c[KB_DENSE].climb, &c[KB_EQUAL].climb, classes, KB_FAR_BEHIND);
    TRY(kb_samples_draw_large(ctx, &t->rows));
    if (!behind)
        TRY(judge(ctx, t, KB_EQUAL));
    TRY(kb_progress(ctx, "tune", 0.7));
    if (!c[KB_DENSE].widths.width)
        goto done;
    TRY(judge(ctx, t, KB_DENSE));
    settle(t, KB_DENSE,
           must_learn(t) || behind ||
               (kb_is_worth_it(&c[KB_DENSE].judge, &c[KB_EQUAL].judge, classes, KB_LUCK) &&
                (!partial || kb_is_better_in_first(kb_tuner_last_sample(t), &c[KB_DENSE].judge,
                                                   &c[KB_EQUAL].judge))));
    TRY(kb_progress(ctx, "tune", 0.75));
    if (!c[KB_SPARSE].widths.width || (partial && t->best == KB_EQUAL))
        goto done;
    TRY(judge(ctx, t, KB_SPARSE));
    settle(t, KB_SPARSE, kb_is_better(&c[KB_SPARSE].judge, &c[t->best].judge, KB_LUCK));
    c[KB_BOTH].what = "learned, both";
    TRY(kb_widths_join(ctx, &c[KB_DENSE].widths, &c[KB_SPARSE].widths, &c[KB_BOTH].widths));
    TRY(judge(ctx, t, KB_BOTH));
    settle(t, KB_BOTH, kb_is_better(&c[KB_BOTH].judge, &c[t->best].judge, KB_LUCK));
done:
    return status;
}
