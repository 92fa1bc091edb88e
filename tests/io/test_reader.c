/* Which format a file is read in. */
#include "samples.h"

#include "io/reading.h"

/* The format of a file whose name does not say it. */
static void the_format_is_told_by_content(void **unused) {
    static const struct {
        const char *text;
        size_t features;
    } known[] = {{"1,2,3\n", 2},        {"a;b\n1;2\n", 1}, {"1\t2:0.5\t9:1\n", 9}, {"1 5:1\n", 5},
                 {"# a,b\n1 5:1\n", 5}, {"0\n1 3:1\n", 3}, {"12:30,5\n1,5\n", 1}};
    kb_context *ctx = test_context();
    kb_read_spec spec = {0};
    (void)unused;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        kb_data *data;
        path = file_with("data", known[i].text);
        assert_ok(ctx, kb_read(ctx, &spec, path.text, &data));
        assert_int_equal(kb_data_features(data), known[i].features);
        kb_data_free(data);
        remove(path.text);
    }
    kb_context_free(ctx);
}

/* Numbers without a delimiter: by their content labels of LIBSVM text, by the name a column. */
static void the_name_tells_csv(void **unused) {
    static const char *const names[] = {"n.csv", "n.TSV", "n.csv.gz", "n.tsv.XZ", "n.csv.zst"};
    kb_context *ctx = test_context();
    kb_read_spec spec = {.label = "none"};
    kb_data *data;
    (void)unused;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_ok(ctx, read_as(ctx, names[i], &spec, "4\n5\n", &data));
        assert_int_equal(kb_data_features(data), 1);
        assert_null(kb_data_labels(data));
        assert_true(cell(data, 0, 0) == 4 && cell(data, 1, 0) == 5);
        kb_data_free(data);
    }
    kb_context_free(ctx);
}

static void a_given_format_wins_over_name_and_content(void **unused) {
    kb_context *ctx = test_context();
    kb_read_spec libsvm = {.format = KB_FORMAT_LIBSVM}, csv = {.format = KB_FORMAT_CSV};
    kb_data *data;
    (void)unused;
    assert_ok(ctx, read_as(ctx, "n.csv", &libsvm, "7 3:5\n", &data));
    assert_int_equal(kb_data_features(data), 3);
    assert_true(kb_data_labels(data)[0] == 7 && cell(data, 0, 2) == 5);
    kb_data_free(data);
    csv.label = "none";
    assert_ok(ctx, read_as(ctx, "n.txt", &csv, "4\n5\n", &data));
    assert_int_equal(kb_data_features(data), 1);
    kb_data_free(data);
    kb_context_free(ctx);
}

static void a_file_without_samples_is_refused(void **unused) {
    static const char *const texts[] = {"\n\n", "# nothing\n  \n", ""};
    kb_context *ctx = test_context();
    kb_read_spec spec = {0};
    kb_data *data;
    (void)unused;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(read_as(ctx, "data", &spec, texts[i], &data), KB_ERR_DATA);
        assert_null(data);
        assert_message(ctx, *texts[i] ? ": no samples" : ": the file is empty");
    }
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_format_is_told_by_content),
        cmocka_unit_test(the_name_tells_csv),
        cmocka_unit_test(a_given_format_wins_over_name_and_content),
        cmocka_unit_test(a_file_without_samples_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
