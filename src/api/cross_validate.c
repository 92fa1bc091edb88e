/*
 * cross_validate.c - kb_cross_validate: whole fits on folds.
 *
 * Every fold is tuned anew on the rows that it learns from, so that no score has seen its rows.
 */
#include "api/ranked.h"
#include "data/folds.h"
#include "fit/targets.h"
#include "model/model.h"
#include "model/score.h"
#include "options/say.h"

#include <math.h>
#include <stdio.h>

/* The options of a fold's fit: the task of all rows, tuning by its own rule, its share of the
 * budget, and nothing that only a model to keep needs. */
static kb_status fold_options(kb_context *ctx, const kb_options *from, const kb_targets *targets,
                              size_t folds, kb_options **out) {
    kb_status status;
    size_t count;
    const kb_option_info *table = kb_option_table(&count);
    kb_config config = kb_config_of(from);
    char seconds[40];
    TRY(kb_options_create(ctx, out));
    for (size_t k = 0; k < count; k++)
        TRY(kb_options_set(ctx, *out, table[k].name, kb_options_get(from, table[k].name)));
    TRY(kb_options_set(ctx, *out, "task", targets->classes ? "classification" : "regression"));
    TRY(kb_options_set(ctx, *out, "folds", "auto"));
    TRY(kb_options_set(ctx, *out, "importance", "off"));
    if (!targets->classes) /* probabilities need the rows held out */
        TRY(kb_options_set(ctx, *out, "holdout", "off"));
    if (isfinite(config.budget)) {
        snprintf(seconds, sizeof seconds, "%.9g", config.budget / (double)folds);
        TRY(kb_options_set(ctx, *out, "budget", seconds));
    }
done:
    return status;
}

/* The rows that fold k learns from, or those that it holds out. */
static kb_status take_rows(kb_context *ctx, const kb_data *data, const kb_folds *folds, size_t k,
                           int held, uint32_t *rows, size_t *count, kb_data **out) {
    *count = 0;
    for (size_t i = 0; i < data->rows; i++)
        if (held ? kb_folds_holds(folds, i, k) : kb_folds_fits(folds, i, k))
            rows[(*count)++] = (uint32_t)i;
    return kb_data_take(ctx, data, *count, rows, out);
}

static kb_status run_fold(kb_context *ctx, const kb_options *options, const kb_data *data,
                          const kb_folds *folds, size_t k, uint32_t *rows, kb_fold_teller *tell,
                          void *user) {
    kb_status status;
    kb_data *fit = NULL, *held = NULL;
    kb_model *model = NULL;
    double *decision = NULL;
    kb_fold fold = {.size = sizeof fold,
                    .number = k,
                    .folds = folds->folds,
                    .row = rows,
                    .score = KB_SCORE_INIT};
    TRY(take_rows(ctx, data, folds, k, 0, rows, &fold.learned, &fit));
    TRY(kb_model_fit(ctx, options, fit, &model));
    kb_data_free(fit);
    fit = NULL;
    TRY(take_rows(ctx, data, folds, k, 1, rows, &fold.rows, &held));
    TRY(kb_alloc(ctx, fold.rows * kb_model_info(model)->outputs, sizeof *decision, &decision));
    TRY(kb_model_decide(ctx, model, held, decision));
    TRY(kb_model_score(ctx, model, held, decision, &fold.score));
    fold.model = model;
    fold.decision = decision;
    if (tell)
        TRY(tell(user, &fold));
done:
    kb_release(ctx, decision);
    kb_model_free(model);
    kb_data_free(held);
    kb_data_free(fit);
    return status;
}

static kb_status check(kb_context *ctx, const kb_options *options, const kb_data *data,
                       size_t folds) {
    kb_status status = kb_ranked_refuse(ctx, "cross-validation");
    if (status != KB_OK)
        return status;
    if (folds < 2 || folds > KB_FOLDS_MAX)
        return kb_fail(ctx, KB_ERR_ARGUMENT, "cross-validation: folds must be from 2 to %d",
                       KB_FOLDS_MAX);
    if (kb_config_of(options).lambda_path > 0)
        return kb_fail(ctx, KB_ERR_ARGUMENT, "cross-validation: not along a %s",
                       kb_say(ctx, KB_OPT_LAMBDA_PATH).text);
    if (!data->label)
        return kb_fail(ctx, KB_ERR_DATA, "the data have no labels to learn from");
    return KB_OK;
}

kb_status kb_cross_validate(kb_context *ctx, const kb_options *options, const kb_data *data,
                            size_t folds, kb_fold_teller *tell, void *user) {
    kb_status status;
    kb_config config = kb_config_of(options);
    kb_targets targets = {0};
    kb_folds dealt = {0};
    kb_options *own = NULL;
    uint32_t *rows = NULL;
    TRY(check(ctx, options, data, folds));
    TRY(kb_targets_build(ctx, config.task, data, &targets));
    TRY(kb_folds_build(ctx, kb_split_resolve(config.split, targets.classes, data->rows), folds, 0,
                       0, config.seed, data->rows, targets.class_of, data->group, &dealt));
    TRY(fold_options(ctx, options, &targets, folds, &own));
    TRY(kb_alloc(ctx, data->rows, sizeof *rows, &rows));
    for (size_t k = 0; k < folds; k++)
        TRY(run_fold(ctx, own, data, &dealt, k, rows, tell, user));
done:
    kb_release(ctx, rows);
    kb_options_free(own);
    kb_folds_release(ctx, &dealt);
    kb_targets_release(ctx, &targets);
    return status;
}
