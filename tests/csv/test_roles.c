/* Which column of a CSV file is the label, the weight, the group, a feature or left out. */
#include "csv/building.h"

#include "csv/roles.h"
#include "table/table.h"

static char *const MODEL_NAME[] = {"a", "b"};

/* A letter a column: L label, W weight, G group, - none, and the number of a feature. */
static void check_roles(kb_context *ctx, const kb_read_spec *spec, const char *text,
                        const char *want) {
    kb_csv_columns c;
    char got[32] = "";
    size_t features = 0;
    assert_ok(ctx, build(ctx, spec, text, &c));
    for (size_t k = 0; k < c.count; k++) {
        int roles = (k == c.label) + (k == c.weight) + (k == c.group);
        got[k] = k == c.label ? 'L' : k == c.weight ? 'W' : k == c.group ? 'G' : '-';
        if (c.feature[k] != KB_NO_COLUMN) {
            assert_int_equal(roles, 0);
            assert_int_equal(c.source[c.feature[k]], k);
            got[k] = (char)('0' + c.feature[k]);
            features++;
        }
    }
    assert_string_equal(got, want);
    assert_int_equal(c.features, features);
    kb_csv_columns_clear(ctx, &c);
}

/* The message, after the name of the file. */
static void check_refused(kb_context *ctx, const kb_read_spec *spec, kb_status status,
                          const char *text, const char *want) {
    kb_csv_columns c;
    test_path path = path_of("columns.csv");
    assert_int_equal(build(ctx, spec, text, &c), status);
    kb_csv_columns_clear(ctx, &c);
    assert_memory_equal(kb_context_message(ctx), path.text, strlen(path.text));
    assert_string_equal(kb_context_message(ctx) + strlen(path.text), want);
}

/* ---- to train ---------------------------------------------------------- */

static void lists_leave_columns_out(void **unused) {
    static const struct {
        const char *label, *ignore, *columns, *weights, *group, *want;
    } known[] = {
        {NULL, NULL, NULL, NULL, NULL, "01234L"},
        {NULL, "id", NULL, NULL, NULL, "-0123L"},
        {NULL, "id,t_*", NULL, NULL, NULL, "-0--1L"},
        {NULL, "1,-2", NULL, NULL, NULL, "-012-L"},
        {NULL, NULL, "t_*,x", NULL, NULL, "-012-L"}, /* the label stays */
        {NULL, "t_b", "t_*,x", NULL, NULL, "-01--L"},
        {"x", NULL, "t_*,y", NULL, NULL, "-L01-2"},
        {"x", NULL, "*", NULL, NULL, "0L1234"},
        {NULL, "x", NULL, "column:w", "id", "G-01WL"},
        {NULL, "w", NULL, "column:w", NULL, "0123WL"}, /* still the weight */
        {NULL, NULL, "x", "column:w", "id", "G0--WL"},
        {NULL, "", NULL, NULL, NULL, "01234L"},
        {"none", "y,", NULL, NULL, NULL, "01234-"},
        {"1", NULL, NULL, NULL, NULL, "L01234"},
    };
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        kb_read_spec spec = {.label = known[k].label,
                             .ignore = known[k].ignore,
                             .columns = known[k].columns,
                             .weights = known[k].weights,
                             .group = known[k].group};
        check_roles(ctx, &spec, "id,x,t_a,t_b,w,y\n1,2,3,4,5,6\n", known[k].want);
    }
    kb_context_free(ctx);
}

static void conflicts_are_refused(void **unused) {
    static const struct {
        kb_read_spec spec;
        kb_status status;
        const char *want;
    } known[] = {
        {{.ignore = "z"},
         KB_ERR_ARGUMENT,
         ": --ignore: no column is named 'z'; the columns are a, b, y"},
        {{.columns = "a,yy"},
         KB_ERR_ARGUMENT,
         ": --columns: no column is named 'yy'; did you mean 'y'? The columns are a, b, y"},
        {{.ignore = "y"},
         KB_ERR_ARGUMENT,
         ": column 'y' is the label, so it cannot be ignored (name the label by --label)"},
        {{.ignore = "a,b"}, KB_ERR_ARGUMENT, ": no features: --columns and --ignore leave none"},
        {{.columns = "y"}, KB_ERR_ARGUMENT, ": no features: --columns and --ignore leave none"},
        {{.label = "z"},
         KB_ERR_ARGUMENT,
         ": no column is named 'z', so it cannot be the label; the columns are a, b, y"},
        {{.label = "a, y"},
         KB_ERR_ARGUMENT,
         ": 'a, y' are several columns, and there is one label in a model: make a model for each, "
         "and keep the others out by --ignore"},
        {{.label = "a,z"},
         KB_ERR_ARGUMENT,
         ": no column is named 'a,z', so it cannot be the label; the columns are a, b, y"},
        {{.label = "4"},
         KB_ERR_ARGUMENT,
         ": the label cannot be column 4: there are 3 columns, the first is 1, the last -1"},
        {{.weights = "column:y"},
         KB_ERR_ARGUMENT,
         ": column 'y' cannot be both the label and the weight (use --label)"},
        {{.group = "y"},
         KB_ERR_ARGUMENT,
         ": column 'y' cannot be both the label and the group (use --label)"},
        {{.group = "a", .weights = "column:1"},
         KB_ERR_ARGUMENT,
         ": column 'a' cannot be both the weight and the group"},
        {{.group = "a", .weights = "column:b"},
         KB_ERR_DATA,
         ": no features: the label, the weight and the group are the only columns"},
        {{.label = "y", .header = KB_HEADER_OFF},
         KB_ERR_ARGUMENT,
         ": the file has no header, so the label cannot be named 'y'"},
    };
    kb_context *ctx = test_context();
    kb_read_spec spec = {.ignore = "4"};
    (void)unused;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        check_refused(ctx, &known[k].spec, known[k].status, "a,b,y\n1,2,3\n", known[k].want);
    check_refused(ctx, &spec, KB_ERR_ARGUMENT, "1,2,3\n",
                  ": --ignore: no column has the number '4'");
    kb_context_free(ctx);
}

/* ---- to predict -------------------------------------------------------- */

/* Of a file a, key, b, same, y. */
static kb_table *model_table(kb_context *ctx) {
    kb_table *table;
    assert_ok(ctx, kb_table_create(ctx, 2, &table));
    assert_ok(ctx, kb_table_leave_out(ctx, table, "key", KB_COLUMN_ID, 1));
    assert_ok(ctx, kb_table_leave_out(ctx, table, "same", KB_COLUMN_IGNORED, 3));
    return table;
}

static void features_to_predict_are_found_by_name(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    kb_table *table = model_table(ctx);
    kb_read_spec spec = {.to_predict = 1,
                         .features = 2,
                         .feature_name = MODEL_NAME,
                         .label_name = "y",
                         .table = table};
    (void)unused;
    check_roles(ctx, &spec, "a,key,b,same,y\n1,2,3,4,5\n", "0-1-L");
    check_roles(ctx, &spec, "y,b,a\n1,2,3\n", "L10");
    check_roles(ctx, &spec, "same,b,a\n1,2,3\n", "-10");
    assert_string_equal(state.log, ""); /* the model knows what it leaves out */
    check_roles(ctx, &spec, "b,new,a,key\n1,2,3,4\n", "1-0-");
    assert_non_null(strstr(state.log, ": 1 column unknown to the model is ignored (column 'new')"));
    state.log[0] = '\0';
    check_roles(ctx, &spec, "first,b,a\n1,2,3\n", "-10");
    assert_non_null(
        strstr(state.log, ": 1 column unknown to the model is ignored (column 'first')"));
    spec.label = "key"; /* another label than in training */
    check_roles(ctx, &spec, "a,key,b\n1,2,3\n", "0L1");
    state.log[0] = '\0';
    spec.label = "z"; /* nowhere, and not that of the model */
    check_roles(ctx, &spec, "a,b,y\n1,2,3\n", "01L");
    assert_non_null(strstr(state.log, "no column is named 'z', so it cannot be the label"));
    state.log[0] = '\0';
    spec.label = "y"; /* nowhere, but the model's */
    check_roles(ctx, &spec, "a,b\n1,2\n", "01");
    assert_string_equal(state.log, "");
    spec.label = "a"; /* a feature is not the label */
    check_roles(ctx, &spec, "a,b,y\n1,2,3\n", "01-");
    spec.label = "none";
    check_roles(ctx, &spec, "a,b,y\n1,2,3\n", "01-");
    spec.label = NULL;
    spec.weights = "column:w";
    spec.group = "g";
    check_roles(ctx, &spec, "w,a,g,b\n1,2,3,4\n", "W0G1");
    spec.weights = "column:a";
    check_refused(ctx, &spec, KB_ERR_ARGUMENT, "a,b\n1,2\n",
                  ": column 'a' is a feature of the model, so it cannot be the weight");
    spec.weights = NULL;
    check_refused(ctx, &spec, KB_ERR_DATA, "a,c\n1,2\n",
                  ":1: 1 feature of the model is missing: no column is named 'b'; the columns are "
                  "a, c");
    kb_table_free(table);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

static void features_to_predict_are_else_counted(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    kb_table *table = model_table(ctx);
    kb_read_spec spec = {.to_predict = 1, .features = 2, .table = table};
    (void)unused;
    check_roles(ctx, &spec, "1,2,3,4\n", "0-1-");
    check_roles(ctx, &spec, "1,2,3,4,5\n", "0-1-L");
    spec.label = "2"; /* places are counted without the label */
    check_roles(ctx, &spec, "1,2,3,4,5\n", "0L-1-");
    check_roles(ctx, &spec, "1,2,3,4\n", "0-1-");
    spec.label = "5"; /* which need not be there */
    check_roles(ctx, &spec, "1,2,3,4,5\n", "0-1-L");
    check_roles(ctx, &spec, "1,2,3,4\n", "0-1-");
    spec.label = NULL;
    spec.weights = "column:1";
    check_roles(ctx, &spec, "1,2,3,4,5,6\n", "W0-1-L");
    check_refused(ctx, &spec, KB_ERR_DATA, "1,2,3,4,5\n",
                  ":1: 5 columns, but the model has 4 features; whether the other is the label or "
                  "the weight is open (use --label none or --weights none)");
    spec.weights = NULL;
    check_refused(ctx, &spec, KB_ERR_DATA, "1,2,3\n",
                  ":1: 3 columns, but the model has 4 features (and there may be one label)");
    kb_table_free(table);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

/* ---- names and numbers ------------------------------------------------- */

static void what_is_no_number_of_a_column_is_a_name(void **unused) {
    static char *field[] = {"2019", "2020", "x"};
    const kb_csv_columns c = {.count = 3, .field = field};
    (void)unused;
    assert_true(kb_csv_is_name(&c, "y"));
    assert_true(kb_csv_is_name(&c, "2019") && kb_csv_is_name(&c, "2020"));
    assert_false(kb_csv_is_name(&c, "2021")); /* neither a column nor a name */
    assert_false(kb_csv_is_name(&c, "3"));
    assert_false(kb_csv_is_name(&c, "-1"));
    assert_false(kb_csv_is_name(&c, ""));
}

static int build_once(kb_context *ctx, void *text) {
    kb_read_spec spec = {.label = "y", .ignore = "k*", .weights = "column:w", .group = "g"};
    kb_csv_columns c;
    kb_status status = build(ctx, &spec, text, &c);
    kb_csv_columns_clear(ctx, &c);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    (void)unused;
    run_with_allocation_failures(build_once, "a,key,w,g,y\n1,2,3,4,5\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_leave_columns_out),
        cmocka_unit_test(conflicts_are_refused),
        cmocka_unit_test(features_to_predict_are_found_by_name),
        cmocka_unit_test(features_to_predict_are_else_counted),
        cmocka_unit_test(what_is_no_number_of_a_column_is_a_name),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
