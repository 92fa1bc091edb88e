/* Which column of a CSV file is what. */
#include "csv/building.h"

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

/* Delimiters at the ends of all lines; a column of numbers or words without a name is one. */
static void empty_columns_at_the_end_are_none(void **unused) {
    static const struct {
        const char *text;
        size_t count;
    } known[] = {
        {"a,b,\nx,6,\nz,7,\n", 2},  {"a,b,,\nx,6,,\nz,7,,\n", 2}, {"a,\nx,6\nz,7\n", 2},
        {"a,\n1,x\n2,y\n", 2},      {"a,,\nx,,6\nz,,7\n", 3},     {"a,,b\nx,,6\nz,,7\n", 3},
        {"a,b,\nx,6,\nz,7,8\n", 3},
    };
    kb_context *ctx = test_context();
    kb_read_spec spec = {.label = "1"};
    (void)unused;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        kb_csv_columns c;
        assert_ok(ctx, build(ctx, &spec, known[k].text, &c));
        assert_int_equal(c.count, known[k].count);
        kb_csv_columns_clear(ctx, &c);
    }
    kb_context_free(ctx);
}

/* The warning names a column that had a name, and there may be none. */
static void equal_names_are_told_of(void **unused) {
    static const struct {
        const char *text, *want; /* of the log, after the name of the file */
    } known[] = {
        {"a,b,y\n1,2,3\n", ""},
        {"a,,a,y\n1,2,3,4\n", ": 1 column has the name of another: column 3 is now 'a.1'\n"},
        {"a,a,a,y\n1,2,3,4\n", ": 2 columns have the name of another: column 2 is now 'a.1'\n"},
        {"unnamed 2,,y\n1,2,3\n", ""},
    };
    (void)unused;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        test_state state = {0};
        kb_context *ctx = test_context_with(&state, 1);
        kb_read_spec spec = {.label = "y"};
        kb_csv_columns c;
        assert_ok(ctx, build(ctx, &spec, known[k].text, &c));
        const char *rest = strstr(state.log, ".csv");
        assert_string_equal(rest ? rest + strlen(".csv") : "", known[k].want);
        kb_csv_columns_clear(ctx, &c);
        kb_context_free(ctx);
    }
}

/* To train; rows to predict have no names that could be meant. */
static void a_first_line_of_words_that_is_no_header_is_told_of(void **unused) {
    (void)unused;
    for (int predict = 0; predict < 2; predict++) {
        test_state state = {0};
        kb_context *ctx = test_context_with(&state, 1);
        kb_read_spec spec = {
            .label = predict ? "none" : "-1", .to_predict = predict, .features = 2};
        kb_csv_columns c;
        assert_ok(ctx, build(ctx, &spec, "red,1\nblue,2\nred,3\nblue,4\n", &c));
        assert_false(c.header);
        assert_int_equal(strstr(state.log, "looks like the others") != NULL, !predict);
        kb_csv_columns_clear(ctx, &c);
        kb_context_free(ctx);
    }
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
        cmocka_unit_test(every_column_has_one_part),
        cmocka_unit_test(messages_name_a_column_by_its_header_or_number),
        cmocka_unit_test(empty_columns_at_the_end_are_none),
        cmocka_unit_test(equal_names_are_told_of),
        cmocka_unit_test(a_first_line_of_words_that_is_no_header_is_told_of),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
