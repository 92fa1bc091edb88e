/*
 * tune_binning.c - sigma, widths, lambda, steps, loss and grids for random binning.
 *
 *   rows     a validation part, or folds, and some others to learn from
 *   sigma    one for all features: by factors of 2 with few grids and rows, then by 1.5
 *   widths   one for each feature (learn_widths.c), with a common factor found in the same way
 *   columns  levels of categories, and then predictions of a linear fit, as extra columns
 *            (extra_columns.c), if they help
 *   final    trials of the candidates with more grids and as many steps as help; learned widths
 *            must be better than equal ones by enough standard errors
 *   rows     narrower widths and smaller lambdas on larger samples, where there are many rows
 *   grids    by how much the last doubling gained
 *   loss     for classes others, each with its own scale of the widths and lambda
 *
 * Widths are never learned from a validation part.  Of K folds that holds only for the first, so
 * scores of learned widths are then too low; select_widths.c allows for it in wide tables.  The fit
 * itself takes all rows, with fresh grids.  The numbers are in trial/rules.h.
 */
#include "tune/tune_binning.h"
#include "budget/pilot.h"
#include "core/order.h"
#include "fit/sigma.h"
#include "options/say.h"
#include "trial/rules.h"
#include "trial/width_vectors.h"
#include "tune/final_trial.h"
#include "tune/scale_search.h"
#include "tune/select_loss.h"
#include "tune/select_widths.h"

#include <math.h>

/* ---- the stages -------------------------------------------------------- */

/* Now that sigma is known: what the fit will cost with it, and how many rows the trials can have.
 */
static kb_status look_ahead(kb_context *ctx, kb_tuner *t, const kb_candidate *c) {
    kb_status status = KB_OK;
    kb_tuning *tuning = t->tuning;
    kb_plan plan = {.config = tuning->plan.config};
    if (!tuning->budget)
        return KB_OK;
    plan.config.sigma = (kb_sigma){.kind = KB_SIGMA_NUMBER, .value = c->sigma};
    plan.config.lambda = c->search.lambda;
    kb_config_set_untuned(&plan.config);
    if (plan.config.solver == KB_SOLVER_AUTO && plan.config.loss == KB_LOSS_SQUARE &&
        !kb_config_is_l1(t->given))
        plan.config.solver =
            c->search.lambda <= KB_RULE_SWEEPS_CLEAN_LAMBDA ? KB_SOLVER_CG : KB_SOLVER_SWEEPS;
    TRY(kb_pilot_again(ctx, &plan, t->rows.data, tuning->budget));
    kb_tuning_reserve(tuning, &plan, &t->rows.targets, kb_rows_of_all(t->rows.data));
    kb_cut_at(ctx, kb_tuning_moment(tuning, KB_RULE_BUDGET_SIGMA));
    double each = kb_tuner_trial_seconds(t, t->rows.first.x->rows, KB_RULE_SCALE_GRIDS,
                                         KB_RULE_SCALE_STEPS),
           share = kb_tuning_left(tuning, 1) / (KB_RULE_BUDGET_TRIALS * each);
    if (share < 1) {
        size_t rows = (size_t)(fmax(share, 0) * (double)t->rows.pool);
        kb_budget_cut(tuning->budget, KB_CUT_TRIAL_ROWS);
        TRY(kb_trial_rows_shrink(
            ctx, &t->rows, rows > KB_RULE_BUDGET_ROWS_LEAST ? rows : KB_RULE_BUDGET_ROWS_LEAST));
    }
done:
    return status;
}

/* *found: whether there was time for a first search. */
static kb_status tune_sigma(kb_context *ctx, kb_tuner *t, int *found) {
    kb_status status;
    kb_candidate *c = &t->candidate[KB_CANDIDATE_EQUAL];
    char *words = NULL;
    c->what = "equal";
    *found = 1;
    if (t->given->sigma.kind != KB_SIGMA_AUTO) {
        c->what = "given";
        c->widths.features = t->rows.map->columns;
        TRY(kb_sigma_widths(ctx, &t->given->sigma, t->law, t->rows.map->columns, t->rows.spread,
                            &c->widths.vectors, &c->widths.width, &words));
        c->sigma = c->widths.vectors == 1 ? c->widths.width[0].sigma : 0;
        TRY(kb_tuner_try(ctx, t, &t->rows.first, c, KB_RULE_SCALE_GRIDS, KB_RULE_SCALE_STEPS,
                         &c->search));
        goto done;
    }
    c->sigma = t->rows.spread > 0
                   ? KB_RULE_FIRST_SIGMA * (double)t->rows.map->columns * t->rows.spread
                   : 1;
    TRY(kb_widths_equal(ctx, t->rows.map->columns, NULL, t->law, c->sigma, &c->widths));
    TRY(kb_scale_search_first(ctx, t, c));
    *found = !t->cut;
    if (t->cut) {
        *found = c->search.each && t->tuning->budget;
        goto done;
    }
    TRY(look_ahead(ctx, t, c));
    TRY(kb_progress(ctx, "tune", 0.05));
    TRY(kb_scale_search(ctx, t, &t->rows.first, c, KB_RULE_SCALE_GRIDS, KB_RULE_SCALE_STEPS,
                        KB_RULE_SCALE_FACTOR));
    TRY(kb_progress(ctx, "tune", 0.15));
done:
    kb_release(ctx, words);
    return status;
}

/* With R grids the squared error is above its limit by about c/R, so all further doublings together
 * gain as much as the last one did. */
static size_t enough_grids(const kb_trial *half, const kb_trial *full, double most,
                           double clean_most) {
    double gain = half->square - full->square, target = KB_RULE_GRIDS_GAIN * full->square;
    double grids = target > 0 ? KB_RULE_FIRST_GRIDS * gain / target : KB_RULE_GRIDS_LEAST;
    grids = fmin(grids, grids >= KB_RULE_GRIDS_CLEAN_MOST ? clean_most : most);
    return (size_t)fmax(ceil(grids / KB_RULE_GRIDS_MULTIPLE) * KB_RULE_GRIDS_MULTIPLE,
                        KB_RULE_GRIDS_LEAST);
}

/* There are more grids than the least only where there is time for them in the fit. */
static int has_time_for_grids(const kb_tuner *t) {
    const kb_candidate *c = &t->candidate[t->best];
    return c->final.each && !kb_tuning_is_late(t->tuning, 1);
}

static kb_status tune_grids(kb_context *ctx, kb_tuner *t) {
    kb_status status = KB_OK;
    kb_candidate *c = &t->candidate[t->best];
    kb_trial more = {.grids = KB_RULE_FIRST_GRIDS,
                     .max_steps = KB_RULE_SCALE_STEPS,
                     .seed = t->seed + KB_RULE_TRIAL_SEED,
                     .given_lambda = t->given_lambda};
    size_t rows = kb_rows_of_all(t->rows.data);
    double grids = rows > KB_RULE_GRIDS_MANY_ROWS ? KB_RULE_GRIDS_ENOUGH : KB_RULE_GRIDS_LEAST,
           most = fmin(KB_RULE_GRIDS_MOST, KB_RULE_GRIDS_INDICATORS / (double)rows);
    if (t->given->grids != KB_GRIDS_AUTO)
        return KB_OK;
    t->tuning->plan.config.grids = (size_t)grids; /* if this is cut short */
    /* A model with the L1 penalty should be small, and more grids add few weights. */
    if (kb_config_is_l1(t->given)) {
        grids = KB_RULE_GRIDS_L1;
    } else if (most > KB_RULE_GRIDS_LEAST && has_time_for_grids(t)) {
        if (t->best == KB_CANDIDATE_BOTH)
            TRY(kb_tuner_try(ctx, t, &t->rows.first, c, KB_RULE_SCALE_GRIDS, KB_RULE_SCALE_STEPS,
                             &c->search));
        /* Not recorded as a trial: it only measures grids, on fewer rows than the final trial. */
        if (t->rows.large.x || c->final.sweeps)
            TRY(kb_trial_run(ctx, &t->rows.first, &c->widths, &more));
        double clean_most =
            t->rows.first.class_of
                ? most
                : fmin(KB_RULE_GRIDS_CLEAN_MOST, KB_RULE_GRIDS_CLEAN_INDICATORS / (double)rows);
        grids = (double)enough_grids(&c->search, more.each ? &more : &c->final, most, clean_most);
    }
    t->tuning->plan.config.grids = (size_t)grids;
done:
    kb_trial_release(ctx, &more);
    return status;
}

/* ---- the result -------------------------------------------------------- */

/* A fit of more rows needs more steps: their number grows with the root of the condition number,
 * and that with the rows. */
static size_t enough_steps(const kb_tuner *t, const kb_trial *trial) {
    double rows = (double)kb_rows_of_all(t->rows.data) / (double)trial->fitted;
    return (size_t)ceil((double)trial->steps * sqrt(fmax(rows, 1)));
}

static void conclude(kb_tuner *t) {
    kb_plan *out = &t->tuning->plan;
    kb_config *config = &out->config;
    const kb_config *given = t->given;
    kb_candidate *c = &t->candidate[t->best];
    int square = config->loss == KB_LOSS_AUTO || config->loss == KB_LOSS_SQUARE;
    /* A sigma can be given again as an option; extra columns cannot. */
    int learned = t->best != KB_CANDIDATE_EQUAL || out->mixtures.count > 0 || out->levels;
    if (!learned && given->sigma.kind == KB_SIGMA_AUTO)
        config->sigma = (kb_sigma){.kind = KB_SIGMA_NUMBER, .value = c->sigma};
    if (learned) {
        out->widths = c->widths;
        out->law = t->law;
        c->widths.width = NULL;
        t->law = NULL;
    }
    if (kb_config_is_l1(given))
        return;
    if (config->lambda == KB_LAMBDA_AUTO)
        config->lambda = c->final.lambda;
    if (!square)
        config->tol = kb_loss_tol(t);
    if (square && given->solver == KB_SOLVER_AUTO)
        config->solver = c->final.sweeps ? KB_SOLVER_SWEEPS : KB_SOLVER_CG;
    if (square && kb_tuner_may_stop(t) && c->final.sweeps) {
        out->early = 1;
    } else if (square && kb_tuner_may_stop(t)) {
        size_t steps = enough_steps(t, &c->final);
        out->early = steps <= given->max_iter;
        config->max_iter = kb_least(steps, given->max_iter);
        config->tol = fmin(KB_RULE_STEPS_TOL, given->tol);
    }
    if (square && given->intercept == KB_INTERCEPT_AUTO) {
        config->intercept = KB_INTERCEPT_MEAN;
        out->fill = t->rows.targets.classes == 0;
    }
}

static kb_status search_sigma(kb_context *ctx, kb_tuner *t) {
    int found;
    kb_status status = tune_sigma(ctx, t, &found);
    t->cut = t->cut || !found;
    return status;
}

/* The stages in turn.  Where one is cut short, the next ones have what there is. */
static kb_status run_stages(kb_context *ctx, kb_tuner *t, int *whole) {
    kb_status status;
    int cut;
    *whole = 0;
    TRY(kb_tuner_within(ctx, t, KB_RULE_BUDGET_SIGMA, KB_CUT_SIGMA, search_sigma, &cut));
    if (cut || t->cut) /* trials on other rows: there is nothing to compare others with */
        goto done;
    TRY(kb_learn_candidates(ctx, t));
    TRY(kb_tuner_within(ctx, t, KB_RULE_BUDGET_FINAL, KB_CUT_FINAL, kb_select_widths, &cut));
    if (cut)
        goto done;
    *whole = 1;
    TRY(kb_progress(ctx, "tune", 0.75));
    TRY(kb_tuner_within(ctx, t, 1, KB_CUT_MORE_ROWS, kb_more_rows, &cut));
    TRY(kb_progress(ctx, "tune", 0.85));
    TRY(kb_tuner_within(ctx, t, 1, KB_CUT_GRIDS, tune_grids, &cut));
    t->tuning->chosen = t->candidate[t->best].final.number;
    TRY(kb_tuner_within(ctx, t, 1, KB_CUT_LOSSES, kb_select_loss, &cut));
    TRY(kb_progress(ctx, "tune", 0.9));
done:
    return status;
}

/* What a run that was cut short leaves open. */
static void fill_in(kb_tuner *t, int whole) {
    kb_config *config = &t->tuning->plan.config;
    size_t rows = kb_rows_of_all(t->rows.data);
    if (!whole) { /* there are final trials of some kernels, or of none */
        kb_settle_widths(t);
        t->tuning->chosen = t->candidate[t->best].final.number;
    }
    if (config->grids == KB_GRIDS_AUTO)
        config->grids = kb_config_is_l1(t->given)        ? KB_RULE_GRIDS_L1
                        : rows > KB_RULE_GRIDS_MANY_ROWS ? KB_RULE_GRIDS_ENOUGH
                                                         : KB_RULE_GRIDS_LEAST;
    if (t->tuning->budget && config->lambda == KB_LAMBDA_AUTO && !kb_config_is_l1(t->given) &&
        config->loss != KB_LOSS_AUTO && config->loss != KB_LOSS_SQUARE)
        config->lambda = kb_loss_first_lambda(t, kb_loss_of(config->loss));
}

kb_status kb_tune_binning(kb_context *ctx, const kb_data *data, kb_tuning *tuning) {
    kb_status status;
    const kb_config *given = tuning->given;
    kb_config *config = &tuning->plan.config;
    kb_tuner t = {0};
    int whole = 0;
    TRY(kb_progress(ctx, "tune", 0));
    if (given->scale == KB_SCALE_AUTO) /* a given sigma is meant for the given columns */
        config->scale = given->sigma.kind == KB_SIGMA_AUTO ? KB_SCALE_RANKS : KB_SCALE_MINMAX;
    if (tuning->seconds > 0) {
        kb_cut_at(ctx, kb_tuning_moment(tuning, 1));
        status = kb_tuner_prepare(ctx, tuning, data, &t);
        kb_cut_at(ctx, INFINITY);
        if (status == KB_OK)
            status = run_stages(ctx, &t, &whole);
        if (kb_take_cut(ctx, &status))
            kb_budget_cut(tuning->budget, KB_CUT_FINAL);
        TRY(status);
    }
    if (!t.candidate[KB_CANDIDATE_EQUAL].search.each || (t.cut && !tuning->budget)) {
        kb_budget_cut(tuning->budget, KB_CUT_TUNING);
        kb_log(ctx, KB_LOG_WARNING,
               "%s: spent before a sigma was found; the values of %s are taken",
               kb_say(ctx, KB_OPT_BUDGET).text, kb_say_value(ctx, KB_OPT_TUNE, "off").text);
        config->scale = given->scale;
        goto done;
    }
    fill_in(&t, whole);
    conclude(&t);
done:
    kb_tuner_release(ctx, &t);
    return status;
}
