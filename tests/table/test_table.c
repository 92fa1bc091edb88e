/* What callers are told of the columns of data and of a model. */
#include "support.h"

#include "core/strings.h"
#include "model/model.h"
#include "table/table.h"

static const char *const NAME[] = {"age", "city"};
static const char *const LEVEL[] = {"Bonn", "Ulm", "Kiel"};

/* A number and a category; an id and a constant are left out. */
static kb_table *small_table(kb_context *ctx) {
    kb_table *table;
    assert_ok(ctx, kb_table_create(ctx, 2, &table));
    table->column[0].missing = 7;
    table->column[1].type = KB_COLUMN_CATEGORY;
    assert_ok(ctx, kb_strings_copy(ctx, 3, (char *const *)LEVEL, &table->column[1].level));
    table->column[1].levels = 3;
    assert_ok(ctx, kb_table_leave_out(ctx, table, "key", KB_COLUMN_ID, 0));
    assert_ok(ctx, kb_table_leave_out(ctx, table, "same", KB_COLUMN_CONSTANT, 2));
    return table;
}

static void check_columns(const kb_column_info *age, const kb_column_info *city,
                          const kb_column_info *same) {
    assert_string_equal(age->name, "age");
    assert_int_equal(age->type, KB_COLUMN_NUMBER);
    assert_int_equal(age->missing, 7);
    assert_int_equal(age->levels, 0);
    assert_null(age->level);
    assert_string_equal(city->name, "city");
    assert_int_equal(city->type, KB_COLUMN_CATEGORY);
    assert_int_equal(city->levels, 3);
    assert_string_equal(city->level[2], "Kiel");
    assert_string_equal(same->name, "same");
    assert_string_equal(kb_column_type_name(same->type), "constant");
    assert_int_equal(age->place, 1); /* key, age, same, city */
    assert_int_equal(same->place, 2);
    assert_int_equal(city->place, 3);
}

static void data_and_models_tell_of_their_columns(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    kb_data *data;
    kb_model *model;
    kb_column_info age = KB_COLUMN_INFO_INIT, city = age, same = age;
    (void)unused;
    assert_ok(ctx, kb_data_create(ctx, &data));
    data->features = 2;
    data->table = small_table(ctx);
    data->label_column = 3;
    assert_ok(ctx, kb_strdup(ctx, "price", &data->label_name));
    assert_ok(ctx, kb_strings_copy(ctx, 2, (char *const *)NAME, &data->feature_name));
    assert_int_equal(kb_data_column(data, 0, &age), KB_OK);
    assert_int_equal(kb_data_column(data, 1, &city), KB_OK);
    assert_int_equal(kb_data_left_out(data), 2);
    assert_int_equal(kb_data_left_out_column(data, 1, &same), KB_OK);
    check_columns(&age, &city, &same);
    assert_string_equal(kb_data_label_name(data), "price");
    assert_int_equal(kb_data_label_column(data), 3);

    assert_ok(ctx, kb_model_create(ctx, &model));
    model->info.features = 2;
    model->table = small_table(ctx);
    assert_ok(ctx, kb_strings_copy(ctx, 2, (char *const *)NAME, &model->feature_name));
    assert_int_equal(kb_model_column(model, 0, &age), KB_OK);
    assert_int_equal(kb_model_column(model, 1, &city), KB_OK);
    assert_int_equal(kb_model_left_out(model), 2);
    assert_int_equal(kb_model_left_out_column(model, 1, &same), KB_OK);
    check_columns(&age, &city, &same);
    kb_model_free(model);
    kb_data_free(data);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

static void columns_of_plain_data_are_numbers(void **unused) {
    kb_data data = {.features = 1};
    kb_column_info info = KB_COLUMN_INFO_INIT;
    (void)unused;
    assert_int_equal(kb_data_column(&data, 0, &info), KB_OK);
    assert_int_equal(info.type, KB_COLUMN_NUMBER);
    assert_int_equal(info.missing, 0);
    assert_null(info.name);
    assert_null(info.level);
    assert_int_equal(kb_data_left_out(&data), 0);
}

static void silly_questions_are_refused(void **unused) {
    kb_data data = {.features = 1};
    kb_column_info info = KB_COLUMN_INFO_INIT;
    (void)unused;
    assert_int_equal(kb_data_column(&data, 1, &info), KB_ERR_ARGUMENT);
    assert_int_equal(kb_data_left_out_column(&data, 0, &info), KB_ERR_ARGUMENT);
    info.size = 0;
    assert_int_equal(kb_data_column(&data, 0, &info), KB_ERR_ARGUMENT);
    info.size = sizeof info + 1;
    assert_int_equal(kb_data_column(&data, 0, &info), KB_ERR_ARGUMENT);
}

static void no_more_bytes_are_written_than_the_caller_has(void **unused) {
    kb_data data = {.features = 1};
    kb_column_info info = KB_COLUMN_INFO_INIT;
    (void)unused;
    info.missing = 99;
    info.size = offsetof(kb_column_info, missing);
    assert_int_equal(kb_data_column(&data, 0, &info), KB_OK);
    assert_int_equal(info.type, KB_COLUMN_NUMBER);
    assert_int_equal(info.missing, 99);
    assert_int_equal(info.size, offsetof(kb_column_info, missing));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_and_models_tell_of_their_columns),
        cmocka_unit_test(columns_of_plain_data_are_numbers),
        cmocka_unit_test(silly_questions_are_refused),
        cmocka_unit_test(no_more_bytes_are_written_than_the_caller_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
