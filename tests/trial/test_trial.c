/* Trials on validation rows, and the standard error of the difference between two of them. */
#include "trial/trials.h"

/* Every validation row of some fold is scored, by both kinds of trials, in the same order. */
static void all_folds_are_scored(void **unused) {
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

/* `nothing` is the score of the mean of the training targets, in every fold. */
static void a_trial_has_the_score_of_the_mean(void **unused) {
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
        cmocka_unit_test(all_folds_are_scored),
        cmocka_unit_test(a_trial_has_the_score_of_the_mean),
        cmocka_unit_test(a_gain_is_the_difference_of_the_scores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
