/* Trials on held-out rows, and what of a difference between two of them is luck. */
#include "model/fitted.h"

#include "model/trial.h"

enum { N = 600, D = 2 };

/* Rows of which y is a step in the first feature; a tenth have the wrong class. */
static kb_sample sample_of(kb_context *ctx, size_t folds) {
    static const double shift[D], scale[D] = {1, 1};
    kb_sample s = {.C = 1, .shift = shift, .scale = scale};
    double *x = test_numbers(5, N * D);
    assert_ok(ctx, kb_data_from_dense(ctx, N, D, x, NULL, &s.x));
    assert_ok(ctx, kb_alloc(ctx, N, sizeof *s.y, &s.y));
    assert_ok(ctx, kb_alloc(ctx, N, sizeof *s.class_of, &s.class_of));
    for (size_t i = 0; i < N; i++) {
        s.class_of[i] = (x[i * D] > 0) != (i % 10 == 0);
        s.y[i] = s.class_of[i] ? 1 : -1;
    }
    assert_ok(ctx, kb_sample_split(ctx, KB_SPLIT_RANDOM, folds, 0.3, 1, &s));
    free(x);
    return s;
}

static kb_trial run(kb_context *ctx, const kb_sample *s, double sigma, const kb_loss *loss) {
    kb_trial t = {.grids = 64, .max_steps = 40, .seed = 3, .given_lambda = loss ? 0.3 : 0};
    kb_law *law;
    assert_ok(ctx, kb_law_parse(ctx, "laplace", &law));
    kb_width width[D] = {{law, sigma, 1}, {law, sigma, 1}};
    kb_widths widths = {1, D, width};
    kb_drawn drawn;
    assert_ok(ctx, kb_drawn_build(ctx, s, &widths, t.grids, t.seed, &drawn));
    if (loss)
        assert_ok(ctx, kb_trial_smooth(ctx, s, &drawn, loss, 1e-3, &t));
    else
        assert_ok(ctx, kb_trial_judge(ctx, s, &drawn, &t));
    kb_drawn_release(&drawn);
    kb_law_free(law);
    return t;
}

/* Every row that some fold holds out is judged, by both kinds of trials, in the same order. */
static void all_folds_are_judged(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t folds = 0; folds <= 3; folds += 3) {
        kb_sample s = sample_of(ctx, folds);
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
        kb_sample_release(ctx, &s);
    }
    kb_context_free(ctx);
}

static void a_gain_is_the_difference_of_the_scores(void **unused) {
    kb_context *ctx = test_context();
    kb_sample s = sample_of(ctx, 0);
    kb_trial good = run(ctx, &s, 1, NULL), bad = run(ctx, &s, 0.003, NULL);
    kb_gain there = kb_trial_gain(&good, &bad), back = kb_trial_gain(&bad, &good);
    kb_gain none = kb_trial_gain(&good, &good), fewer = kb_trial_fewer_errors(&good, &bad);
    (void)unused;
    assert_true(fabs(there.gain - (bad.score - good.score)) < 1e-12); /* rounding */
    assert_true(fabs(fewer.gain - (bad.error - good.error)) < 1e-12);
    assert_true(there.gain == -back.gain && there.luck == back.luck);
    assert_true(none.gain == 0 && none.luck == 0);
    assert_true(there.gain > 2 * there.luck && there.luck > 0);
    /* The errors differ by the rows that only one of them misses: at most all of them. */
    assert_true(fewer.luck <= sqrt(2.0 / (double)good.held));
    kb_trial_release(ctx, &good);
    kb_trial_release(ctx, &bad);
    kb_sample_release(ctx, &s);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_folds_are_judged),
        cmocka_unit_test(a_gain_is_the_difference_of_the_scores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
