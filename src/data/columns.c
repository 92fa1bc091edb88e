/*
 * columns.c - see columns.h; the rules are in reader.h.
 *
 * A header is told by a word in the first row.  An empty field or an NA there is no
 * sign of one: taking it so would drop a sample in silence, where an error about
 * the missing value is due.
 */
#include "data/columns.h"
#include "data/number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *kb_field_cut(char **cursor, char delimiter) {
    char *p = *cursor, *field, *end;
    while (*p == ' ')
        p++;
    if (*p != '"') {
        field = p;
        while (*p != delimiter && *p != '\0')
            p++;
        for (end = p; end > field && end[-1] == ' ';)
            end--;
    } else {
        field = end = ++p;
        for (; *p != '\0' && (*p != '"' || p[1] == '"'); p++) {
            p += *p == '"';
            *end++ = *p;
        }
        if (*p++ != '"')
            return NULL;
        while (*p == ' ')
            p++;
        if (*p != delimiter && *p != '\0')
            return NULL;
    }
    *cursor = *p == '\0' ? NULL : p + 1;
    *end = '\0';
    return field;
}

static char find_delimiter(const char *line) {
    char found = ',';
    int quoted = 0;
    for (; *line; line++) {
        quoted ^= *line == '"';
        if (!quoted && *line == '\t')
            return '\t';
        if (!quoted && *line == ';')
            found = ';';
    }
    return found;
}

static kb_status split(kb_context *ctx, kb_input *in, const char *line, kb_columns *c) {
    kb_status status;
    size_t most = 1;
    c->delimiter = find_delimiter(line);
    c->line_number = kb_input_line_number(in);
    for (const char *p = line; *p; p++)
        most += *p == c->delimiter;
    TRY(kb_strdup(ctx, line, &c->line));
    TRY(kb_alloc(ctx, most, sizeof *c->field, &c->field));
    TRY(kb_alloc(ctx, most, sizeof *c->feature, &c->feature));
    for (char *cursor = c->line; cursor;) {
        char *field = kb_field_cut(&cursor, c->delimiter);
        if (!field)
            TRY(kb_input_fail(in, "field %zu: a quote is not closed where the field ends",
                              c->count + 1));
        c->feature[c->count] = KB_NO_COLUMN;
        c->field[c->count++] = field;
    }
done:
    return status;
}

/* ---- names ------------------------------------------------------------- */

typedef struct named {
    const char *name;
    size_t column;
} named;

static int by_name(const void *a, const void *b) {
    return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

/* The names of the header in alphabetical order; none may come twice. */
static kb_status sort_names(kb_context *ctx, kb_input *in, const kb_columns *c, named **out) {
    kb_status status;
    TRY(kb_alloc(ctx, c->count, sizeof **out, out));
    for (size_t k = 0; k < c->count; k++)
        (*out)[k] = (named){c->field[k], k};
    qsort(*out, c->count, sizeof **out, by_name);
    for (size_t k = 1; k < c->count; k++) {
        const char *name = (*out)[k].name;
        if (strcmp((*out)[k - 1].name, name) == 0)
            TRY(kb_input_fail(in, "two columns are named '%s'", kb_quote(name, strlen(name)).text));
    }
done:
    return status;
}

/* KB_NO_COLUMN if there is none of that name, or no header. */
static size_t column_named(const kb_columns *c, const named *sorted, const char *name) {
    named key = {name, 0};
    const named *found = NULL;
    if (sorted && name)
        found = bsearch(&key, sorted, c->count, sizeof key, by_name);
    return found ? found->column : KB_NO_COLUMN;
}

/* ---- the label --------------------------------------------------------- */

typedef enum wish { WISH_NONE, WISH_NUMBER, WISH_NAME } wish;

static const char *label_text(const kb_read_spec *spec) {
    return spec->label ? spec->label : "-1";
}

static wish label_wish(const kb_read_spec *spec, long *number) {
    const char *text = label_text(spec);
    char *end;
    if (strcmp(text, "none") == 0)
        return WISH_NONE;
    *number = strtol(text, &end, 10);
    return end != text && *end == '\0' ? WISH_NUMBER : WISH_NAME;
}

static kb_status label_at(kb_context *ctx, kb_input *in, const kb_columns *c, long number,
                          size_t *out) {
    long count = (long)c->count;
    if (number == 0 || number > count || number < -count)
        return kb_fail(ctx, KB_ERR_ARGUMENT,
                       "%s: the label cannot be column %ld: there are %ld columns, the first is 1, "
                       "the last -1",
                       kb_input_name(in), number, count);
    *out = (size_t)(number > 0 ? number - 1 : count + number);
    return KB_OK;
}

static kb_status label_called(kb_context *ctx, kb_input *in, const kb_columns *c,
                              const named *sorted, const char *name, size_t *out) {
    *out = column_named(c, sorted, name);
    if (*out != KB_NO_COLUMN)
        return KB_OK;
    return kb_fail(ctx, KB_ERR_ARGUMENT,
                   sorted ? "%s: no column is named '%s', so it cannot be the label"
                          : "%s: the file has no header, so the label cannot be named '%s'",
                   kb_input_name(in), name);
}

/* ---- the features ------------------------------------------------------ */

static int has_word(const kb_columns *c, size_t except) {
    for (size_t k = 0; k < c->count; k++)
        if (k != except && kb_number_check(c->field[k], strlen(c->field[k])) == KB_NUMBER_WORD)
            return 1;
    return 0;
}

/* Every column but the label's, in the order of the file. */
static void take_in_order(kb_columns *c) {
    for (size_t k = 0; k < c->count; k++)
        if (k != c->label)
            c->feature[k] = c->features++;
}

static kb_status take_by_name(kb_context *ctx, const kb_read_spec *spec, kb_input *in,
                              kb_columns *c, const named *sorted) {
    size_t ignored = 0, example = 0;
    for (size_t j = 0; j < spec->features; j++) {
        const char *name = spec->feature_name[j];
        size_t column = column_named(c, sorted, name);
        if (column == KB_NO_COLUMN)
            return kb_input_fail(in, "no column is named '%s', a feature of the model",
                                 kb_quote(name, strlen(name)).text);
        c->feature[column] = j;
    }
    c->features = spec->features;

    long number;
    wish w = label_wish(spec, &number);
    size_t label = KB_NO_COLUMN;
    if (w == WISH_NAME)
        label = column_named(c, sorted, spec->label);
    if (w != WISH_NONE && label == KB_NO_COLUMN)
        label = column_named(c, sorted, spec->label_name);
    if (label != KB_NO_COLUMN && c->feature[label] == KB_NO_COLUMN)
        c->label = label;

    for (size_t k = c->count; k-- > 0;)
        if (c->feature[k] == KB_NO_COLUMN && k != c->label) {
            ignored++;
            example = k;
        }
    if (ignored > 0)
        kb_log(ctx, KB_LOG_WARNING, "%s: %zu column%s unknown to the model %s ignored (%s)",
               kb_input_name(in), ignored, ignored == 1 ? "" : "s", ignored == 1 ? "is" : "are",
               kb_column_in_words(c, example).text);
    return KB_OK;
}

static kb_status take_by_count(kb_context *ctx, const kb_read_spec *spec, kb_input *in,
                               kb_columns *c, const named *sorted) {
    kb_status status = KB_OK;
    long number;
    wish w = label_wish(spec, &number);
    if (c->count == spec->features + 1 && w == WISH_NUMBER)
        TRY(label_at(ctx, in, c, number, &c->label));
    else if (c->count == spec->features + 1 && w == WISH_NAME)
        TRY(label_called(ctx, in, c, sorted, spec->label, &c->label));
    else if (c->count != spec->features)
        TRY(kb_input_fail(in, "%zu columns, but the model has %zu feature%s%s", c->count,
                          spec->features, spec->features == 1 ? "" : "s",
                          w == WISH_NONE ? "" : " (and there may be one label)"));
    take_in_order(c);
done:
    return status;
}

static kb_status choose(kb_context *ctx, const kb_read_spec *spec, kb_input *in, kb_columns *c) {
    kb_status status;
    named *sorted = NULL;
    long number;
    wish w = label_wish(spec, &number);
    size_t label = KB_NO_COLUMN;
    if (w == WISH_NUMBER && (!spec->to_predict || c->count == spec->features + 1))
        TRY(label_at(ctx, in, c, number, &label));
    c->header = spec->header == KB_HEADER_ON ||
                (spec->header == KB_HEADER_AUTO &&
                 ((w == WISH_NAME && !spec->to_predict) || has_word(c, label)));
    if (c->header)
        TRY(sort_names(ctx, in, c, &sorted));

    if (spec->to_predict && c->header && spec->feature_name) {
        TRY(take_by_name(ctx, spec, in, c, sorted));
    } else if (spec->to_predict) {
        TRY(take_by_count(ctx, spec, in, c, sorted));
    } else {
        if (w == WISH_NAME)
            TRY(label_called(ctx, in, c, sorted, spec->label, &label));
        c->label = label;
        take_in_order(c);
    }
    if (c->features == 0)
        TRY(kb_fail(ctx, KB_ERR_DATA, "%s: no features: the label is the only column",
                    kb_input_name(in)));
done:
    kb_release(ctx, sorted);
    return status;
}

kb_status kb_columns_build(kb_context *ctx, const kb_read_spec *spec, kb_input *input,
                           const char *line, kb_columns *out) {
    kb_status status;
    *out = (kb_columns){.label = KB_NO_COLUMN};
    TRY(split(ctx, input, line, out));
    TRY(choose(ctx, spec, input, out));
done:
    return status;
}

void kb_columns_clear(kb_context *ctx, kb_columns *c) {
    kb_release(ctx, c->field);
    kb_release(ctx, c->line);
    kb_release(ctx, c->feature);
    *c = (kb_columns){0};
}

kb_column_text kb_column_in_words(const kb_columns *c, size_t column) {
    kb_column_text out;
    if (c->header && *c->field[column])
        snprintf(out.text, sizeof out.text, "column '%s'",
                 kb_quote(c->field[column], strlen(c->field[column])).text);
    else
        snprintf(out.text, sizeof out.text, "column %zu", column + 1);
    return out;
}
