/* Decisions, labels and scores. */
#include "model/fitted.h"

#include "fit/fit.h"

/* Z w + b from the columns that kb_map_apply gives, in the order of the grids. */
static double *by_hand(kb_context *ctx, const kb_model *model, const kb_data *data) {
    size_t N = kb_data_rows(data), R = kb_map_grids(kb_model_map(model));
    size_t C = kb_model_info(model)->outputs;
    int64_t *column = columns_of(ctx, kb_model_map(model), data);
    double *out = calloc(N * C, sizeof *out);
    assert_non_null(out);
    for (size_t i = 0; i < N; i++) {
        size_t known = 0;
        for (size_t r = 0; r < R; r++)
            known += column[i * R + r] >= 0;
        for (size_t c = 0; c < C; c++) {
            double sum = 0;
            for (size_t r = 0; r < R; r++)
                if (column[i * R + r] >= 0)
                    sum += model->weight[(size_t)column[i * R + r] * C + c];
            double factor = 1 / sqrt((double)(model->fill ? known : R));
            out[i * C + c] = known ? sum * factor + model->intercept[c] : model->prior[c];
        }
    }
    free(column);
    return out;
}

/* New samples, a few of them far from all others. */
static kb_data *strangers(kb_context *ctx, size_t N, size_t d, int sparse) {
    double *x = test_values(N, d, 99);
    kb_data *data;
    for (size_t i = 0; i < N; i += 7)
        x[i * d] = 1e20;
    if (sparse)
        data = test_sparse(ctx, N, d, x, NULL);
    else
        assert_ok(ctx, data_from_dense(ctx, N, d, x, NULL, &data));
    free(x);
    return data;
}

static void decisions_are_z_w_plus_b(void **unused) {
    static const size_t rows[] = {1, 511, 512, 513, 3000};
    kb_context *ctx = test_context();
    (void)unused;
    for (labels kind = REAL; kind <= THREE; kind++) {
        kb_options *options = OPTIONS(ctx, "grids", "21", "sigma", "0.7", "intercept", "on");
        kb_data *train = data_of(ctx, 400, 3, kind);
        kb_model *model = model_of(ctx, options, train);
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
            for (int sparse = 0; sparse < 2; sparse++) {
                kb_data *test = strangers(ctx, rows[k], 3, sparse);
                double *want = by_hand(ctx, model, test);
                for (int threads = 1; threads <= 5; threads += 2) {
                    test_state state = {0};
                    kb_context *team = test_context_with(&state, threads);
                    double *got = decisions_of(team, model, test);
                    assert_same_bits(got, want, rows[k] * kb_model_info(model)->outputs);
                    free(got);
                    kb_context_free(team);
                    assert_int_equal(state.live, 0);
                }
                free(want);
                kb_data_free(test);
            }
        kb_model_free(model);
        kb_data_free(train);
        kb_options_free(options);
    }
    kb_context_free(ctx);
}

/* Training rows know all their bins, so nothing changes for them. */
static void a_model_may_fill_in_for_unknown_bins(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "21", "sigma", "0.7");
    kb_data *train = data_of(ctx, 400, 3, REAL), *test = strangers(ctx, 3000, 3, 0);
    kb_model *model = model_of(ctx, options, train);
    (void)unused;
    double *plain = decisions_of(ctx, model, train), *few = decisions_of(ctx, model, test);
    assert_false(model->fill);
    model->fill = 1;
    double *filled = decisions_of(ctx, model, train), *want = by_hand(ctx, model, test);
    assert_same_bits(plain, filled, 400);
    for (int threads = 1; threads <= 5; threads += 2) {
        test_state state = {0};
        kb_context *team = test_context_with(&state, threads);
        double *got = decisions_of(team, model, test);
        assert_same_bits(got, want, 3000);
        assert_true(memcmp(got, few, 3000 * sizeof *got) != 0);
        free(got);
        kb_context_free(team);
    }
    free(plain), free(few), free(filled), free(want);
    kb_model_free(model);
    kb_data_free(train);
    kb_data_free(test);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* It is for models that know all bins of the training data. */
static void only_models_with_all_bins_fill_in(void **unused) {
    static const char *const penalties[] = {"l2", "l1"}, *const maps[] = {"binning", "nystrom"};
    kb_context *ctx = test_context();
    kb_data *data = data_of(ctx, 60, 2, REAL);
    (void)unused;
    for (int p = 0; p < 2; p++)
        for (int m = 0; m < 2; m++) {
            kb_options *options =
                OPTIONS(ctx, "grids", "9", "sigma", "0.9", "penalty", penalties[p], "map", maps[m]);
            kb_plan plan = {.config = kb_config_of(options), .fill = 1};
            kb_fit fit = {.plan = &plan, .data = data};
            kb_model *model;
            assert_ok(ctx, kb_model_create(ctx, &model));
            assert_ok(ctx, kb_fit_prepare(ctx, &fit, model));
            assert_ok(ctx, kb_fit_outputs(ctx, &fit, model, 0, 1, fit.w));
            assert_ok(ctx, kb_fit_finish(ctx, &fit, model));
            assert_int_equal(model->fill, p == 0 && m == 0);
            kb_fit_release(ctx, &fit);
            kb_model_free(model);
            kb_options_free(options);
        }
    kb_data_free(data);
    kb_context_free(ctx);
}

static void a_sample_without_a_known_bin_gets_the_mean_of_the_targets(void **unused) {
    static const char *const intercepts[] = {"on", "off"};
    kb_context *ctx = test_context();
    const double far[] = {1e25, -1e25};
    kb_data *test;
    (void)unused;
    assert_ok(ctx, data_from_dense(ctx, 1, 2, far, NULL, &test));
    for (labels kind = REAL; kind <= THREE; kind++)
        for (int k = 0; k < 2; k++) {
            kb_options *options =
                OPTIONS(ctx, "grids", "16", "sigma", "0.5", "intercept", intercepts[k]);
            kb_data *train = data_of(ctx, 300, 2, kind);
            kb_model *model = model_of(ctx, options, train);
            size_t C = kb_model_info(model)->outputs;
            double *got = decisions_of(ctx, model, test);
            for (size_t c = 0; c < C; c++) {
                double mean = 0;
                for (size_t i = 0; i < 300; i++) {
                    double y = train->label[i];
                    size_t class = C > 1 ? c : 1;
                    mean += (kind == REAL ? y : y == kb_model_class(model, class) ? 1 : -1) / 300;
                }
                assert_true(fabs(got[c] - mean) < 1e-12 * (1 + fabs(mean)));
            }
            free(got);
            kb_model_free(model);
            kb_data_free(train);
            kb_options_free(options);
        }
    kb_data_free(test);
    kb_context_free(ctx);
}

/* ---- labels ------------------------------------------------------------ */

static void the_largest_decision_wins(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "8");
    kb_data *two = data_of(ctx, 100, 2, TWO), *three = data_of(ctx, 100, 2, THREE);
    kb_data *real = data_of(ctx, 100, 2, REAL);
    kb_model *a = model_of(ctx, options, two), *b = model_of(ctx, options, three);
    kb_model *c = model_of(ctx, options, real);
    double label[4];
    (void)unused;
    kb_model_label(a, 4, (const double[]){-0.5, 0, 1e-300, 7}, label);
    assert_same_bits(label, ((const double[]){3, 3, 7, 7}), 4);
    kb_model_label(b, 3, (const double[]){1, 2, 3, 0, -1, -2, -3, 5, 5}, label);
    assert_same_bits(label, ((const double[]){6, 4, 5}), 3); /* of equals the first */
    kb_model_label(c, 2, (const double[]){1.5, -2}, label);
    assert_same_bits(label, ((const double[]){1.5, -2}), 2);
    assert_true(kb_model_class(a, 0) == 3 && kb_model_class(a, 1) == 7);
    assert_string_equal(kb_model_class_name(a, 1), "7");
    kb_model_free(a);
    kb_model_free(b);
    kb_model_free(c);
    kb_data_free(two);
    kb_data_free(three);
    kb_data_free(real);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* Labels and probabilities are those of the decisions; some rows at a time or all at once. */
static void predictions_are_made_of_decisions(void **unused) {
    static const size_t rows[] = {1, 3000, 40000}; /* of which 16384 at a time */
    kb_context *ctx = test_context();
    (void)unused;
    for (labels kind = REAL; kind <= THREE; kind++) {
        kb_options *options = OPTIONS(ctx, "grids", "21", "sigma", "0.7", "probability", "on");
        kb_data *train = data_of(ctx, 400, 3, kind);
        kb_model *model = model_of(ctx, options, train);
        size_t C = kb_model_info(model)->outputs, classes = kb_model_info(model)->classes;
        for (size_t k = 0; k < 3; k++) {
            size_t M = rows[k];
            kb_data *test = strangers(ctx, M, 3, kind == TWO);
            double *f = decisions_of(ctx, model, test), *want = malloc(M * 4 * sizeof *want),
                   *got = malloc(M * 4 * sizeof *got);
            assert_ok(ctx, kb_model_predict(ctx, model, test, KB_OUTPUT_DECISION, got));
            assert_same_bits(got, f, M * C);
            assert_ok(ctx, kb_model_predict(ctx, model, test, KB_OUTPUT_LABEL, got));
            kb_model_label(model, M, f, want);
            assert_same_bits(got, want, M);
            if (kind != REAL) {
                assert_ok(ctx, kb_model_predict(ctx, model, test, KB_OUTPUT_PROBABILITY, got));
                assert_ok(ctx, kb_model_probability(ctx, model, M, f, want));
                assert_same_bits(got, want, M * classes);
            }
            free(f), free(want), free(got);
            kb_data_free(test);
        }
        if (kind == REAL)
            assert_int_equal(kb_model_predict(ctx, model, train, KB_OUTPUT_PROBABILITY, NULL),
                             KB_ERR_ARGUMENT);
        assert_fails(ctx, KB_ERR_ARGUMENT, "6 is no kb_output",
                     kb_model_predict(ctx, model, train, (kb_output)6, NULL));
        kb_model_free(model);
        kb_data_free(train);
        kb_options_free(options);
    }
    kb_context_free(ctx);
}

/* ---- scores ------------------------------------------------------------ */

static void accuracy_is_the_share_of_right_labels(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (labels kind = TWO; kind <= WORDS; kind++) {
        kb_options *options = OPTIONS(ctx, "grids", "8", "sigma", "3");
        kb_data *data = data_of(ctx, 300, 2, kind);
        kb_model *model = model_of(ctx, options, data);
        double *decision = decisions_of(ctx, model, data), label[300], right = 0;
        kb_score score = KB_SCORE_INIT;
        kb_model_label(model, 300, decision, label);
        for (int i = 0; i < 300; i++)
            right += label[i] == data->label[i];
        assert_ok(ctx, kb_model_score(ctx, model, data, decision, &score));
        assert_true(score.accuracy == right / 300);
        assert_true(right > 150 && right < 300); /* so that both happen */
        assert_true(isnan(score.rmse) && isnan(score.r2));
        assert_true(fabs(kb_model_info(model)->train_score - right / 300) < 1e-12);
        free(decision);
        kb_model_free(model);
        kb_data_free(data);
        kb_options_free(options);
    }
    kb_context_free(ctx);
}

static void errors_of_a_regression_agree_with_their_formulas(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "8");
    kb_data *data = data_of(ctx, 300, 2, REAL);
    kb_model *model = model_of(ctx, options, data);
    double *f = decisions_of(ctx, model, data);
    long double error = 0, size = 0, mean = 0, around = 0;
    kb_score score = KB_SCORE_INIT;
    (void)unused;
    for (int i = 0; i < 300; i++)
        mean += data->label[i] / 300.0L;
    for (int i = 0; i < 300; i++) {
        long double y = data->label[i];
        error += (f[i] - y) * (f[i] - y);
        size += y * y;
        around += (y - mean) * (y - mean);
    }
    assert_ok(ctx, kb_model_score(ctx, model, data, f, &score));
    /* 300 roundings */
    assert_true(fabsl(score.rmse - sqrtl(error / 300)) < 1e-13L * sqrtl(error / 300));
    assert_true(fabsl(score.relative_error - sqrtl(error / size)) < 1e-13L);
    assert_true(fabsl(score.r2 - (1 - error / around)) < 1e-12L);
    assert_true(fabs(kb_model_info(model)->train_score - score.r2) < 1e-6);
    assert_true(isnan(score.accuracy));
    free(f);
    kb_model_free(model);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* Words are compared as words: other data may know other words, in another order. */
static void labels_are_compared_by_name(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options =
        OPTIONS(ctx, "grids", "16", "sigma", "0.5", "scale", "none", "lambda", "0.01");
    kb_data *train = csv_of(ctx, options, NULL, "x,y\n0,cow\n1,bee\n2,12\n0,cow\n1,bee\n2,12\n");
    kb_model *model = model_of(ctx, options, train);
    kb_data *words = csv_of(ctx, options, model, "x,y\n0,cow\n1,ape\n1,bee\n2,zebra\n");
    kb_data *numbers = csv_of(ctx, options, model, "x,y\n2,12\n2,12.0\n0,12\n1,3\n");
    kb_score score = KB_SCORE_INIT;
    (void)unused;
    double *a = decisions_of(ctx, model, words), *b = decisions_of(ctx, model, numbers);
    assert_string_equal(kb_model_class_name(model, 0), "12");
    assert_string_equal(kb_model_class_name(model, 1), "bee");
    assert_string_equal(kb_model_class_name(model, 2), "cow");
    assert_ok(ctx, kb_model_score(ctx, model, words, a, &score));
    assert_true(score.accuracy == 0.5);
    assert_ok(ctx, kb_model_score(ctx, model, numbers, b, &score));
    assert_true(score.accuracy == 0.5);
    free(a);
    free(b);
    kb_data_free(train);
    kb_data_free(words);
    kb_data_free(numbers);
    kb_model_free(model);
    kb_options_free(options);
    kb_context_free(ctx);
}

static void what_cannot_be_scored_is_refused(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "4");
    kb_data *real = data_of(ctx, 30, 2, REAL), *words = data_of(ctx, 30, 2, WORDS), *three;
    kb_data *none = strangers(ctx, 30, 2, 0);
    kb_model *model = model_of(ctx, options, real);
    double decision[30] = {0};
    kb_score score = KB_SCORE_INIT;
    (void)unused;
    assert_fails(ctx, KB_ERR_DATA, "the data have no labels to score against",
                 kb_model_score(ctx, model, none, decision, &score));
    assert_fails(ctx, KB_ERR_DATA, "the labels are words, the model predicts numbers",
                 kb_model_score(ctx, model, words, decision, &score));
    three = data_of(ctx, 30, 3, REAL);
    assert_fails(ctx, KB_ERR_DATA, "the data have 3 features, the model 2",
                 kb_model_decide(ctx, model, three, decision));
    kb_model_free(model);
    kb_data_free(real);
    kb_data_free(words);
    kb_data_free(none);
    kb_data_free(three);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* ---- when things go wrong ---------------------------------------------- */

typedef struct question {
    const kb_model *model;
    const kb_data *data;
    double *decision;
} question;

static int answer(kb_context *ctx, void *arg) {
    question *q = arg;
    return (int)kb_model_decide(ctx, q->model, q->data, q->decision);
}

static void the_callback_may_cancel_at_any_call(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "4");
    kb_data *data = data_of(ctx, 20000, 1, TWO);
    kb_model *model = model_of(ctx, options, data);
    question q = {model, data, malloc(20000 * sizeof(double))};
    (void)unused;
    assert_non_null(q.decision);
    run_with_cancellations(answer, &q, 1, 2);
    free(q.decision);
    kb_model_free(model);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

static int decide(kb_context *ctx, void *arg) {
    fit_inputs *in = arg;
    kb_model *model = NULL;
    double decision[30];
    kb_status status;
    TRY(kb_model_fit(ctx, in->options, in->data, &model));
    TRY(kb_model_decide(ctx, model, in->data, decision));
    TRY(kb_model_predict(ctx, model, in->data, KB_OUTPUT_LABEL, decision));
done:
    kb_model_free(model);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    fit_inputs in = {OPTIONS(ctx, "grids", "4", "sigma", "1", "max-iter", "2"),
                     data_of(ctx, 30, 1, TWO)};
    (void)unused;
    run_with_allocation_failures(decide, &in);
    fit_inputs_free(&in);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decisions_are_z_w_plus_b),
        cmocka_unit_test(a_model_may_fill_in_for_unknown_bins),
        cmocka_unit_test(only_models_with_all_bins_fill_in),
        cmocka_unit_test(a_sample_without_a_known_bin_gets_the_mean_of_the_targets),
        cmocka_unit_test(the_largest_decision_wins),
        cmocka_unit_test(predictions_are_made_of_decisions),
        cmocka_unit_test(accuracy_is_the_share_of_right_labels),
        cmocka_unit_test(errors_of_a_regression_agree_with_their_formulas),
        cmocka_unit_test(labels_are_compared_by_name),
        cmocka_unit_test(what_cannot_be_scored_is_refused),
        cmocka_unit_test(the_callback_may_cancel_at_any_call),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
