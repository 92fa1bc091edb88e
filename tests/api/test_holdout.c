/* Rows held out through the public interface: set aside, by folds, and what the model says. */
#include "model/fitted.h"

static kb_expected expected_of(const kb_model *model) {
    kb_expected e = KB_EXPECTED_INIT;
    assert_int_equal(kb_model_expected(model, &e), KB_OK);
    return e;
}

static kb_model *fitted(kb_context *ctx, const char *holdout, const char *tune,
                        const kb_data *data) {
    const char *const pairs[] = {"tune", tune, "holdout", holdout, "grids", "32", NULL};
    kb_options *options = tuning_options_of(ctx, pairs);
    kb_model *model = model_of(ctx, options, data);
    kb_options_free(options);
    return model;
}

/* What is held out does not change the model. */
static void the_model_is_that_of_all_rows(void **unused) {
    static const char *const ways[] = {"auto", "0.3"};
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = REAL; kind <= THREE; kind++) {
        kb_data *data = data_of(ctx, 300, 2, (labels)kind);
        kb_model *without = fitted(ctx, "off", "off", data);
        double *want = decisions_of(ctx, without, data);
        size_t C = kb_model_info(without)->outputs;
        assert_int_equal(expected_of(without).rows, 0);
        for (int k = 0; k < 2; k++) {
            kb_model *model = fitted(ctx, ways[k], "off", data);
            kb_expected e = expected_of(model);
            double *f = decisions_of(ctx, model, data);
            assert_same_bits(f, want, 300 * C);
            assert_int_equal(e.rows, k ? 90 : 300);
            assert_int_equal(e.learned, k ? 210 : 240);
            assert_true(kind == REAL ? e.rmse_low < e.rmse && isnan(e.error)
                                     : e.error <= e.error_high && isnan(e.rmse));
            kb_model_free(model);
            free(f);
        }
        free(want);
        kb_model_free(without);
        kb_data_free(data);
    }
    kb_context_free(ctx);
}

/* Labels that are noise: half of new rows are wrong, though the fit gets nearly all training rows
 * right.  Sets aside before the tuning, the interval of 400 rows is [0.45, 0.55]. */
static void noise_is_expected_to_be_wrong(void **unused) {
    enum { N = 800 };
    kb_context *ctx = test_context();
    kb_data *data = data_of(ctx, N, 2, TWO);
    (void)unused;
    for (size_t i = 0; i < N; i++)
        data->label[i] = test_uniform(3, i) < 0.5;
    kb_model *model = fitted(ctx, "0.5", "on", data);
    kb_expected e = expected_of(model);
    assert_int_equal(e.rows, N / 2);
    assert_true(e.error > 0.4 && e.error < 0.6);
    assert_true(e.error_low < 0.5 && e.error_high > 0.5 - 0.05);
    kb_model_free(model);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* By hand: the others fitted alone, and the rows decided. */
static void rows_set_aside_are_decided_by_a_fit_of_the_others(void **unused) {
    enum { N = 200 };
    kb_context *ctx = test_context();
    kb_data *data = data_of(ctx, N, 2, REAL), *others, *held;
    kb_model *model = fitted(ctx, "0.25", "off", data), *alone;
    kb_validation_info v = KB_VALIDATION_INFO_INIT;
    uint32_t rest[N];
    size_t rests = 0, h = 0;
    (void)unused;
    assert_int_equal(kb_model_validation(model, &v), KB_OK);
    assert_int_equal(v.rows, N / 4);
    for (size_t i = 0; i < N; i++)
        if (h < v.rows && v.row[h] == i)
            h++;
        else
            rest[rests++] = (uint32_t)i;
    assert_ok(ctx, kb_data_take(ctx, data, rests, rest, &others));
    assert_ok(ctx, kb_data_take(ctx, data, v.rows, v.row, &held));
    alone = fitted(ctx, "off", "off", others);
    double *f = decisions_of(ctx, alone, held);
    assert_same_bits(f, v.decision, v.rows);
    free(f);
    kb_data_free(others);
    kb_data_free(held);
    kb_model_free(alone);
    kb_model_free(model);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* A model file keeps what to expect, not the rows. */
static void the_file_keeps_it(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = REAL; kind <= TWO; kind++) {
        kb_data *data = data_of(ctx, 300, 2, (labels)kind);
        kb_model *model = fitted(ctx, "auto", "off", data), *back;
        test_path path = path_of("expected.kerbin");
        kb_validation_info v = KB_VALIDATION_INFO_INIT;
        assert_ok(ctx, kb_model_write(ctx, model, path.text));
        assert_ok(ctx, kb_model_read(ctx, path.text, &back));
        kb_expected a = expected_of(model), b = expected_of(back);
        assert_int_equal(a.rows, b.rows);
        assert_int_equal(a.learned, b.learned);
        assert_int_equal(a.folds, b.folds);
        assert_same_bits(&a.error, &b.error, (sizeof a - offsetof(kb_expected, error)) / 8);
        assert_int_equal(kb_model_validation(back, &v), KB_OK);
        assert_int_equal(v.rows, 0);
        unlink(path.text);
        kb_model_free(back);
        kb_model_free(model);
        kb_data_free(data);
    }
    kb_context_free(ctx);
}

static void a_wrong_size_is_refused(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = data_of(ctx, 50, 2, TWO);
    kb_model *model = fitted(ctx, "off", "off", data);
    kb_expected e = {0};
    kb_validation_info v = {0};
    (void)unused;
    assert_int_equal(kb_model_expected(model, &e), KB_ERR_ARGUMENT);
    assert_int_equal(kb_model_validation(model, &v), KB_ERR_ARGUMENT);
    kb_model_free(model);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* The class "last" has one row, which a split by time holds out. */
static void a_class_that_only_rows_set_aside_have_is_an_error(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = data_of(ctx, 60, 2, TWO);
    kb_model *model;
    const char *const pairs[] = {"tune", "off", "holdout", "0.2", "split", "time", NULL};
    kb_options *options = tuning_options_of(ctx, pairs);
    (void)unused;
    data->label[59] = 9;
    assert_int_equal(kb_model_fit(ctx, options, data, &model), KB_ERR_DATA);
    assert_non_null(strstr(kb_context_message(ctx), "classes that the others lack"));
    kb_options_free(options);
    kb_data_free(data);
    kb_context_free(ctx);
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = data_of(ctx, 40, 2, THREE);
    static const char *const pairs[] = {"tune", "off", "holdout", "0.3", "grids", "4", NULL};
    (void)unused;
    run_with_allocation_failures(fit_and_free, &(fit_to_fail){data, pairs});
    kb_data_free(data);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_model_is_that_of_all_rows),
        cmocka_unit_test(noise_is_expected_to_be_wrong),
        cmocka_unit_test(rows_set_aside_are_decided_by_a_fit_of_the_others),
        cmocka_unit_test(the_file_keeps_it),
        cmocka_unit_test(a_wrong_size_is_refused),
        cmocka_unit_test(a_class_that_only_rows_set_aside_have_is_an_error),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
