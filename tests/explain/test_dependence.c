/* Partial dependence against copies of the rows, and the values that it is shown at. */
#include "encode/tables.h"

enum { N = 60, D = 3, POINTS = 4 };

static void check(kb_context *ctx, const kb_model *model, const kb_data *data, size_t feature,
                  kb_output what) {
    static const double at[POINTS] = {-0.5, 0, 0.3, 2};
    size_t width = what == KB_OUTPUT_PROBABILITY ? model->info.classes : model->info.outputs;
    double mean[POINTS * 3], error[POINTS * 3], f[N * 3];
    assert_ok(ctx, kb_model_dependence(ctx, model, data, feature, POINTS, at, what, mean, error));
    for (size_t k = 0; k < POINTS; k++) {
        double x[N * D];
        kb_data *other;
        for (size_t i = 0; i < N; i++)
            for (size_t j = 0; j < D; j++)
                x[i * D + j] = j == feature ? at[k] : cell(data, i, j);
        assert_ok(ctx, data_from_dense(ctx, N, D, x, NULL, &other));
        assert_ok(ctx, kb_model_predict(ctx, model, other, what, f));
        for (size_t c = 0; c < width; c++) {
            double sum = 0, square = 0;
            for (size_t i = 0; i < N; i++)
                sum += f[i * width + c] / N;
            for (size_t i = 0; i < N; i++)
                square += pow(f[i * width + c] - sum, 2) / N;
            assert_true(fabs(mean[k * width + c] - sum) < 1e-12); /* sums of N terms */
            assert_true(fabs(error[k * width + c] - sqrt(square / N)) < 1e-7);
        }
        kb_data_free(other);
    }
}

static void it_is_the_mean_over_the_rows(void **unused) {
    static const labels kinds[] = {REAL, TWO, THREE};
    (void)unused;
    for (int k = 0; k < 3; k++)
        for (int sparse = 0; sparse < 2; sparse++) {
            kb_context *ctx = test_context();
            kb_options *options =
                OPTIONS(ctx, "grids", "9", "sigma", "0.7", "loss", k ? "logistic" : "square");
            kb_data *dense = data_of(ctx, N, D, kinds[k]);
            kb_data *data = sparse ? compressed(ctx, N, D, dense->dense, dense->label, 5) : dense;
            kb_model *model = model_of(ctx, options, data);
            for (size_t j = 0; j < D; j++) {
                check(ctx, model, data, j, KB_OUTPUT_DECISION);
                if (k)
                    check(ctx, model, data, j, KB_OUTPUT_PROBABILITY);
            }
            kb_model_free(model);
            kb_data_free(dense);
            if (sparse)
                kb_data_free(data);
            kb_options_free(options);
            kb_context_free(ctx);
        }
}

/* The predictions of the loss poisson are exp of the decisions, and so are not their means. */
static void it_is_the_mean_of_counts_too(void **unused) {
    static const double half = 0.5;
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "9", "sigma", "0.7", "task", "regression", "loss",
                                  "poisson", "lambda", "0.1");
    kb_data *data = data_of(ctx, N, D, REAL);
    double of_log, mean;
    (void)unused;
    for (size_t i = 0; i < N; i++)
        data->label[i] = round(fabs(5 * data->label[i]));
    kb_model *model = model_of(ctx, options, data);
    for (size_t j = 0; j < D; j++) {
        check(ctx, model, data, j, KB_OUTPUT_LABEL);
        check(ctx, model, data, j, KB_OUTPUT_DECISION);
    }
    assert_ok(
        ctx, kb_model_dependence(ctx, model, data, 0, 1, &half, KB_OUTPUT_DECISION, &of_log, NULL));
    assert_ok(ctx,
              kb_model_dependence(ctx, model, data, 0, 1, &half, KB_OUTPUT_LABEL, &mean, NULL));
    assert_true(mean > exp(of_log)); /* Jensen: the rows are not all the same */
    kb_model_free(model);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

static void values_are_spread_over_the_rows(void **unused) {
    static const double x[] = {5, 1, 1, 3, 0, 9, 7, 2, NAN, 1, 4, 6};
    kb_context *ctx = test_context();
    double got[12];
    size_t count;
    kb_data *data;
    (void)unused;
    assert_ok(ctx, data_from_dense(ctx, 12, 1, x, NULL, &data));
    assert_ok(ctx, kb_data_values(ctx, data, 0, 12, got, &count));
    assert_int_equal(count, 9);
    assert_true(got[0] == 0 && got[1] == 1 && got[2] == 2 && got[8] == 9);
    assert_ok(ctx, kb_data_values(ctx, data, 0, 3, got, &count)); /* of 0 1 1 1 2 3 4 5 6 7 9 */
    assert_int_equal(count, 3);
    assert_true(got[0] == 0 && got[1] == 3 && got[2] == 9);
    assert_ok(ctx, kb_data_values(ctx, data, 0, 1, got, &count));
    assert_true(count == 1 && got[0] == 3);
    assert_fails(ctx, KB_ERR_ARGUMENT, "the data have 1 features, no number 1",
                 kb_data_values(ctx, data, 1, 3, got, &count));
    kb_data_free(data);
    /* Nearly all rows have one value: the others are shown nevertheless.  Each of 100 values above
     * 0 once, and 0 in 900 rows, of which 100 count. */
    double *many = calloc(1000, sizeof *many);
    for (int i = 0; i < 100; i++)
        many[i * 10] = i + 1;
    assert_ok(ctx, data_from_dense(ctx, 1000, 1, many, NULL, &data));
    assert_ok(ctx, kb_data_values(ctx, data, 0, 10, got, &count));
    assert_int_equal(count, 6);
    static const double want[] = {0, 11, 33, 55, 77, 100};
    for (int k = 0; k < 6; k++)
        assert_true(fabs(got[k] - want[k]) <= 1); /* places are rounded down */
    kb_data_free(data);
    free(many);
    static const double zeros[] = {0, 0, 2, 0};
    data = compressed(ctx, 4, 1, zeros, NULL, 0);
    assert_ok(ctx, kb_data_values(ctx, data, 0, 3, got, &count));
    assert_true(count == 2 && got[0] == 0 && got[1] == 2);
    kb_data_free(data);
    kb_context_free(ctx);
}

static void wrong_requests_are_refused(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "3");
    kb_data *data = data_of(ctx, N, D, REAL), *other = data_of(ctx, N, D + 1, REAL);
    kb_model *model = model_of(ctx, options, data);
    kb_data *two = data_of(ctx, N, D, TWO);
    kb_model *classes = model_of(ctx, options, two);
    double at = 0, mean;
    (void)unused;
    assert_int_equal(
        kb_model_dependence(ctx, model, data, D, 1, &at, KB_OUTPUT_DECISION, &mean, NULL),
        KB_ERR_ARGUMENT);
    assert_int_equal(
        kb_model_dependence(ctx, classes, two, 0, 1, &at, KB_OUTPUT_LABEL, &mean, NULL),
        KB_ERR_ARGUMENT);
    kb_model_free(classes);
    kb_data_free(two);
    assert_int_equal(
        kb_model_dependence(ctx, model, data, 0, 1, &at, KB_OUTPUT_PROBABILITY, &mean, NULL),
        KB_ERR_ARGUMENT);
    assert_int_equal(
        kb_model_dependence(ctx, model, other, 0, 1, &at, KB_OUTPUT_DECISION, &mean, NULL),
        KB_ERR_DATA);
    kb_model_free(model);
    kb_data_free(data);
    kb_data_free(other);
    kb_options_free(options);
    kb_context_free(ctx);
}

static int depend(kb_context *ctx, void *arg) {
    double at[] = {0, 1}, mean[2], error[2], value[3];
    const model_and_data *both = arg;
    size_t count;
    kb_status status = kb_model_dependence(ctx, both->model, both->data, 1, 2, at,
                                           KB_OUTPUT_DECISION, mean, error);
    return (int)(status == KB_OK ? kb_data_values(ctx, both->data, 1, 3, value, &count) : status);
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    run_with_failures_of_a_model(ctx, data_of(ctx, N, D, TWO), "3", depend, 2);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_the_mean_over_the_rows),
        cmocka_unit_test(it_is_the_mean_of_counts_too),
        cmocka_unit_test(values_are_spread_over_the_rows),
        cmocka_unit_test(wrong_requests_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
