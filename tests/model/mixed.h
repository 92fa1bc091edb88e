/*
 * mixed.h - models with mixtures of their columns, for tests.
 */
#ifndef KB_TESTS_MIXED_H
#define KB_TESTS_MIXED_H

#include "model/fitted.h"

#include "fit/fit.h"

/* Some mixtures of the columns that the data have after their transform. */
static inline kb_mixtures some_mixtures(kb_context *ctx, const kb_data *data, size_t count) {
    kb_mixtures m;
    kb_transform *t;
    kb_data *x;
    uint32_t *row = malloc(data->rows * sizeof *row);
    assert_ok(ctx, kb_transform_learn(ctx, data, &t));
    assert_ok(ctx, kb_transform_apply(ctx, t, data, &x));
    assert_ok(ctx, kb_mixtures_create(ctx, count, t->features, &m));
    for (size_t k = 0; k < count * t->features; k++)
        m.weight[k] = sin(2 * (double)k + 1);
    for (size_t i = 0; i < data->rows; i++)
        row[i] = (uint32_t)i;
    kb_mixtures_fit(x, data->rows, row, &m);
    free(row);
    kb_data_free(x);
    kb_transform_free(t);
    return m;
}

/* A model of options without any auto, whose scale is ranks, with so many mixtures. */
static inline kb_model *model_with_mixtures(kb_context *ctx, const kb_options *options,
                                            const kb_data *data, size_t count) {
    kb_plan plan = {.config = kb_config_of(options), .mixtures = some_mixtures(ctx, data, count)};
    kb_model *model;
    assert_ok(ctx, kb_fit_plan(ctx, &plan, data, &model));
    assert_int_equal(model->map->transform->mixtures.count, count);
    assert_int_equal(model->map->columns, model->map->transform->plain + count);
    kb_plan_release(ctx, &plan);
    return model;
}

static inline kb_model *mixed_model(kb_context *ctx, const kb_options *options,
                                    const kb_data *data) {
    return model_with_mixtures(ctx, options, data, 2);
}

#endif
