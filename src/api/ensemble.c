/* ensemble.c - see ensemble.h. */
#include "api/ensemble.h"
#include "api/join.h"
#include "fit/fit.h"
#include "options/say.h"
#include "tune/tune.h"

#include <math.h>

/* Between the seeds of two models: a prime, so that no seeds of the user's lie so far apart. */
enum { SEEDS = 1000003 };

kb_status kb_ensemble_check(kb_context *ctx, const kb_config *given) {
    kb_option_id other = kb_config_is_rival(given) ? KB_OPT_MAP
                         : kb_config_is_l1(given)  ? KB_OPT_PENALTY
                         : isfinite(given->budget) ? KB_OPT_BUDGET
                                                   : KB_OPT_ENSEMBLE;
    if (given->ensemble == 1 || other == KB_OPT_ENSEMBLE)
        return KB_OK;
    return kb_fail(ctx, KB_ERR_ARGUMENT, "%s is for %s and %s, without %s: leave out %s or %s",
                   kb_say(ctx, KB_OPT_ENSEMBLE).text, kb_say_value(ctx, KB_OPT_MAP, "binning").text,
                   kb_say_value(ctx, KB_OPT_PENALTY, "l2").text, kb_say(ctx, KB_OPT_BUDGET).text,
                   kb_say(ctx, KB_OPT_ENSEMBLE).text, kb_say(ctx, other).text);
}

/* The options of model m. */
static kb_config config_of(const kb_ensemble_spec *s, const kb_model *first, size_t m) {
    const kb_config *chosen = &s->tuning->plan.config;
    kb_config config = *s->given;
    config.seed += m * SEEDS;
    config.loss = chosen->loss;
    config.solver = kb_solver_of(chosen)->kind;
    config.grids = first->map->drawn;
    return config;
}

/* Twice the bins, weights and grids of the models that are done: their own, and joined. */
static double bytes_of(const kb_model *first, size_t models) {
    const kb_map *map = first->map;
    double bins = (double)map->dictionary.bins, grids = (double)map->drawn;
    return 2 * (double)models *
           (bins * (12 + 4 * (double)first->info.outputs) + grids * (double)map->columns * 16);
}

/* The rows set aside before the tuning, by a fit of the others. */
static kb_status measure(kb_context *ctx, const kb_ensemble_spec *s, kb_plan *plan,
                         kb_validation *validation) {
    kb_status status = KB_OK;
    if (!s->aside->others || plan->config.holdout == 0)
        return KB_OK;
    status = kb_aside_measure(ctx, s->aside, plan, s->data, validation);
    plan->validation = validation;
    return status;
}

static kb_status fit_one(kb_context *ctx, const kb_ensemble_spec *s, const kb_model *first,
                         size_t m, kb_model **out, double *seconds) {
    kb_status status;
    kb_config config = config_of(s, first, m);
    kb_tuning tuning = {0};
    kb_validation validation = {0};
    *out = NULL;
    TRY(kb_tune(ctx, &config, s->aside->others ? s->aside->others : s->data, NULL, &tuning));
    *seconds += tuning.count ? kb_now(ctx) - tuning.began : 0;
    kb_plan *plan = &tuning.plan;
    plan->config.seed = s->given->seed;
    plan->config.grids = first->map->drawn;
    plan->first_grid = m * first->map->drawn;
    plan->source = s->tuning->plan.source;
    plan->encoding = s->tuning->plan.encoding;
    plan->fill = first->fill;
    plan->more.fixed = bytes_of(first, m + 1);
    TRY(measure(ctx, s, plan, &validation));
    TRY(kb_fit_plan(ctx, plan, s->data, out));
done:
    kb_validation_release(kb_allocator_of(ctx), &validation);
    kb_tuning_release(ctx, &tuning);
    return status;
}

/* Of the joined model on the rows that it has learned from. */
static kb_status score(kb_context *ctx, const kb_ensemble_spec *s, kb_model *model) {
    kb_score found = KB_SCORE_INIT;
    kb_status status =
        kb_model_predict_file(ctx, model, s->source, KB_OUTPUT_DECISION, NULL, &found);
    if (status == KB_OK)
        model->info.train_score = model->info.classes ? found.accuracy : found.r2;
    return status;
}

kb_status kb_ensemble_complete(kb_context *ctx, const kb_ensemble_spec *s, kb_model *model) {
    kb_status status;
    size_t count = s->given->ensemble;
    double seconds = 0;
    kb_model **each = NULL;
    TRY(kb_zalloc(ctx, count, sizeof *each, &each));
    each[0] = model;
    for (size_t m = 1; m < count; m++) {
        kb_log(ctx, KB_LOG_INFO, "ensemble: model %zu of %zu", m + 1, count);
        TRY(fit_one(ctx, s, model, m, &each[m], &seconds));
    }
    TRY(kb_models_join(ctx, &s->tuning->plan.config, count, each));
    model->cost.tune_seconds += seconds;
    TRY(score(ctx, s, model));
done:
    for (size_t m = 1; each && m < count; m++)
        kb_model_free(each[m]);
    kb_release(ctx, each);
    return status;
}
