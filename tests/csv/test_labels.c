/* The label column of a CSV file: numbers or classes. */
#include "io/reading.h"

#include <math.h>

static kb_status read_text(kb_context *ctx, const kb_read_spec *spec, const char *text,
                           kb_data **out) {
    return read_as(ctx, "labels.csv", spec, text, out);
}

/* Reads cells below "x,y" or "x;y", one a row, separated by blanks in `cells`. */
static kb_status read_cells(kb_context *ctx, const kb_read_spec *spec, char delimiter,
                            const char *cells, kb_data **out) {
    char text[1000];
    size_t used = (size_t)snprintf(text, sizeof text, "x%cy\n", delimiter);
    for (int row = 1; *cells; row++) {
        size_t length = strcspn(cells, " ");
        used += (size_t)snprintf(text + used, sizeof text - used, "%d%c\"%.*s\"\n", row, delimiter,
                                 (int)length, cells);
        cells += length + (cells[length] == ' ');
    }
    return read_text(ctx, spec, text, out);
}

enum { MOST = 6, NONE = -99 };

/* Rows to train on are left out where there is none. */
static void check_labels(const kb_data *data, const char *cells, const double *want) {
    size_t row = 0;
    for (size_t i = 0; *cells; i++) {
        cells += strcspn(cells, " ");
        cells += *cells == ' ';
        if (want[i] == NONE)
            continue;
        assert_true(row < data->rows);
        assert_true(data->dense[row] == (double)i + 1);
        assert_true(data->label[row++] == want[i]);
    }
    assert_int_equal(data->rows, row);
}

static void labels_are_numbers_or_classes(void **unused) {
    static const struct {
        char delimiter;
        const char *cells;
        double want[MOST];
        const char *class_name[MOST];
        int to_predict;
    } known[] = {
        {',', "3 -1 2.5", {3, -1, 2.5}, {NULL}, 0},
        {',', "b a c a", {1, 0, 2, 0}, {"a", "b", "c"}, 0},
        {',', "2 b 2.0 +2 10", {1, 2, 1, 1, 0}, {"10", "2", "b"}, 0}, /* one word: all are words */
        {',', "no yes no", {0, 1, 0}, {"no", "yes"}, 0},
        {',', "1,200 2,400.5 3", {1200, 2400.5, 3}, {NULL}, 0},
        {';', "1,5 2,25 -3", {1.5, 2.25, -3}, {NULL}, 0},
        {';', "1.200,5 7 8", {1200.5, 7, 8}, {NULL}, 0},
        {',', "5% 7.5%", {5, 7.5}, {NULL}, 0},
        {',', "5% 7.5% 8", {0, 1, 2}, {"5%", "7.5%", "8"}, 1}, /* a percentage beside a number */
        {',', "b NA a", {1, NONE, 0}, {"a", "b"}, 0},
        {',', "3 ? 5", {3, NONE, 5}, {NULL}, 0},
        {',', "1,200 null 3", {1200, NONE, 3}, {NULL}, 0},
        {',', "1 two 2", {0, 2, 1}, {"1", "2", "two"}, 1},
        {',', "inf b", {1, 0}, {"b", "inf"}, 0}, /* beside words it is one */
    };
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    (void)unused;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        kb_read_spec spec = {.label = "y", .to_predict = known[k].to_predict};
        static char *const x[] = {"x"};
        kb_data *data;
        size_t classes = 0;
        if (known[k].to_predict) {
            spec.features = 1;
            spec.feature_name = x;
        }
        assert_ok(ctx, read_cells(ctx, &spec, known[k].delimiter, known[k].cells, &data));
        check_labels(data, known[k].cells, known[k].want);
        while (classes < MOST && known[k].class_name[classes])
            classes++;
        assert_int_equal(data->class_count, classes);
        for (size_t j = 0; j < classes; j++)
            assert_string_equal(data->class_name[j], known[k].class_name[j]);
        assert_string_equal(data->label_name, "y");
        assert_int_equal(data->label_column, 2);
        kb_data_free(data);
    }
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

static void labels_may_be_missing(void **unused) {
    static char *const x[] = {"x"};
    kb_context *ctx = test_context();
    kb_read_spec train = {.label = "y"};
    kb_read_spec predict = {.to_predict = 1, .features = 1, .feature_name = x, .label_name = "y"};
    kb_data *data;
    (void)unused;
    assert_int_equal(read_cells(ctx, &train, ',', "NA ? null", &data), KB_ERR_DATA);
    assert_message(ctx, ": no row has a label: column 'y' is empty (use --label)");
    assert_ok(ctx, read_cells(ctx, &predict, ',', "b NA a", &data)); /* its row stays */
    assert_int_equal(data->rows, 3);
    assert_true(data->label[0] == 1 && isnan(data->label[1]) && data->label[2] == 0);
    kb_data_free(data);
    assert_ok(ctx, read_cells(ctx, &predict, ',', "NA ? null", &data));
    assert_null(data->label);
    assert_int_equal(data->rows, 3);
    kb_data_free(data);
    kb_context_free(ctx);
}

static void infinite_labels_are_refused(void **unused) {
    kb_context *ctx = test_context();
    kb_read_spec spec = {.label = "y"}, bare = {.label = "1"};
    kb_data *data;
    (void)unused;
    assert_int_equal(read_cells(ctx, &spec, ',', "1 2 inf", &data), KB_ERR_DATA);
    assert_message(ctx,
                   ": column 'y', row 3: 'inf' is infinite (kerbin takes finite numbers only)");
    assert_int_equal(read_text(ctx, &bare, "5,2\n1e999,3\n", &data), KB_ERR_DATA);
    assert_message(ctx, ": column 1, row 2: '1e999' is too large for a double");
    kb_context_free(ctx);
}

/* Rows "ROW,<before>NUMBER<after>", with so many different labels. */
static char *many_labels(size_t rows, size_t different, const char *before, const char *after) {
    size_t used = 4, room = rows * 48 + 8;
    char *text = malloc(room);
    assert_non_null(text);
    memcpy(text, "x,y\n", 5);
    for (size_t i = 0; i < rows; i++)
        used += (size_t)snprintf(text + used, room - used, "%zu,%s%zu%s\n", i, before,
                                 10 + i % different, after);
    return text;
}

static void many_words_are_no_classes(void **unused) {
    static const struct {
        size_t rows, different;
        const char *before, *after;
        const char *error, *warning; /* after the name of the file, or NULL */
    } known[] = {
        {300, 150, "w", "", NULL, NULL},
        {100, 100, "w", "", NULL, NULL},
        {299, 150, "w", "",
         ": column 'y', the label, has 150 different words in fewer than twice as many rows: it "
         "does not hold classes (use --label)",
         NULL},
        {8, 2, "$", "", NULL, NULL}, /* two are classes for sure */
        {8, 3, "$", "", NULL,
         ": column 'y', the label: '$10' and the like are taken as classes (for regression write "
         "plain numbers)\n"},
        {8, 4, "", " kg", NULL,
         ": column 'y', the label: '10 kg' and the like are taken as classes (for regression write "
         "plain numbers)\n"},
        {400, 101, "$", "",
         ": column 'y', the label, has 101 different words such as '$10' (for regression write "
         "plain numbers)",
         NULL},
    };
    (void)unused;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        test_state state = {0};
        kb_context *ctx = test_context_with(&state, 1);
        kb_read_spec spec = {.label = "y"};
        kb_data *data;
        char *text =
            many_labels(known[k].rows, known[k].different, known[k].before, known[k].after);
        kb_status status = read_text(ctx, &spec, text, &data);
        free(text);
        if (known[k].error) {
            assert_int_equal(status, KB_ERR_DATA);
            assert_message(ctx, known[k].error);
        } else {
            assert_ok(ctx, status);
            assert_int_equal(data->class_count, known[k].different);
        }
        const char *rest = strstr(state.log, "labels.csv");
        if (known[k].warning)
            assert_string_equal(rest + strlen("labels.csv"), known[k].warning);
        else
            assert_null(rest);
        kb_data_free(data);
        kb_context_free(ctx);
        assert_int_equal(state.live, 0);
    }
}

static int read_once(kb_context *ctx, void *text) {
    kb_read_spec spec = {.label = "y"};
    kb_data *data;
    kb_status status = read_text(ctx, &spec, text, &data);
    kb_data_free(data);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    (void)unused;
    run_with_allocation_failures(read_once, "x,y\n1,b\n2,\n3,7\n4,a\n");
    run_with_allocation_failures(read_once, "x;y\n1;1,5\n2;\n3;2,5\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_are_numbers_or_classes),
        cmocka_unit_test(labels_may_be_missing),
        cmocka_unit_test(infinite_labels_are_refused),
        cmocka_unit_test(many_words_are_no_classes),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
