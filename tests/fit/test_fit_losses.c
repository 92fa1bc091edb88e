/* Every loss and every kind of probability, from data to a model and through its file. */
#include "model/ways.h"

/* The file keeps every bit of the decisions and the probabilities, and the fit info. */
static void every_loss_comes_through_a_file(void **unused) {
    enum { N = 300 };
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 2 * WAY_COUNT; k++) {
        const way *w = &WAYS[k / 2];
        kb_options *options = WAY(ctx, w, "intercept", k % 2 ? "on" : "off");
        kb_data *data = data_of(ctx, N, 2, w->kind);
        kb_model *model = model_of(ctx, options, data), *again;
        const kb_fit_info *info = kb_model_info(model);
        assert_int_equal(info->converged, 1);
        assert_string_equal(info->loss, w->loss);
        assert_string_equal(info->probability, w->rule);
        assert_string_equal(info->solver, strcmp(w->loss, "square") ? "newton" : "cg");
        assert_true(info->train_score > 0.8);
        test_path path = written(ctx, model);
        assert_ok(ctx, kb_model_read(ctx, path.text, &again));
        assert_string_equal(kb_model_info(again)->probability, w->rule);
        double *f = decisions_of(ctx, model, data), *g = decisions_of(ctx, again, data);
        assert_same_bits(f, g, N * info->outputs);
        /* The scores in the fit info are those of the model on the training data. */
        kb_score score = KB_SCORE_INIT;
        assert_ok(ctx, kb_model_score(ctx, again, data, f, &score));
        assert_true(fabs(info->train_score - (info->classes ? score.accuracy : score.r2)) < 1e-6);
        double p[3 * N], q[3 * N];
        if (strcmp(w->rule, "none") == 0) {
            assert_fails(ctx, KB_ERR_ARGUMENT,
                         info->classes ? "the model gives no probabilities: train it with "
                                         "--holdout auto or --probability on"
                                       : "the model gives no probabilities: these are for "
                                         "classes; regression has intervals",
                         kb_model_probability(ctx, again, N, f, p));
            assert_true(isnan(score.log_loss));
        } else {
            assert_ok(ctx, kb_model_probability(ctx, model, N, f, p));
            assert_ok(ctx, kb_model_probability(ctx, again, N, g, q));
            assert_same_bits(p, q, N * info->classes);
            for (size_t i = 0; i < N; i++)
                for (size_t c = 0; c < info->classes; c++)
                    assert_true(
                        p[i * info->classes + c] <=
                        p[i * info->classes + kb_model_winner(model, f + i * info->outputs)]);
            assert_true(score.log_loss < 0.5); /* random guessing has log 2 or log 3 */
        }
        unlink(path.text);
        free(f), free(g);
        kb_model_free(model);
        kb_model_free(again);
        kb_data_free(data);
        kb_options_free(options);
    }
    kb_context_free(ctx);
}

static fit_inputs weighted_way(kb_context *ctx, const void *w) {
    static const double weights[] = {0.5, 1.5, 2.5};
    fit_inputs in = {WAY(ctx, (const way *)w, "intercept", "on"),
                     data_of(ctx, 2100, 2, ((const way *)w)->kind)};
    weigh_rows(ctx, in.data, weights, 3);
    return in;
}

static void threads_change_no_byte_for_any_loss(void **unused) {
    (void)unused;
    for (int k = 0; k < WAY_COUNT; k += TEST_LIGHT ? 3 : 1)
        assert_same_file_for_threads(weighted_way, &WAYS[k]);
}

/* A sample that meets no known bin gets the share of its class. */
static void unknown_samples_get_the_shares(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < WAY_COUNT; k++) {
        if (strcmp(WAYS[k].loss, "logistic") != 0 || strcmp(WAYS[k].probability, "auto") != 0)
            continue;
        kb_options *options = WAY(ctx, &WAYS[k], "intercept", "off");
        kb_data *data = data_of(ctx, 300, 2, WAYS[k].kind), *far;
        kb_model *model = model_of(ctx, options, data);
        size_t classes = kb_model_info(model)->classes;
        double p[3], f[3], count[3] = {0};
        for (size_t i = 0; i < 300; i++)
            for (size_t c = 0; c < classes; c++)
                count[c] += data->label[i] == kb_model_class(model, c);
        assert_ok(ctx, data_from_dense(ctx, 1, 2, (const double[]){1e6, -1e6}, NULL, &far));
        assert_ok(ctx, kb_model_decide(ctx, model, far, f));
        assert_ok(ctx, kb_model_probability(ctx, model, 1, f, p));
        for (size_t c = 0; c < classes; c++)
            assert_true(fabs(p[c] - count[c] / 300) < 1e-9);
        kb_data_free(far);
        kb_data_free(data);
        kb_model_free(model);
        kb_options_free(options);
    }
    kb_context_free(ctx);
}

/* So few samples that a fold has none, or none of a class. */
static void few_samples_have_probabilities_too(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int l = 0; l < 3; l++)
        for (int seed = 0; seed < 20; seed++)
            for (size_t N = 2; N <= 3; N++) {
                static const char *const losses[] = {"square", "logistic", "squared-hinge"};
                char text[8];
                double p[9], f[3], x[3] = {0, 1, 2}, y[3] = {1, 2, 3};
                kb_data *data;
                snprintf(text, sizeof text, "%d", seed);
                kb_options *options =
                    OPTIONS(ctx, "grids", "9", "seed", text, "loss", losses[l], "probability", "on",
                            "intercept", seed % 2 ? "on" : "off", "task", "classification");
                assert_ok(ctx, data_from_dense(ctx, N, 1, x, y, &data));
                kb_model *model = model_of(ctx, options, data);
                double *decision = decisions_of(ctx, model, data);
                memcpy(f, decision, kb_model_info(model)->outputs * sizeof *f);
                assert_ok(ctx, kb_model_probability(ctx, model, 1, f, p));
                for (size_t c = 0; c < N; c++)
                    assert_true(p[c] >= 0 && p[c] <= 1);
                free(decision);
                kb_model_free(model);
                kb_data_free(data);
                kb_options_free(options);
            }
    kb_context_free(ctx);
}

static void every_allocation_may_fail_for_any_loss(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < WAY_COUNT; k++) {
        fit_inputs in = TINY_WAY(ctx, &WAYS[k], "penalty", "l2");
        run_with_allocation_failures(fit_once, &in);
        fit_inputs_free(&in);
    }
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_loss_comes_through_a_file),
        cmocka_unit_test(threads_change_no_byte_for_any_loss),
        cmocka_unit_test(unknown_samples_get_the_shares),
        cmocka_unit_test(few_samples_have_probabilities_too),
        cmocka_unit_test(every_allocation_may_fail_for_any_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
