/* Which column of a CSV file is what. */
#include "support.h"

#include "io/csv_fields.h"
#include "io/csv_layout.h"

/* ---- fields ------------------------------------------------------------ */

/* Cuts `line` and compares with `want`, whose fields end in '|'; "!" where a quote is wrong. */
static void check_fields(const char *line, char delimiter, const char *want) {
    char copy[100], got[200] = "", *cursor = copy;
    snprintf(copy, sizeof copy, "%s", line);
    while (cursor) {
        char *field = kb_field_cut(&cursor, delimiter);
        size_t used = strlen(got);
        snprintf(got + used, sizeof got - used, "%s|", field ? field : "!");
        if (!field)
            break;
    }
    assert_string_equal(got, want);
}

static void a_line_is_cut_into_fields(void **unused) {
    (void)unused;
    check_fields("a,b", ',', "a|b|");
    check_fields("", ',', "|");
    check_fields(",", ',', "||");
    check_fields(" a b ,  c", ',', "a b|c|");
    check_fields("a;b,c", ';', "a|b,c|");
    check_fields("1\t\t2", '\t', "1||2|");
    check_fields("\"a,b\", \" c \"", ',', "a,b| c |");
    check_fields("\"say \"\"no\"\"\" ,x", ',', "say \"no\"|x|");
    check_fields("\"\",x", ',', "|x|");
    check_fields("a,\"b", ',', "a|!|");
    check_fields("\"a\"b,c", ',', "!|");
}

/* ---- columns ----------------------------------------------------------- */

static kb_status build(kb_context *ctx, const kb_read_spec *spec, const char *text,
                       kb_csv_columns *out) {
    kb_input *input;
    char *line;
    size_t length;
    test_path path = file_with("columns.csv", text);
    memset(out, 0, sizeof *out);
    kb_status status = kb_input_open(ctx, path.text, &input);
    if (status == KB_OK)
        status = kb_input_line(input, &line, &length);
    if (status == KB_OK)
        status = kb_csv_columns_build(ctx, spec, input, line, out);
    kb_input_free(input);
    remove(path.text);
    return status;
}

static void every_column_has_one_part(void **unused) {
    enum { NO = -1 };
    static const struct {
        kb_read_spec spec;
        const char *text;
        int header;
        int label, weight, group; /* columns from 0 */
        int feature[5];
    } known[] = {
        {{.label = "y", .weights = "column:w", .group = "g"},
         "a,y,w,g,b\n1,2,3,4,5\n",
         1,
         1,
         2,
         3,
         {0, NO, NO, NO, 1}},
        {{.label = "-1"}, "1,2,3,4,5\n", 0, 4, NO, NO, {0, 1, 2, 3, NO}},
        {{.label = "1"}, "a,b,c,d,e\n", 1, 0, NO, NO, {NO, 0, 1, 2, 3}},
        {{.label = "none"}, "1;2;3;4;5\n", 0, NO, NO, NO, {0, 1, 2, 3, 4}},
        {{.label = "-2", .weights = "column:1"}, "1\t2\t3\t4\t5\n", 0, 3, 0, NO, {NO, 0, 1, NO, 2}},
        {{.label = "1", .header = KB_HEADER_ON}, "1,2,3,4,5\n", 1, 0, NO, NO, {NO, 0, 1, 2, 3}},
    };
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        kb_csv_columns c;
        assert_ok(ctx, build(ctx, &known[k].spec, known[k].text, &c));
        assert_int_equal(c.count, 5);
        assert_int_equal(c.header, known[k].header);
        assert_true(c.label == (size_t)known[k].label); /* NO is KB_NO_COLUMN */
        assert_true(c.weight == (size_t)known[k].weight);
        assert_true(c.group == (size_t)known[k].group);
        size_t features = 0;
        for (size_t j = 0; j < 5; j++) {
            assert_true(c.feature[j] == (size_t)known[k].feature[j]);
            features += known[k].feature[j] != NO;
        }
        assert_int_equal(c.features, features);
        kb_csv_columns_clear(ctx, &c);
    }
    kb_context_free(ctx);
}

static void messages_name_a_column_by_its_header_or_number(void **unused) {
    kb_context *ctx = test_context();
    kb_read_spec spec = {.label = "-1"};
    kb_csv_columns c;
    (void)unused;
    assert_ok(ctx, build(ctx, &spec, "age,\"a, b\",y\n", &c));
    assert_string_equal(kb_column_in_words(&c, 0).text, "column 'age'");
    assert_string_equal(kb_column_in_words(&c, 1).text, "column 'a, b'");
    kb_csv_columns_clear(ctx, &c);
    assert_ok(ctx, build(ctx, &spec, "1,2,3\n", &c));
    assert_string_equal(kb_column_in_words(&c, 2).text, "column 3");
    kb_csv_columns_clear(ctx, &c);
    kb_context_free(ctx);
}

static int build_once(kb_context *ctx, void *arg) {
    kb_read_spec spec = {.label = "y", .weights = "column:w"};
    kb_csv_columns c;
    kb_status status = build(ctx, &spec, arg, &c);
    kb_csv_columns_clear(ctx, &c);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    (void)unused;
    run_with_allocation_failures(build_once, "a,y,w,b\n1,2,3,4\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_cut_into_fields),
        cmocka_unit_test(every_column_has_one_part),
        cmocka_unit_test(messages_name_a_column_by_its_header_or_number),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
