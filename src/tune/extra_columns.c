/* extra_columns.c - see extra_columns.h. */
#include "tune/extra_columns.h"
#include "trial/compare_trials.h"
#include "tune/scale_search.h"
#include "tune/blend.h"
#include "solve/linear.h"
#include "trial/width_vectors.h"

/* The share of the budget after which it is left. */
static const double TIME = 0.35;
/* Standard errors by which equal widths must be better with the mixtures, before widths are learnt
 * once more. */
static const double CLEAR = 2;

static int may_mix(const kb_tuner *t) {
    size_t columns = t->rows.map->columns;
    return t->given->linear != KB_LINEAR_OFF && t->given->sigma.kind == KB_SIGMA_AUTO &&
           t->rows.map->transform && columns > 1 && columns < KB_MANY_COLUMNS &&
           t->rows.pool >= KB_LINEAR_ROWS * columns &&
           t->rows.targets.outputs <= KB_LINEAR_OUTPUTS && !kb_tuning_is_late(t->tuning, TIME);
}

/* Rows and candidates with the mixtures, while the tuner has those without, or the other way
 * round. */
typedef struct side {
    kb_map *map;
    kb_subsample first;
    kb_mixtures mixtures;
    kb_candidate candidate[KB_CANDIDATES];
} side;

static void exchange(kb_tuner *t, side *s) {
    kb_mixtures mixtures = t->tuning->plan.mixtures;
    t->tuning->plan.mixtures = s->mixtures;
    s->mixtures = mixtures;
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

/* *promising: whether equal widths are clearly better on the other side. */
static kb_status look(kb_context *ctx, kb_tuner *t, side *s, int *promising) {
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
    with->what = "equal, linear";
    with->sigma = without->sigma;
    TRY(kb_widths_equal(ctx, s->map->columns, t->law, with->sigma, &with->widths));
    TRY(kb_scale_search(ctx, t, &s->first, with, KB_SEARCH_GRIDS, KB_SEARCH_STEPS, 1.5));
    *promising = kb_is_better(&with->climb, &without->climb, CLEAR);
done:
    return status;
}

static const kb_trial *best_climb(const kb_candidate *c) {
    int learnt = c[KB_CANDIDATE_LEARNED].widths.width &&
                 c[KB_CANDIDATE_LEARNED].climb.score < c[KB_CANDIDATE_EQUAL].climb.score;
    return &c[learnt ? KB_CANDIDATE_LEARNED : KB_CANDIDATE_EQUAL].climb;
}

kb_status kb_extra_columns_try(kb_context *ctx, kb_tuner *t,
                               kb_status (*learn)(kb_context *ctx, kb_tuner *t)) {
    kb_status status = KB_OK;
    side other = {0};
    int promising;
    if (!may_mix(t))
        goto done;
    TRY(look(ctx, t, &other, &promising));
    if (!promising)
        goto done;
    exchange(t, &other);
    if (learn)
        TRY(learn(ctx, t));
    if (!kb_is_better(best_climb(t->candidate), best_climb(other.candidate), KB_LUCK))
        exchange(t, &other);
done:
    release(ctx, &other);
    return status;
}
