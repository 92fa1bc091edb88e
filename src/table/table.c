/* table.c - see table.h. */
#include "table/table.h"
#include "core/number.h"
#include "core/strings.h"
#include "table/cell.h"

#include <strings.h>

static const char *const TYPE[] = {"auto",     "number", "boolean",  "date",
                                   "category", "id",     "constant", "ignored"};

int kb_text_is_missing(const char *text, size_t length) {
    return (length == 1 && *text == '.') || (length == 4 && strncasecmp(text, "#N/A", 4) == 0) ||
           kb_number_check(text, length) == KB_NUMBER_MISSING;
}

const char *kb_column_type_name(kb_column_type type) {
    return (unsigned)type < sizeof TYPE / sizeof *TYPE ? TYPE[type] : "?";
}

int kb_column_type_find(const char *name, size_t length, kb_column_type *out) {
    for (size_t i = 0; i < sizeof TYPE / sizeof *TYPE; i++)
        if (strlen(TYPE[i]) == length && strncasecmp(name, TYPE[i], length) == 0) {
            *out = (kb_column_type)i;
            return 1;
        }
    return 0;
}

kb_status kb_table_create(kb_context *ctx, size_t columns, kb_table **out) {
    kb_status status;
    kb_table *table;
    *out = NULL;
    TRY(kb_zalloc(ctx, 1, sizeof *table, &table));
    table->allocator = kb_allocator_of(ctx);
    TRY(kb_zalloc(ctx, columns, sizeof *table->column, &table->column));
    table->columns = columns;
    for (size_t j = 0; j < columns; j++)
        table->column[j].type = KB_COLUMN_NUMBER;
    *out = table;
done:
    if (status != KB_OK)
        kb_table_free(table);
    return status;
}

void kb_table_free(kb_table *table) {
    if (!table)
        return;
    for (size_t j = 0; j < table->columns; j++)
        kb_strings_free(table->allocator, table->column[j].levels, table->column[j].level);
    for (size_t k = 0; k < table->left_out; k++)
        kb_allocator_release(table->allocator, table->out[k].name);
    kb_allocator_release(table->allocator, table->out);
    kb_allocator_release(table->allocator, table->column);
    kb_allocator_release(table->allocator, table);
}

kb_status kb_table_leave_out(kb_context *ctx, kb_table *table, const char *name, kb_column_type why,
                             size_t place) {
    kb_status status;
    TRY(kb_realloc(ctx, table->left_out + 1, sizeof *table->out, &table->out));
    table->out[table->left_out] = (kb_left_out){.type = why, .place = place};
    TRY(kb_strdup(ctx, name, &table->out[table->left_out].name));
    table->left_out++;
done:
    return status;
}

int kb_table_leaves_out(const kb_table *table, const char *name) {
    for (size_t k = 0; k < table->left_out; k++)
        if (strcmp(table->out[k].name, name) == 0)
            return 1;
    return 0;
}

int kb_table_leaves_out_place(const kb_table *table, size_t place) {
    for (size_t k = 0; k < table->left_out; k++)
        if (table->out[k].place == place)
            return 1;
    return 0;
}

kb_status kb_table_copy(kb_context *ctx, const kb_table *from, kb_table **out) {
    kb_status status;
    TRY(kb_table_create(ctx, from->columns, out));
    for (size_t j = 0; j < from->columns; j++) {
        kb_column *to = &(*out)->column[j];
        const kb_column *c = &from->column[j];
        TRY(kb_strings_copy(ctx, c->levels, c->level, &to->level));
        *to = (kb_column){c->type, c->style, c->levels, to->level, c->missing};
    }
    for (size_t k = 0; k < from->left_out; k++)
        TRY(kb_table_leave_out(ctx, *out, from->out[k].name, from->out[k].type,
                               from->out[k].place));
done:
    if (status != KB_OK) {
        kb_table_free(*out);
        *out = NULL;
    }
    return status;
}

/* ---- for callers ------------------------------------------------------- */

static kb_status tell(const kb_column_info *from, kb_column_info *out) {
    kb_column_info before;
    if (!kb_take_sized(out, &before, sizeof before))
        return KB_ERR_ARGUMENT;
    memcpy(out, from, before.size);
    out->size = before.size;
    return KB_OK;
}

/* Feature j stands behind the columns that are left out before it. */
static size_t place_of(const kb_table *table, size_t j) {
    size_t place = j, before;
    do {
        before = place;
        place = j;
        for (size_t k = 0; k < table->left_out; k++)
            place += table->out[k].place <= before;
    } while (place != before);
    return place;
}

kb_status kb_table_tell(const kb_table *table, size_t features, char *const *name, size_t j,
                        kb_column_info *out) {
    kb_column_info info = {.type = KB_COLUMN_NUMBER, .place = j};
    if (j >= features)
        return KB_ERR_ARGUMENT;
    if (table) {
        const kb_column *c = &table->column[j];
        info.type = c->type;
        info.missing = c->missing;
        info.place = place_of(table, j);
        info.levels = c->levels;
        info.level = (const char *const *)c->level;
    }
    info.name = name ? name[j] : NULL;
    return tell(&info, out);
}

kb_status kb_table_tell_left_out(const kb_table *table, size_t k, kb_column_info *out) {
    if (!table || k >= table->left_out)
        return KB_ERR_ARGUMENT;
    const kb_left_out *c = &table->out[k];
    kb_column_info info = {.name = c->name, .type = c->type, .place = c->place};
    return tell(&info, out);
}
