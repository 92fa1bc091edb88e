/* model_fit.c - from labelled data to a model; options left at auto are tuned. */
#include "api/holdout.h"
#include "api/prepare.h"
#include "fit/fit.h"
#include "fit/forecast.h"
#include "trial/importance_trial.h"
#include "trial/rules.h"
#include "tune/tune.h"

/* Whether the number of grids was tuned, so that it may be lowered. */
static int has_grids_to_spare(const kb_config *given, const kb_tuning *tuning) {
    return given->grids == KB_GRIDS_AUTO && tuning->count > 0 &&
           tuning->plan.config.grids > KB_RULE_GRIDS_LITTLE_MEMORY;
}

/* Before the work: the sizes, and the least memory that the fit will take.  The task is settled
 * here, and told, if it is to be found from the labels. */
static kb_status tell(kb_context *ctx, kb_config *given, const kb_data *source,
                      const kb_data *data) {
    kb_status status;
    kb_targets targets = {0};
    kb_config config = *given;
    kb_config_set_untuned(&config);
    TRY(kb_targets_build(ctx, given->task, data, &targets));
    given->task = targets.classes ? KB_TASK_CLASSIFICATION : KB_TASK_REGRESSION;
    double bytes = kb_forecast_fit(ctx, &config, data->rows, &targets, data->weight != NULL).fixed +
                   (double)(data->rows * config.grids);
    kb_log(ctx, KB_LOG_INFO, "data: %zu row%s x %zu feature%s; memory: %s or more", source->rows,
           source->rows == 1 ? "" : "s", source->features, source->features == 1 ? "" : "s",
           kb_size_in_words(bytes).text);
done:
    kb_targets_release(ctx, &targets);
    return status;
}

/* Of the plan, before its fit needs the memory. */
static kb_status measure_importance(kb_context *ctx, const kb_plan *plan, const kb_data *data,
                                    kb_importance *out) {
    const kb_config *c = &plan->config;
    if (c->importance == KB_IMPORTANCE_OFF ||
        (c->importance == KB_IMPORTANCE_AUTO && c->tune == KB_TUNE_OFF))
        return KB_OK;
    kb_progress_outer(ctx, "shuffle");
    kb_status status = kb_importance_trial(ctx, plan, data, out);
    kb_progress_outer(ctx, NULL);
    return status;
}

kb_status kb_model_fit(kb_context *ctx, const kb_options *options, const kb_data *data,
                       kb_model **out) {
    kb_status status;
    kb_config given = kb_config_of(options);
    kb_tuning tuning = {0};
    kb_importance importance = {0};
    kb_prepared x;
    kb_aside aside = {0};
    kb_validation validation = {0};
    *out = NULL;
    double began = kb_seconds();
    TRY(kb_prepare(ctx, &given, data, &x));
    double encoded = kb_seconds() - began;
    if (x.data->label)
        TRY(tell(ctx, &given, data, x.data));
    TRY(kb_aside_take(ctx, &given, x.data, &aside));
    TRY(kb_tune(ctx, &given, aside.others ? aside.others : x.data, &tuning));
    kb_prepared_tell(&x, &tuning.plan);
    double tuned = kb_seconds() - tuning.began;
    if (aside.others) {
        TRY(kb_aside_measure(ctx, &aside, &tuning.plan, x.data, &validation));
        tuning.plan.validation = &validation;
        kb_aside_release(ctx, &aside);
    }
    began = kb_seconds();
    TRY(measure_importance(ctx, &tuning.plan, x.data, &importance));
    double measured = kb_seconds() - began;
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
    if (x.bytes > (double)(*out)->cost.forecast_bytes)
        (*out)->cost.forecast_bytes = (size_t)x.bytes;
    (*out)->cost.encode_seconds = encoded;
    (*out)->cost.tune_seconds = tuning.count ? tuned : 0;
    (*out)->cost.importance_seconds = measured;
    (*out)->importance = importance;
    importance = (kb_importance){0};
    (*out)->tried = tuning.trial;
    (*out)->tried_count = tuning.count;
    (*out)->chosen = tuning.chosen;
    tuning.trial = NULL;
done:
    kb_aside_release(ctx, &aside);
    kb_validation_release(kb_allocator_of(ctx), &validation);
    kb_release(ctx, (void *)importance.drop);
    kb_tuning_release(ctx, &tuning);
    kb_prepared_release(ctx, &x);
    return status;
}
