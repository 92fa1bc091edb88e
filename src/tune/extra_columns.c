/* extra_columns.c - see extra_columns.h. */
#include "tune/extra_columns.h"
#include "trial/compare_trials.h"
#include "trial/rules.h"
#include "tune/scale_search.h"
#include "tune/blend.h"
#include "slopes/slopes.h"
#include "core/order.h"
#include "data/scaling.h"
#include "solve/linear.h"
#include "trial/width_vectors.h"

#include <math.h>

static size_t plain_columns(const kb_tuner *t) {
    return t->rows.map->columns - kb_map_levels(t->rows.map);
}

/* For want of time, what there would be otherwise. */
static int is_too_late(const kb_tuner *t, kb_cutback what) {
    int late = kb_tuning_is_late(t->tuning, KB_RULE_BUDGET_MIXTURES);
    if (late)
        kb_budget_cut(t->tuning->budget, what);
    return late;
}

/* Not with so many columns that few of them matter: a sum of all is the opposite.  Levels are not
 * summed. */
static int may_be_linear(const kb_tuner *t) {
    size_t columns = plain_columns(t);
    return t->given->linear != KB_LINEAR_OFF && columns < KB_RULE_MANY_COLUMNS &&
           t->rows.pool >= KB_RULE_LINEAR_ROWS_PER_COLUMN * columns &&
           t->rows.targets.outputs <= KB_RULE_LINEAR_OUTPUTS;
}

static size_t most_directions(const kb_tuner *t) {
    const kb_config *config = t->given;
    size_t most =
        config->directions == KB_DIRECTIONS_AUTO ? KB_RULE_DIRECTIONS : config->directions;
    return kb_tuner_may_slope(t) ? kb_least(most, plain_columns(t)) : 0;
}

static int may_level(const kb_tuner *t) {
    return t->given->sigma.kind == KB_SIGMA_AUTO && t->rows.map->transform && t->rows.data->level &&
           !is_too_late(t, KB_CUT_LEVELS);
}

static int may_mix(const kb_tuner *t) {
    return t->given->sigma.kind == KB_SIGMA_AUTO && t->rows.map->transform &&
           plain_columns(t) > 1 && (may_be_linear(t) || most_directions(t) > 0) &&
           !is_too_late(t, KB_CUT_MIXTURES);
}

/* Rows and candidates with the extra columns while the tuner has those without, or the reverse. */
typedef struct side {
    kb_map *map;
    kb_subsample first;
    kb_mixtures mixtures;
    double *slope; /* along the mixtures that are tried */
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
    kb_release(ctx, s->slope);
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

/* ---- mixtures ---------------------------------------------------------- */

static const kb_candidate *best_of(const kb_candidate *c) {
    int learned = c[KB_CANDIDATE_LEARNED].widths.width &&
                  c[KB_CANDIDATE_LEARNED].search.score < c[KB_CANDIDATE_EQUAL].search.score;
    return &c[learned ? KB_CANDIDATE_LEARNED : KB_CANDIDATE_EQUAL];
}

/* Predictions of a linear fit and directions as mixtures, and the slope along each. */
static kb_status learn_mixtures(kb_context *ctx, kb_tuner *t, side *s) {
    kb_status status = KB_OK;
    const kb_subsample *first = &t->rows.first;
    kb_learning_rows rows = {first, t->rows.pool, t->rows.row};
    kb_linear fit = {first->x, first->C, first->y, first->weight};
    kb_mixtures linear = {0}, directions = {0};
    size_t most = most_directions(t);
    double steepest = 1;
    TRY(kb_zalloc(ctx, most + first->C, sizeof *s->slope, &s->slope));
    if (may_be_linear(t))
        TRY(kb_linear_learn(ctx, &fit, t->rows.pool, t->rows.row, &linear));
    if (most > 0) {
        TRY(kb_tuner_slope(ctx, t));
        TRY(kb_slopes_directions(ctx, &t->slopes, rows, most, &directions,
                                 s->slope + linear.count));
    }
    if (directions.count > 0)
        steepest = s->slope[linear.count];
    for (size_t k = 0; k < linear.count; k++)
        s->slope[k] = steepest;
    TRY(kb_mixtures_join(ctx, &linear, &directions, &s->mixtures));
    s->mixtures.linear = linear.count;
done:
    kb_mixtures_release(kb_allocator_of(ctx), &linear);
    kb_mixtures_release(kb_allocator_of(ctx), &directions);
    return status;
}

/* The widths of a kernel without mixtures, and widths for these by their slopes.  Mixtures and
 * other columns each part samples as much as those alone did, so all widths are doubled. */
static kb_status widen(kb_context *ctx, const kb_tuner *t, const side *other,
                       const kb_candidate *without, kb_candidate *out) {
    kb_status status;
    const kb_subsample *first = &t->rows.first;
    const kb_widths *w = &without->widths;
    size_t d = w->features, all = first->x->features, n = w->vectors;
    double *spread = NULL, steep = 0;
    TRY(kb_alloc(ctx, all, sizeof *spread, &spread));
    TRY(kb_alloc(ctx, n * all, sizeof *out->widths.width, &out->widths.width));
    TRY(kb_scaling_deviations(ctx, first->x, first->shift, first->scale, spread));
    out->sigma = 2 * without->sigma;
    out->widths.vectors = n;
    out->widths.features = all;
    for (size_t j = d; j < all; j++)
        steep += spread[j] * other->slope[j - d];
    for (size_t v = 0; v < n; v++) {
        kb_width *to = out->widths.width + v * all;
        double parted = 0;
        for (size_t j = 0; j < d; j++) {
            to[j] = w->width[v * d + j];
            parted += first->x->level && first->x->level[j] ? 0 : to[j].q * spread[j] / to[j].sigma;
            to[j].sigma *= 2;
        }
        for (size_t j = d; j < all; j++) {
            double slope = fmax(other->slope[j - d], KB_RULE_DIRECTION_SHARE * steep);
            to[j] = (kb_width){t->law, steep > 0 && parted > 0 ? 2 * steep / parted / slope : 1, 1};
        }
    }
done:
    kb_release(ctx, spread);
    return status;
}

/* Other factors are tried unless the first is clearly worse. */
static kb_status try_with(kb_context *ctx, kb_tuner *t, const side *other, int which) {
    kb_status status;
    const kb_candidate *without = &other->candidate[which];
    kb_candidate *c = &t->candidate[which];
    TRY(widen(ctx, t, other, without, c));
    c->what = which == KB_CANDIDATE_EQUAL ? "equal" : without->what;
    TRY(kb_tuner_try(ctx, t, &t->rows.first, c, KB_RULE_SCALE_GRIDS, KB_RULE_SCALE_STEPS,
                     &c->search));
    if (!kb_is_better(&without->search, &c->search, KB_RULE_BETTER_STANDARD_ERRORS))
        TRY(kb_scale_moves(ctx, t, &t->rows.first, c, KB_RULE_SCALE_GRIDS, KB_RULE_SCALE_STEPS,
                           KB_RULE_SCALE_FACTOR));
done:
    return status;
}

/* The widths that mixtures are tried with before any are learned. */
static int first_widths(const kb_candidate *without) {
    return without[KB_CANDIDATE_SLOPES].search.each ? KB_CANDIDATE_SLOPES : KB_CANDIDATE_EQUAL;
}

/* Learns mixtures and tries them.  The tuner has them then, and `other` has what it had without
 * them; *tried: unless there are none, and the tuner is as it was. */
static kb_status try_mixtures(kb_context *ctx, kb_tuner *t, side *other, int *tried) {
    kb_status status;
    *tried = 0;
    TRY(learn_mixtures(ctx, t, other));
    if (other->mixtures.count == 0)
        goto done;
    TRY(kb_map_mix(ctx, t->rows.map, &other->mixtures, &other->map));
    TRY(kb_trial_rows_redraw(ctx, &t->rows, other->map, &other->first));
    if (!other->first.x) /* little memory: no rows to compare on */
        goto done;
    other->levels = t->tuning->plan.levels;
    exchange(t, other);
    *tried = 1;
    TRY(try_with(ctx, t, other, first_widths(other->candidate)));
done:
    return status;
}

/* Directions that help are worth more rows to learn them from. */
static kb_status refine_mixtures(kb_context *ctx, kb_tuner *t, side *other, int *tried) {
    kb_status status = KB_OK;
    if (kb_map_mixtures(t->rows.map) == kb_map_linear(t->rows.map))
        return KB_OK;
    exchange(t, other);
    if (!kb_tuner_may_slope_more(t)) {
        exchange(t, other);
        return KB_OK;
    }
    *tried = 0;
    TRY(kb_tuner_slope_more(ctx, t));
    release(ctx, other);
    *other = (side){0};
    TRY(try_mixtures(ctx, t, other, tried));
done:
    return status;
}

/* Whether they help: before widths are learned, compared with widths that are not learned either,
 * and after. */
static int is_promising(const kb_tuner *t, const side *other) {
    int which = first_widths(other->candidate);
    return kb_is_worth_it(&t->candidate[which].search, &other->candidate[which].search,
                          kb_subsample_counts_errors(&t->rows.first),
                          KB_RULE_MIXTURE_STANDARD_ERRORS);
}

static kb_status compare_mixtures(kb_context *ctx, kb_tuner *t, side *other, kb_learn_again *learn,
                                  int *better) {
    kb_status status = KB_OK;
    kb_candidate *c = t->candidate;
    const kb_candidate *without = other->candidate;
    int classes = kb_subsample_counts_errors(&t->rows.first), which = first_widths(without);
    *better = 0;
    if (which != KB_CANDIDATE_EQUAL)
        TRY(try_with(ctx, t, other, KB_CANDIDATE_EQUAL));
    if (learn)
        TRY(learn(ctx, t,
                  which == KB_CANDIDATE_SLOPES ? &c[which].widths
                                               : &without[KB_CANDIDATE_LEARNED].widths));
    *better = kb_is_worth_it(&best_of(c)->search, &best_of(without)->search, classes,
                             KB_RULE_BETTER_STANDARD_ERRORS);
done:
    return status;
}

/* ---- both -------------------------------------------------------------- */

/* The tuner has the extra columns afterwards if they help.  For classes, levels must also save more
 * than a few errors. */
static kb_status compete(kb_context *ctx, kb_tuner *t, side *other, kb_learn_again *learn) {
    kb_status status = KB_OK;
    exchange(t, other);
    if (learn)
        status = learn(ctx, t, &other->candidate[KB_CANDIDATE_LEARNED].widths);
    int counts_errors =
        t->tuning->plan.levels != other->levels && kb_subsample_counts_errors(&t->rows.first);
    if (status != KB_OK ||
        !kb_is_worth_it(&best_of(t->candidate)->search, &best_of(other->candidate)->search,
                        counts_errors, KB_RULE_BETTER_STANDARD_ERRORS))
        exchange(t, other);
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

kb_status kb_mixtures_try(kb_context *ctx, kb_tuner *t, kb_learn_again *learn) {
    kb_status status = KB_OK;
    side other = {0};
    int tried = 0, better = 0;
    if (!may_mix(t))
        goto done;
    TRY(try_mixtures(ctx, t, &other, &tried));
    if (tried && is_promising(t, &other)) {
        TRY(refine_mixtures(ctx, t, &other, &tried));
        if (tried)
            TRY(compare_mixtures(ctx, t, &other, learn, &better));
    }
done:
    if (tried && (status != KB_OK || !better))
        exchange(t, &other);
    release(ctx, &other);
    return status;
}
