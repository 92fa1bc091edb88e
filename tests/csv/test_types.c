/* The types of the columns of a CSV file, by its cells, by option and by a model. */
#include "io/reading.h"

#include "table/table.h"

#include <math.h>

static kb_status read_text(kb_context *ctx, const kb_read_spec *spec, const char *text,
                           kb_data **out) {
    return read_as(ctx, "types.csv", spec, text, out);
}

/* "age number, zip category; id IGNORED 0": features, then what is left out and where. */
static void check_table(const kb_data *data, const char *want) {
    char got[400] = "";
    size_t used = 0;
    assert_non_null(data->table);
    assert_int_equal(data->table->columns, data->features);
    for (size_t j = 0; j < data->features; j++)
        used += (size_t)snprintf(got + used, sizeof got - used, "%s%s %s", j ? ", " : "",
                                 data->feature_name ? data->feature_name[j] : "-",
                                 kb_column_type_name(data->table->column[j].type));
    for (size_t k = 0; k < data->table->left_out; k++)
        used += (size_t)snprintf(
            got + used, sizeof got - used, "; %s %s %zu", data->table->out[k].name,
            kb_column_type_name(data->table->out[k].type), data->table->out[k].place);
    assert_string_equal(got, want);
}

static const char *const TOWNS = "zip,age,y,town,key\n"
                                 "100,31,1,Ulm,k1\n"
                                 "200,,2,Bonn,k2\n"
                                 "100,22,3,Kiel,k3\n"
                                 "300,40,4,Ulm,k4\n"
                                 "200,27,5,Bonn,k5\n";

static void types_are_found_or_asked_for(void **unused) {
    static const struct {
        const char *types, *ignore, *want;
    } known[] = {
        {NULL, NULL, "zip number, age number, town category; key id 3"},
        {"zip=category", NULL, "zip category, age number, town category; key id 3"},
        {"1=category , -1=category", NULL, "zip category, age number, town category, key category"},
        {"*=category", NULL, /* but not the label */
         "zip category, age category, town category, key category"},
        {"z*=category,zip=number", NULL, "zip number, age number, town category; key id 3"},
        {NULL, "age", "zip number, town category; key id 3; age ignored 1"},
        {"key=category", "zip,town", "age number, key category; zip ignored 0; town ignored 2"},
    };
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    (void)unused;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        kb_read_spec spec = {.label = "y", .types = known[k].types, .ignore = known[k].ignore};
        kb_data *data;
        assert_ok(ctx, read_text(ctx, &spec, TOWNS, &data));
        check_table(data, known[k].want);
        kb_data_free(data);
    }
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

static void values_move_with_their_columns(void **unused) {
    kb_context *ctx = test_context();
    kb_read_spec spec = {.label = "y", .types = "zip=category", .ignore = "age"};
    kb_data *data;
    (void)unused;
    assert_ok(ctx, read_text(ctx, &spec, TOWNS, &data));
    assert_int_equal(data->features, 2);
    assert_items(double, data->dense, 0, 0, 1, 1, 0, 2, 2, 0, 1, 1);
    assert_string_equal(data->table->column[0].level[2], "300");
    assert_false(data->missing); /* the missing cell was ignored */
    kb_data_free(data);
    spec.ignore = NULL;
    assert_ok(ctx, read_text(ctx, &spec, TOWNS, &data));
    assert_true(data->missing);
    assert_true(isnan(data->dense[4]));
    assert_int_equal(data->table->column[1].missing, 1);
    kb_data_free(data);
    kb_context_free(ctx);
}

static void wrong_types_are_refused(void **unused) {
    static const struct {
        kb_status status;
        const char *types, *want;
    } known[] = {
        {KB_ERR_ARGUMENT, "y=category", ": --types: column 'y' is the label (use --task)"},
        {KB_ERR_ARGUMENT, "sip=category",
         ": --types: no column is named 'sip'; did you mean 'zip'? The columns are zip, age, y, "
         "town, key"},
        {KB_ERR_DATA, "zip=boolean",
         ": column 'zip' has 3 levels, and a boolean has two: call it a category"},
    };
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        kb_read_spec spec = {.label = "y", .types = known[k].types};
        kb_data *data;
        assert_int_equal(read_text(ctx, &spec, TOWNS, &data), known[k].status);
        assert_message(ctx, known[k].want);
    }
    kb_context_free(ctx);
}

static void the_index_of_a_data_frame_is_left_out(void **unused) {
    static const struct {
        const char *text, *types, *want; /* NULL: plain numbers */
    } known[] = {
        {",a,y\n0,5,1\n1,6,2\n2,5,3\n", NULL, "a number; unnamed 1 id 0"},
        {",a,y\n9,5,1\n3,6,2\n4,5,3\n", NULL, "a number; unnamed 1 id 0"},
        {"a,y,\n5,1,9\n6,2,3\n5,3,4\n", NULL, "a number; unnamed 3 id 1"},
        {",a,y\n0,5,1\n1,6,2\n1,5,3\n", NULL, NULL},   /* twice the same */
        {",a,y\n0,5,1\n1.5,6,2\n2,5,3\n", NULL, NULL}, /* no whole number */
        {",a,y\n-1,5,1\n1,6,2\n2,5,3\n", NULL, NULL},
        {"i,a,y\n0,5,1\n1,6,2\n2,5,3\n", NULL, NULL}, /* it has a name */
        {",a,y\n0,5,1\n1,6,2\n2,5,3\n", "1=number", NULL},
    };
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        kb_read_spec spec = {.label = "y", .types = known[k].types};
        kb_data *data;
        assert_ok(ctx, read_text(ctx, &spec, known[k].text, &data));
        if (known[k].want) {
            check_table(data, known[k].want);
            assert_int_equal(data->features, 1);
            assert_items(double, data->dense, 5, 6, 5);
        } else {
            assert_null(data->table);
            assert_int_equal(data->features, 2);
        }
        kb_data_free(data);
    }
    kb_context_free(ctx);
}

/* Numbers of columns, and places without the label, the weight and the group. */
static void left_out_columns_have_places(void **unused) {
    kb_context *ctx = test_context();
    kb_read_spec spec = {
        .label = "2", .weights = "column:1", .group = "4", .ignore = "6", .columns = "3,5,6,7"};
    kb_data *data;
    (void)unused;
    assert_ok(ctx, read_text(ctx, &spec, "1,1,8,1,3,4,5\n1,2,8,1,4,5,6\n1,3,8,2,5,6,8\n", &data));
    check_table(data, "- number, - number; 3 constant 0; 6 ignored 2");
    assert_items(double, data->dense, 3, 5, 4, 6, 5, 8);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* ---- to predict -------------------------------------------------------- */

static void a_model_gives_the_types(void **unused) {
    static const struct {
        const char *text;
        int names;
    } known[] = {
        {"town,zip,age\nBonn,300,\nRom,700,x\n", 1}, /* by name, in any order */
        {"300,,Bonn,k1\n700,x,Rom,k2\n", 0},         /* by place */
        {"300,,1,Bonn,k1\n700,x,2,Rom,k2\n", 0},
    };
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    kb_read_spec train = {.label = "y", .types = "zip=category"};
    kb_data *model, *data;
    (void)unused;
    assert_ok(ctx, read_text(ctx, &train, TOWNS, &model));
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        kb_read_spec spec = {.label = "3",
                             .to_predict = 1,
                             .features = 3,
                             .feature_name = model->feature_name,
                             .label_name = "y",
                             .types = "age=category", /* too late */
                             .table = model->table};
        state.log[0] = '\0';
        assert_ok(ctx, read_text(ctx, &spec, known[k].text, &data));
        assert_int_equal(data->features, 3);
        assert_true(data->dense[0] == 2 && isnan(data->dense[1]) && data->dense[2] == 1);
        assert_true(data->dense[3] == -1 && isnan(data->dense[4]) && data->dense[5] == -1);
        assert_true(data->missing);
        assert_int_equal(data->table->left_out, 1);
        assert_int_equal(data->feature_name != NULL, known[k].names);
        assert_non_null(strstr(state.log, "did not have, such as '700'"));
        assert_non_null(strstr(state.log, "1 cell is no number, such as 'x'; taken as missing"));
        kb_data_free(data);
    }
    kb_data_free(model);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

static void a_model_without_a_table_has_numbers(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    kb_read_spec spec = {.to_predict = 1, .features = 2};
    kb_data *data;
    (void)unused;
    assert_ok(ctx, read_text(ctx, &spec, "1,2\n2,2\n", &data));
    assert_null(data->table); /* nor is the second column constant */
    assert_items(double, data->dense, 1, 2, 2, 2);
    kb_data_free(data);
    assert_ok(ctx, read_text(ctx, &spec, "1,5\n2,two\n", &data));
    assert_true(data->missing && isnan(data->dense[3]));
    assert_non_null(strstr(state.log, "column 2: 1 cell is no number, such as 'two'"));
    kb_data_free(data);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

static int read_once(kb_context *ctx, void *unused) {
    kb_read_spec spec = {.label = "y", .types = "zip=category,k*=category", .ignore = "age"};
    kb_read_spec predict = {.to_predict = 1, .label_name = "y"};
    kb_data *data, *more = NULL;
    (void)unused;
    kb_status status = read_text(ctx, &spec, TOWNS, &data);
    if (status == KB_OK) {
        predict.features = data->features;
        predict.feature_name = data->feature_name;
        predict.table = data->table;
        status = read_text(ctx, &predict, TOWNS, &more);
    }
    kb_data_free(more);
    kb_data_free(data);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    (void)unused;
    run_with_allocation_failures(read_once, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_are_found_or_asked_for),
        cmocka_unit_test(values_move_with_their_columns),
        cmocka_unit_test(wrong_types_are_refused),
        cmocka_unit_test(the_index_of_a_data_frame_is_left_out),
        cmocka_unit_test(left_out_columns_have_places),
        cmocka_unit_test(a_model_gives_the_types),
        cmocka_unit_test(a_model_without_a_table_has_numbers),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
