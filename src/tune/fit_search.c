/*
 * fit_search.c - see fit_search.h.
 *
 * Each trial fits some rows and is scored on others.  Sigma moves by factors of 2 from the default
 * rule, lambda by factors of 10 and then 3, one after the other, as long as that helps.
 */
#include "tune/fit_search.h"
#include "data/folds.h"
#include "fit/fit.h"
#include "model/metric.h"
#include "model/score.h"
#include "solve/loss.h"
#include "trial/rules.h"
#include "trial/trial_rows.h"

#include <math.h>
#include <string.h>

typedef struct search {
    kb_tuning *tuning;
    kb_data *fit, *held;
    double *decision;
    double sigma, lambda; /* the best so far */
    double error;
    double from; /* of the phase "tune" */
} search;

static void set_sigma(search *s, double sigma) {
    s->tuning->plan.config.sigma = (kb_sigma){.kind = KB_SIGMA_NUMBER, .value = sigma};
}

/* *error: lower is better, by the metric. */
static kb_status try_one(kb_context *ctx, search *s, double sigma, double lambda, double *error) {
    kb_status status;
    kb_model *model = NULL;
    kb_score score = KB_SCORE_INIT;
    double trials = (double)s->tuning->count; /* the number of trials is not known */
    TRY(kb_progress(ctx, "tune", s->from + (1 - s->from) * trials / (trials + 8)));
    kb_plan *plan = &s->tuning->plan;
    plan->config.lambda = lambda;
    if (sigma > 0)
        set_sigma(s, sigma);
    TRY(kb_fit_plan(ctx, plan, s->fit, &model));
    TRY(kb_model_decide(ctx, model, s->held, s->decision));
    TRY(kb_model_score(ctx, model, s->held, s->decision, &score));
    const kb_fit_info *info = kb_model_info(model);
    kb_metric_kind plain = kb_metric_resolve(KB_METRIC_AUTO, info->classes > 0);
    *error = kb_metric_loss(
        kb_metric_of_fit(plan->config.metric, info->classes > 0, plan->config.loss), &score);
    if (!isfinite(*error)) /* without probabilities */
        *error = kb_metric_loss(plain, &score);
    kb_trial_info tried = {.widths = plan->widths.vectors ? "learned" : "equal",
                           .loss = kb_choice_word(KB_OPT_LOSS, (int)plan->config.loss),
                           .sigma = sigma,
                           .lambda = lambda,
                           .grids = info->grids,
                           .steps = info->steps,
                           .error = kb_metric_loss(plain, &score)};
    TRY(kb_tuning_note(ctx, s->tuning, &tried));
done:
    kb_model_free(model);
    return status;
}

/* Moves sigma or lambda by a factor as long as that helps. */
static kb_status search_up_and_down(kb_context *ctx, search *s, double *what, double by) {
    kb_status status = KB_OK;
    for (int up = 0; up < 2; up++) {
        int moved = 0;
        for (int k = 0;
             k < KB_RULE_SEARCH_MOVES && !kb_tuning_is_late(s->tuning, KB_RULE_BUDGET_SEARCH);
             k++) {
            double before = *what, error;
            *what *= up ? by : 1 / by;
            if (!(*what >= KB_RULE_SEARCH_LEAST && *what <= KB_RULE_SEARCH_MOST)) {
                *what = before;
                break;
            }
            status = try_one(ctx, s, s->sigma, s->lambda, &error);
            if (status != KB_OK || !(error < s->error)) {
                *what = before;
                break;
            }
            s->error = error;
            s->tuning->chosen = s->tuning->count - 1;
            moved = 1;
        }
        if (moved || status != KB_OK)
            break;
    }
    return status;
}

static kb_status split_rows(kb_context *ctx, search *s, const kb_data *data, size_t most) {
    kb_status status;
    kb_folds folds = {0};
    size_t count = data->rows < most ? data->rows : most, fit = 0, held = 0;
    const kb_config *given = s->tuning->given;
    kb_targets targets = {0};
    kb_data *some = NULL;
    uint32_t *rows = NULL, *other = NULL;
    TRY(kb_alloc(ctx, count, sizeof *rows, &rows));
    TRY(kb_alloc(ctx, count, sizeof *other, &other));
    for (size_t i = 0; i < count; i++)
        rows[i] = (uint32_t)(i * data->rows / count);
    TRY(kb_data_take(ctx, data, count, rows, &some));
    TRY(kb_targets_build(ctx, given->task, some, &targets));
    TRY(kb_folds_build(ctx, kb_split_resolve(given->split, targets.classes, count), 0,
                       KB_RULE_SEARCH_VALIDATION_SHARE, count, given->seed, count, targets.class_of,
                       some->group, &folds));
    for (size_t i = 0; i < count; i++)
        if (folds.fold[i] == KB_FOLD_NONE)
            rows[fit++] = (uint32_t)i;
        else
            other[held++] = (uint32_t)i;
    TRY(kb_data_take(ctx, some, fit, rows, &s->fit));
    TRY(kb_data_take(ctx, some, held, other, &s->held));
    TRY(kb_alloc(ctx, held * targets.outputs, sizeof(double), &s->decision));
done:
    kb_targets_release(ctx, &targets);
    kb_folds_release(ctx, &folds);
    kb_data_free(some);
    kb_release(ctx, rows);
    kb_release(ctx, other);
    return status;
}

/* The first sigma: that of the default rule. */
static kb_status default_sigma(kb_context *ctx, search *s, double *out) {
    kb_status status;
    kb_model *model = NULL;
    s->tuning->plan.config.sigma = (kb_sigma){.kind = KB_SIGMA_DEFAULT};
    TRY(kb_fit_plan(ctx, &s->tuning->plan, s->fit, &model));
    *out = kb_model_info(model)->sigma;
done:
    kb_model_free(model);
    return status;
}

static kb_status run_search(kb_context *ctx, search *s, int open) {
    kb_status status;
    if (open)
        TRY(default_sigma(ctx, s, &s->sigma));
    TRY(try_one(ctx, s, s->sigma, s->lambda, &s->error));
    s->tuning->chosen = s->tuning->count - 1;
    if (open)
        TRY(search_up_and_down(ctx, s, &s->sigma, KB_RULE_SEARCH_SIGMA_FACTOR));
    if (s->tuning->given->lambda == KB_LAMBDA_AUTO) {
        TRY(search_up_and_down(ctx, s, &s->lambda, KB_RULE_SEARCH_LAMBDA_FACTOR));
        TRY(search_up_and_down(ctx, s, &s->lambda, KB_RULE_SEARCH_LAMBDA_FINE));
    }
    if (open)
        TRY(search_up_and_down(ctx, s, &s->sigma, KB_RULE_SEARCH_SIGMA_FINE));
done:
    return status;
}

kb_status kb_fit_search(kb_context *ctx, const kb_data *data, kb_tuning *tuning) {
    kb_status status;
    const kb_config *given = tuning->given;
    kb_config *config = &tuning->plan.config;
    int rival = kb_config_is_rival(given), open = given->sigma.kind == KB_SIGMA_AUTO && rival;
    search s = {.tuning = tuning, .lambda = KB_RULE_SEARCH_FIRST_LAMBDA, .from = rival ? 0 : 0.9};
    TRY(kb_progress(ctx, "tune", s.from));
    kb_config_set_untuned(config);
    config->holdout = 0; /* the trials have their own validation rows */
    config->probability = KB_PROBABILITY_OFF;
    tuning->plan.transform_on = data;
    TRY(split_rows(ctx, &s, data, rival ? KB_RULE_SEARCH_RIVAL_ROWS : KB_RULE_SEARCH_ROWS));
    if (given->lambda != KB_LAMBDA_AUTO)
        s.lambda = given->lambda;
    if (!rival)
        config->tol = fmax(given->tol, KB_RULE_SEARCH_L1_TOL);
    double before = kb_cut_at(ctx, kb_tuning_moment(tuning, 1));
    status = run_search(ctx, &s, open);
    kb_cut_at(ctx, before);
    if (kb_take_cut(ctx, &status))
        kb_budget_cut(tuning->budget, KB_CUT_FINAL);
    TRY(status);
    config->lambda = s.lambda;
    config->tol = given->tol;
    if (open && s.sigma > 0)
        set_sigma(&s, s.sigma);
done:
    config->holdout = given->holdout;
    config->probability = given->probability;
    tuning->plan.transform_on = NULL;
    kb_data_free(s.fit);
    kb_data_free(s.held);
    kb_release(ctx, s.decision);
    return status;
}
