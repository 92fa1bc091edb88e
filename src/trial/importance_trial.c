/* importance_trial.c - see importance_trial.h. */
#include "trial/importance_trial.h"
#include "core/order.h"
#include "data/folds.h"
#include "fit/fit.h"
#include "explain/permutation.h"
#include "trial/rules.h"
#include "trial/trial_rows.h"
#include "validation/importance_file.h"

#include <math.h>
#include <stdlib.h>

typedef struct trial {
    const kb_plan *plan;
    const kb_data *data;
    size_t features;
    kb_task task;
    kb_data *fit, *held;
    size_t *feature_of; /* columns of the data, or NULL */
    size_t repeats;
} trial;

static double entries_of(const kb_data *data) {
    return data->dense ? (double)data->features
                       : (double)data->row_start[data->rows] / (double)data->rows;
}

/* Work for one row that is decided again. */
static double work_of(const trial *t) {
    const kb_data *data = t->data;
    const kb_config *c = &t->plan->config;
    size_t grids = kb_least(c->grids, KB_RULE_IMPORTANCE_GRIDS);
    if (c->map == KB_MAP_EXACT)
        grids = kb_least(data->rows, KB_RULE_SEARCH_RIVAL_ROWS);
    return (double)grids * (entries_of(data) + KB_RULE_IMPORTANCE_LOOKUP);
}

/* The most validation rows, and how often each column is shuffled. */
static size_t extent_of(trial *t) {
    double each = work_of(t) * kb_permutation_changes(t->data, t->features);
    double rows = fmin(KB_RULE_IMPORTANCE_ROWS, KB_RULE_IMPORTANCE_WORK / each);
    double repeats = KB_RULE_IMPORTANCE_WORK / (rows * each);
    t->repeats = repeats < 2 ? 1 : (size_t)fmin(repeats, KB_RULE_IMPORTANCE_REPEATS);
    return (size_t)rows;
}

static kb_status take(kb_context *ctx, const trial *t, const kb_folds *folds, int held, size_t most,
                      uint32_t *rows, kb_data **out) {
    size_t count = kb_subsample_pick(folds, t->plan->config.seed, held, most, rows);
    return kb_data_take(ctx, t->data, count, rows, out);
}

static kb_status split(kb_context *ctx, trial *t, size_t most) {
    kb_status status;
    const kb_config *c = &t->plan->config;
    const kb_data *data = t->data;
    kb_targets targets = {0};
    kb_folds folds = {0};
    uint32_t *rows = NULL;
    size_t others =
        kb_least(kb_config_is_rival(c) ? KB_RULE_SEARCH_RIVAL_ROWS : KB_RULE_IMPORTANCE_OTHER_ROWS,
                 (size_t)(KB_RULE_IMPORTANCE_CELLS / entries_of(data)) + 1);
    TRY(kb_targets_build(ctx, c->task, data, &targets));
    t->task = targets.classes ? KB_TASK_CLASSIFICATION : KB_TASK_REGRESSION;
    TRY(kb_folds_build(ctx, kb_split_resolve(c->split, targets.classes, data->rows), 0,
                       KB_RULE_VALIDATION_SHARE, KB_RULE_LARGE_VALIDATION_ROWS, c->seed, data->rows,
                       targets.class_of, data->group, &folds));
    TRY(kb_alloc(ctx, data->rows, sizeof *rows, &rows));
    TRY(take(ctx, t, &folds, 1, most, rows, &t->held));
    TRY(take(ctx, t, &folds, 0, others, rows, &t->fit));
done:
    kb_targets_release(ctx, &targets);
    kb_folds_release(ctx, &folds);
    kb_release(ctx, rows);
    return status;
}

/* A smaller fit by the plan, to some of the rows; the model takes encoded rows. */
static kb_status fit(kb_context *ctx, const trial *t, kb_model **out) {
    kb_status status;
    kb_plan plan = *t->plan;
    plan.transform_on = t->data;
    plan.config.task = t->task;
    plan.config.grids = kb_least(plan.config.grids, KB_RULE_IMPORTANCE_GRIDS);
    plan.config.probability = KB_PROBABILITY_OFF;
    plan.config.holdout = 0;
    plan.validation = NULL;
    if (kb_config_is_l1(&plan.config))
        plan.config.tol = fmax(plan.config.tol, KB_RULE_SEARCH_L1_TOL);
    TRY(kb_fit_plan(ctx, &plan, t->fit, out));
    kb_map *map = (*out)->map;
    kb_encoding_free(map->encoding);
    map->encoding = NULL;
    map->features = t->data->features;
done:
    return status;
}

static kb_status find_features(kb_context *ctx, trial *t) {
    kb_status status = KB_OK;
    const kb_encoding *e = t->plan->encoding;
    if (!e)
        return KB_OK;
    TRY(kb_alloc(ctx, t->data->features, sizeof *t->feature_of, &t->feature_of));
    for (size_t c = 0; c < t->data->features; c++)
        t->feature_of[c] = e->step[c].source;
done:
    return status;
}

static kb_status measure(kb_context *ctx, trial *t, size_t most, kb_importance *out) {
    kb_status status;
    kb_model *model = NULL;
    TRY(split(ctx, t, most));
    TRY(find_features(ctx, t));
    TRY(fit(ctx, t, &model));
    TRY(kb_importance_create(ctx, t->features, out));
    out->rows = t->held->rows;
    out->repeats = t->repeats;
    kb_permutation p = {.model = model,
                        .data = t->held,
                        .features = t->features,
                        .feature_of = t->feature_of,
                        .repeats = t->repeats,
                        .seed = t->plan->config.seed};
    TRY(kb_permutation_measure(ctx, &p, &out->score, (double *)out->drop,
                               (double *)out->standard_error));
done:
    kb_model_free(model);
    return status;
}

kb_status kb_importance_trial(kb_context *ctx, const kb_plan *plan, const kb_data *data,
                              kb_importance *out) {
    trial t = {.plan = plan,
               .data = data,
               .features = plan->source ? plan->source->features : data->features};
    const char *why = NULL;
    kb_status status = KB_OK;
    *out = (kb_importance){0};
    size_t most = extent_of(&t);
    if (data->rows < KB_RULE_TUNED_ROWS)
        why = "there are too few rows";
    else if (most < KB_RULE_IMPORTANCE_ROWS_LEAST)
        why = "there are too many columns";
    else {
        ctx->checkpoint_paused++;
        status = measure(ctx, &t, most, out);
        ctx->checkpoint_paused--;
    }
    if (status != KB_OK) {
        kb_release(ctx, (void *)out->drop);
        *out = (kb_importance){0};
    }
    if (status ==
        KB_ERR_DATA) { /* some of the rows are not enough, such as those of a few groups */
        why = ctx->message;
        status = KB_OK;
    }
    if (why)
        kb_log(ctx, plan->config.importance == KB_IMPORTANCE_ON ? KB_LOG_WARNING : KB_LOG_INFO,
               "the importance of the features is not measured: %.300s", why);
    kb_data_free(t.fit);
    kb_data_free(t.held);
    kb_release(ctx, t.feature_of);
    return status;
}
