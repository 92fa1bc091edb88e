/* What is written reads back as the same samples, to the bit. */
#include "support.h"

#include "core/random.h"
#include "io/reader.h"
#include "data/synthetic.h"

#include <math.h>

static kb_data *back_again(kb_context *ctx, const kb_data *data, const char *name,
                           const char *label) {
    kb_read_spec spec = {.label = label, .to_predict = !data->label, .features = data->features};
    kb_data *back;
    test_path path = path_of(name);
    assert_ok(ctx, kb_data_write(ctx, data, path.text));
    assert_ok(ctx, kb_read(ctx, &spec, path.text, &back));
    remove(path.text);
    return back;
}

static void assert_same_samples(const kb_data *a, const kb_data *b) {
    assert_int_equal(a->rows, b->rows);
    assert_int_equal(a->features, b->features);
    assert_int_equal(a->label == NULL, b->label == NULL);
    if (a->label)
        assert_memory_equal(a->label, b->label, a->rows * sizeof *a->label);
    double *x = calloc(a->features, sizeof *x), *y = calloc(a->features, sizeof *y);
    for (size_t i = 0; i < a->rows; i++) {
        kb_row p = kb_data_row(a, i), q = kb_data_row(b, i);
        memset(x, 0, a->features * sizeof *x);
        memset(y, 0, a->features * sizeof *y);
        for (size_t k = 0; k < p.count; k++)
            x[p.column ? p.column[k] : k] = p.value[k];
        for (size_t k = 0; k < q.count; k++)
            y[q.column ? q.column[k] : k] = q.value[k];
        for (size_t j = 0; j < a->features; j++)
            assert_true(x[j] == y[j]);
    }
    free(x);
    free(y);
}

/* Numbers of all sizes; `share` of them are not zero. */
static kb_data *random_samples(kb_context *ctx, double share, int labelled) {
    enum { N = 300, D = 12 };
    static double x[N * D], y[N];
    kb_data *data;
    for (size_t k = 0; k < N * D; k++) {
        kb_uniform2 p = kb_random_uniform(9, KB_STREAM_SYNTHETIC, k, 0);
        kb_uniform2 q = kb_random_uniform(9, KB_STREAM_SYNTHETIC, k, 1);
        x[k] = p.u < share ? ldexp(p.v - 0.5, (int)(q.u * 40) - 20) : 0;
        if (k % 3 == 0)
            x[k] = rint(8 * x[k]) / 8;
        y[k % N] = k % 2 ? q.v : rint(10 * q.v);
    }
    for (size_t i = 0; i < N; i++)
        x[i * D + D - 1] = i == 0; /* the last column is nearly empty */
    assert_ok(ctx, data_from_dense(ctx, N, D, x, labelled ? y : NULL, &data));
    assert_ok(ctx, kb_data_choose_form(ctx, data));
    return data;
}

static void samples_survive_the_round_trip(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int sparse = 0; sparse < 2; sparse++)
        for (int labelled = 0; labelled < 2; labelled++) {
            kb_data *data = random_samples(ctx, sparse ? 0.1 : 0.9, labelled);
            assert_int_equal(kb_data_is_sparse(data), sparse);
            for (int csv = 0; csv < 2; csv++) {
                kb_data *back =
                    back_again(ctx, data, csv ? "w.csv" : "w.txt", labelled ? NULL : "none");
                assert_same_samples(data, back);
                kb_data_free(back);
            }
            kb_data_free(data);
        }
    kb_context_free(ctx);
}

static void libsvm_text_keeps_the_number_of_features(void **unused) {
    kb_context *ctx = test_context();
    const double x[] = {1, 0, 0, 0, 0, 0}, y[] = {1, 2};
    kb_read_spec spec = {0};
    kb_data *data, *back;
    test_path path = path_of("d.txt");
    (void)unused;
    assert_ok(ctx, data_from_dense(ctx, 2, 3, x, y, &data));
    assert_ok(ctx, kb_data_write(ctx, data, path.text));
    char *text = bytes_of(path.text, NULL);
    assert_string_equal(text, "1 1:1 3:0\n2\n");
    free(text);
    assert_ok(ctx, kb_read(ctx, &spec, path.text, &back));
    assert_same_samples(data, back);
    remove(path.text);
    kb_data_free(data);
    kb_data_free(back);
    kb_context_free(ctx);
}

static void names_and_words_survive_in_csv(void **unused) {
    static const char text[] = "\"a, b\",c\"d,\"#e\",y\n1,2,3,\"new \"\"york\"\"\"\n4,5,6,rome\n";
    kb_context *ctx = test_context();
    kb_read_spec spec = {0};
    kb_data *data, *back;
    test_path path = file_with("names.csv", text);
    (void)unused;
    assert_ok(ctx, kb_read(ctx, &spec, path.text, &data));
    back = back_again(ctx, data, "names2.csv", NULL);
    remove(path.text);
    assert_same_samples(data, back);
    for (size_t j = 0; j < 3; j++)
        assert_string_equal(data->feature_name[j], back->feature_name[j]);
    assert_string_equal(back->label_name, "y");
    assert_int_equal(back->class_count, 2);
    assert_string_equal(back->class_name[0], "new \"york\"");
    kb_data_free(data);
    kb_data_free(back);
    kb_context_free(ctx);
}

static void a_cancelled_write_leaves_no_file(void **unused) {
    test_state state = {.cancel_after = 2}; /* the first report is the generator's */
    kb_context *ctx = test_context_with(&state, 1);
    kb_data *data;
    test_path path = path_of("cancelled.txt");
    (void)unused;
    assert_ok(ctx, kb_synthetic_build(ctx, "rings", 100, 0, 1, &data));
    assert_int_equal(kb_data_write(ctx, data, path.text), KB_ERR_CANCELLED);
    assert_null(fopen(path.text, "r"));
    kb_data_free(data);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

static int write_one(kb_context *ctx, void *data) {
    test_path path = path_of("fail.csv");
    kb_status status = kb_data_write(ctx, data, path.text);
    remove(path.text);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data;
    (void)unused;
    assert_ok(ctx, kb_synthetic_build(ctx, "rings", 10, 0, 1, &data));
    run_with_allocation_failures(write_one, data);
    kb_data_free(data);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_survive_the_round_trip),
        cmocka_unit_test(libsvm_text_keeps_the_number_of_features),
        cmocka_unit_test(names_and_words_survive_in_csv),
        cmocka_unit_test(a_cancelled_write_leaves_no_file),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
