/* The option ensemble, through the public interface. */
#include "model/fitted.h"

enum { N = 200 };

static kb_model *fitted(kb_context *ctx, const kb_data *data, const char *models,
                        const char *holdout) {
    const char *const pairs[] = {"ensemble", models,   "holdout", holdout, "grids",
                                 "32",       "widths", "equal",   NULL};
    kb_options *options = tuning_options_of(ctx, pairs);
    kb_model *model = model_of(ctx, options, data);
    kb_options_free(options);
    return model;
}

static void an_ensemble_of_one_is_the_plain_model(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = data_of(ctx, N, 2, THREE);
    const char *const pairs[] = {"grids", "32", "widths", "equal", NULL};
    kb_options *options = tuning_options_of(ctx, pairs);
    kb_model *plain = model_of(ctx, options, data), *one = fitted(ctx, data, "1", "auto");
    double *f = decisions_of(ctx, plain, data), *g = decisions_of(ctx, one, data);
    (void)unused;
    assert_same_bits(f, g, (size_t)3 * N);
    assert_int_equal(kb_model_info(one)->models, 1);
    free(f), free(g);
    kb_model_free(plain);
    kb_model_free(one);
    kb_options_free(options);
    kb_data_free(data);
    kb_context_free(ctx);
}

static void three_models_have_three_times_the_grids_and_are_written(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = REAL; kind <= WORDS; kind++) {
        kb_data *data = data_of(ctx, N, 2, (labels)kind);
        for (int aside = 0; aside < 2; aside++) {
            kb_model *model = fitted(ctx, data, "3", aside ? "0.3" : "auto"), *read;
            const kb_fit_info *info = kb_model_info(model);
            kb_expected e = KB_EXPECTED_INIT;
            test_path path = path_of("ensemble.kerbin");
            assert_int_equal(info->models, 3);
            assert_int_equal(info->grids, 96);
            assert_ok(ctx, kb_model_expected(model, &e));
            assert_int_equal(e.rows, aside ? 60 : N);
            assert_true(info->train_score > 0.9 && info->train_score <= 1);
            assert_ok(ctx, kb_model_write(ctx, model, path.text));
            assert_ok(ctx, kb_model_read(ctx, path.text, &read));
            assert_int_equal(kb_model_info(read)->models, 3);
            double *f = decisions_of(ctx, model, data), *g = decisions_of(ctx, read, data);
            assert_same_bits(f, g, N * info->outputs);
            free(f), free(g);
            unlink(path.text);
            kb_model_free(read);
            kb_model_free(model);
        }
        kb_data_free(data);
    }
    kb_context_free(ctx);
}

static void what_has_no_ensemble_is_refused(void **unused) {
    static const char *const wrong[][2] = {{"map", "fourier"}, {"penalty", "l1"}, {"budget", "5s"}};
    static const char *const said[] = {"--map", "--penalty", "--budget"};
    kb_context *ctx = test_context();
    kb_data *data = data_of(ctx, N, 2, TWO);
    (void)unused;
    for (int k = 0; k < 3; k++) {
        const char *const pairs[] = {"ensemble", "2", wrong[k][0], wrong[k][1], NULL};
        kb_options *options = tuning_options_of(ctx, pairs);
        kb_model *model;
        char message[200];
        snprintf(message, sizeof message,
                 "--ensemble is for --map binning and --penalty l2, without --budget: leave out "
                 "--ensemble or %s",
                 said[k]);
        assert_fails(ctx, KB_ERR_ARGUMENT, message, kb_model_fit(ctx, options, data, &model));
        assert_null(model);
        kb_options_free(options);
    }
    kb_data_free(data);
    kb_context_free(ctx);
}

static void a_cancelled_ensemble_leaves_nothing_behind(void **unused) {
    kb_context *ctx = test_context();
    const char *const pairs[] = {"ensemble", "2", "grids", "16", "tune", "off", NULL};
    fit_inputs in = {.options = tuning_options_of(ctx, pairs), .data = data_of(ctx, 60, 2, TWO)};
    (void)unused;
    run_with_cancellations(fit_once, &in, 1, 4);
    kb_options_free(in.options);
    kb_data_free(in.data);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_ensemble_of_one_is_the_plain_model),
        cmocka_unit_test(three_models_have_three_times_the_grids_and_are_written),
        cmocka_unit_test(what_has_no_ensemble_is_refused),
        cmocka_unit_test(a_cancelled_ensemble_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
