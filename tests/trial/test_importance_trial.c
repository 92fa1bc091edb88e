/* Permutation importance as a fit measures it: from rows that it has not learned from. */
#include "encode/tables.h"

#include "trial/rules.h"

static kb_model *fitted(kb_context *ctx, const kb_data *data, const char *const *more) {
    kb_options *options = OPTIONS(ctx, "grids", "200", "lambda", "0.01", "importance", "on");
    set_pairs(ctx, options, more);
    kb_model *model = model_of(ctx, options, data);
    kb_options_free(options);
    return model;
}

/* Labels that are noise: the model knows its training rows by heart, and no feature matters. */
static void noise_does_not_matter(void **unused) {
    enum { N = 2000, D = 3 };
    static const char *const none[] = {NULL};
    kb_context *ctx = test_context();
    double *x = test_numbers(1, N * D), *y = test_numbers(2, N);
    kb_importance told = KB_IMPORTANCE_INIT;
    kb_data *data;
    (void)unused;
    assert_ok(ctx, data_from_dense(ctx, N, D, x, y, &data));
    kb_model *model = fitted(ctx, data, none);
    assert_true(kb_model_info(model)->train_score > 0.5);
    assert_ok(ctx, kb_model_importance(model, &told));
    assert_int_equal(told.rows, N / 5);
    for (size_t j = 0; j < D; j++)
        assert_true(fabs(told.drop[j]) < 4 * told.standard_error[j]); /* p < 1e-4 each */
    kb_model_free(model);
    kb_data_free(data);
    free(x), free(y);
    kb_context_free(ctx);
}

/* All that is made from a column of a table counts as that column. */
static void columns_of_a_table_count_as_one(void **unused) {
    enum { N = 1500 };
    static const char *const none[] = {NULL};
    kb_context *ctx = test_context();
    kb_data *data = mixed_table(ctx, N, 4);
    kb_importance told = KB_IMPORTANCE_INIT;
    (void)unused;
    for (size_t i = 0; i < N; i++) { /* the town and the colour alone */
        double town = data->dense[i * MIXED_COLUMNS + TOWN];
        double colour = data->dense[i * MIXED_COLUMNS + COLOUR];
        data->label[i] = (isnan(town) ? 0 : sin(town)) + (isnan(colour) ? 0 : 0.2 * colour);
    }
    kb_model *model = fitted(ctx, data, none);
    assert_ok(ctx, kb_model_importance(model, &told));
    assert_true(told.score > 0.5);
    assert_true(told.drop[TOWN] > told.drop[COLOUR] && told.drop[COLOUR] > 0.02);
    for (size_t j = 0; j < COLOUR; j++)
        assert_true(told.drop[j] < 0.3 * told.drop[COLOUR]);
    kb_model_free(model);
    kb_data_free(data);
    kb_context_free(ctx);
}

static void not_measured(const kb_data *data, const char *const *options, const char *why) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    kb_importance told = KB_IMPORTANCE_INIT;
    kb_model *model = fitted(ctx, data, options);
    assert_int_equal(kb_model_importance(model, &told), KB_ERR_ARGUMENT);
    if (!strstr(state.log, why))
        fail_msg("the log: %s", state.log);
    kb_model_free(model);
    kb_context_free(ctx);
}

static void where_it_cannot_be_measured_the_fit_goes_on(void **unused) {
    static const char *const none[] = {NULL}, *const off[] = {"importance", "off", NULL};
    kb_context *ctx = test_context();
    kb_data *few = data_of(ctx, KB_RULE_TUNED_ROWS - 1, 2, REAL);
    kb_data *more = data_of(ctx, KB_RULE_TUNED_ROWS, 2, REAL);
    kb_data *wide = data_of(ctx, 150, 700, REAL);
    kb_importance told = KB_IMPORTANCE_INIT;
    (void)unused;
    not_measured(few, none, "not measured: there are too few rows");
    not_measured(wide, none, "not measured: there are too many columns");
    not_measured(more, off, "");
    kb_model *model = fitted(ctx, more, none);
    assert_ok(ctx, kb_model_importance(model, &told));
    assert_int_equal(told.rows, KB_RULE_TUNED_ROWS / 5);
    kb_model_free(model);
    kb_data_free(few);
    kb_data_free(more);
    kb_data_free(wide);
    kb_context_free(ctx);
}

/* Maps, penalties, classes and sparse rows. */
static void every_kind_of_model_is_measured(void **unused) {
    static const char *const kinds[][5] = {
        {"map", "fourier", NULL},    {"map", "exact", NULL},   {"map", "nystrom", NULL},
        {"penalty", "l1", NULL},     {"scale", "ranks", NULL}, {"loss", "logistic", NULL},
        {"probability", "on", NULL}, {"split", "time", NULL},
    };
    kb_context *ctx = test_context();
    kb_data *dense = data_of(ctx, 400, 3, THREE);
    kb_data *sparse = test_sparse(ctx, 400, 3, dense->dense, dense->label);
    (void)unused;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (int form = 0; form < 2; form++) {
            kb_importance told = KB_IMPORTANCE_INIT;
            kb_model *model = fitted(ctx, form ? sparse : dense, kinds[k]);
            assert_ok(ctx, kb_model_importance(model, &told));
            assert_true(told.rows >= 79 && told.rows <= 81);
            assert_true(told.drop[0] > 0.1 && told.drop[0] > told.drop[2]);
            kb_model_free(model);
        }
    kb_data_free(dense);
    kb_data_free(sparse);
    kb_context_free(ctx);
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = data_of(ctx, 50, 2, TWO);
    static const char *const pairs[] = {"grids", "3", "tune", "off", "importance", "on", NULL};
    (void)unused;
    run_with_allocation_failures(fit_and_free, &(fit_to_fail){data, pairs});
    kb_data_free(data);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noise_does_not_matter),
        cmocka_unit_test(columns_of_a_table_count_as_one),
        cmocka_unit_test(where_it_cannot_be_measured_the_fit_goes_on),
        cmocka_unit_test(every_kind_of_model_is_measured),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
