/* columns.c - see columns.h. */
#include "csv/columns.h"

#include <stdio.h>
#include <string.h>

void kb_csv_columns_clear(kb_context *ctx, kb_csv_columns *c) {
    kb_column_names_clear(ctx, &c->names);
    kb_release(ctx, c->field);
    kb_release(ctx, c->line);
    kb_release(ctx, c->feature);
    kb_release(ctx, c->source);
    kb_release(ctx, c->ignored);
    kb_release(ctx, c->keep);
    *c = (kb_csv_columns){0};
}

kb_column_choice kb_csv_choice(const kb_read_spec *spec, const kb_input *in,
                               const kb_csv_columns *c) {
    return (kb_column_choice){.names = &c->names,
                              .count = c->count,
                              .file = kb_input_name(in),
                              .columns = spec->columns,
                              .ignore = spec->ignore,
                              .types = spec->types};
}

size_t kb_csv_place(const kb_csv_columns *c, size_t column) {
    size_t roles = (size_t)(c->label < column) + (c->weight < column) + (c->group < column);
    return column - roles;
}

kb_column_text kb_column_in_words(const kb_csv_columns *c, size_t column) {
    kb_column_text out;
    if (c->names.name)
        snprintf(out.text, sizeof out.text, "column '%s'",
                 kb_quote(c->names.name[column], strlen(c->names.name[column])).text);
    else
        snprintf(out.text, sizeof out.text, "column %zu", column + 1);
    return out;
}
