/* Groups of the samples, from a column of a CSV or the qid of LIBSVM text. */
#include "reading.h"

static void a_column_is_found_by_name_or_number(void **unused) {
    static const struct {
        const char *label, *weights, *group, *text;
    } known[] = {
        {NULL, NULL, "g", "a,g,b,y\n1,x,2,3\n5,7,6,3\n1,x,2,3\n"},
        {"y", NULL, "g", "y,a,b,g\n3,1,2,5\n3,5,6,-5\n3,1,2,5\n"},
        {NULL, NULL, "2", "1,x,2,3\n5,\"x, y\",6,3\n1,x,2,3\n"},
        {NULL, NULL, "-3",
         "1,9007199254740993,2,3\n5,9007199254740992,6,3\n"
         "1,9007199254740993,2,3\n"},
        {"-2", NULL, "-1", "1;2;3;x\n5;6;3;X\n1;2;3; x \n"},
        {"y", "column:w", "g", "w,g,y,a,b\n4,1e999,3,1,2\n4,inf,3,5,6\n4,1e999,3,1,2\n"},
        {"1", "column:2", "3", "3,4,left,1,2\n3,4,right,5,6\n3,4,left,1,2\n"},
    };
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        kb_read_spec spec = {
            .label = known[i].label, .weights = known[i].weights, .group = known[i].group};
        kb_data *data;
        assert_ok(ctx, read_as(ctx, "data.csv", &spec, known[i].text, &data));
        assert_int_equal(data->rows, 3);
        assert_int_equal(data->features, 2);
        assert_items(double, data->dense, 1, 2, 5, 6, 1, 2);
        assert_items(double, data->label, 3, 3, 3);
        assert_items(uint32_t, data->group, 0, 1, 0);
        assert_int_equal(data->weight != NULL, known[i].weights != NULL);
        kb_data_free(data);
    }
    kb_context_free(ctx);
}

static void there_are_none_unless_asked_for(void **unused) {
    kb_context *ctx = test_context();
    kb_read_spec spec = {0};
    kb_data *data;
    (void)unused;
    assert_ok(ctx, read_as(ctx, "data.csv", &spec, "g,a,y\n1,2,3\n", &data));
    assert_null(data->group);
    assert_int_equal(data->features, 2);
    kb_data_free(data);
    assert_ok(ctx, read_as(ctx, "data", &spec, "1 qid:3 1:2\n", &data));
    assert_null(data->group);
    kb_data_free(data);
    kb_context_free(ctx);
}

static void queries_of_libsvm_text_are_groups(void **unused) {
    kb_context *ctx = test_context();
    kb_read_spec spec = {.group = "qid"};
    kb_data *data;
    (void)unused;
    assert_ok(ctx,
              read_as(ctx, "data", &spec,
                      "1 qid:8 1:2 2:1\n2\tqid:3\t1:6\n# 1\n\n1 qid:8\n0 qid:9 # 1:1\n", &data));
    assert_items(uint32_t, data->group, 0, 1, 0, 2);
    assert_int_equal(data->rows, 4);
    assert_int_equal(data->features, 2);
    kb_data_free(data);
    kb_context_free(ctx);
}

static void mistakes_are_named(void **unused) {
    static const struct {
        const char *label, *weights, *group, *name, *text, *message;
        kb_status status;
    } known[] = {
        {NULL, NULL, "z", "data.csv", "a,b\n1,2\n",
         ": no column is named 'z', so it cannot be the group; the columns are "
         "a, b",
         KB_ERR_ARGUMENT},
        {NULL, NULL, "3", "data.csv", "1,2\n",
         ": the group cannot be column 3: there are 2 columns, the first is 1, the last -1",
         KB_ERR_ARGUMENT},
        {NULL, NULL, "-1", "data.csv", "1,2,3\n",
         ": column 3 cannot be both the label and the group (use --label)", KB_ERR_ARGUMENT},
        {NULL, "column:w", "w", "data.csv", "a,w,y\n1,2,3\n",
         ": column 'w' cannot be both the weight and the group", KB_ERR_ARGUMENT},
        {NULL, NULL, "1", "data.csv", "1,2\n",
         ": no features: the label and the group are the only columns", KB_ERR_DATA},
        {NULL, "column:2", "1", "data.csv", "1,2,3\n",
         ": no features: the label, the weight and the group are the only columns", KB_ERR_DATA},
        {NULL, NULL, "g", "data.csv", "a,g,y\n1,x,3\n1,,3\n", ":3: column 'g', the group, is empty",
         KB_ERR_DATA},
        {NULL, NULL, "2", "data.csv", "1,x,3\n1,NA,3\n", ":2: column 2, the group, is missing",
         KB_ERR_DATA},
        {NULL, NULL, "qid", "data", "1 qid:1 1:2\n1 1:2\n",
         ":2: no qid:N after the label, so the row has no group", KB_ERR_DATA},
        {NULL, NULL, "qid", "data", "1 qid: 1:2\n",
         ":1: no qid:N after the label, so the row has no group", KB_ERR_DATA},
    };
    kb_context *ctx = test_context();
    kb_data *data;
    char want[1024];
    (void)unused;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        kb_read_spec spec = {
            .label = known[i].label, .weights = known[i].weights, .group = known[i].group};
        kb_status status = read_as(ctx, known[i].name, &spec, known[i].text, &data);
        assert_message(ctx, known[i].message);
        assert_int_equal(status, known[i].status);
        assert_null(data);
    }
    kb_read_spec spec = {.group = "user"};
    assert_int_equal(read_as(ctx, "data", &spec, "1 qid:1 1:2\n", &data), KB_ERR_ARGUMENT);
    snprintf(want, sizeof want, "--split group:user: %s is LIBSVM text, whose groups are group:qid",
             path.text);
    assert_string_equal(kb_context_message(ctx), want);
    kb_context_free(ctx);
}

/* ---- to predict -------------------------------------------------------- */

/* A model with the features a, b and the label y; the file may hold the group or not, which is
 * skipped without a warning. */
static void a_file_to_predict_may_have_it_or_not(void **unused) {
    static char *const names[] = {(char *)"a", (char *)"b"};
    static const struct {
        int named;
        const char *label, *group, *name, *text;
        int labelled;
    } known[] = {
        {1, NULL, "g", "data.csv", "g,y,b,a\nx,3,2,1\n", 1},
        {1, NULL, "g", "data.csv", "b,a,g\n2,1,\n", 0},
        {1, NULL, "g", "data.csv", "y,b,a\n3,2,1\n", 1},
        {1, NULL, "3", "data.csv", "a,b,g,y\n1,2,NA,3\n", 1},
        {1, NULL, "3", "data.csv", "a,b,y\n1,2,3\n", 1},
        {1, NULL, "1", "data.csv", "a,b,y\n1,2,3\n", 1},
        {1, NULL, "9", "data.csv", "a,b,y\n1,2,3\n", 1},
        {1, NULL, "b", "data.csv", "a,b,y\n1,2,3\n", 1},
        {0, "-1", "1", "data.csv", "x,1,2,3\n", 1},
        {0, "-1", "1", "data.csv", "1,2\n", 0},
        {0, "none", "-1", "data.csv", "1,2,x\n", 0},
        {0, "-1", "g", "data.csv", "u,g,v,y\n1,x,2,3\n", 1},
        {0, "-1", "g", "data.csv", "u,v,y\n1,2,3\n", 1},
        {0, "-1", "g", "data.csv", "1,2,3\n", 1},
        {0, NULL, "qid", "data", "3 qid:1 1:1 2:2\n", 1},
        {0, NULL, "qid", "data", "3 1:1 2:2\n", 1},
        {0, NULL, "g", "data", "3 qid:1 1:1 2:2\n", 1},
    };
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    (void)unused;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        kb_read_spec spec = {.to_predict = 1,
                             .features = 2,
                             .feature_name = known[i].named ? names : NULL,
                             .label_name = known[i].named ? "y" : NULL,
                             .label = known[i].label,
                             .group = known[i].group};
        kb_data *data;
        assert_ok(ctx, read_as(ctx, known[i].name, &spec, known[i].text, &data));
        assert_int_equal(data->rows, 1);
        assert_items(double, data->dense, 1, 2);
        assert_int_equal(data->label != NULL, known[i].labelled);
        if (known[i].labelled)
            assert_items(double, data->label, 3);
        assert_null(data->group);
        kb_data_free(data);
    }
    assert_string_equal(state.log, "");
    kb_context_free(ctx);
}

#define OPEN                                                                                       \
    "which of the label, the weight and the group are there is open (use --label none, --weights " \
    "none or another --split)"

static void a_count_that_tells_nothing_is_refused(void **unused) {
    static const char *const known[][3] = {
        {NULL, "1,2,3\n", ":1: 3 columns, but the model has 2 features; " OPEN},
        {"column:1", "1,2,3\n", ":1: 3 columns, but the model has 2 features; " OPEN},
        {"column:1", "1,2,3,4\n", ":1: 4 columns, but the model has 2 features; " OPEN},
        {"column:1", "1,2,3,4,5,6\n",
         ":1: 6 columns, but the model has 2 features (and there may be one label, one weight and "
         "one group)"},
    };
    kb_context *ctx = test_context();
    kb_data *data;
    (void)unused;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        kb_read_spec spec = {.to_predict = 1, .features = 2, .weights = known[i][0], .group = "2"};
        assert_int_equal(read_as(ctx, "data.csv", &spec, known[i][1], &data), KB_ERR_DATA);
        assert_message(ctx, known[i][2]);
    }
    kb_context_free(ctx);
}

/* ---- memory ------------------------------------------------------------ */

static int read_file(kb_context *ctx, void *name) {
    kb_read_spec spec = {.group = "qid"};
    kb_data *data;
    kb_status status = kb_read(ctx, &spec, name, &data);
    kb_data_free(data);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    static const char *const known[][2] = {{"fail.csv", "a,qid,y\n1,x,3\n4,y,6\n"},
                                           {"fail", "1 qid:2 1:2\n2 qid:3 1:3\n"}};
    (void)unused;
    for (size_t i = 0; i < 2; i++) {
        path = file_with(known[i][0], known[i][1]);
        run_with_allocation_failures(read_file, path.text);
        remove(path.text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_column_is_found_by_name_or_number),
        cmocka_unit_test(there_are_none_unless_asked_for),
        cmocka_unit_test(queries_of_libsvm_text_are_groups),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(a_file_to_predict_may_have_it_or_not),
        cmocka_unit_test(a_count_that_tells_nothing_is_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
