/* From data to a model, through the public interface. */
#include "model/ridge.h"

#include <fcntl.h>

/* ---- against dense algebra --------------------------------------------- */

/* Weights are floats: each is off by 6e-8 of itself, and a decision adds R of them. */
static void check_fit(kb_context *ctx, const kb_options *options, const kb_data *data) {
    kb_model *model = model_of(ctx, options, data);
    double *K = kernel_of(ctx, kb_model_map(model), data);
    check_ridge(ctx, model, K, data, 1e-6);
    free(K);
    kb_model_free(model);
}

static void fits_agree_with_dense_ridge(void **unused) {
    static const char *const lambdas[] = {"0.001", "0.1", "10"};
    static const char *const intercepts[] = {"on", "off"};
    static const char *const solvers[] = {"cg", "gmres"};
    kb_context *ctx = test_context();
    (void)unused;
    for (labels kind = REAL; kind <= WORDS; kind++)
        for (int l = 0; l < 3; l++)
            for (int b = 0; b < 2; b++)
                for (int s = 0; s < 2; s++) {
                    kb_options *options = OPTIONS(ctx, "grids", "19", "sigma", "0.8", "tol",
                                                  "1e-10", "max-iter", "5000", "lambda", lambdas[l],
                                                  "intercept", intercepts[b], "solver", solvers[s]);
                    kb_data *data = data_of(ctx, 90, 2, kind);
                    check_fit(ctx, options, data);
                    kb_data_free(data);
                    kb_options_free(options);
                }
    kb_context_free(ctx);
}

/* More outputs than are solved at once. */
static void many_classes_agree_with_dense_ridge(void **unused) {
    enum { N = 120 };
    static const char *const solvers[] = {"cg", "gmres"};
    kb_context *ctx = test_context();
    (void)unused;
    for (int s = 0; s < 2; s++) {
        kb_options *options = OPTIONS(ctx, "grids", "19", "sigma", "0.8", "tol", "1e-10", "lambda",
                                      "0.5", "task", "classification", "solver", solvers[s]);
        kb_data *data = data_of(ctx, N, 2, REAL);
        for (size_t i = 0; i < N; i++)
            data->label[i] = (double)(i % 40) * 3 - 7;
        check_fit(ctx, options, data);
        kb_data_free(data);
        kb_options_free(options);
    }
    kb_context_free(ctx);
}

/* The claim of fit.c about floats: the decisions of double weights, recomputed through the kernel,
 * differ by less than 1e-6 of the largest. */
static void float_weights_are_safe(void **unused) {
    static const char *const lambdas[] = {"1e-6", "0.1"};
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 2; k++) {
        kb_options *options = OPTIONS(ctx, "grids", "200", "sigma", "1", "tol", "1e-9", "max-iter",
                                      "2000", "lambda", lambdas[k], "task", "regression");
        kb_data *data = data_of(ctx, 120, 2, REAL);
        kb_model *model = model_of(ctx, options, data);
        double *K = kernel_of(ctx, kb_model_map(model), data), objective = 0;
        double *want =
            dense_ridge(K, 120, kb_model_info(model)->lambda, NULL, 1, data->label, &objective);
        double *f = decisions_of(ctx, model, data), most = 0, off = 0;
        for (int i = 0; i < 120; i++) {
            most = fmax(most, fabs(want[i]));
            off = fmax(off, fabs(f[i] - want[i]));
        }
        assert_true(off <= 1e-6 * most);
        free(K), free(want), free(f);
        kb_model_free(model);
        kb_data_free(data);
        kb_options_free(options);
    }
    kb_context_free(ctx);
}

/* ---- classes ----------------------------------------------------------- */

static void three_hundred_classes_can_be_told_apart(void **unused) {
    enum { N = 900, CLASSES = 300 };
    kb_context *ctx = test_context();
    kb_options *options =
        OPTIONS(ctx, "grids", "64", "sigma", "0.02", "lambda", "0.01", "task", "classification");
    double x[N], y[N], label[N];
    kb_data *data;
    (void)unused;
    for (int i = 0; i < N; i++) {
        y[i] = 1000 - (i * 7 % CLASSES);
        x[i] = y[i] + 0.001 * (i % 3);
    }
    assert_ok(ctx, data_from_dense(ctx, N, 1, x, y, &data));
    kb_model *model = model_of(ctx, options, data);
    assert_int_equal(kb_model_info(model)->classes, CLASSES);
    assert_int_equal(kb_model_info(model)->outputs, CLASSES);
    double *decision = decisions_of(ctx, model, data), right = 0;
    kb_model_label(model, N, decision, label);
    for (int i = 0; i < N; i++)
        right += label[i] == y[i];
    assert_true(right > 0.9 * N); /* chance is 1 in 300 */
    assert_true(fabs(kb_model_info(model)->train_score - right / N) < 1e-12);
    free(decision);
    kb_model_free(model);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* Whatever two numbers or words name the classes, the decisions are the same. */
static void the_names_of_the_classes_do_not_matter(void **unused) {
    static const double names[][2] = {{-1, 1}, {3, 7}, {0, 1e9}, {-2.5, -2.25}};
    kb_context *ctx = test_context();
    double *first = NULL;
    (void)unused;
    for (int k = 0; k < 4; k++) {
        kb_options *options = OPTIONS(ctx, "grids", "8", "task", "classification");
        kb_data *data = data_of(ctx, 100, 2, TWO);
        for (int i = 0; i < 100; i++)
            data->label[i] = names[k][data->label[i] == 7];
        kb_model *model = model_of(ctx, options, data);
        assert_true(kb_model_class(model, 0) == names[k][0]);
        assert_true(kb_model_class(model, 1) == names[k][1]);
        double *f = decisions_of(ctx, model, data);
        if (first)
            assert_same_bits(f, first, 100);
        if (first)
            free(f);
        else
            first = f;
        kb_model_free(model);
        kb_data_free(data);
        kb_options_free(options);
    }
    free(first);
    kb_context_free(ctx);
}

static void words_come_through_csv(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "32", "sigma", "0.5", "scale", "none");
    char text[2000] = "width,height,kind\n";
    kb_data *data;
    (void)unused;
    for (int i = 0; i < 40; i++)
        snprintf(text + strlen(text), 50, "%d,%g,%s\n", i % 4, 0.01 * i,
                 i % 4 < 2 ? "low" : "high");
    test_path path = file_with("words.csv", text);
    assert_ok(ctx, kb_data_read(ctx, options, path.text, NULL, &data));
    kb_model *model = model_of(ctx, options, data);
    assert_string_equal(kb_model_info(model)->task, "classification");
    assert_string_equal(kb_model_class_name(model, 0), "high");
    assert_string_equal(kb_model_class_name(model, 1), "low");
    assert_true(kb_model_info(model)->train_score == 1);
    unlink(path.text);
    kb_model_free(model);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* Two of the three words occur, as in a subset: the model has their names. */
static void words_that_do_not_occur_are_no_classes(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "8", "sigma", "0.5");
    kb_data *data = data_of(ctx, 60, 2, WORDS);
    kb_score score = KB_SCORE_INIT;
    (void)unused;
    for (size_t i = 0; i < data->rows; i++)
        data->label[i] = data->label[i] == 0 ? 1 : data->label[i];
    kb_model *model = model_of(ctx, options, data);
    assert_int_equal(kb_model_info(model)->classes, 2);
    assert_string_equal(kb_model_class_name(model, 0), "bee");
    assert_string_equal(kb_model_class_name(model, 1), "cow");
    double *decision = decisions_of(ctx, model, data);
    assert_ok(ctx, kb_model_score(ctx, model, data, decision, &score));
    assert_true(score.accuracy == kb_model_info(model)->train_score);
    free(decision);
    kb_model_free(model);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* ---- what a fit says of itself ----------------------------------------- */

static void the_record_describes_the_fit(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "10", "sigma", "0.8", "seed", "9", "lambda", "0.5",
                                  "scale", "standard", "kernel", "power:2", "solver", "gmres");
    kb_data *data = data_of(ctx, 80, 2, THREE);
    kb_model *model = model_of(ctx, options, data);
    const kb_fit_info *i = kb_model_info(model);
    (void)unused;
    assert_string_equal(i->task, "classification");
    assert_string_equal(i->loss, "square");
    assert_string_equal(i->penalty, "l2");
    assert_string_equal(i->map, "binning");
    assert_string_equal(i->kernel, "power:2");
    assert_string_equal(i->sigma_text, "0.8");
    assert_string_equal(i->sigma_rule, "equal");
    assert_true(i->sigma == 0.8);
    assert_string_equal(i->solver, "gmres");
    assert_string_equal(i->scale, "standard");
    assert_true(i->lambda == 0.5);
    assert_int_equal(i->intercept, 0);
    assert_int_equal(i->seed, 9);
    assert_int_equal(i->rows, 80);
    assert_int_equal(i->features, 2);
    assert_int_equal(i->classes, 3);
    assert_int_equal(i->outputs, 3);
    assert_int_equal(i->grids, 10);
    assert_int_equal(i->bins, kb_map_bins(kb_model_map(model)));
    assert_true(i->kappa >= 1 && i->kappa <= 80);
    assert_true(i->steps > 0 && i->converged == 1);
    assert_true(i->nonzeros > 0 && i->nonzeros <= 3 * i->bins);
    const kb_fit_cost *cost = kb_model_cost(model);
    assert_true(cost->id_bytes == 80 * 12); /* three groups of four grids, one byte each */
    assert_true(cost->forecast_bytes > cost->id_bytes);
    kb_model_free(model);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

static void auto_is_an_intercept_for_numbers_only(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "4", "intercept", "auto");
    (void)unused;
    for (labels kind = REAL; kind <= THREE; kind++) {
        kb_data *data = data_of(ctx, 40, 2, kind);
        kb_model *model = model_of(ctx, options, data);
        assert_int_equal(kb_model_info(model)->intercept, kind == REAL);
        kb_model_free(model);
        kb_data_free(data);
    }
    kb_options_free(options);
    kb_context_free(ctx);
}

static void too_few_steps_are_a_result_not_an_error(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "20", "max-iter", "2", "tol", "1e-9", "sigma", "1");
    kb_data *data = data_of(ctx, 100, 2, REAL);
    kb_model *model = model_of(ctx, options, data);
    (void)unused;
    assert_int_equal(kb_model_info(model)->converged, 0);
    assert_int_equal(kb_model_info(model)->steps, 2);
    kb_model_free(model);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* ---- promises ---------------------------------------------------------- */

static fit_inputs many_rows(kb_context *ctx, const void *kind) {
    return (fit_inputs){OPTIONS(ctx, "grids", "50", "sigma", "default"),
                        data_of(ctx, 3000, 2, *(const labels *)kind)};
}

static void threads_change_no_byte_of_the_model_file(void **unused) {
    (void)unused;
    for (labels kind = REAL; kind <= WORDS; kind++)
        assert_same_file_for_threads(many_rows, &kind);
}

static void inputs_are_not_changed(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "5");
    kb_data *data = data_of(ctx, 60, 2, REAL), *copy = data_of(ctx, 60, 2, REAL);
    (void)unused;
    kb_model_free(model_of(ctx, options, data));
    assert_same_bits(data->dense, copy->dense, 120);
    assert_same_bits(data->label, copy->label, 60);
    kb_data_free(data);
    kb_data_free(copy);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* A fit, a prediction and a failure with both streams turned into a file. */
static void nothing_is_printed(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "5");
    kb_data *data = data_of(ctx, 60, 2, TWO);
    test_path path = path_of("printed.txt");
    kb_model *model, *none;
    size_t count;
    double decision[60];
    int out = dup(1), err = dup(2), file = open(path.text, O_CREAT | O_RDWR | O_TRUNC, 0600);
    (void)unused;
    fflush(NULL);
    dup2(file, 1);
    dup2(file, 2);
    kb_status fit = kb_model_fit(ctx, options, data, &model);
    kb_status decide = fit == KB_OK ? kb_model_decide(ctx, model, data, decision) : fit;
    kb_status read = kb_model_read(ctx, "/nowhere.kerbin", &none);
    fflush(NULL);
    dup2(out, 1);
    dup2(err, 2);
    close(out), close(err), close(file);
    assert_int_equal(fit, KB_OK);
    assert_int_equal(decide, KB_OK);
    assert_int_equal(read, KB_ERR_IO);
    free(bytes_of(path.text, &count));
    assert_int_equal(count, 0);
    unlink(path.text);
    kb_model_free(model);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fits_agree_with_dense_ridge),
        cmocka_unit_test(many_classes_agree_with_dense_ridge),
        cmocka_unit_test(float_weights_are_safe),
        cmocka_unit_test(three_hundred_classes_can_be_told_apart),
        cmocka_unit_test(the_names_of_the_classes_do_not_matter),
        cmocka_unit_test(words_come_through_csv),
        cmocka_unit_test(words_that_do_not_occur_are_no_classes),
        cmocka_unit_test(the_record_describes_the_fit),
        cmocka_unit_test(auto_is_an_intercept_for_numbers_only),
        cmocka_unit_test(too_few_steps_are_a_result_not_an_error),
        cmocka_unit_test(threads_change_no_byte_of_the_model_file),
        cmocka_unit_test(inputs_are_not_changed),
        cmocka_unit_test(nothing_is_printed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
