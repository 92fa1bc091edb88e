/* CSV into samples. */
#include "io/reading.h"

static kb_status read_text(kb_context *ctx, const kb_read_spec *spec, const char *text,
                           kb_data **out) {
    return read_as(ctx, "data.csv", spec, text, out);
}

#define assert_values(data, ...)                                                                   \
    do {                                                                                           \
        const double want_[] = {__VA_ARGS__};                                                      \
        assert_int_equal((data)->rows *(data)->features * sizeof(double), sizeof want_);           \
        assert_non_null((data)->dense);                                                            \
        assert_memory_equal((data)->dense, want_, sizeof want_);                                   \
    } while (0)

#define assert_labels(data, ...)                                                                   \
    do {                                                                                           \
        const double want_[] = {__VA_ARGS__};                                                      \
        assert_int_equal((data)->rows * sizeof(double), sizeof want_);                             \
        assert_non_null((data)->label);                                                            \
        assert_memory_equal((data)->label, want_, sizeof want_);                                   \
    } while (0)

static void numbers_with_the_label_last(void **unused) {
    kb_context *ctx = test_context();
    kb_read_spec spec = {0};
    kb_data *data;
    (void)unused;
    assert_ok(ctx, read_text(ctx, &spec, "1, 2 ,3\r\n\n \"4\" ,-5e1,\"6\"", &data));
    assert_values(data, 1, 2, 4, -50);
    assert_labels(data, 3, 6);
    assert_null(data->feature_name);
    assert_null(data->class_name);
    kb_data_free(data);
    kb_context_free(ctx);
}

static void a_header_gives_names(void **unused) {
    kb_context *ctx = test_context();
    kb_read_spec spec = {0};
    kb_data *data;
    (void)unused;
    assert_ok(ctx,
              read_text(ctx, &spec, "# made today\nage,\"the \"\"size\"\", m\",y\n1,2,3\n", &data));
    assert_values(data, 1, 2);
    assert_string_equal(data->feature_name[0], "age");
    assert_string_equal(data->feature_name[1], "the \"size\", m");
    assert_string_equal(data->label_name, "y");
    kb_data_free(data);
    kb_context_free(ctx);
}

static void semicolons_and_tabs_delimit_too(void **unused) {
    static const char *const text[] = {"a;b;\"y;z\"\n1;2;3\n", "a\tb\ty, or z\n1\t2\t3\n"};
    kb_context *ctx = test_context();
    kb_read_spec spec = {0};
    (void)unused;
    for (int i = 0; i < 2; i++) {
        kb_data *data;
        assert_ok(ctx, read_text(ctx, &spec, text[i], &data));
        assert_values(data, 1, 2);
        assert_labels(data, 3);
        kb_data_free(data);
    }
    kb_context_free(ctx);
}

static void the_label_may_be_any_column(void **unused) {
    static const struct {
        const char *label;
        double want[3];
    } known[] = {{"1", {2, 3, 1}}, {"2", {1, 3, 2}}, {"-1", {1, 2, 3}}, {"-3", {2, 3, 1}},
                 {"b", {1, 3, 2}}, {"c", {1, 2, 3}}, {NULL, {1, 2, 3}}};
    kb_context *ctx = test_context();
    kb_data *data;
    (void)unused;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        kb_read_spec spec = {.label = known[i].label};
        assert_ok(ctx, read_text(ctx, &spec, "a,b,c\n1,2,3\n", &data));
        assert_values(data, known[i].want[0], known[i].want[1]);
        assert_labels(data, known[i].want[2]);
        kb_data_free(data);
    }
    kb_read_spec none = {.label = "none"};
    assert_ok(ctx, read_text(ctx, &none, "a,b,c\n1,2,3\n", &data));
    assert_values(data, 1, 2, 3);
    assert_null(data->label);
    kb_data_free(data);
    kb_context_free(ctx);
}

static void a_label_that_is_not_there_is_an_error(void **unused) {
    static const struct {
        const char *label, *text, *message;
    } known[] = {
        {"4", "1,2,3\n",
         ": the label cannot be column 4: there are 3 columns, the first is 1, the last -1"},
        {"0", "1,2,3\n",
         ": the label cannot be column 0: there are 3 columns, the first is 1, the last -1"},
        {"z", "a,b\n1,2\n",
         ": no column is named 'z', so it cannot be the label; the columns are "
         "a, b"},
    };
    kb_context *ctx = test_context();
    kb_data *data;
    (void)unused;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        kb_read_spec spec = {.label = known[i].label};
        assert_int_equal(read_text(ctx, &spec, known[i].text, &data), KB_ERR_ARGUMENT);
        assert_message(ctx, known[i].message);
    }
    kb_read_spec spec = {.label = "z", .header = KB_HEADER_OFF};
    assert_int_equal(read_text(ctx, &spec, "1,2\n", &data), KB_ERR_ARGUMENT);
    assert_message(ctx, ": the file has no header, so the label cannot be named 'z'");
    kb_context_free(ctx);
}

static void words_as_labels_are_numbered_alphabetically(void **unused) {
    kb_context *ctx = test_context();
    kb_read_spec spec = {0};
    kb_data *data;
    (void)unused;
    assert_ok(ctx, read_text(ctx, &spec, "1,dog\n2,cat\n3,\"dog\"\n4,eel\n", &data));
    assert_labels(data, 1, 0, 1, 2);
    assert_int_equal(data->class_count, 3);
    assert_string_equal(data->class_name[0], "cat");
    assert_string_equal(data->class_name[2], "eel");
    kb_data_free(data);
    kb_context_free(ctx);
}

static void one_word_makes_all_labels_words(void **unused) {
    kb_context *ctx = test_context();
    kb_read_spec spec = {0};
    kb_data *data;
    (void)unused;
    assert_ok(ctx, read_text(ctx, &spec, "1,2\n2,1.0\n3,other\n4,+1\n", &data));
    assert_int_equal(data->class_count, 3);
    assert_string_equal(data->class_name[0], "1");
    assert_string_equal(data->class_name[1], "2");
    assert_string_equal(data->class_name[2], "other");
    assert_labels(data, 1, 0, 2, 0);
    kb_data_free(data);
    kb_context_free(ctx);
}

static void the_header_can_be_forced(void **unused) {
    kb_context *ctx = test_context();
    kb_read_spec on = {.header = KB_HEADER_ON}, off = {.header = KB_HEADER_OFF};
    kb_data *data;
    (void)unused;
    assert_ok(ctx, read_text(ctx, &on, "2019,2020\n1,2\n", &data));
    assert_int_equal(kb_data_rows(data), 1);
    assert_string_equal(data->feature_name[0], "2019");
    kb_data_free(data);
    assert_ok(ctx, read_text(ctx, &off, "a,b\nb,c\nb,c\n", &data));
    assert_int_equal(kb_data_rows(data), 3);
    assert_null(data->feature_name);
    kb_data_free(data);
    kb_context_free(ctx);
}

static void mistakes_are_named_with_line_and_column(void **unused) {
    static const struct {
        const char *text, *message;
    } known[] = {
        {"age,y\n1,2\ninf,1\n",
         ": column 'age', row 2: 'inf' is infinite (kerbin takes finite numbers only)"},
        {"age,y\n1,2\n1e999,1\n", ": column 'age', row 2: '1e999' is too large for a double"},
        {"age,y\n1,\n2,NA\n", ": no row has a label: column 'y' is empty (use --label)"},
        {"age,y\n1,5\n1,6\n",
         ": no column is left to learn from: all are constant, ids or ignored (--types may keep "
         "one)"},
        {"age,y\n1,2,3\n",
         ":2: more fields than the 2 of line 1 (a field with ',' in it needs quotes)"},
        {"age,y\n1\n",
         ":2: fewer fields than the 2 of line 1 (a field with ',' in it needs quotes)"},
        {"age,y\n\"1,2\n", ":2: a quote opens a field and is not closed before the file ends"},
        {"age,y\n\"1\"x,2\n", ":2: column 'age': a quote is not closed where the field ends (in "
                              "quotes, write \"\" for one)"},
        {"\"age,y\n1,2\n", ":1: a quote opens a field and is not closed before the file ends"},
        {"a,y\n", ": no samples: the header is all there is"},
        {"# nothing\n", ": no samples"},
        {"1\n2\n", ": no features: the label is the only column (columns stand between commas, "
                   "semicolons, tabs or |)"},
    };
    kb_context *ctx = test_context();
    kb_read_spec spec = {0};
    (void)unused;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        kb_data *data = (kb_data *)ctx;
        kb_status status = read_text(ctx, &spec, known[i].text, &data);
        assert_message(ctx, known[i].message);
        assert_int_equal(status, KB_ERR_DATA);
        assert_null(data);
    }
    kb_context_free(ctx);
}

/* A model with the features a, b and the label y. */
static char *const names[] = {(char *)"a", (char *)"b"};
static const kb_read_spec by_name = {
    .to_predict = 1, .features = 2, .feature_name = names, .label_name = "y"};
static const kb_read_spec by_count = {.to_predict = 1, .features = 2};

static void columns_to_predict_are_found_by_name(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    kb_data *data;
    char want[700];
    (void)unused;
    assert_ok(ctx, read_text(ctx, &by_name, "y,b,a\n3,2,1\n", &data));
    assert_values(data, 1, 2);
    assert_labels(data, 3);
    assert_string_equal(data->feature_name[0], "a");
    kb_data_free(data);
    assert_ok(ctx, read_text(ctx, &by_name, "b,a\n2,1\n", &data));
    assert_values(data, 1, 2);
    assert_null(data->label);
    kb_data_free(data);
    assert_string_equal(state.log, "");
    assert_ok(ctx, read_text(ctx, &by_name, "b,id,a,when\n2,x7,1,\"today, or so\"\n", &data));
    assert_values(data, 1, 2);
    assert_null(data->label);
    kb_data_free(data);
    snprintf(want, sizeof want, "%s: 2 columns unknown to the model are ignored (column 'id')\n",
             path.text);
    assert_string_equal(state.log, want);
    assert_int_equal(read_text(ctx, &by_name, "a,c\n1,2\n", &data), KB_ERR_DATA);
    assert_message(
        ctx, ":1: 1 feature of the model is missing: no column is named 'b'; the columns are a, c");
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

static void columns_to_predict_are_else_counted(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data;
    kb_read_spec first = by_count, none = by_count;
    (void)unused;
    assert_ok(ctx, read_text(ctx, &by_count, "1,2\n", &data));
    assert_values(data, 1, 2);
    assert_null(data->label);
    kb_data_free(data);
    assert_ok(ctx, read_text(ctx, &by_name, "1,2,cat\n", &data));
    assert_values(data, 1, 2);
    assert_string_equal(data->class_name[0], "cat");
    kb_data_free(data);
    first.label = "1";
    assert_ok(ctx, read_text(ctx, &first, "u,v,w\n3,1,2\n", &data));
    assert_values(data, 1, 2);
    assert_labels(data, 3);
    kb_data_free(data);
    assert_int_equal(read_text(ctx, &by_count, "1,2,3,4\n", &data), KB_ERR_DATA);
    assert_message(ctx, ":1: 4 columns, but the model has 2 features (and there may be one label)");
    none.label = "none";
    assert_int_equal(read_text(ctx, &none, "1,2,3\n", &data), KB_ERR_DATA);
    assert_message(ctx, ":1: 3 columns, but the model has 2 features");
    kb_context_free(ctx);
}

static void mostly_zeros_become_sparse(void **unused) {
    kb_context *ctx = test_context();
    kb_read_spec spec = {0};
    kb_data *data;
    (void)unused;
    assert_ok(ctx, read_text(ctx, &spec, "0,0,5,1\n0,2,0,1\n1,0,0,1\n", &data));
    assert_true(kb_data_is_sparse(data));
    assert_int_equal(data->row_start[3], 3);
    assert_int_equal(data->column[0], 2);
    assert_true(data->value[0] == 5);
    kb_data_free(data);
    kb_context_free(ctx);
}

static void too_many_words_are_no_labels(void **unused) {
    kb_context *ctx = test_context();
    kb_read_spec spec = {0};
    kb_data *data;
    size_t used = 0;
    char *text = malloc(70000 * 16);
    (void)unused;
    for (int i = 0; i < 70000; i++)
        used += (size_t)sprintf(text + used, "1,w%d\n", i);
    assert_int_equal(read_text(ctx, &spec, text, &data), KB_ERR_DATA);
    assert_message(ctx,
                   ": column 2, the label, has 70000 different words, too many for classes (use "
                   "--label)");
    free(text);
    kb_context_free(ctx);
}

typedef struct reading {
    const kb_read_spec *spec;
    const char *file;
} reading;

static int read_file(kb_context *ctx, void *arg) {
    reading *r = arg;
    kb_data *data;
    kb_status status = kb_read(ctx, r->spec, r->file, &data);
    kb_data_free(data);
    return (int)status;
}

static char *kept_names[] = {"a", "b"};
static const kb_read_spec keeping = {.to_predict = 1,
                                     .features = 2,
                                     .feature_name = kept_names,
                                     .label_name = "y",
                                     .keep = "y,b,n*"};

static void kept_columns_are_texts_as_they_were_read(void **unused) {
    static const char text[] = "name,a,b,y\n\"x, \"\"1\"\"\",1, 02.50 ,\n"
                               "\n  two ,NA,1e1,7\n\" 3\",2,\"0.5\",7\n";
    static const char *const want[] = {"",    "02.50", "x, \"1\"", "7", "1e1",
                                       "two", "7",     "0.5",      " 3"};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t bytes = 0; bytes < 40; bytes += 13) { /* in several pieces */
        kb_read_spec spec = keeping;
        kb_data *data;
        spec.piece_bytes = bytes;
        assert_ok(ctx, read_text(ctx, &spec, text, &data));
        assert_int_equal(kb_data_kept(data), 3);
        assert_string_equal(kb_data_kept_name(data, 0), "y");
        assert_string_equal(kb_data_kept_name(data, 2), "name");
        assert_null(kb_data_kept_name(data, 3));
        for (size_t k = 0; k < 9; k++)
            assert_string_equal(kb_data_kept_cell(data, k / 3, k % 3), want[k]);
        assert_null(kb_data_kept_cell(data, 3, 0));
        assert_null(kb_data_kept_cell(data, 0, 3));
        kb_data_free(data);
    }
    kb_context_free(ctx);
}

static void a_kept_name_makes_a_header(void **unused) {
    static const char text[] = "a,b,who\nx,1,x\ny,2,z\n";
    kb_read_spec spec = {.to_predict = 1, .features = 2, .label = "3", .keep = "who"};
    kb_context *ctx = test_context();
    kb_data *data;
    (void)unused;
    assert_ok(ctx, read_text(ctx, &spec, text, &data));
    assert_int_equal(kb_data_rows(data), 2);
    assert_string_equal(kb_data_kept_cell(data, 1, 0), "z");
    kb_data_free(data);
    spec.keep = "*"; /* says nothing of names */
    spec.header = KB_HEADER_OFF;
    assert_int_equal(read_text(ctx, &spec, text, &data), KB_ERR_ARGUMENT);
    assert_non_null(strstr(kb_context_message(ctx), "--keep: no column has the number '*'"));
    kb_context_free(ctx);
}

static void every_allocation_may_fail(void **unused) {
    static const kb_read_spec train = {0};
    static const struct {
        const kb_read_spec *spec;
        const char *text;
    } known[] = {{&train, "a,b,y\n1,2,3\n4,5,6\n"},
                 {&train, "a,b,y\n1,2,3\n4,5,cat\n0,0,dog\n"},
                 {&train, "a,b,c,y\n0,0,1,1\n0,0,0,0\n"},
                 {&by_name, "b,id,a\n1,2,3\n"},
                 {&keeping, "n,b,a,y\nx,1,2,3\ny,4,5,6\n"}};
    (void)unused;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        path = file_with("fail.csv", known[i].text);
        reading r = {known[i].spec, path.text};
        run_with_allocation_failures(read_file, &r);
        remove(path.text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_with_the_label_last),
        cmocka_unit_test(a_header_gives_names),
        cmocka_unit_test(semicolons_and_tabs_delimit_too),
        cmocka_unit_test(the_label_may_be_any_column),
        cmocka_unit_test(a_label_that_is_not_there_is_an_error),
        cmocka_unit_test(words_as_labels_are_numbered_alphabetically),
        cmocka_unit_test(one_word_makes_all_labels_words),
        cmocka_unit_test(the_header_can_be_forced),
        cmocka_unit_test(mistakes_are_named_with_line_and_column),
        cmocka_unit_test(columns_to_predict_are_found_by_name),
        cmocka_unit_test(columns_to_predict_are_else_counted),
        cmocka_unit_test(mostly_zeros_become_sparse),
        cmocka_unit_test(too_many_words_are_no_labels),
        cmocka_unit_test(kept_columns_are_texts_as_they_were_read),
        cmocka_unit_test(a_kept_name_makes_a_header),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
