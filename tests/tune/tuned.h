/*
 * tuned.h - tuned fits, for tests.
 */
#ifndef TESTS_MODEL_TUNED_H
#define TESTS_MODEL_TUNED_H

#include "model/fitted.h"

#define TUNING(ctx, ...) tuning_options_of(ctx, (const char *const[]){__VA_ARGS__, NULL})

static inline kb_data *generated(kb_context *ctx, const char *name, const char *rows,
                                 const char *seed, const char *noise) {
    kb_options *options = TUNING(ctx, "rows", rows, "seed", seed, "noise", noise);
    kb_data *data;
    assert_ok(ctx, kb_data_generate(ctx, options, name, &data));
    kb_options_free(options);
    return data;
}

/* Share of wrong rows, or the mean squared error. */
static inline double error_on(kb_context *ctx, const kb_model *model, const kb_data *data) {
    double *f = decisions_of(ctx, model, data);
    kb_score score = KB_SCORE_INIT;
    assert_ok(ctx, kb_model_score(ctx, model, data, f, &score));
    free(f);
    return kb_model_info(model)->classes ? 1 - score.accuracy : score.rmse * score.rmse;
}

/* Fits, checks that all decisions are finite, and frees the options before the model is used. */
static inline kb_model *fit_sanely(kb_context *ctx, kb_options *options, const kb_data *data) {
    kb_model *model = model_of(ctx, options, data);
    size_t C = kb_model_info(model)->outputs, count;
    kb_options_free(options);
    double *f = decisions_of(ctx, model, data);
    for (size_t i = 0; i < kb_data_rows(data) * C; i++)
        assert_true(isfinite(f[i]));
    free(f);
    const kb_trial_info *tried = kb_model_trials(model, &count);
    for (size_t i = 0; i < count; i++) {
        assert_true(strlen(tried[i].widths) > 0 && strlen(tried[i].loss) > 0);
        assert_true(tried[i].lambda > 0 && tried[i].grids > 0);
        /* A large L1 penalty leaves no weights, in no steps. */
        assert_true(tried[i].steps > 0 || tried[i].lambda >= 10);
        assert_true(tried[i].sigma >= 0 && tried[i].error >= 0);
        assert_true(tried[i].seconds >= (i ? tried[i - 1].seconds : 0));
    }
    assert_true(kb_model_cost(model)->tune_seconds >= 0);
    return model;
}

static inline size_t trials_of(const kb_model *model) {
    size_t count;
    kb_model_trials(model, &count);
    return count;
}

#endif
