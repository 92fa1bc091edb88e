/* The columns of a table in model files: whole ones come back, all others are refused. */
#include "encode/tables.h"
#include "model/forged.h"

#include "model/table_file.h"

static kb_table *example(kb_context *ctx) {
    kb_data *data = mixed_table(ctx, 30, 0);
    kb_table *table = data->table;
    table->column[SIZE].style = KB_WRITTEN_PERCENT;
    assert_ok(ctx, kb_table_leave_out(ctx, table, "key \"1\"", KB_COLUMN_ID, 1));
    assert_ok(ctx, kb_table_leave_out(ctx, table, "7", KB_COLUMN_CONSTANT, 6));
    data->table = NULL;
    kb_data_free(data);
    return table;
}

static void tables_come_back(void **unused) {
    kb_context *ctx = test_context();
    kb_table *table = example(ctx), *back;
    json_t *json = json_object();
    (void)unused;
    assert_true(kb_table_describe(table, json));
    assert_ok(ctx, kb_table_read(ctx, json, MIXED_COLUMNS, &back));
    assert_int_equal(back->columns, MIXED_COLUMNS);
    for (size_t j = 0; j < MIXED_COLUMNS; j++) {
        const kb_column *a = &table->column[j], *b = &back->column[j];
        assert_true(a->type == b->type && a->style == b->style && a->levels == b->levels &&
                    a->missing == b->missing);
        for (size_t k = 0; k < a->levels; k++)
            assert_string_equal(a->level[k], b->level[k]);
    }
    assert_int_equal(back->left_out, 2);
    for (size_t k = 0; k < 2; k++) {
        assert_string_equal(back->out[k].name, table->out[k].name);
        assert_int_equal(back->out[k].type, table->out[k].type);
        assert_int_equal(back->out[k].place, table->out[k].place);
    }
    kb_table_free(table);
    kb_table_free(back);
    json_decref(json);
    json = json_object();
    assert_ok(ctx, kb_table_read(ctx, json, 3, &back)); /* older files */
    assert_null(back);
    json_decref(json);
    kb_context_free(ctx);
}

/* Puts a JSON text in the place of a key of column j (or of the first left out). */
static void wrong_descriptions_are_refused(void **unused) {
    static const struct {
        int column; /* -1: left out; -2: of the whole */
        const char *key, *text;
    } cases[] = {{SIZE, "type", "\"id\""},
                 {SIZE, "type", "\"auto\""},
                 {SIZE, "type", "\"category\""},
                 {SIZE, "type", "7"},
                 {SIZE, "type", NULL},
                 {SIZE, "missing", "-1"},
                 {SIZE, "written", "\"roman\""},
                 {SIZE, "levels", "[\"a\"]"},
                 {COLOUR, "levels", NULL},
                 {COLOUR, "levels", "\"a0\""},
                 {COLOUR, "levels", "[\"a\", 3]"},
                 {COLOUR, "levels", "[\"a\", \"b\", \"a\"]"},
                 {COLOUR, "type", "\"number\""},
                 {-1, "name", NULL},
                 {-1, "name", "3"},
                 {-1, "place", "-1"},
                 {-1, "type", "\"number\""},
                 {-1, "type", "\"none\""},
                 {-2, "columns", "[]"},
                 {-2, "columns", "3"},
                 {-2, "columns", "[1, 2, 3, 4, 5]"},
                 {-2, "left_out", "{}"},
                 {-2, "left_out", "[3]"}};
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    kb_table *table = example(ctx), *back = table;
    (void)unused;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        json_t *json = json_object(), *at = json;
        assert_true(kb_table_describe(table, json));
        if (cases[k].column >= 0)
            at = json_array_get(json_object_get(json, "columns"), (size_t)cases[k].column);
        else if (cases[k].column == -1)
            at = json_array_get(json_object_get(json, "left_out"), 0);
        if (cases[k].text)
            json_object_set_new(at, cases[k].key, json_loads(cases[k].text, JSON_DECODE_ANY, NULL));
        else
            json_object_del(at, cases[k].key);
        if (kb_table_read(ctx, json, MIXED_COLUMNS, &back) != KB_ERR_MODEL)
            fail_msg("case %zu is read", k);
        assert_null(back);
        assert_string_equal(kb_context_message(ctx), "the description of the columns is wrong");
        json_decref(json);
    }
    kb_table_free(table);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

/* ---- whole files ------------------------------------------------------- */

static test_path original(kb_context *ctx) {
    kb_options *options = OPTIONS(ctx, "grids", "5");
    kb_data *data = mixed_table(ctx, 60, 0);
    kb_model *model = model_of(ctx, options, data);
    test_path path = written(ctx, model);
    kb_model_free(model);
    kb_data_free(data);
    kb_options_free(options);
    return path;
}

static void every_array_must_be_there_and_sound(void **unused) {
    static const char *const arrays[] = {"encode.kind",  "encode.source", "encode.part",
                                         "encode.count", "encode.fill",   "encode.code"};
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    test_path path = original(ctx);
    (void)unused;
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
        for (int how = 0; how < DAMAGED_NUMBERS; how++) {
            parts p = take_apart(path.text);
            if (damage(&p, arrays[k], how))
                refused_parts(ctx, &p, arrays[k], "damaged");
            parts_free(&p);
        }
    unlink(path.text);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

static void columns_and_encoding_must_agree(void **unused) {
    kb_context *ctx = test_context();
    test_path path = original(ctx);
    parts p = take_apart(path.text);
    json_t *colour = json_array_get(json_object_get(p.model, "columns"), COLOUR);
    (void)unused;
    json_array_append_new(json_object_get(colour, "levels"), json_string("mauve"));
    refused_parts(ctx, &p, "a level more", "contradict");
    json_array_remove(json_object_get(colour, "levels"), COLOURS);
    json_array_remove(json_object_get(colour, "levels"), 0);
    refused_parts(ctx, &p, "a level fewer", "contradict");
    json_object_del(p.model, "columns");
    refused_parts(ctx, &p, "no columns", "contradict");
    parts_free(&p);
    /* Codes that are taken for another number of steps, and a kind beyond 32 bits. */
    p = take_apart(path.text);
    ((int64_t *)array_of(&p, "encode.kind"))[0] = INT64_C(1) << 32;
    refused_parts(ctx, &p, "kind", "contradict");
    ((int64_t *)array_of(&p, "encode.kind"))[0] = KB_ENCODE_CODE;
    refused_parts(ctx, &p, "kind", "contradict");
    parts_free(&p);
    unlink(path.text);
    kb_context_free(ctx);
}

static int read_path(kb_context *ctx, void *path) {
    kb_model *model;
    kb_status status = kb_model_read(ctx, path, &model);
    kb_model_free(model);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    test_path path = original(ctx);
    (void)unused;
    run_with_allocation_failures(read_path, path.text);
    unlink(path.text);
    kb_context_free(ctx);
}

static void names_must_be_utf8(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "5");
    (void)unused;
    for (int k = 0; k < 2; k++) {
        kb_data *data = mixed_table(ctx, 60, 0);
        kb_model *model;
        if (k)
            assert_ok(ctx, kb_table_leave_out(ctx, data->table, "\xff", KB_COLUMN_ID, 1));
        else
            data->table->column[COLOUR].level[1][0] = '\xff';
        assert_int_equal(kb_model_fit(ctx, options, data, &model), KB_ERR_DATA);
        assert_non_null(strstr(kb_context_message(ctx), "is not UTF-8"));
        kb_data_free(data);
    }
    kb_options_free(options);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_come_back),
        cmocka_unit_test(wrong_descriptions_are_refused),
        cmocka_unit_test(every_array_must_be_there_and_sound),
        cmocka_unit_test(columns_and_encoding_must_agree),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(names_must_be_utf8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
