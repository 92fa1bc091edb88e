/* layout.c - see layout.h; the rules are in reader.h. */
#include "csv/layout.h"
#include "core/number.h"
#include "csv/fields.h"
#include "csv/header.h"
#include "csv/roles.h"
#include "options/say.h"

#include <stdio.h>
#include <string.h>

/* ---- the first line ---------------------------------------------------- */

static kb_status split(kb_context *ctx, kb_input *in, const char *line, kb_csv_columns *c) {
    kb_status status;
    size_t most = 1;
    c->delimiter = kb_field_delimiter(line);
    c->line_number = kb_input_line_number(in);
    for (const char *p = line; *p; p++)
        most += *p == c->delimiter;
    TRY(kb_strdup(ctx, line, &c->line));
    TRY(kb_alloc(ctx, most, sizeof *c->field, &c->field));
    TRY(kb_alloc(ctx, most, sizeof *c->feature, &c->feature));
    TRY(kb_alloc(ctx, most, sizeof *c->source, &c->source));
    TRY(kb_zalloc(ctx, most, 1, &c->ignored));
    for (char *cursor = c->line; cursor;) {
        char *field = kb_field_cut(&cursor, c->delimiter);
        if (!field)
            TRY(kb_input_fail(
                in,
                "field %zu: a quote is not closed where the field ends (in quotes, write \"\" for "
                "one)",
                c->count + 1));
        c->feature[c->count] = KB_NO_COLUMN;
        c->field[c->count++] = field;
    }
done:
    return status;
}

/* Delimiters at the end of lines, with nothing behind them in any line. */
static void drop_empty_end(kb_csv_columns *c, const kb_csv_sample *s) {
    while (c->count > 1 && s->rows > 0 && *c->field[c->count - 1] == '\0' &&
           s->below[c->count - 1].numbers + s->below[c->count - 1].words == 0)
        c->count--;
}

/* Whether half of the model's names are there. */
static int has_names_of(const kb_read_spec *spec, const kb_csv_columns *c) {
    size_t found = 0;
    for (size_t j = 0; spec->feature_name && j < spec->features; j++)
        for (size_t k = 0; k < c->count; k++)
            if (strcmp(spec->feature_name[j], c->field[k]) == 0) {
                found++;
                break;
            }
    return 2 * found >= spec->features && found > 0;
}

static int has_word(const kb_csv_columns *c) {
    for (size_t k = 0; k < c->count; k++)
        if (kb_number_check(c->field[k], strlen(c->field[k])) == KB_NUMBER_WORD)
            return 1;
    return 0;
}

/* A list of columns with a name in it. */
static int list_has_name(const kb_csv_columns *c, const char *list) {
    char item[KB_ITEM_TEXT];
    while (kb_list_item(&list, item)) {
        char *value = strrchr(item, '=');
        if (value)
            *value = '\0';
        if (kb_csv_is_name(c, item))
            return 1;
    }
    return 0;
}

/* A list of columns with a field of the first line in it, which is no number. */
static int list_has_field(const kb_csv_columns *c, const char *list) {
    char item[KB_ITEM_TEXT];
    while (kb_list_item(&list, item))
        for (size_t k = 0; k < c->count; k++)
            if (strcmp(item, c->field[k]) == 0 && kb_csv_is_name(c, item))
                return 1;
    return 0;
}

/* A first line of values that could as well be names. */
static void tell_of_values(kb_context *ctx, kb_input *in, const kb_csv_columns *c) {
    int counts = c->count > 2 && kb_header_counts(c->count, c->field);
    if (counts || (c->count > 1 && has_word(c)))
        kb_log(ctx, KB_LOG_INFO,
               "%s: the first line %s, so it is taken as values (%s if it holds names)",
               kb_input_name(in), counts ? "could be a row of the table" : "looks like the others",
               kb_say_value(ctx, KB_OPT_HEADER, "on").text);
}

static kb_status find_header(kb_context *ctx, const kb_read_spec *spec, kb_input *in,
                             const kb_csv_sample *sample, kb_csv_columns *c) {
    kb_status status = KB_OK;
    size_t skip[2];
    int by_name;
    TRY(kb_csv_word_columns(ctx, spec, in, c, skip, &by_name));
    by_name |=
        !spec->to_predict && (list_has_name(c, spec->ignore) || list_has_name(c, spec->columns) ||
                              list_has_name(c, spec->types));
    if (spec->header != KB_HEADER_AUTO) {
        c->header = spec->header == KB_HEADER_ON;
    } else if ((!spec->to_predict && by_name) || has_names_of(spec, c) ||
               list_has_field(c, spec->keep)) {
        c->header = 1;
    } else if (kb_header_is_counted(sample, c->count, c->field)) {
        c->header = 1;
        kb_log(ctx, KB_LOG_INFO,
               "%s: the first line counts the columns, so it is taken as their names (%s if it "
               "holds values)",
               kb_input_name(in), kb_say_value(ctx, KB_OPT_HEADER, "off").text);
    } else {
        c->header = kb_header_is_named(sample, c->count, c->field, skip);
        if (!c->header && sample->rows > 0 && !spec->to_predict)
            tell_of_values(ctx, in, c);
    }
done:
    return status;
}

static kb_status take_names(kb_context *ctx, kb_input *in, kb_csv_columns *c) {
    kb_status status;
    size_t renamed;
    TRY(kb_column_names_build(ctx, c->count, c->field, &c->names, &renamed));
    size_t k = 0;
    while (renamed > 0 && (*c->field[k] == '\0' || strcmp(c->names.name[k], c->field[k]) == 0))
        k++;
    if (renamed > 0)
        kb_log(ctx, KB_LOG_WARNING, "%s: %zu column%s the name of another: %s %zu is now '%s'",
               kb_input_name(in), renamed, renamed == 1 ? " has" : "s have", "column", k + 1,
               kb_quote(c->names.name[k], strlen(c->names.name[k])).text);
done:
    return status;
}

static kb_status look_at_first_lines(kb_context *ctx, const kb_read_spec *spec, kb_input *in,
                                     kb_csv_columns *c) {
    kb_status status;
    kb_csv_sample sample = {0};
    size_t length;
    const char *text = kb_input_peek(in, &length);
    TRY(kb_csv_sample_build(ctx, c->delimiter, c->count, c->field, text, length, &sample));
    drop_empty_end(c, &sample);
    TRY(find_header(ctx, spec, in, &sample, c));
    if (c->header)
        TRY(take_names(ctx, in, c));
done:
    kb_csv_sample_clear(ctx, &sample);
    return status;
}

static kb_status find_kept(kb_context *ctx, const kb_read_spec *spec, kb_input *in,
                           kb_csv_columns *c) {
    kb_status status;
    kb_column_choice choice = kb_csv_choice(spec, in, c);
    TRY(kb_alloc(ctx, c->count, sizeof *c->keep, &c->keep));
    TRY(kb_choose_kept(ctx, &choice, spec->keep, c->keep, &c->kept));
done:
    return status;
}

/* ---- all of them ------------------------------------------------------- */

kb_status kb_csv_columns_build(kb_context *ctx, const kb_read_spec *spec, kb_input *input,
                               const char *line, kb_csv_columns *out) {
    kb_status status;
    *out = (kb_csv_columns){.label = KB_NO_COLUMN, .weight = KB_NO_COLUMN, .group = KB_NO_COLUMN};
    TRY(split(ctx, input, line, out));
    TRY(look_at_first_lines(ctx, spec, input, out));
    if (spec->keep)
        TRY(find_kept(ctx, spec, input, out));
    TRY(kb_csv_roles_find(ctx, spec, input, out));
done:
    return status;
}
