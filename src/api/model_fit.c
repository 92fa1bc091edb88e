/* model_fit.c - from labelled data to a model; options left at auto are tuned. */
#include "api/ensemble.h"
#include "api/holdout.h"
#include "api/prepare.h"
#include "api/ranked.h"
#include "budget/pilot.h"
#include "core/order.h"
#include "device/device.h"
#include "fit/fit.h"
#include "fit/forecast.h"
#include "trial/importance_trial.h"
#include "trial/rules.h"
#include "options/say.h"
#include "ranks/ranks.h"
#include "tune/tune.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Whether the number of grids was tuned, so that it may be lowered. */
static int has_grids_to_spare(const kb_config *given, const kb_tuning *tuning) {
    return given->grids == KB_GRIDS_AUTO && tuning->count > 0 &&
           tuning->plan.config.grids > KB_RULE_GRIDS_LITTLE_MEMORY;
}

/* Before the work: the sizes, and the least memory that the fit will take.  The task is settled
 * here, and told, if it is to be found from the labels.  *shape: the numbers of classes and
 * outputs. */
static kb_status tell(kb_context *ctx, kb_config *given, const kb_data *source, const kb_data *data,
                      kb_targets *shape) {
    kb_status status;
    kb_targets targets = {0};
    kb_config config = *given;
    kb_config_set_untuned(&config);
    TRY(kb_targets_build(ctx, given->task, data, &targets));
    given->task = targets.classes ? KB_TASK_CLASSIFICATION : KB_TASK_REGRESSION;
    *shape = (kb_targets){.classes = targets.classes, .outputs = targets.outputs};
    double bytes = kb_forecast_fit(ctx, &config, data->rows, &targets, data->weight != NULL).fixed +
                   (double)(data->rows * config.grids);
    size_t rows = kb_rows_of_all(source);
    kb_log(ctx, KB_LOG_INFO, "data: %zu row%s x %zu feature%s; memory: %s or more", rows,
           rows == 1 ? "" : "s", source->features, source->features == 1 ? "" : "s",
           kb_size_in_words(bytes).text);
done:
    kb_targets_release(ctx, &targets);
    return status;
}

static int wants_importance(const kb_config *c) {
    return c->importance == KB_IMPORTANCE_ON ||
           (c->importance == KB_IMPORTANCE_AUTO && c->tune == KB_TUNE_ON);
}

/* Of the plan, before its fit needs the memory. */
static kb_status measure_importance(kb_context *ctx, kb_plan *plan, const kb_data *data,
                                    kb_importance *out) {
    kb_progress_outer(ctx, "shuffle");
    kb_status status = kb_has_ranks(ctx)
                           ? kb_ranked_importance(ctx, 1, plan, data, KB_RANKED_TUNED_ROWS, out)
                           : kb_importance_trial(ctx, plan, data, out);
    kb_progress_outer(ctx, NULL);
    return status;
}

/* ---- the budget ---------------------------------------------------------- */

/* Of the time that is left to the fit, solvers leave this share for what follows them. */
static const double AFTER_SOLVING = 0.1;
/* A run may take this share longer than its budget, and no more without a warning. */
static const double TOLERATED = 0.2;

/* What importance takes: a fit, and its rows decided again and again. */
static double importance_seconds(const kb_budget *b, const kb_data *data) {
    double rows = (double)data->rows, entries = data->dense
                                                    ? (double)data->features
                                                    : (double)data->row_start[data->rows] / rows;
    double cells = fmin(rows, KB_RULE_IMPORTANCE_OTHER_ROWS) * KB_RULE_IMPORTANCE_GRIDS;
    double looks = KB_RULE_IMPORTANCE_WORK / (entries + KB_RULE_IMPORTANCE_LOOKUP);
    return ((cells + 2 * looks) * b->costs.grid + KB_RULE_SCALE_STEPS * cells * b->costs.pass) /
           rows;
}

/* Makes the fit by the plan as small as it must be: first without importance, then without rows
 * held out, then with fewer grids.  *spare: the seconds that are left for importance. */
static kb_status fit_in_time(kb_context *ctx, kb_budget *b, kb_plan *plan, const kb_targets *shape,
                             const kb_data *data, double *spare) {
    kb_status status = KB_OK;
    kb_config *c = &plan->config;
    double passes = kb_plan_passes(plan), held = kb_plan_held_fits(plan, shape, data->rows);
    if (data->label && kb_budget_fit(b, c->grids, passes, 1 + held) > kb_budget_left(b))
        TRY(kb_pilot_again(ctx, plan, data, b));
    double left = kb_budget_left(b);
    int needed = shape->classes && c->probability == KB_PROBABILITY_ON;
    if (held > 0 && !needed && kb_budget_fit(b, c->grids, passes, 1 + held) > left) {
        c->holdout = 0;
        held = 0;
        kb_budget_cut(b, KB_CUT_HOLDOUT);
    }
    size_t grids =
        kb_config_is_rival(c) ? c->grids : kb_budget_grids(b, c->grids, passes * (1 + held), left);
    if (grids < c->grids) {
        c->grids = grids;
        kb_budget_cut(b, KB_CUT_GRIDS);
    }
    *spare = left - kb_budget_fit(b, c->grids, passes, 1 + held);
done:
    return status;
}

/* Importance, if there is time; as far as that goes. */
static kb_status importance_in_time(kb_context *ctx, kb_budget *b, double seconds, kb_plan *plan,
                                    const kb_data *data, kb_importance *out) {
    kb_status status = KB_OK;
    if (!wants_importance(&plan->config))
        return kb_ranked_importance(ctx, 0, plan, data, KB_RANKED_TUNED_ROWS, out);
    if (!b)
        return measure_importance(ctx, plan, data, out);
    if (seconds < importance_seconds(b, data)) {
        kb_budget_cut(b, KB_CUT_IMPORTANCE);
        return KB_OK;
    }
    double before = kb_cut_at(ctx, kb_now(ctx) + seconds);
    status = measure_importance(ctx, plan, data, out);
    if (kb_take_cut(ctx, &status))
        kb_budget_cut(b, KB_CUT_IMPORTANCE);
    kb_cut_at(ctx, before);
    return status;
}

/* Solvers stop when this share of the time is spent, but for what follows them. */
static void stop_in_time(kb_context *ctx, const kb_budget *b, double share) {
    if (b)
        kb_stop_at(ctx, kb_now(ctx) + share * (1 - AFTER_SOLVING) * fmax(kb_budget_left(b), 0));
}

/* The words of what was cut, and one line of them. */
static void tell_cuts(kb_context *ctx, kb_budget *b, kb_model *model) {
    char line[400] = "";
    double spent = b->seconds - kb_budget_left(b);
    if (model->stopped)
        kb_budget_cut(b, KB_CUT_STEPS);
    for (int k = 0; k < KB_CUTBACKS; k++)
        if (kb_budget_has_cut(b, (kb_cutback)k)) {
            size_t at = strlen(line);
            model->shortened[model->shortened_count++] = kb_cutback_name((kb_cutback)k);
            snprintf(line + at, sizeof line - at, "%s%s", at ? ", " : "",
                     kb_cutback_name((kb_cutback)k));
        }
    if (spent > (1 + TOLERATED) * b->seconds)
        kb_log(ctx, KB_LOG_WARNING, "%s: %.3g s were not enough for the least fit; it took %.3g s",
               kb_say(ctx, KB_OPT_BUDGET).text, b->seconds, spent);
    if (line[0])
        kb_log(ctx, KB_LOG_INFO, "%s: left out or made smaller: %s",
               kb_say(ctx, KB_OPT_BUDGET).text, line);
}

kb_status kb_model_fit(kb_context *ctx, const kb_options *options, const kb_data *data,
                       kb_model **out) {
    kb_status status;
    kb_config given = kb_config_of(options);
    kb_tuning tuning = {0};
    kb_importance importance = {0};
    kb_device *device;
    kb_prepared x = {0};
    kb_aside aside = {0};
    kb_validation validation = {0};
    kb_targets shape = {0};
    kb_budget run = kb_budget_begin(ctx, given.budget),
              *budget = isfinite(given.budget) ? &run : NULL;
    *out = NULL;
    double began = kb_seconds(), sent = ctx->sent;
    kb_ranks_begin(ctx);
    TRY(kb_ensemble_check(ctx, &given));
    TRY(kb_ranked_check(ctx, &given, data));
    if (given.device == KB_DEVICE_CUDA)
        TRY(kb_device_open(ctx, &device));
    TRY(kb_prepare(ctx, &given, data, &x));
    double encoded = kb_seconds() - began;
    if (x.data->label)
        TRY(tell(ctx, &given, data, x.data, &shape));
    TRY(kb_aside_take(ctx, &given, x.data, &aside));
    if (budget && x.data->label)
        TRY(kb_pilot_run(ctx, &given, x.data, budget));
    TRY(kb_has_ranks(ctx)
            ? kb_ranked_tune(ctx, &given, x.data, budget, KB_RANKED_TUNED_ROWS, &tuning)
            : kb_tune(ctx, &given, aside.others ? aside.others : x.data, budget, &tuning));
    kb_prepared_tell(&x, &tuning.plan);
    double tuned = kb_now(ctx) - tuning.began, spare = INFINITY;
    if (budget)
        TRY(fit_in_time(ctx, budget, &tuning.plan, &shape, x.data, &spare));
    if (aside.others && tuning.plan.config.holdout != 0) {
        stop_in_time(ctx, budget, 0.5);
        TRY(kb_aside_measure(ctx, &aside, &tuning.plan, x.data, &validation));
        tuning.plan.validation = &validation;
    }
    if (given.ensemble == 1)
        kb_aside_release(ctx, &aside);
    began = kb_seconds();
    TRY(importance_in_time(ctx, budget, spare, &tuning.plan, x.data, &importance));
    double measured = kb_seconds() - began;
    stop_in_time(ctx, budget, 1);
    status = kb_fit_plan(ctx, &tuning.plan, x.data, out);
    while (status == KB_ERR_MEMORY && has_grids_to_spare(&given, &tuning)) {
        size_t grids = tuning.plan.config.grids;
        tuning.plan.config.grids /= 2;
        kb_log(ctx, KB_LOG_WARNING,
               "too little memory for the %zu grids that were tuned: the model gets %zu", grids,
               grids / 2);
        status = kb_fit_plan(ctx, &tuning.plan, x.data, out);
    }
    TRY(status);
    if (budget)
        tell_cuts(ctx, budget, *out);
    if (x.bytes > (double)(*out)->cost.forecast_bytes)
        (*out)->cost.forecast_bytes = (size_t)x.bytes;
    (*out)->cost.encode_seconds = encoded;
    (*out)->cost.tune_seconds = tuning.count ? tuned : 0;
    (*out)->cost.importance_seconds = measured;
    if (given.ensemble > 1)
        TRY(kb_ensemble_complete(ctx,
                                 &(kb_ensemble_spec){.given = &given,
                                                     .tuning = &tuning,
                                                     .data = x.data,
                                                     .source = data,
                                                     .aside = &aside},
                                 *out));
    (*out)->cost.sent_bytes = ctx->sent - sent;
    (*out)->importance = importance;
    importance = (kb_importance){0};
    (*out)->tried = tuning.trial;
    (*out)->tried_count = tuning.count;
    (*out)->chosen = tuning.chosen;
    tuning.trial = NULL;
done:
    status = kb_ranks_agree(ctx, status);
    if (status != KB_OK) {
        kb_model_free(*out);
        *out = NULL;
    }
    kb_stop_at(ctx, INFINITY);
    kb_aside_release(ctx, &aside);
    kb_validation_release(kb_allocator_of(ctx), &validation);
    kb_release(ctx, (void *)importance.drop);
    kb_tuning_release(ctx, &tuning);
    kb_prepared_release(ctx, &x);
    if (status != KB_OK) {
        kb_model_free(*out);
        *out = NULL;
    }
    return status;
}
