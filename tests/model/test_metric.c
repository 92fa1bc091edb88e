/* The table of metrics, and the area under the ROC curve in parts. */
#include "features/world.h"

#include "model/metric.h"
#include "model/score.h"

#include <math.h>

static void each_metric_has_a_word_of_the_option_and_a_member(void **unused) {
    kb_score score = KB_SCORE_NONE;
    size_t count;
    const kb_metric_info *m = kb_metric_table(&count);
    (void)unused;
    score.accuracy = 1, score.balanced_accuracy = 2, score.auc = 3, score.log_loss = 4;
    score.brier = 5, score.f1 = 6, score.rmse = 7, score.mae = 8, score.r2 = 9;
    score.relative_error = 10, score.pinball = 11, score.poisson_deviance = 12;
    for (size_t k = 0; k < count; k++) {
        int word;
        assert_true(kb_choice_find(KB_OPT_METRIC, m[k].name, &word));
        assert_int_equal(word, (int)k + 1);
        assert_ptr_equal(kb_metric_of((kb_metric_kind)word), &m[k]);
        assert_true(kb_score_get(&score, m[k].name) == (double)k + 1);
        assert_true(*m[k].key && *m[k].words && *m[k].help);
    }
    assert_null(kb_choice_word(KB_OPT_METRIC, (int)count + 1));
    assert_true(isnan(kb_score_get(&score, "nonsense")));
    score.size = offsetof(kb_score, f1); /* of a program that knows fewer */
    assert_true(isnan(kb_score_get(&score, "f1")));
    assert_true(kb_score_get(&score, "r2") == 9);
}

static void a_loss_is_lower_where_the_score_is_better(void **unused) {
    kb_score score = KB_SCORE_NONE;
    (void)unused;
    score.accuracy = 0.75, score.rmse = 3, score.mae = 2, score.r2 = 0.5;
    assert_true(kb_metric_loss(KB_METRIC_ACCURACY, &score) == 0.25);
    assert_true(kb_metric_loss(KB_METRIC_RMSE, &score) == 9);
    assert_true(kb_metric_loss(KB_METRIC_MAE, &score) == 2);
    assert_true(kb_metric_loss(KB_METRIC_R2, &score) == 0.5);
    assert_true(kb_metric_loss(KB_METRIC_LOG_LOSS, &score) == INFINITY);
    assert_int_equal(kb_metric_resolve(KB_METRIC_AUTO, 1), KB_METRIC_ACCURACY);
    assert_int_equal(kb_metric_resolve(KB_METRIC_AUTO, 0), KB_METRIC_RMSE);
    assert_int_equal(kb_metric_resolve(KB_METRIC_F1, 1), KB_METRIC_F1);
    assert_int_equal(kb_metric_of_fit(KB_METRIC_AUTO, 0, KB_LOSS_QUANTILE), KB_METRIC_PINBALL);
    assert_int_equal(kb_metric_of_fit(KB_METRIC_AUTO, 0, KB_LOSS_ABSOLUTE), KB_METRIC_MAE);
    assert_int_equal(kb_metric_of_fit(KB_METRIC_AUTO, 0, KB_LOSS_POISSON), KB_METRIC_POISSON);
    assert_int_equal(kb_metric_of_fit(KB_METRIC_R2, 0, KB_LOSS_POISSON), KB_METRIC_R2);
    assert_int_equal(kb_metric_of_kernel(KB_METRIC_AUTO, 0, KB_LOSS_QUANTILE), KB_METRIC_MAE);
    assert_int_equal(kb_metric_of_kernel(KB_METRIC_AUTO, 0, KB_LOSS_POISSON), KB_METRIC_RMSE);
    assert_int_equal(kb_metric_of_kernel(KB_METRIC_AUTO, 1, KB_LOSS_AUTO), KB_METRIC_ACCURACY);
}

static void a_metric_of_the_other_task_is_refused(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    assert_ok(ctx, kb_metric_check(ctx, KB_METRIC_AUTO, KB_LOSS_SQUARE, 0));
    assert_ok(ctx, kb_metric_check(ctx, KB_METRIC_AUC, KB_LOSS_SQUARE, 2));
    assert_ok(ctx, kb_metric_check(ctx, KB_METRIC_MAE, KB_LOSS_SQUARE, 0));
    assert_fails(ctx, KB_ERR_ARGUMENT,
                 "--metric mae: is for regression, and the labels are classes",
                 kb_metric_check(ctx, KB_METRIC_MAE, KB_LOSS_SQUARE, 3));
    assert_fails(ctx, KB_ERR_ARGUMENT,
                 "--metric f1: is for classification, and the labels are numbers",
                 kb_metric_check(ctx, KB_METRIC_F1, KB_LOSS_SQUARE, 0));
    assert_ok(ctx, kb_metric_check(ctx, KB_METRIC_PINBALL, KB_LOSS_QUANTILE, 0));
    assert_fails(ctx, KB_ERR_ARGUMENT, "--metric pinball: needs --loss quantile",
                 kb_metric_check(ctx, KB_METRIC_PINBALL, KB_LOSS_SQUARE, 0));
    assert_fails(ctx, KB_ERR_ARGUMENT, "--metric poisson-deviance: needs --loss poisson",
                 kb_metric_check(ctx, KB_METRIC_POISSON, KB_LOSS_SQUARE, 0));
    kb_context_free(ctx);
}

/* With ties and weights, some of them 0. */
static void the_terms_of_the_area_add_up(void **unused) {
    enum { N = 150 };
    kb_ranked rows[N];
    double each[N] = {0}, pairs = 0, right = 0, sum = 0, half[2] = {0};
    (void)unused;
    for (size_t i = 0; i < N; i++)
        rows[i] = (kb_ranked){.decision = floor(9 * test_uniform(3, i)),
                              .weight = (double)(i % 4),
                              .row = (uint32_t)i,
                              .positive = test_uniform(4, i) < 0.3};
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++)
            if (rows[i].positive && !rows[j].positive) {
                double w = rows[i].weight * rows[j].weight, a = rows[i].decision,
                       b = rows[j].decision;
                pairs += w;
                right += w * (a > b ? 1 : a == b ? 0.5 : 0);
            }
    assert_true(fabs(kb_auc(N, rows) - right / pairs) <= 1e-13);
    kb_auc_terms(N, rows, 0.25, each);
    for (size_t i = 0; i < N; i++) {
        sum += each[i];
        half[rows[i].positive] += each[rows[i].row];
    }
    assert_true(fabs(sum - 0.25 * (1 - right / pairs)) <= 1e-13);
    assert_true(fabs(half[0] - half[1]) <= 1e-13); /* each side has half of it */
    for (size_t i = 0; i < N; i++)
        rows[i].positive = 1;
    assert_true(isnan(kb_auc(N, rows)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_metric_has_a_word_of_the_option_and_a_member),
        cmocka_unit_test(a_loss_is_lower_where_the_score_is_better),
        cmocka_unit_test(a_metric_of_the_other_task_is_refused),
        cmocka_unit_test(the_terms_of_the_area_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
