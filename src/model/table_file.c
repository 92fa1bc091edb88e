/* table_file.c - see table_file.h. */
#include "model/table_file.h"

#include <string.h>

/* ---- writing ----------------------------------------------------------- */

static json_t *describe_column(const kb_column *c) {
    json_t *json = json_pack("{s:s, s:I}", "type", kb_column_type_name(c->type), "missing",
                             (json_int_t)c->missing);
    if (json && c->style != KB_WRITTEN_PLAIN)
        json_object_set_new(json, "written", json_string(kb_number_style_name(c->style)));
    if (json && c->level) {
        json_t *levels = json_array();
        for (size_t k = 0; k < c->levels; k++)
            json_array_append_new(levels, json_string(c->level[k]));
        json_object_set_new(json, "levels", levels);
    }
    return json;
}

int kb_table_describe(const kb_table *table, json_t *json) {
    json_t *columns = json_array(), *left_out = json_array();
    int fine = columns && left_out;
    for (size_t j = 0; fine && j < table->columns; j++)
        fine = json_array_append_new(columns, describe_column(&table->column[j])) == 0;
    for (size_t k = 0; fine && k < table->left_out; k++)
        fine = json_array_append_new(left_out,
                                     json_pack("{s:s, s:s, s:I}", "name", table->out[k].name,
                                               "type", kb_column_type_name(table->out[k].type),
                                               "place", (json_int_t)table->out[k].place)) == 0;
    fine &= json_object_set_new(json, "columns", columns) == 0;
    return fine & (json_object_set_new(json, "left_out", left_out) == 0);
}

/* ---- reading ----------------------------------------------------------- */

static kb_status wrong(kb_context *ctx) {
    return kb_fail(ctx, KB_ERR_MODEL, "the description of the columns is wrong");
}

static int read_type(const json_t *json, kb_column_type *out) {
    const char *type = json_string_value(json_object_get(json, "type"));
    return type && kb_column_type_find(type, strlen(type), out);
}

static int read_style(const json_t *json, kb_number_style *out) {
    const char *text = json_string_value(json_object_get(json, "written"));
    for (*out = KB_WRITTEN_PLAIN; text && *out < KB_WRITTEN_STYLES; ++*out)
        if (strcmp(text, kb_number_style_name(*out)) == 0)
            break;
    return *out < KB_WRITTEN_STYLES;
}

static kb_status read_column(kb_context *ctx, const json_t *json, kb_column *c) {
    kb_status status = KB_OK;
    const json_t *levels = json_object_get(json, "levels");
    json_int_t missing = json_integer_value(json_object_get(json, "missing"));
    if (!read_type(json, &c->type) || !read_style(json, &c->style) || missing < 0 ||
        c->type < KB_COLUMN_NUMBER || c->type > KB_COLUMN_CATEGORY)
        TRY(wrong(ctx));
    int has_levels = c->type == KB_COLUMN_BOOLEAN || c->type == KB_COLUMN_CATEGORY;
    if (has_levels != json_is_array(levels))
        TRY(wrong(ctx));
    c->missing = (size_t)missing;
    if (!has_levels)
        goto done;
    TRY(kb_zalloc(ctx, json_array_size(levels), sizeof *c->level, &c->level));
    c->levels = json_array_size(levels);
    for (size_t k = 0; k < c->levels; k++) {
        const char *name = json_string_value(json_array_get(levels, k));
        if (!name)
            TRY(wrong(ctx));
        TRY(kb_strdup(ctx, name, &c->level[k]));
    }
done:
    return status;
}

kb_status kb_table_read(kb_context *ctx, const json_t *json, size_t columns, kb_table **out) {
    kb_status status = KB_OK;
    const json_t *list = json_object_get(json, "columns");
    const json_t *left_out = json_object_get(json, "left_out");
    *out = NULL;
    if (!list)
        return KB_OK;
    if (json_array_size(list) != columns)
        TRY(wrong(ctx));
    TRY(kb_table_create(ctx, columns, out));
    for (size_t j = 0; j < columns; j++)
        TRY(read_column(ctx, json_array_get(list, j), &(*out)->column[j]));
    for (size_t k = 0; k < json_array_size(left_out); k++) {
        const json_t *each = json_array_get(left_out, k);
        const char *name = json_string_value(json_object_get(each, "name"));
        json_int_t place = json_integer_value(json_object_get(each, "place"));
        kb_column_type type;
        if (!name || !read_type(each, &type) || place < 0)
            TRY(wrong(ctx));
        TRY(kb_table_leave_out(ctx, *out, name, type, (size_t)place));
    }
done:
    if (status != KB_OK) {
        kb_table_free(*out);
        *out = NULL;
    }
    return status;
}
