/*
 * trials.h - rows to try a kernel on, and a trial on them.
 */
#ifndef KB_TESTS_TRIALS_H
#define KB_TESTS_TRIALS_H

#include "model/fitted.h"

#include "trial/loss_trial.h"

enum { N = 600, D = 2 };

/* Rows of which y is a step in the first feature; a tenth have the wrong class. */
static inline kb_subsample sample_of(kb_context *ctx, size_t folds) {
    static const double shift[D], scale[D] = {1, 1};
    kb_subsample s = {.C = 1, .shift = shift, .scale = scale};
    double *x = test_numbers(5, N * D);
    assert_ok(ctx, data_from_dense(ctx, N, D, x, NULL, &s.x));
    assert_ok(ctx, kb_alloc(ctx, N, sizeof *s.y, &s.y));
    assert_ok(ctx, kb_alloc(ctx, N, sizeof *s.class_of, &s.class_of));
    for (size_t i = 0; i < N; i++) {
        s.class_of[i] = (x[i * D] > 0) != (i % 10 == 0);
        s.y[i] = s.class_of[i] ? 1 : -1;
    }
    assert_ok(ctx, kb_subsample_split(ctx, KB_SPLIT_RANDOM, folds, 0.3, 1, &s));
    free(x);
    return s;
}

enum { GRIDS = 64 };

static inline kb_binned drawn_of(kb_context *ctx, const kb_subsample *s, double sigma) {
    kb_law *law;
    kb_binned drawn;
    assert_ok(ctx, kb_law_parse(ctx, "laplace", &law));
    kb_width width[D] = {{law, sigma, 1}, {law, sigma, 1}};
    kb_widths widths = {1, D, width};
    assert_ok(ctx, kb_subsample_bin(ctx, s, &widths, GRIDS, 3, &drawn));
    kb_law_free(law);
    return drawn;
}

static inline kb_trial run(kb_context *ctx, const kb_subsample *s, double sigma,
                           const kb_loss *loss) {
    kb_trial t = {.grids = GRIDS, .max_steps = 40, .given_lambda = loss ? 0.3 : 0};
    kb_binned drawn = drawn_of(ctx, s, sigma);
    kb_loss_trial smoothing = {.sample = s, .drawn = &drawn, .loss = loss, .tol = 1e-3};
    assert_ok(ctx, kb_loss_trial_begin(ctx, &smoothing));
    if (loss)
        assert_ok(ctx, kb_loss_trial_run(ctx, &smoothing, &t));
    else
        assert_ok(ctx, kb_trial_run_on(ctx, s, &drawn, &t));
    kb_loss_trial_release(ctx, &smoothing);
    kb_binned_release(&drawn);
    return t;
}

#endif
