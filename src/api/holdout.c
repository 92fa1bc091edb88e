/* holdout.c - see holdout.h. */
#include "api/holdout.h"
#include "data/folds.h"
#include "fit/fit.h"
#include "fit/sample_weights.h"
#include "options/say.h"

kb_status kb_aside_take(kb_context *ctx, const kb_config *config, const kb_data *data,
                        kb_aside *out) {
    kb_status status = KB_OK;
    size_t N = data->rows;
    kb_targets targets = {0};
    kb_folds folds = {0};
    *out = (kb_aside){0};
    if (!(config->holdout > 0) || !data->label)
        return KB_OK;
    TRY(kb_targets_build(ctx, config->task, data, &targets));
    TRY(kb_folds_build(ctx, kb_split_resolve(config->split, targets.classes, N), 0, config->holdout,
                       N, config->seed + 1, N, targets.class_of, data->group, &folds));
    TRY(kb_alloc(ctx, N, sizeof *out->rest, &out->rest));
    TRY(kb_alloc(ctx, N, sizeof *out->held, &out->held));
    for (size_t i = 0; i < N; i++)
        if (folds.fold[i] == KB_FOLD_NONE)
            out->rest[out->rests++] = (uint32_t)i;
        else
            out->held[out->helds++] = (uint32_t)i;
    TRY(kb_data_take(ctx, data, out->rests, out->rest, &out->others));
done:
    kb_targets_release(ctx, &targets);
    kb_folds_release(ctx, &folds);
    return status;
}

void kb_aside_release(kb_context *ctx, kb_aside *a) {
    kb_release(ctx, a->rest);
    kb_release(ctx, a->held);
    kb_data_free(a->others);
    *a = (kb_aside){0};
}

/* Numbers, labels and weights of the rows. */
static kb_status describe(kb_context *ctx, const kb_aside *a, const kb_config *config,
                          const kb_data *data, const kb_targets *targets, kb_validation *v) {
    kb_status status;
    double *weight = NULL;
    TRY(kb_sample_weights_build(ctx, config, data, targets, &weight));
    TRY(kb_validation_create(ctx, a->helds, targets->outputs, targets->classes, weight != NULL, 0,
                             v));
    v->folds = 1;
    v->learned = a->rests;
    for (size_t h = 0; h < v->rows; h++) {
        size_t i = v->row[h] = a->held[h];
        v->label[h] = targets->classes ? targets->class_of[i] : targets->label[i];
        if (v->class_of)
            v->class_of[h] = targets->class_of[i];
        if (v->weight)
            v->weight[h] = weight[i];
    }
done:
    kb_release(ctx, weight);
    return status;
}

kb_status kb_aside_measure(kb_context *ctx, const kb_aside *a, const kb_plan *plan,
                           const kb_data *data, kb_validation *out) {
    kb_status status;
    kb_targets targets = {0};
    kb_data *others = NULL, *held = NULL;
    kb_model *model = NULL;
    kb_plan without = *plan;
    *out = (kb_validation){0};
    without.config.holdout = 0;
    without.config.probability = KB_PROBABILITY_OFF;
    without.source = NULL; /* the data are encoded already */
    without.encoding = NULL;
    without.validation = NULL;
    TRY(kb_targets_build(ctx, plan->config.task, data, &targets));
    TRY(kb_data_take(ctx, data, a->rests, a->rest, &others));
    TRY(kb_fit_plan(ctx, &without, others, &model));
    if (kb_model_info(model)->classes != targets.classes)
        TRY(kb_fail(ctx, KB_ERR_DATA,
                    "the rows set aside have classes that the others lack: use another %s or %s",
                    kb_say(ctx, KB_OPT_HOLDOUT).text, kb_say(ctx, KB_OPT_SPLIT).text));
    TRY(kb_data_take(ctx, data, a->helds, a->held, &held));
    TRY(describe(ctx, a, &plan->config, data, &targets, out));
    TRY(kb_model_decide(ctx, model, held, out->decision));
done:
    kb_targets_release(ctx, &targets);
    kb_data_free(others);
    kb_data_free(held);
    kb_model_free(model);
    return status;
}
