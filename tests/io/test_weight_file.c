/* Weights of the samples, from a column or a file. */
#include "reading.h"

#include "io/weight_file.h"

static kb_status read_csv(kb_context *ctx, const kb_read_spec *spec, const char *text,
                          kb_data **out) {
    return read_as(ctx, "data.csv", spec, text, out);
}

#define assert_numbers(got, ...) assert_items(double, got, __VA_ARGS__)

static void there_are_none_unless_asked_for(void **unused) {
    const double x[] = {1, 2}, y[] = {0, 1};
    const size_t start[] = {0, 1, 2};
    const uint32_t column[] = {0, 0};
    kb_context *ctx = test_context();
    kb_read_spec spec = {0};
    kb_data *data;
    (void)unused;
    assert_ok(ctx, read_csv(ctx, &spec, "1,2,3\n", &data));
    assert_null(data->weight);
    kb_data_free(data);
    assert_ok(ctx, data_from_dense(ctx, 2, 1, x, y, &data));
    assert_null(data->weight);
    kb_data_free(data);
    assert_ok(ctx, data_from_csr(ctx, 2, 1, start, column, x, y, &data));
    assert_null(data->weight);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* ---- a column ---------------------------------------------------------- */

static void a_column_is_found_by_name_or_number(void **unused) {
    static const struct {
        const char *label, *weights, *text;
    } known[] = {
        {NULL, "column:w", "a,w,b,y\n1,9,2,3\n"}, {"y", "column:w", "y,a,b,w\n3,1,2,9\n"},
        {NULL, "column:2", "1,9,2,3\n"},          {"-2", "column:-1", "1,2,3,9\n"},
        {"1", "column:-3", "3,9,1,2\n"},          {"y", "column:-1", "y,a,b,w\n3,1,2,9\n"},
        {"2", "column:w", "w,y,a,b\n9,3,1,2\n"},  {NULL, "column:1", "w;a;b;y\n\"9\";1;2;3\n"},
    };
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        kb_read_spec spec = {.label = known[i].label, .weights = known[i].weights};
        kb_data *data;
        assert_ok(ctx, read_csv(ctx, &spec, known[i].text, &data));
        assert_int_equal(data->rows, 1);
        assert_int_equal(data->features, 2);
        assert_numbers(data->dense, 1, 2);
        assert_numbers(data->label, 3);
        assert_numbers(data->weight, 9);
        kb_data_free(data);
    }
    kb_context_free(ctx);
}

static void many_rows_keep_their_weights(void **unused) {
    enum { N = 3000 };
    kb_context *ctx = test_context();
    kb_read_spec spec = {.label = "none", .weights = "column:2"};
    kb_data *data;
    char *text = malloc(N * 24);
    size_t used = 0;
    (void)unused;
    for (int i = 0; i < N; i++)
        used += (size_t)sprintf(text + used, "%d,%d.5,%d\n", i + 1, i, i % 3);
    assert_ok(ctx, read_csv(ctx, &spec, text, &data));
    assert_int_equal(data->rows, N);
    assert_int_equal(data->features, 2);
    for (int i = 0; i < N; i++)
        assert_true(data->weight[i] == i + 0.5);
    kb_data_free(data);
    free(text);
    kb_context_free(ctx);
}

/* A word in the column of the weights can only be its name. */
static void a_name_makes_a_header(void **unused) {
    kb_context *ctx = test_context();
    kb_read_spec named = {.weights = "column:7", .header = KB_HEADER_ON};
    kb_read_spec number = {.weights = "column:1"};
    kb_data *data;
    (void)unused;
    assert_ok(ctx, read_csv(ctx, &named, "5,7,8\n1,2,3\n", &data)); /* a name comes first */
    assert_numbers(data->weight, 2);
    kb_data_free(data);
    assert_ok(ctx, read_csv(ctx, &number, "w,7,8\n1,2,3\n", &data));
    assert_int_equal(data->rows, 1);
    assert_int_equal(data->features, 1);
    assert_string_equal(data->feature_name[0], "7");
    assert_string_equal(data->label_name, "8");
    assert_numbers(data->weight, 1);
    kb_data_free(data);
    kb_context_free(ctx);
}

static void a_column_that_cannot_be_is_refused(void **unused) {
    static const struct {
        const char *label, *weights, *text, *message;
        kb_status status;
    } known[] = {
        {NULL, "column:z", "a,b\n1,2\n",
         ": no column is named 'z', so it cannot be the weight; the columns are "
         "a, b",
         KB_ERR_ARGUMENT},
        {NULL, "column:0", "a,b\n1,2\n",
         ": the weight cannot be column 0: there are 2 columns, the first is 1, the last -1",
         KB_ERR_ARGUMENT},
        {NULL, "column:-99999999999999999999", "1,2\n",
         ": the weight cannot be column -99999999999999999999: there are 2 columns, the first is "
         "1, the last -1",
         KB_ERR_ARGUMENT},
        {NULL, "column:-1", "1,2,3\n",
         ": column 3 cannot be both the label and the weight (use --label)", KB_ERR_ARGUMENT},
        {"y", "column:y", "a,y\n1,2\n",
         ": column 'y' cannot be both the label and the weight (use --label)", KB_ERR_ARGUMENT},
        {NULL, "column:1", "1,2\n", ": no features: the label and the weight are the only columns",
         KB_ERR_DATA},
        {"none", "column:1", "1\n2\n",
         ": no features: the weight is the only column (columns stand between commas, semicolons, "
         "tabs or |)",
         KB_ERR_DATA},
        {NULL, "column:w", "a,w,y\n1,-0.5,1\n", ":2: column 'w': the weight -0.5 is negative",
         KB_ERR_DATA},
        {NULL, "column:2", "1,1,1\n1,,1\n", ":2: column 2, the weight, is empty", KB_ERR_DATA},
        {NULL, "column:w", "a,w,y\n1,nan,1\n",
         ":2: column 'w': 'nan' is not a number (kerbin takes no missing values)", KB_ERR_DATA},
        {NULL, "column:w", "a,w,y\n1,inf,1\n",
         ":2: column 'w': 'inf' is infinite (kerbin takes finite numbers only)", KB_ERR_DATA},
        {NULL, "column:w", "a,w,y\n1,much,1\n", ":2: column 'w': 'much' is not a number",
         KB_ERR_DATA},
        {NULL, "column:w", "a,w,y\n1,\"1,1\n",
         ":2: a quote opens a field and is not closed before the file ends", KB_ERR_DATA},
        {NULL, "column:w", "a,w,y\n1,0,1\n2,0,1\n", ": all 2 weights are 0", KB_ERR_DATA},
        {NULL, "column:w", "a,w,y\n1,1e308,1\n2,1e308,1\n",
         ": the sum of the weights is too large for a double", KB_ERR_DATA},
    };
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        kb_read_spec spec = {.label = known[i].label, .weights = known[i].weights};
        kb_data *data = (kb_data *)ctx;
        kb_status status = read_csv(ctx, &spec, known[i].text, &data);
        assert_message(ctx, known[i].message);
        assert_int_equal(status, known[i].status);
        assert_null(data);
    }
    kb_read_spec off = {.weights = "column:w", .header = KB_HEADER_OFF};
    kb_data *data;
    assert_int_equal(read_csv(ctx, &off, "1,2,3\n", &data), KB_ERR_ARGUMENT);
    assert_message(ctx, ": the file has no header, so the weight cannot be named 'w'");
    kb_read_spec empty = {.weights = "column:"};
    assert_fails(ctx, KB_ERR_ARGUMENT, "--weights column:: a name or number is missing",
                 read_csv(ctx, &empty, "1,2,3\n", &data));
    kb_context_free(ctx);
}

static void libsvm_text_has_no_such_column(void **unused) {
    kb_context *ctx = test_context();
    kb_read_spec spec = {.weights = "column:w"};
    kb_data *data;
    char want[700];
    (void)unused;
    assert_int_equal(read_as(ctx, "data", &spec, "1 1:2\n", &data), KB_ERR_ARGUMENT);
    snprintf(want, sizeof want,
             "--weights column:w: %s is LIBSVM text, which has no such column; give a file of "
             "weights",
             path.text);
    assert_string_equal(kb_context_message(ctx), want);
    assert_null(data);
    kb_context_free(ctx);
}

/* ---- to predict -------------------------------------------------------- */

/* A model with the features a, b and the label y. */
static char *const names[] = {(char *)"a", (char *)"b"};

static kb_read_spec by_name(const char *weights) {
    return (kb_read_spec){.to_predict = 1,
                          .features = 2,
                          .feature_name = names,
                          .label_name = "y",
                          .weights = weights};
}

static kb_read_spec by_count(const char *label, const char *weights) {
    return (kb_read_spec){.to_predict = 1, .features = 2, .label = label, .weights = weights};
}

static void names_tell_the_weight_to_predict(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    kb_read_spec spec = by_name("column:w"), third = by_name("column:3");
    kb_data *data;
    char want[700];
    (void)unused;
    assert_ok(ctx, read_csv(ctx, &spec, "w,y,b,a\n9,3,2,1\n", &data));
    assert_numbers(data->dense, 1, 2);
    assert_numbers(data->label, 3);
    assert_numbers(data->weight, 9);
    kb_data_free(data);
    assert_ok(ctx, read_csv(ctx, &spec, "b,a,w\n2,1,9\n", &data));
    assert_null(data->label);
    assert_numbers(data->weight, 9);
    kb_data_free(data);
    assert_ok(ctx, read_csv(ctx, &third, "a,b,w,y\n1,2,9,3\n", &data));
    assert_numbers(data->label, 3);
    assert_numbers(data->weight, 9);
    kb_data_free(data);
    assert_string_equal(state.log, "");
    assert_ok(ctx, read_csv(ctx, &spec, "y,b,a\n3,2,1\n", &data));
    assert_numbers(data->label, 3);
    assert_null(data->weight);
    kb_data_free(data);
    snprintf(
        want, sizeof want,
        "%s: no column 'w' with weights; every sample counts the same; the columns are y, b, a\n",
        path.text);
    assert_string_equal(state.log, want);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

static void a_feature_of_the_model_is_no_weight(void **unused) {
    kb_context *ctx = test_context();
    kb_read_spec feature = by_name("column:b"), label = by_name("column:y"),
                 number = by_name("column:1");
    kb_data *data;
    (void)unused;
    assert_int_equal(read_csv(ctx, &feature, "a,b,y\n1,2,3\n", &data), KB_ERR_ARGUMENT);
    assert_message(ctx, ": column 'b' is a feature of the model, so it cannot be the weight");
    assert_int_equal(read_csv(ctx, &number, "a,b,y\n1,2,3\n", &data), KB_ERR_ARGUMENT);
    assert_message(ctx, ": column 'a' is a feature of the model, so it cannot be the weight");
    assert_int_equal(read_csv(ctx, &label, "a,b,y\n1,2,3\n", &data), KB_ERR_ARGUMENT);
    assert_message(ctx, ": column 'y' cannot be both the label and the weight (use --label)");
    kb_context_free(ctx);
}

static void the_number_of_columns_tells_the_rest(void **unused) {
    static const struct {
        const char *label, *weights, *text;
        int labelled, weighed;
    } known[] = {
        {"3", "column:4", "1,2,3,9\n", 1, 1},
        {"-1", "column:1", "9,1,2,3\n", 1, 1},
        {"none", "column:-1", "1,2,9\n", 0, 1},
        {"3", "column:4", "1,2\n", 0, 0},
        {"none", "column:3", "1,2\n", 0, 0},
        {"-1", "column:w", "w,u,v\n9,1,2\n", 0, 1},
        {"-1", "column:w", "w,u,v,y\n9,1,2,3\n", 1, 1},
        {"-1", "column:w", "u,v,y\n1,2,3\n", 1, 0},
        {"-1", "column:w", "1,2,3\n", 1, 0},
    };
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        kb_read_spec spec = by_count(known[i].label, known[i].weights);
        kb_data *data;
        assert_ok(ctx, read_csv(ctx, &spec, known[i].text, &data));
        assert_int_equal(data->rows, 1);
        assert_numbers(data->dense, 1, 2);
        assert_int_equal(data->label != NULL, known[i].labelled);
        assert_int_equal(data->weight != NULL, known[i].weighed);
        if (known[i].labelled)
            assert_numbers(data->label, 3);
        if (known[i].weighed)
            assert_numbers(data->weight, 9);
        kb_data_free(data);
    }
    kb_context_free(ctx);
}

static void a_count_that_tells_nothing_is_refused(void **unused) {
    static const struct {
        const char *label, *weights, *text, *message;
    } known[] = {
        {"-1", "column:1", "1,2,3\n",
         ":1: 3 columns, but the model has 2 features; whether the other is the label or the "
         "weight is open (use --label none or --weights none)"},
        {"-1", "column:1", "1,2,3,4,5\n",
         ":1: 5 columns, but the model has 2 features (and there may be one label and one "
         "weight)"},
        {"none", "column:1", "1,2,3,4\n",
         ":1: 4 columns, but the model has 2 features (and there may be one weight)"},
        {"-1", "column:1", "1\n",
         ":1: 1 columns, but the model has 2 features (and there may be one label and one "
         "weight)"},
        {"-1", "column:w", "w,u\n1,2\n",
         ":1: 2 columns, but the model has 2 features (and there may be one label and one "
         "weight)"},
    };
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        kb_read_spec spec = by_count(known[i].label, known[i].weights);
        kb_data *data;
        assert_int_equal(read_csv(ctx, &spec, known[i].text, &data), KB_ERR_DATA);
        assert_message(ctx, known[i].message);
    }
    kb_context_free(ctx);
}

/* ---- a file ------------------------------------------------------------ */

static kb_status read_with_file(kb_context *ctx, test_path weights, const char *name,
                                const char *text, kb_data **out) {
    kb_read_spec spec = {.weights = weights.text};
    kb_status status = read_as(ctx, name, &spec, text, out);
    remove(weights.text);
    return status;
}

static void a_file_serves_both_formats(void **unused) {
    static const char text[] = "# made today\n0.5\n\n  2e1\t\r\n # more\n+0";
    kb_context *ctx = test_context();
    kb_data *data;
    (void)unused;
    assert_ok(ctx,
              read_with_file(ctx, file_with("w", text), "data", "1 1:5\n2 1:6\n1 1:7\n", &data));
    assert_numbers(data->weight, 0.5, 20, 0);
    assert_int_equal(data->features, 1);
    kb_data_free(data);
    assert_ok(ctx, read_with_file(ctx, file_with("w", text), "data.csv", "1,5\n2,6\n1,7\n", &data));
    assert_numbers(data->weight, 0.5, 20, 0);
    assert_int_equal(data->features, 1);
    kb_data_free(data);
    kb_context_free(ctx);
}

static void a_file_may_be_compressed(void **unused) {
    /* gzip of "1\n2\n3\n" */
    static const unsigned char packed[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02,
                                           0x03, 0x33, 0xe4, 0x32, 0xe2, 0x32, 0xe6, 0x02, 0x00,
                                           0xd8, 0x54, 0x5f, 0x77, 0x06, 0x00, 0x00, 0x00};
    kb_context *ctx = test_context();
    kb_data *data;
    test_path weights = file_with_bytes("w.gz", packed, sizeof packed);
    (void)unused;
    assert_ok(ctx, read_with_file(ctx, weights, "data", "1 1:5\n2 1:6\n1 1:7\n", &data));
    assert_numbers(data->weight, 1, 2, 3);
    kb_data_free(data);
    kb_context_free(ctx);
}

static void mistakes_of_a_file_are_named(void **unused) {
    static const struct {
        const char *text, *message;
    } known[] = {
        {"1\n# no\n\n-2\n", ":4: the weight -2 is negative"},
        {"1\n1 2\n", ":2: '1 2' is not a number"},
        {"1,2\n", ":1: '1,2' is not a number"},
        {"1\nnan\n", ":2: 'nan' is not a number (kerbin takes no missing values)"},
        {"-inf\n", ":1: '-inf' is infinite (kerbin takes finite numbers only)"},
        {"1e400\n", ":1: '1e400' is too large for a double"},
        {"0\n-0\n", ": all 2 weights are 0"},
        {"1e308\n1e308\n", ": the sum of the weights is too large for a double"},
        {"# nothing\n", ": no weights"},
        {"", ": the file is empty"},
    };
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        kb_data *data = (kb_data *)ctx;
        test_path weights = file_with("w", known[i].text);
        assert_int_equal(read_with_file(ctx, weights, "data", "1 1:5\n2 1:6\n", &data),
                         KB_ERR_DATA);
        path = weights;
        assert_message(ctx, known[i].message);
        assert_null(data);
    }
    kb_context_free(ctx);
}

static void a_wrong_number_of_weights_is_named(void **unused) {
    static const struct {
        const char *weights, *data, *counts, *end;
    } known[] = {{"1\n", "1 1:5\n2 1:6\n", "1 weight", "2 samples"},
                 {"1\n2\n3\n", "1 1:5\n2 1:6\n", "3 weights", "2 samples"},
                 {"1\n2\n", "1 1:5\n", "2 weights", "1 sample"}};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        kb_data *data;
        char want[1200];
        test_path weights = file_with("w", known[i].weights);
        assert_int_equal(read_with_file(ctx, weights, "data", known[i].data, &data), KB_ERR_DATA);
        snprintf(want, sizeof want, "%s: %s, but %s has %s", weights.text, known[i].counts,
                 path.text, known[i].end);
        assert_string_equal(kb_context_message(ctx), want);
    }
    kb_context_free(ctx);
}

static void a_file_that_is_not_there_is_told_at_once(void **unused) {
    kb_context *ctx = test_context();
    kb_read_spec spec = {.weights = "/no/such/file"}, input = {.weights = "-"};
    kb_data *data;
    (void)unused;
    assert_fails(ctx, KB_ERR_IO, "/no/such/file: cannot open: No such file or directory",
                 read_csv(ctx, &spec, "not,a\nnumber,1\n", &data));
    assert_fails(ctx, KB_ERR_ARGUMENT, "--weights -: the samples come from standard input already",
                 kb_read(ctx, &input, "-", &data));
    kb_context_free(ctx);
}

/* ---- memory ------------------------------------------------------------ */

typedef struct reading {
    kb_read_spec spec;
    const char *file;
} reading;

static int read_file(kb_context *ctx, void *arg) {
    reading *r = arg;
    kb_data *data;
    kb_status status = kb_read(ctx, &r->spec, r->file, &data);
    kb_data_free(data);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    test_path weights = file_with("w", "1\n2\n");
    const struct {
        kb_read_spec spec;
        const char *name, *text;
    } known[] = {
        {{.weights = "column:w"}, "fail.csv", "a,w,y\n1,2,3\n4,5,cat\n"},
        {{.weights = weights.text}, "fail.csv", "a,b,y\n1,2,3\n4,5,6\n"},
        {{.weights = weights.text}, "fail", "1 1:2\n2 1:3\n"},
        {by_name("column:w"), "fail.csv", "w,b,a\n1,2,3\n"},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        path = file_with(known[i].name, known[i].text);
        reading r = {known[i].spec, path.text};
        run_with_allocation_failures(read_file, &r);
        remove(path.text);
    }
    remove(weights.text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_are_none_unless_asked_for),
        cmocka_unit_test(a_column_is_found_by_name_or_number),
        cmocka_unit_test(many_rows_keep_their_weights),
        cmocka_unit_test(a_name_makes_a_header),
        cmocka_unit_test(a_column_that_cannot_be_is_refused),
        cmocka_unit_test(libsvm_text_has_no_such_column),
        cmocka_unit_test(names_tell_the_weight_to_predict),
        cmocka_unit_test(a_feature_of_the_model_is_no_weight),
        cmocka_unit_test(the_number_of_columns_tells_the_rest),
        cmocka_unit_test(a_count_that_tells_nothing_is_refused),
        cmocka_unit_test(a_file_serves_both_formats),
        cmocka_unit_test(a_file_may_be_compressed),
        cmocka_unit_test(mistakes_of_a_file_are_named),
        cmocka_unit_test(a_wrong_number_of_weights_is_named),
        cmocka_unit_test(a_file_that_is_not_there_is_told_at_once),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
