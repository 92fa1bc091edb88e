/* Targets from labels. */
#include "model/fitted.h"

#include "fit/targets.h"

static kb_data *labelled(kb_context *ctx, size_t N, const double *label) {
    kb_data *data;
    double *x = test_numbers(1, N);
    assert_ok(ctx, data_from_dense(ctx, N, 1, x, label, &data));
    free(x);
    return data;
}

/* The task that `--task auto` sees in these labels: the number of classes. */
static size_t classes_seen(size_t N, const double *label) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "task", "auto");
    kb_data *data = labelled(ctx, N, label);
    kb_targets t;
    assert_ok(ctx, kb_targets_build(ctx, CONFIG(options)->task, data, &t));
    size_t classes = t.classes;
    kb_targets_release(ctx, &t);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
    return classes;
}

static void the_task_is_told_from_the_labels(void **unused) {
    double label[100];
    (void)unused;
    assert_int_equal(classes_seen(4, (const double[]){-1, 1, 1, -1}), 2);
    assert_int_equal(classes_seen(3, (const double[]){0, 2, 1}), 3);
    assert_int_equal(classes_seen(3, (const double[]){0.5, 2, 1}), 0);
    assert_int_equal(classes_seen(2, (const double[]){1e20, -7}), 2);
    assert_int_equal(classes_seen(3, (const double[]){0.0, -0.0, 1}), 2);
    for (int k = 0; k < 100; k++)
        label[k] = k % KB_AUTO_CLASSES;
    assert_int_equal(classes_seen(100, label), KB_AUTO_CLASSES);
    for (int k = 0; k < 100; k++)
        label[k] = k % (KB_AUTO_CLASSES + 1);
    assert_int_equal(classes_seen(100, label), 0);
}

static void the_option_overrules_the_labels(void **unused) {
    kb_context *ctx = test_context();
    kb_options *classes = OPTIONS(ctx, "task", "classification");
    kb_options *numbers = OPTIONS(ctx, "task", "regression");
    const double label[] = {0.5, -2.25, 0.5};
    kb_data *data = labelled(ctx, 3, label);
    kb_targets t;
    double y[3];
    (void)unused;
    assert_ok(ctx, kb_targets_build(ctx, CONFIG(classes)->task, data, &t));
    assert_int_equal(t.classes, 2);
    assert_true(t.class_value[0] == -2.25 && t.class_value[1] == 0.5);
    kb_targets_release(ctx, &t);
    assert_null(t.class_of);
    assert_ok(ctx, kb_targets_build(ctx, CONFIG(numbers)->task, data, &t));
    assert_int_equal(t.classes, 0);
    assert_int_equal(t.outputs, 1);
    kb_targets_fill(&t, 3, 0, 1, y);
    assert_same_bits(y, label, 3);
    kb_targets_release(ctx, &t);
    kb_data_free(data);
    kb_options_free(classes);
    kb_options_free(numbers);
    kb_context_free(ctx);
}

static void of_two_classes_the_second_is_positive(void **unused) {
    static const double label[][4] = {{1, -1, -1, 1}, {7, 3, 3, 7}};
    static const double want[] = {1, -1, -1, 1};
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "task", "auto");
    (void)unused;
    for (int k = 0; k < 2; k++) {
        kb_data *data = labelled(ctx, 4, label[k]);
        kb_targets t;
        double y[4];
        assert_ok(ctx, kb_targets_build(ctx, CONFIG(options)->task, data, &t));
        assert_int_equal(t.outputs, 1);
        kb_targets_fill(&t, 4, 0, 1, y);
        assert_same_bits(y, want, 4);
        kb_targets_release(ctx, &t);
        kb_data_free(data);
    }
    kb_options_free(options);
    kb_context_free(ctx);
}

/* 300 classes in no order, taken in batches of any size. */
static void many_classes_have_an_output_each(void **unused) {
    enum { N = 900, CLASSES = 300 };
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "task", "classification");
    double label[N];
    kb_targets t;
    (void)unused;
    for (int i = 0; i < N; i++)
        label[i] = 10 * ((i * 7) % CLASSES) - 100;
    kb_data *data = labelled(ctx, N, label);
    assert_ok(ctx, kb_targets_build(ctx, CONFIG(options)->task, data, &t));
    assert_int_equal(t.classes, CLASSES);
    assert_int_equal(t.outputs, CLASSES);
    for (int c = 0; c < CLASSES; c++)
        assert_true(t.class_value[c] == 10 * c - 100);
    for (size_t first = 0; first < CLASSES; first += 32) {
        size_t columns = CLASSES - first < 32 ? CLASSES - first : 32;
        double *y = malloc(N * columns * sizeof *y);
        kb_targets_fill(&t, N, first, columns, y);
        for (size_t i = 0; i < N; i++)
            for (size_t c = 0; c < columns; c++)
                assert_true(y[i * columns + c] == (label[i] == t.class_value[first + c] ? 1 : -1));
        free(y);
    }
    kb_targets_release(ctx, &t);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

static void labels_that_cannot_be_learned_are_refused(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "task", "auto"),
               *numbers = OPTIONS(ctx, "task", "regression");
    kb_data *none = labelled(ctx, 3, NULL), *same = labelled(ctx, 3, (const double[]){5, 5, 5});
    kb_data *words = data_of(ctx, 10, 2, WORDS);
    kb_targets t;
    (void)unused;
    assert_fails(ctx, KB_ERR_DATA, "the data have no labels to learn from",
                 kb_targets_build(ctx, CONFIG(options)->task, none, &t));
    assert_fails(ctx, KB_ERR_DATA,
                 "all 3 labels are the same: classification needs two classes or more",
                 kb_targets_build(ctx, CONFIG(options)->task, same, &t));
    assert_fails(ctx, KB_ERR_DATA, "--task regression: the label 'ape' is a word",
                 kb_targets_build(ctx, CONFIG(numbers)->task, words, &t));
    assert_ok(ctx, kb_targets_build(ctx, CONFIG(numbers)->task, same,
                                    &t)); /* a constant can be learned */
    kb_targets_release(ctx, &t);
    kb_data_free(none);
    kb_data_free(same);
    kb_data_free(words);
    kb_options_free(options);
    kb_options_free(numbers);
    kb_context_free(ctx);
}

/* Weights are kept as float, and the solver squares: numbers must leave room for both. */
static void labels_beyond_a_float_are_refused(void **unused) {
    static const double bad[][2] = {{1e31, 0}, {-1e200, 1.5}, {0, 1e-40}, {1e-300, -1e-300}};
    static const double good[][2] = {{1e30, -1e30}, {1e-20, 0}, {1e29, 1e29}, {0, 0}};
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "task", "regression");
    kb_options *classes = OPTIONS(ctx, "task", "classification");
    kb_targets t;
    (void)unused;
    for (int k = 0; k < 4; k++) {
        kb_data *data = labelled(ctx, 2, bad[k]);
        assert_int_equal(kb_targets_build(ctx, CONFIG(options)->task, data, &t), KB_ERR_DATA);
        assert_non_null(strstr(kb_context_message(ctx), "scale them"));
        assert_ok(ctx, kb_targets_build(ctx, CONFIG(classes)->task, data,
                                        &t)); /* as names they are fine */
        kb_targets_release(ctx, &t);
        kb_data_free(data);
        data = labelled(ctx, 2, good[k]);
        assert_ok(ctx, kb_targets_build(ctx, CONFIG(options)->task, data, &t));
        kb_targets_release(ctx, &t);
        kb_data_free(data);
    }
    kb_options_free(options);
    kb_options_free(classes);
    kb_context_free(ctx);
}

/* The list of classes is kept in the model: it holds the classes, not the rows. */
static void the_list_of_classes_is_short(void **unused) {
    enum { N = 5000 };
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    kb_options *options = OPTIONS(ctx, "task", "auto");
    kb_data *data = data_of(ctx, N, 1, TWO);
    kb_targets t;
    long before = state.allocations;
    (void)unused;
    assert_ok(ctx, kb_targets_build(ctx, CONFIG(options)->task, data, &t));
    /* The table of labels seen and its keys, the classes and their array cut to size, the numbers.
     */
    assert_int_equal(state.allocations - before, 5);
    kb_targets_release(ctx, &t);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

static int build(kb_context *ctx, void *arg) {
    fit_inputs *in = arg;
    kb_targets t;
    kb_status status = kb_targets_build(ctx, CONFIG(in->options)->task, in->data, &t);
    kb_targets_release(ctx, &t);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (labels kind = REAL; kind <= WORDS; kind++) {
        fit_inputs in = {OPTIONS(ctx, "task", "auto"), data_of(ctx, 50, 2, kind)};
        run_with_allocation_failures(build, &in);
        fit_inputs_free(&in);
    }
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_task_is_told_from_the_labels),
        cmocka_unit_test(the_option_overrules_the_labels),
        cmocka_unit_test(of_two_classes_the_second_is_positive),
        cmocka_unit_test(many_classes_have_an_output_each),
        cmocka_unit_test(labels_that_cannot_be_learned_are_refused),
        cmocka_unit_test(labels_beyond_a_float_are_refused),
        cmocka_unit_test(the_list_of_classes_is_short),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
