/*
 * stages.h - a tuner between two of its stages, for tests.
 */
#ifndef TESTS_MODEL_STAGES_H
#define TESTS_MODEL_STAGES_H

#include "tune/tuned.h"

#include "tune/tuner.h"
#include "trial/rules.h"
#include "trial/width_vectors.h"

typedef struct tuning {
    kb_data *data;
    kb_options *options;
    kb_config given;
    kb_tuning tuning;
    kb_tuner t;
} tuning;

/* It owns the data and options; the budget is unlimited. */
static inline tuning *tuning_scaled(kb_context *ctx, kb_data *data, kb_options *options,
                                    kb_scale_kind scale) {
    tuning *u = calloc(1, sizeof *u);
    u->data = data;
    u->options = options;
    u->given = kb_config_of(options);
    u->given.budget = INFINITY;
    u->tuning = kb_tuning_begin(&u->given);
    u->tuning.plan.config.scale = scale;
    assert_ok(ctx, kb_tuner_prepare(ctx, &u->tuning, data, &u->t));
    return u;
}

static inline tuning *tuning_create(kb_context *ctx, kb_data *data, kb_options *options) {
    return tuning_scaled(ctx, data, options, KB_SCALE_MINMAX);
}

static inline void tuning_free(kb_context *ctx, tuning *u) {
    kb_tuner_release(ctx, &u->t);
    kb_tuning_release(ctx, &u->tuning);
    kb_options_free(u->options);
    kb_data_free(u->data);
    free(u);
}

/* One of the kernels, with the same sigma for all columns but the first. */
static inline kb_candidate *put(kb_context *ctx, tuning *u, int which, const char *what,
                                double first, double others) {
    kb_candidate *c = &u->t.candidate[which];
    assert_ok(ctx,
              kb_widths_equal(ctx, u->t.rows.map->columns, NULL, u->t.law, others, &c->widths));
    c->widths.width[0].sigma = first;
    c->what = what;
    return c;
}

/* How often a kernel was tried, and its last trial. */
static inline size_t times_tried(const tuning *u, const char *what, kb_trial_info *last) {
    size_t times = 0;
    if (last)
        *last = (kb_trial_info){0};
    for (size_t i = 0; i < u->tuning.count; i++)
        if (strcmp(u->tuning.trial[i].widths, what) == 0) {
            times++;
            if (last)
                *last = u->tuning.trial[i];
        }
    return times;
}

/* A wave in the first of d columns, or its sign as classes. */
static inline kb_data *wave(kb_context *ctx, size_t rows, size_t d, int classes) {
    double *x = test_numbers(6, rows * d), *y = malloc(rows * sizeof *y);
    kb_data *data;
    for (size_t i = 0; i < rows; i++) {
        double value = sin(5 * x[i * d]) + 0.3 * test_uniform(8, i);
        y[i] = classes ? value > 0.15 : value;
    }
    assert_ok(ctx, data_from_dense(ctx, rows, d, x, y, &data));
    free(x), free(y);
    return data;
}

#endif
