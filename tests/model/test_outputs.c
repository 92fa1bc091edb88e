/* Probabilities, intervals, sets and novelty of models, in memory, in files and after reading. */
#include "model/fitted.h"

static kb_model *held_out(kb_context *ctx, const kb_data *data, const char *loss) {
    kb_options *options = OPTIONS(ctx, "holdout", "auto", "grids", "64", "loss", loss);
    kb_model *model = model_of(ctx, options, data);
    kb_options_free(options);
    return model;
}

static double *output_of(kb_context *ctx, const kb_model *model, const kb_data *data,
                         kb_output what, double coverage, size_t numbers) {
    kb_request request = {sizeof request, what, coverage};
    double *out = malloc(kb_data_rows(data) * numbers * sizeof *out);
    assert_ok(ctx, kb_model_predict_as(ctx, model, data, &request, out));
    return out;
}

static void every_classifier_has_probabilities(void **unused) {
    static const char *const losses[] = {"square", "logistic", "squared-hinge"};
    enum { N = 400 };
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = TWO; kind <= THREE; kind++)
        for (int l = 0; l < 3; l++) {
            kb_data *data = data_of(ctx, N, 2, (labels)kind);
            kb_model *model = held_out(ctx, data, losses[l]);
            size_t C = kb_model_info(model)->classes;
            double *p = output_of(ctx, model, data, KB_OUTPUT_PROBABILITY, 0.9, C);
            double *label = output_of(ctx, model, data, KB_OUTPUT_LABEL, 0.9, 1);
            kb_expected e = KB_EXPECTED_INIT;
            for (size_t i = 0; i < N; i++) {
                double sum = 0;
                size_t best = 0;
                for (size_t c = 0; c < C; c++) {
                    assert_true(p[i * C + c] > 0 && p[i * C + c] < 1);
                    sum += p[i * C + c];
                    best = p[i * C + c] > p[i * C + best] ? c : best;
                }
                assert_true(fabs(sum - 1) < 1e-12);
                assert_true(kb_model_class(model, best) == label[i]);
            }
            assert_int_equal(kb_model_expected(model, &e), KB_OK);
            assert_true(e.log_loss > 0 && e.log_loss < log((double)C));
            free(p), free(label);
            kb_model_free(model);
            kb_data_free(data);
        }
    kb_context_free(ctx);
}

/* Intervals are ordered, wider for more coverage, and hold most labels; a set always holds the
 * predicted class, and more of them for more coverage. */
static void intervals_and_sets_grow_with_the_coverage(void **unused) {
    enum { N = 400 };
    kb_context *ctx = test_context();
    kb_data *numbers = data_of(ctx, N, 2, REAL), *classes = data_of(ctx, N, 2, THREE);
    kb_model *a = held_out(ctx, numbers, "square"), *b = held_out(ctx, classes, "square");
    double *narrow = output_of(ctx, a, numbers, KB_OUTPUT_INTERVAL, 0.5, 3);
    double *wide = output_of(ctx, a, numbers, KB_OUTPUT_INTERVAL, 0.95, 3);
    double *small = output_of(ctx, b, classes, KB_OUTPUT_SET, 0.5, 3);
    double *large = output_of(ctx, b, classes, KB_OUTPUT_SET, 0.999, 3);
    double inside = 0, in_small = 0, in_large = 0;
    (void)unused;
    for (size_t i = 0; i < N; i++) {
        assert_true(narrow[3 * i] == wide[3 * i]);
        assert_true(wide[3 * i + 1] <= narrow[3 * i + 1] && narrow[3 * i + 2] <= wide[3 * i + 2]);
        inside += wide[3 * i + 1] <= numbers->label[i] && numbers->label[i] <= wide[3 * i + 2];
        for (size_t c = 0; c < 3; c++) {
            assert_true(small[3 * i + c] <= large[3 * i + c]);
            in_small += small[3 * i + c];
            in_large += large[3 * i + c];
        }
    }
    assert_true(inside >= 0.9 * N && in_small >= N && in_large > in_small);
    free(narrow), free(wide), free(small), free(large);
    kb_model_free(a), kb_model_free(b);
    kb_data_free(numbers), kb_data_free(classes);
    kb_context_free(ctx);
}

/* Training rows know all their bins; rows far away know none. */
static void far_rows_are_novel(void **unused) {
    enum { N = 300 };
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    kb_data *data = data_of(ctx, N, 2, REAL), *far = data_of(ctx, N, 2, REAL);
    kb_model *model = held_out(ctx, data, "square");
    kb_request request = {sizeof request, KB_OUTPUT_NOVELTY, 0.9};
    test_path path = path_of("novelty.csv");
    (void)unused;
    for (size_t k = 0; k < 2 * N; k++)
        far->dense[k] += 100;
    double *near_ = output_of(ctx, model, data, KB_OUTPUT_NOVELTY, 0.9, 2);
    double *away = output_of(ctx, model, far, KB_OUTPUT_NOVELTY, 0.9, 2);
    for (size_t i = 0; i < N; i++) {
        assert_true(near_[2 * i] == 1 && near_[2 * i + 1] <= 0.5);
        assert_true(away[2 * i] == 0 && away[2 * i + 1] > 0.99);
    }
    state.log[0] = '\0';
    assert_ok(ctx, kb_model_predict_file_as(ctx, model, data, &request, path.text, NULL));
    assert_null(strstr(state.log, "unlike the training rows"));
    assert_ok(ctx, kb_model_predict_file_as(ctx, model, far, &request, path.text, NULL));
    assert_non_null(strstr(state.log, "300 of 300 rows are unlike the training rows"));
    unlink(path.text);
    free(near_), free(away);
    kb_model_free(model);
    kb_data_free(data), kb_data_free(far);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

/* The same bits from a model that was written and read, and in the lines of a file. */
static void files_give_the_same(void **unused) {
    static const kb_output whats[] = {KB_OUTPUT_INTERVAL, KB_OUTPUT_NOVELTY, KB_OUTPUT_PROBABILITY,
                                      KB_OUTPUT_SET};
    static const char *const header[] = {"value,low,high\n", "known,novelty\n", "4,5,6\n",
                                         "4,5,6\n"};
    static const size_t numbers[] = {3, 2, 3, 3};
    enum { N = 120 };
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 4; k++) {
        kb_data *data = data_of(ctx, N, 2, k < 2 ? REAL : THREE);
        kb_model *model = held_out(ctx, data, "square"), *back;
        test_path path = path_of("outputs.kerbin"), csv = path_of("outputs.csv");
        kb_request request = {sizeof request, whats[k], 0.8};
        assert_ok(ctx, kb_model_write(ctx, model, path.text));
        assert_ok(ctx, kb_model_read(ctx, path.text, &back));
        double *a = output_of(ctx, model, data, whats[k], 0.8, numbers[k]);
        double *b = output_of(ctx, back, data, whats[k], 0.8, numbers[k]);
        assert_same_bits(a, b, N * numbers[k]);
        assert_ok(ctx, kb_model_predict_file_as(ctx, back, data, &request, csv.text, NULL));
        FILE *file = fopen(csv.text, "r");
        char line[256];
        assert_non_null(fgets(line, sizeof line, file));
        assert_string_equal(line, header[k]);
        for (size_t i = 0; i < N; i++) {
            char *at = fgets(line, sizeof line, file);
            for (size_t c = 0; c < numbers[k]; c++, at++)
                assert_true(strtod(at, &at) == a[i * numbers[k] + c]);
        }
        fclose(file);
        unlink(path.text), unlink(csv.text);
        free(a), free(b);
        kb_model_free(model), kb_model_free(back);
        kb_data_free(data);
    }
    kb_context_free(ctx);
}

static void what_a_model_cannot_give_is_refused(void **unused) {
    kb_context *ctx = test_context();
    kb_data *numbers = data_of(ctx, 60, 2, REAL), *classes = data_of(ctx, 60, 2, TWO);
    kb_options *off = OPTIONS(ctx, "holdout", "off");
    kb_model *real = held_out(ctx, numbers, "square"), *two = held_out(ctx, classes, "square");
    kb_model *without = model_of(ctx, off, numbers);
    const struct {
        const kb_model *model;
        kb_request request;
        const char *message;
    } wrong[] = {
        {two, {sizeof(kb_request), KB_OUTPUT_INTERVAL, 0.9}, "intervals are for regression"},
        {real, {sizeof(kb_request), KB_OUTPUT_SET, 0.9}, "sets are for classes"},
        {real, {sizeof(kb_request), KB_OUTPUT_INTERVAL, 1}, "coverage 1: must be"},
        {real, {sizeof(kb_request), (kb_output)9, 0.9}, "9 is no kb_output"},
        {real, {0, KB_OUTPUT_LABEL, 0.9}, "kb_request"},
        {without, {sizeof(kb_request), KB_OUTPUT_INTERVAL, 0.9}, "no rows held out"},
        {without, {sizeof(kb_request), KB_OUTPUT_NOVELTY, 0.9}, "no rows held out"},
        {real, {sizeof(kb_request), KB_OUTPUT_PROBABILITY, 0.9}, "no probabilities"},
    };
    (void)unused;
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        assert_int_equal(kb_request_check(ctx, wrong[k].model, &wrong[k].request), KB_ERR_ARGUMENT);
        if (!strstr(kb_context_message(ctx), wrong[k].message))
            fail_msg("%s", kb_context_message(ctx));
    }
    kb_options_free(off);
    kb_model_free(real), kb_model_free(two), kb_model_free(without);
    kb_data_free(numbers), kb_data_free(classes);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_classifier_has_probabilities),
        cmocka_unit_test(intervals_and_sets_grow_with_the_coverage),
        cmocka_unit_test(far_rows_are_novel),
        cmocka_unit_test(files_give_the_same),
        cmocka_unit_test(what_a_model_cannot_give_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
