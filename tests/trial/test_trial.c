/* Trials on validation rows, and the standard error of the difference between two of them. */
#include "model/fitted.h"

#include "trial/loss_trial.h"
#include "solve/newton.h"

enum { N = 600, D = 2 };

/* Rows of which y is a step in the first feature; a tenth have the wrong class. */
static kb_subsample sample_of(kb_context *ctx, size_t folds) {
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

static kb_binned drawn_of(kb_context *ctx, const kb_subsample *s, double sigma) {
    kb_law *law;
    kb_binned drawn;
    assert_ok(ctx, kb_law_parse(ctx, "laplace", &law));
    kb_width width[D] = {{law, sigma, 1}, {law, sigma, 1}};
    kb_widths widths = {1, D, width};
    assert_ok(ctx, kb_subsample_bin(ctx, s, &widths, GRIDS, 3, &drawn));
    kb_law_free(law);
    return drawn;
}

static kb_trial run(kb_context *ctx, const kb_subsample *s, double sigma, const kb_loss *loss) {
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

/* Every row that some fold holds out is judged, by both kinds of trials, in the same order. */
static void all_folds_are_judged(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t folds = 0; folds <= 3; folds += 3) {
        kb_subsample s = sample_of(ctx, folds);
        kb_trial square = run(ctx, &s, 1, NULL), smooth = run(ctx, &s, 1, kb_loss_find("logistic"));
        size_t same = 0;
        assert_int_equal(square.held, folds ? N : N * 3 / 10);
        assert_int_equal(smooth.held, square.held);
        assert_int_equal(square.fitted, folds ? N * 2 / 3 : N * 7 / 10);
        for (size_t h = 0; h < square.held; h++)
            same += square.miss[h] == smooth.miss[h];
        assert_true(smooth.error < 0.16 && square.error < 0.16);
        assert_true(same > square.held * 9 / 10); /* both miss the rows with the wrong class */
        kb_trial_release(ctx, &square);
        kb_trial_release(ctx, &smooth);
        kb_subsample_release(ctx, &s);
    }
    kb_context_free(ctx);
}

/* What a trial of a loss says is what a fit of all rows says in which those held out weigh nothing,
 * whether it begins at zero or at another lambda; rows may weigh more than others. */
static void a_smooth_trial_is_a_fit_without_the_held_rows(void **unused) {
    const kb_loss *loss = kb_loss_find("logistic");
    kb_context *ctx = test_context();
    (void)unused;
    for (int weighted = 0; weighted < 2; weighted++) {
        kb_subsample s = sample_of(ctx, 0);
        kb_binned drawn = drawn_of(ctx, &s, 1);
        kb_loss_trial smoothing = {.sample = &s, .drawn = &drawn, .loss = loss, .tol = 1e-8};
        kb_trial t[2] = {{.max_steps = 500, .given_lambda = 1},
                         {.max_steps = 500, .given_lambda = 0.7}};
        double weight[N], fitted[N], alpha[N], f[N], score = 0, total = 0;
        for (size_t i = 0; i < N; i++) {
            weight[i] = weighted ? 0.5 + (double)(i % 3) : 1;
            fitted[i] = kb_folds_fits(&s.folds, i, 0) ? weight[i] : 0;
        }
        s.weight = weighted ? weight : NULL;
        assert_ok(ctx, kb_loss_trial_begin(ctx, &smoothing));
        assert_ok(ctx, kb_loss_trial_run(ctx, &smoothing, &t[0]));
        assert_ok(ctx, kb_loss_trial_run(ctx, &smoothing, &t[1]));
        assert_true(t[0].score != t[1].score);
        kb_smooth problem = {.op = drawn.op,
                             .loss = loss,
                             .lambda = 0.7,
                             .tol = 1e-8,
                             .max_steps = 500,
                             .C = 1,
                             .y = s.y,
                             .s = fitted,
                             .alpha = alpha,
                             .f = f};
        assert_ok(ctx, kb_newton(ctx, &problem));
        for (size_t i = 0; i < N; i++)
            if (fitted[i] == 0) {
                double e = 2 * kb_logistic(f[i]) - 1 - s.y[i];
                score += weight[i] * (((f[i] > 0) != s.class_of[i]) + e * e / 4) / 2;
                total += weight[i];
            }
        assert_true(fabs(t[1].score - score / total) < 1e-6); /* of the tolerance */
        assert_true(t[1].steps < problem.steps);              /* the start was near */
        s.weight = NULL;
        kb_trial_release(ctx, &t[0]);
        kb_trial_release(ctx, &t[1]);
        kb_loss_trial_release(ctx, &smoothing);
        kb_binned_release(&drawn);
        kb_subsample_release(ctx, &s);
    }
    kb_context_free(ctx);
}

/* `nothing` is the score of the mean of the targets that were learnt from, in every fold. */
static void a_trial_knows_what_nothing_is_worth(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t folds = 0; folds <= 3; folds += 3) {
        kb_subsample s = sample_of(ctx, folds);
        kb_trial t = run(ctx, &s, 1, NULL);
        double score = 0;
        for (size_t k = 0; k < s.folds.folds; k++) {
            double mean = 0, rows = 0;
            for (size_t i = 0; i < N; i++)
                if (kb_folds_fits(&s.folds, i, k)) {
                    mean += s.y[i];
                    rows++;
                }
            mean /= rows;
            for (size_t i = 0; i < N; i++)
                if (kb_folds_holds(&s.folds, i, k)) {
                    double off = mean - s.y[i];
                    score += (((mean > 0) != s.class_of[i]) + off * off / 4) / 2;
                }
        }
        assert_true(fabs(t.nothing - score / (double)t.held) < 1e-12); /* rounding */
        assert_true(t.score < 0.6 * t.nothing);
        kb_trial_release(ctx, &t);
        kb_subsample_release(ctx, &s);
    }
    kb_context_free(ctx);
}

static void a_gain_is_the_difference_of_the_scores(void **unused) {
    kb_context *ctx = test_context();
    kb_subsample s = sample_of(ctx, 0);
    kb_trial good = run(ctx, &s, 1, NULL), bad = run(ctx, &s, 0.003, NULL);
    kb_gain there = kb_trial_gain(&good, &bad), back = kb_trial_gain(&bad, &good);
    kb_gain none = kb_trial_gain(&good, &good), fewer = kb_trial_fewer_errors(&good, &bad);
    (void)unused;
    assert_true(fabs(there.gain - (bad.score - good.score)) < 1e-12); /* rounding */
    assert_true(fabs(fewer.gain - (bad.error - good.error)) < 1e-12);
    assert_true(there.gain == -back.gain && there.standard_error == back.standard_error);
    assert_true(none.gain == 0 && none.standard_error == 0);
    assert_true(there.gain > 2 * there.standard_error && there.standard_error > 0);
    /* The errors differ by the rows that only one of them misses: at most all of them. */
    assert_true(fewer.standard_error <= sqrt(2.0 / (double)good.held));
    kb_trial_release(ctx, &good);
    kb_trial_release(ctx, &bad);
    kb_subsample_release(ctx, &s);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_folds_are_judged),
        cmocka_unit_test(a_smooth_trial_is_a_fit_without_the_held_rows),
        cmocka_unit_test(a_trial_knows_what_nothing_is_worth),
        cmocka_unit_test(a_gain_is_the_difference_of_the_scores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
