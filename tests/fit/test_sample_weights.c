/* The weights of a fit: those of the samples times those of their classes. */
#include "model/fitted.h"

#include "fit/sample_weights.h"

static kb_data *labelled(kb_context *ctx, size_t N, const double *label, const double *weight) {
    kb_data *data;
    double *x = test_numbers(1, N);
    assert_ok(ctx, data_from_dense(ctx, N, 1, x, label, &data));
    free(x);
    if (weight) {
        assert_ok(ctx, kb_alloc(ctx, N, sizeof *weight, &data->weight));
        memcpy(data->weight, weight, N * sizeof *weight);
    }
    return data;
}

/* Words of a CSV: sorted, numbers among them. */
static kb_data *worded(kb_context *ctx) {
    static const char *const word[] = {"1", "New York", "cow", "x, y"};
    kb_data *data = labelled(ctx, 5, (const double[]){3, 1, 0, 2, 1}, NULL);
    assert_ok(ctx, kb_alloc(ctx, 4, sizeof(char *), &data->class_name));
    data->class_count = 4;
    for (int k = 0; k < 4; k++)
        assert_ok(ctx, kb_strdup(ctx, word[k], &data->class_name[k]));
    return data;
}

static kb_status weigh(kb_context *ctx, const char *task, const char *how, const kb_data *data,
                       double **out) {
    kb_options *options = OPTIONS(ctx, "task", task, "class-weight", how);
    kb_targets t;
    assert_ok(ctx, kb_targets_build(ctx, CONFIG(options)->task, data, &t));
    kb_status status = kb_sample_weights_build(ctx, CONFIG(options), data, &t, out);
    kb_targets_release(ctx, &t);
    kb_options_free(options);
    return status;
}

/* With a file of class weights of this text. */
static test_path file;
static kb_status weigh_by(kb_context *ctx, const char *text, const kb_data *data, double **out) {
    file = file_with("classes", text);
    kb_status status = weigh(ctx, "classification", file.text, data, out);
    remove(file.text);
    return status;
}

static void ones_are_not_kept(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = labelled(ctx, 3, (const double[]){1, 2, 2}, NULL);
    double *weight = (double *)ctx;
    (void)unused;
    assert_ok(ctx, weigh(ctx, "classification", "none", data, &weight));
    assert_null(weight);
    weight = (double *)ctx;
    assert_ok(ctx, weigh(ctx, "regression", "none", data, &weight));
    assert_null(weight);
    kb_data_free(data);
    kb_context_free(ctx);
}

static void samples_keep_their_own_weights(void **unused) {
    static const double own[] = {0.5, 0, 7};
    kb_context *ctx = test_context();
    kb_data *data = labelled(ctx, 3, (const double[]){1, 2, 2}, own);
    double *weight;
    (void)unused;
    assert_ok(ctx, weigh(ctx, "classification", "none", data, &weight));
    assert_same_bits(weight, own, 3);
    assert_true(weight != data->weight);
    kb_release(ctx, weight);
    assert_ok(ctx, weigh(ctx, "regression", "none", data, &weight));
    assert_same_bits(weight, own, 3);
    kb_release(ctx, weight);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* W / (C W_c) = 4 / (2 * 1) and 4 / (2 * 3); with their own, 8 / (2 * 1) and 8 / (2 * 7). */
static void balanced_classes_weigh_the_same(void **unused) {
    static const double label[] = {1, 2, 2, 2}, want[] = {2, 4. / 6, 4. / 6, 4. / 6};
    static const double own[] = {1, 4, 0, 3}, want_own[] = {4, 4 * 8. / 14, 0, 3 * 8. / 14};
    kb_context *ctx = test_context();
    kb_data *plain = labelled(ctx, 4, label, NULL), *weighed = labelled(ctx, 4, label, own);
    double *weight;
    (void)unused;
    assert_ok(ctx, weigh(ctx, "classification", "balanced", plain, &weight));
    assert_same_bits(weight, want, 4);
    kb_release(ctx, weight);
    assert_ok(ctx, weigh(ctx, "classification", "balanced", weighed, &weight));
    assert_same_bits(weight, want_own, 4);
    kb_release(ctx, weight);
    kb_data_free(plain);
    kb_data_free(weighed);
    kb_context_free(ctx);
}

static void balancing_keeps_the_sum(void **unused) {
    enum { N = 900, CLASSES = 300 };
    kb_context *ctx = test_context();
    double label[N], own[N], all = 0, total[CLASSES] = {0}, *weight;
    (void)unused;
    for (int i = 0; i < N; i++) {
        label[i] = i % CLASSES;
        own[i] = test_uniform(3, (uint64_t)i);
        all += own[i];
    }
    kb_data *data = labelled(ctx, N, label, own);
    assert_ok(ctx, weigh(ctx, "classification", "balanced", data, &weight));
    for (int i = 0; i < N; i++)
        total[(int)label[i]] += weight[i];
    for (int c = 0; c < CLASSES; c++) /* a few roundings of sums of 900 */
        assert_true(fabs(total[c] - all / CLASSES) < 1e-12 * all);
    kb_release(ctx, weight);
    kb_data_free(data);
    kb_context_free(ctx);
}

static void a_file_names_classes(void **unused) {
    static const char *const text[] = {"-1 2\n+5 0.25\n", "-1.0,2\n 5e0 ,  0.25\n",
                                       "# a comment\n\n5\t0.25\r\n  -1 , 2\n",
                                       "5 0.25\n-1 2\n0.5 1"};
    kb_context *ctx = test_context();
    kb_data *data = labelled(ctx, 4, (const double[]){5, -1, 0.5, 5}, (const double[]){1, 3, 1, 8});
    double *weight;
    (void)unused;
    for (int k = 0; k < 4; k++) {
        assert_ok(ctx, weigh_by(ctx, text[k], data, &weight));
        assert_same_bits(weight, ((const double[]){0.25, 6, 1, 2}), 4);
        kb_release(ctx, weight);
    }
    assert_ok(ctx, weigh_by(ctx, "# all keep 1\n", data, &weight));
    assert_same_bits(weight, ((const double[]){1, 3, 1, 8}), 4);
    kb_release(ctx, weight);
    kb_data_free(data);
    kb_context_free(ctx);
}

static void words_name_classes_too(void **unused) {
    static const char *const text[] = {"New York 2\ncow 3\nx, y 4\n1.0 5\n",
                                       "New York,2\ncow,3\nx, y,4\n+1,5\n"};
    kb_context *ctx = test_context();
    kb_data *data = worded(ctx);
    double *weight;
    (void)unused;
    for (int k = 0; k < 2; k++) {
        assert_ok(ctx, weigh_by(ctx, text[k], data, &weight));
        assert_same_bits(weight, ((const double[]){4, 2, 5, 3, 2}), 5);
        kb_release(ctx, weight);
    }
    kb_data_free(data);
    kb_context_free(ctx);
}

static void mistakes_of_a_file_are_named(void **unused) {
    static const struct {
        int words;
        const char *text, *message;
    } known[] = {
        {0, "1 2\n3 2\n", ":2: no sample has the label '3'"},
        {0, "one 2\n", ":1: no sample has the label 'one'"},
        {0, "nan 2\n", ":1: no sample has the label 'nan'"},
        {0, "1 2 3\n", ":1: no sample has the label '1 2'"},
        {0, "1,,3\n", ":1: no sample has the label '1,'"},
        {1, "dog 2\n", ":1: no sample has the label 'dog'; the labels are 1, New York, cow, x, y"},
        {1, "Cow 2\n",
         ":1: no sample has the label 'Cow'; did you mean 'cow'? The labels are 1, "
         "New York, cow, x, y"},
        {1, "2 2\n", ":1: no sample has the label '2'; the labels are 1, New York, cow, x, y"},
        {0, "1 2\n1.0 3\n", ":2: the label '1.0' comes twice"},
        {0, "1\n", ":1: '1' is not a label and its weight"},
        {0, ", 1\n", ":1: ', 1' is not a label and its weight"},
        {0, "1,\n", ":1: '1,' is not a label and its weight"},
        {0, "1 -2\n", ":1: the weight -2 is negative"},
        {0, "1 nan\n", ":1: 'nan' is not a number (kerbin takes no missing values)"},
        {0, "1 inf\n", ":1: 'inf' is infinite (kerbin takes finite numbers only)"},
        {0, "1 much\n", ":1: 'much' is not a number"},
        {0, "", ": the file is empty"},
    };
    kb_context *ctx = test_context();
    kb_data *numbers = labelled(ctx, 3, (const double[]){1, 2, 2}, NULL), *words = worded(ctx);
    (void)unused;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        double *weight = (double *)ctx;
        char want[700];
        assert_int_equal(weigh_by(ctx, known[i].text, known[i].words ? words : numbers, &weight),
                         KB_ERR_DATA);
        snprintf(want, sizeof want, "%s%s", file.text, known[i].message);
        assert_string_equal(kb_context_message(ctx), want);
        assert_null(weight);
    }
    double *weight;
    assert_fails(ctx, KB_ERR_IO, "/no/such/file: cannot open: No such file or directory",
                 weigh(ctx, "classification", "/no/such/file", numbers, &weight));
    kb_data_free(numbers);
    kb_data_free(words);
    kb_context_free(ctx);
}

static void regression_has_no_classes(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = labelled(ctx, 3, (const double[]){1, 2, 2}, NULL);
    double *weight = (double *)ctx;
    (void)unused;
    assert_fails(ctx, KB_ERR_ARGUMENT, "--class-weight balanced: is for classification",
                 weigh(ctx, "regression", "balanced", data, &weight));
    assert_null(weight);
    kb_data_free(data);
    kb_context_free(ctx);
}

static void a_class_of_no_weight_is_refused(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = labelled(ctx, 3, (const double[]){1.5, 2, 2}, (const double[]){0, 2, 3});
    kb_data *plain = labelled(ctx, 3, (const double[]){1, 2, 2}, NULL), *words = worded(ctx);
    double *weight;
    (void)unused;
    assert_fails(ctx, KB_ERR_DATA, "all samples of the class 1.5 have weight 0",
                 weigh(ctx, "classification", "none", data, &weight));
    assert_fails(ctx, KB_ERR_DATA, "all samples of the class 1.5 have weight 0",
                 weigh(ctx, "classification", "balanced", data, &weight));
    assert_fails(ctx, KB_ERR_DATA, "all samples of the class 2 have weight 0",
                 weigh_by(ctx, "2 0\n", plain, &weight));
    assert_fails(ctx, KB_ERR_DATA, "all samples of the class 'cow' have weight 0",
                 weigh_by(ctx, "cow 0\n", words, &weight));
    assert_ok(ctx, weigh(ctx, "regression", "none", data, &weight));
    kb_release(ctx, weight);
    kb_data_free(data);
    kb_data_free(plain);
    kb_data_free(words);
    kb_context_free(ctx);
}

/* The solvers square weights: they must leave room for that. */
static void huge_weights_are_refused(void **unused) {
    kb_context *ctx = test_context();
    kb_data *huge = labelled(ctx, 3, (const double[]){1, 2, 2}, (const double[]){1, 1e31, 1});
    kb_data *uneven = labelled(ctx, 3, (const double[]){1, 2, 2}, (const double[]){5e-324, 1, 0});
    double *weight;
    (void)unused;
    assert_fails(ctx, KB_ERR_DATA, "weights that sum to 1e+31, beyond 1e+30: scale them",
                 weigh(ctx, "classification", "none", huge, &weight));
    assert_fails(ctx, KB_ERR_DATA, "weights that sum to 1e+31, beyond 1e+30: scale them",
                 weigh(ctx, "regression", "none", huge, &weight));
    assert_fails(ctx, KB_ERR_DATA, "weights that sum to inf, beyond 1e+30: scale them",
                 weigh(ctx, "classification", "balanced", uneven, &weight));
    assert_null(weight);
    kb_data_free(huge);
    kb_data_free(uneven);
    kb_context_free(ctx);
}

/* ---- through the options ----------------------------------------------- */

static void the_option_reaches_the_reader(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "weights", "column:w");
    kb_data *data;
    (void)unused;
    file = file_with("data.csv", "w,none,y\n2,1,0\n3,4,1\n");
    assert_ok(ctx, kb_data_read(ctx, options, file.text, NULL, &data));
    assert_int_equal(kb_data_features(data), 1);
    assert_same_bits(data->weight, ((const double[]){2, 3}), 2);
    kb_data_free(data);
    assert_ok(ctx, kb_options_set(ctx, options, "weights", "none"));
    assert_ok(ctx, kb_data_read(ctx, options, file.text, NULL, &data));
    assert_int_equal(kb_data_features(data), 2);
    assert_null(data->weight);
    kb_data_free(data);
    remove(file.text);
    kb_options_free(options);
    kb_context_free(ctx);
}

typedef struct inputs {
    kb_options *options;
    kb_data *data;
    kb_targets targets;
} inputs;

static int build(kb_context *ctx, void *arg) {
    inputs *in = arg;
    double *weight;
    kb_status status =
        kb_sample_weights_build(ctx, CONFIG(in->options), in->data, &in->targets, &weight);
    if (status != KB_OK)
        assert_null(weight);
    kb_release(ctx, weight);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    test_path path = file_with("classes", "cow 2\n1 3\n");
    const char *const how[] = {"balanced", path.text};
    (void)unused;
    for (int k = 0; k < 2; k++) {
        inputs in = {.options = OPTIONS(ctx, "class-weight", how[k]), .data = worded(ctx)};
        assert_ok(ctx, kb_targets_build(ctx, CONFIG(in.options)->task, in.data, &in.targets));
        run_with_allocation_failures(build, &in);
        kb_targets_release(ctx, &in.targets);
        kb_data_free(in.data);
        kb_options_free(in.options);
    }
    remove(path.text);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ones_are_not_kept),
        cmocka_unit_test(samples_keep_their_own_weights),
        cmocka_unit_test(balanced_classes_weigh_the_same),
        cmocka_unit_test(balancing_keeps_the_sum),
        cmocka_unit_test(a_file_names_classes),
        cmocka_unit_test(words_name_classes_too),
        cmocka_unit_test(mistakes_of_a_file_are_named),
        cmocka_unit_test(regression_has_no_classes),
        cmocka_unit_test(a_class_of_no_weight_is_refused),
        cmocka_unit_test(huge_weights_are_refused),
        cmocka_unit_test(the_option_reaches_the_reader),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
