/* LIBSVM text into samples. */
#include "samples.h"

#include "io/reader.h"

#include <math.h>

static test_path path; /* of the last text that was read */

static kb_status read_text(kb_context *ctx, const kb_read_spec *spec, const char *text,
                           kb_data **out) {
    path = file_with("data.txt", text);
    kb_status status = kb_read(ctx, spec, path.text, out);
    remove(path.text);
    return status;
}

static void samples_come_out_as_they_were_written(void **unused) {
    kb_context *ctx = test_context();
    kb_read_spec spec = {0};
    kb_data *data;
    (void)unused;
    assert_ok(ctx, read_text(ctx, &spec,
                             "# a comment\n"
                             "+1 1:0.5 3:-2e1 # more\n"
                             "\n"
                             "-1.5\tqid:7  2:.25\t6:1 \r\n"
                             "  3 \n"
                             "1 2:7#tight",
                             &data));
    assert_int_equal(kb_data_rows(data), 4);
    assert_int_equal(kb_data_features(data), 6);
    assert_true(kb_data_is_sparse(data));
    const double label[] = {1, -1.5, 3, 1};
    assert_memory_equal(kb_data_labels(data), label, sizeof label);
    assert_true(cell(data, 0, 0) == 0.5 && cell(data, 0, 2) == -20 && cell(data, 0, 1) == 0);
    assert_true(cell(data, 1, 1) == 0.25 && cell(data, 1, 5) == 1);
    assert_int_equal(kb_data_row(data, 2).count, 0);
    assert_true(cell(data, 3, 1) == 7);
    kb_data_free(data);
    kb_context_free(ctx);
}

static void full_rows_become_dense(void **unused) {
    kb_context *ctx = test_context();
    kb_read_spec spec = {0};
    kb_data *data;
    (void)unused;
    assert_ok(ctx, read_text(ctx, &spec, "1 1:1 2:2\n0 2:3\n", &data));
    assert_false(kb_data_is_sparse(data));
    const double want[] = {1, 2, 0, 3};
    assert_memory_equal(data->dense, want, sizeof want);
    kb_data_free(data);
    kb_context_free(ctx);
}

static void zero_based_data_start_at_zero(void **unused) {
    kb_context *ctx = test_context();
    kb_read_spec spec = {.zero_based = 1};
    kb_data *data;
    (void)unused;
    assert_ok(ctx, read_text(ctx, &spec, "1 0:5 1:6\n", &data));
    assert_int_equal(kb_data_features(data), 2);
    assert_true(cell(data, 0, 0) == 5 && cell(data, 0, 1) == 6);
    kb_data_free(data);
    kb_context_free(ctx);
}

static void mistakes_are_named_with_their_line(void **unused) {
    static const struct {
        const char *text, *message;
    } known[] = {
        {"1 1:1\n1 0:1\n", ":2: feature index 0 in 1-based data (use --zero-based)"},
        {"1 2:1 1:1\n",
         ":1: feature index 1 follows a larger one; indices must increase along a line"},
        {"1 2:1 2:1\n", ":1: feature index 2 comes twice; indices must increase along a line"},
        {"1 2147483648:1\n", ":1: feature index 2147483648 is too large (at most 2147483647)"},
        {"1 99999999999999999999:1\n",
         ":1: feature index 99999999999999999999 is too large (at most 2147483647)"},
        {"1 1:abc\n", ":1: 'abc' is not a number"},
        {"1 1:\n", ":1: '' is not a number (kerbin takes no missing values)"},
        {"1 1: 5\n", ":1: '' is not a number (kerbin takes no missing values)"},
        {"1 1:1x 2:1\n", ":1: '1x' is not a number"},
        {"1 1:0x10\n", ":1: '0x10' is not a number"},
        {"1 1:nanx\n", ":1: 'nanx' is not a number"},
        {"1 1:-NA\n", ":1: '-NA' is not a number"},
        {"1 1:--nan\n", ":1: '--nan' is not a number"},
        {"1 1:-inf\n", ":1: '-inf' is infinite (kerbin takes finite numbers only)"},
        {"1 1:1e999\n", ":1: '1e999' is too large for a double"},
        {"abc 1:1\n", ":1: 'abc' is not a number"},
        {"1,3 1:1\n", ":1: '1,3' are several labels; kerbin takes one a line"},
        {"\n\n1:1 2:2\n", ":3: '1:1' stands where the label should be"},
        {"1 1:1 foo\n", ":1: 'foo' is not index:value"},
        {"1 1:1 -2:1\n", ":1: '-2:1' is not index:value"},
        {"1 1:1 2\n", ":1: '2' is not index:value"},
        {"1 1:1 \x1b[31m\n", ":1: '?[31m' is not index:value"},
        {"1 1:1\n1 2 3 4\n", ":2: '2' is not index:value"},
        {"1\n0\n1\n", ": no features: its lines hold labels only"},
        {"# nothing\n\n", ": no samples"},
        {"\n", ": no samples"},
        {"", ": the file is empty"},
    };
    kb_context *ctx = test_context();
    kb_read_spec spec = {0};
    (void)unused;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        kb_data *data = (kb_data *)ctx;
        char want[1024];
        kb_status status = read_text(ctx, &spec, known[i].text, &data);
        snprintf(want, sizeof want, "%s%s", path.text, known[i].message);
        assert_string_equal(kb_context_message(ctx), want);
        assert_int_equal(status, KB_ERR_DATA);
        assert_null(data);
    }
    kb_context_free(ctx);
}

static void missing_values_are_nan_and_counted(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    kb_read_spec spec = {0};
    kb_data *data;
    (void)unused;
    assert_ok(ctx,
              read_text(ctx, &spec, "1 1:nan 2:5\n2 1:NA 2:? 3:1\n3 1:-nan#x\n4 2:1 3:1", &data));
    assert_non_null(data->dense);
    assert_int_equal(data->missing, 1);
    assert_non_null(data->table);
    const size_t want[] = {3, 1, 0};
    for (size_t j = 0; j < 3; j++) {
        assert_int_equal(data->table->column[j].type, KB_COLUMN_NUMBER);
        assert_int_equal(data->table->column[j].missing, want[j]);
    }
    const double cells[] = {NAN, 5, 0, NAN, NAN, 1, NAN, 0, 0, 0, 1, 1};
    for (size_t k = 0; k < 12; k++)
        assert_true(isnan(cells[k]) ? isnan(data->dense[k]) : data->dense[k] == cells[k]);
    assert_string_equal(state.log, "");
    kb_data_free(data);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

/* The table would have two thousand million columns. */
static void missing_values_of_sparse_rows_are_zero(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    kb_read_spec spec = {0};
    kb_data *data;
    (void)unused;
    assert_ok(ctx, read_text(ctx, &spec, "1 1:nan 2147483647:5\n2 1:3 2:null\n", &data));
    assert_null(data->dense);
    assert_null(data->table);
    assert_int_equal(data->missing, 0);
    assert_true(cell(data, 0, 0) == 0 && cell(data, 1, 0) == 3 && cell(data, 1, 1) == 0);
    assert_string_equal(state.log, "2 missing values in sparse rows are taken as 0\n");
    kb_data_free(data);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

/* NaN in files to predict; who trains leaves such rows out (kb_data_keep_labelled). */
static void missing_labels_are_nan(void **unused) {
    static const char *const text = "? 1:1 2:2\n3 1:1 2:3\nNA 1:5 2:6\n";
    kb_context *ctx = test_context();
    kb_read_spec spec = {.to_predict = 1, .features = 2};
    kb_data *data;
    kb_input *in;
    (void)unused;
    assert_ok(ctx, read_text(ctx, &spec, text, &data));
    assert_non_null(data->label);
    assert_true(isnan(data->label[0]) && data->label[1] == 3 && isnan(data->label[2]));
    kb_data_free(data);

    path = file_with("data.txt", text);
    spec = (kb_read_spec){0};
    assert_ok(ctx, kb_input_open(ctx, path.text, &in));
    assert_ok(ctx, kb_data_create(ctx, &data));
    assert_ok(ctx, kb_libsvm_read(ctx, &spec, in, data));
    assert_ok(ctx, kb_data_keep_labelled(ctx, path.text, data));
    assert_int_equal(data->rows, 1);
    assert_true(data->label[0] == 3 && cell(data, 0, 1) == 3);
    kb_input_free(in);
    kb_data_free(data);
    remove(path.text);
    kb_context_free(ctx);
}

static void data_to_predict_may_have_no_labels(void **unused) {
    kb_context *ctx = test_context();
    kb_read_spec spec = {.to_predict = 1, .features = 3};
    kb_data *data;
    char want[600];
    (void)unused;
    assert_ok(ctx, read_text(ctx, &spec, "1:1 2:2\nqid:1 2:3\n", &data));
    assert_null(kb_data_labels(data));
    assert_int_equal(kb_data_features(data), 3);
    assert_true(cell(data, 1, 1) == 3);
    kb_data_free(data);
    assert_int_equal(read_text(ctx, &spec, "1:1 2:2\n1 2:3\n", &data), KB_ERR_DATA);
    snprintf(want, sizeof want, "%s:2: this line has a label, unlike line 1", path.text);
    assert_string_equal(kb_context_message(ctx), want);
    assert_int_equal(read_text(ctx, &spec, "1 1:1\n\n2:3\n", &data), KB_ERR_DATA);
    snprintf(want, sizeof want, "%s:3: this line has no label, unlike line 1", path.text);
    assert_string_equal(kb_context_message(ctx), want);
    kb_context_free(ctx);
}

static void features_beyond_the_model_are_dropped_with_one_warning(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    kb_read_spec spec = {.to_predict = 1, .features = 2};
    kb_data *data;
    char want[600];
    (void)unused;
    assert_ok(ctx, read_text(ctx, &spec, "1 1:1 3:2 9:1\n0 2:4\n0 3:1\n", &data));
    assert_int_equal(kb_data_features(data), 2);
    assert_true(cell(data, 0, 0) == 1 && cell(data, 1, 1) == 4 && cell(data, 2, 1) == 0);
    snprintf(want, sizeof want,
             "%s: features beyond the model's 2 (up to 9) were ignored, in 2 rows\n", path.text);
    assert_string_equal(state.log, want);
    kb_data_free(data);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

static void fewer_features_than_the_model_are_zeros(void **unused) {
    kb_context *ctx = test_context();
    kb_read_spec spec = {.to_predict = 1, .features = 100};
    kb_data *data;
    (void)unused;
    assert_ok(ctx, read_text(ctx, &spec, "1\n0\n", &data));
    assert_int_equal(kb_data_features(data), 100);
    assert_int_equal(kb_data_rows(data), 2);
    kb_data_free(data);
    kb_context_free(ctx);
}

static void a_huge_index_takes_no_memory_for_what_is_not_there(void **unused) {
    kb_context *ctx = test_context();
    kb_read_spec spec = {0};
    kb_data *data;
    (void)unused;
    assert_ok(ctx, read_text(ctx, &spec, "1 2147483647:1\n", &data));
    assert_int_equal(kb_data_features(data), 2147483647);
    assert_true(kb_data_is_sparse(data));
    kb_data_free(data);
    kb_context_free(ctx);
}

static int read_file(kb_context *ctx, void *name) {
    kb_read_spec spec = {0};
    kb_data *data;
    kb_status status = kb_read(ctx, &spec, name, &data);
    kb_data_free(data);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    static const char *const text[] = {"1 1:1 2:2\n0 2:1\n", "1 1:1 20:2\n0 2:1\n",
                                       "1 1:nan 2:2\n0 2:1\n"};
    (void)unused;
    for (int i = 0; i < 3; i++) {
        path = file_with("fail.txt", text[i]);
        run_with_allocation_failures(read_file, path.text);
        remove(path.text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_come_out_as_they_were_written),
        cmocka_unit_test(full_rows_become_dense),
        cmocka_unit_test(zero_based_data_start_at_zero),
        cmocka_unit_test(mistakes_are_named_with_their_line),
        cmocka_unit_test(missing_values_are_nan_and_counted),
        cmocka_unit_test(missing_values_of_sparse_rows_are_zero),
        cmocka_unit_test(missing_labels_are_nan),
        cmocka_unit_test(data_to_predict_may_have_no_labels),
        cmocka_unit_test(features_beyond_the_model_are_dropped_with_one_warning),
        cmocka_unit_test(fewer_features_than_the_model_are_zeros),
        cmocka_unit_test(a_huge_index_takes_no_memory_for_what_is_not_there),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
