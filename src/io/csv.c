/*
 * csv.c - CSV into dense rows; see reader.h for the format.
 *
 * One pass.  A feature that is a plain number is parsed where it stands; only
 * quotes, words and mistakes take the slow path, which cuts the field out first.
 *
 * A label column is read as numbers until its first word.  From there on all labels
 * are words, those before it too: a number stands as its shortest decimal, so that
 * "1", "1.0" and "+1" are one class in either reading.
 */
#include "io/csv_columns.h"
#include "io/text_ids.h"
#include "core/number.h"
#include "io/label_words.h"

#include <string.h>

typedef struct parser {
    kb_context *ctx;
    kb_input *in;
    kb_data *data;
    kb_csv_columns columns;
    kb_words words;
    int wordy; /* labels are numbers of words */
    kb_text_ids groups;
    size_t group; /* column of the groups that are to be kept, or KB_NO_COLUMN */
    size_t dense_capacity, label_capacity, weight_capacity, group_capacity;
} parser;

/* ---- labels ------------------------------------------------------------ */

static kb_status number_of_word(parser *p, const char *word, double *label) {
    kb_status status;
    size_t number;
    TRY(kb_words_number(p->ctx, &p->words, word, &number));
    if (number == KB_WORDS_MAX)
        TRY(kb_input_fail(p->in, "%s, the label, has more than %d different words",
                          kb_column_in_words(&p->columns, p->columns.label).text, KB_WORDS_MAX));
    *label = (double)number;
done:
    return status;
}

static kb_status number_of_decimal(parser *p, double x, double *label) {
    char word[KB_NUMBER_TEXT];
    kb_number_format(x, word);
    return number_of_word(p, word, label);
}

static kb_status take_label(parser *p, const char *field) {
    kb_status status = KB_OK;
    size_t length = strlen(field);
    double x, *label = p->data->label, *out = &label[p->data->rows];
    kb_number_fault fault = kb_number_check(field, length);
    if (fault == KB_NUMBER_FINE) {
        kb_number_parse(field, &x);
        if (p->wordy)
            TRY(number_of_decimal(p, x, out));
        else
            *out = x;
    } else if (fault == KB_NUMBER_WORD) {
        for (size_t i = 0; !p->wordy && i < p->data->rows; i++)
            TRY(number_of_decimal(p, label[i], &label[i]));
        p->wordy = 1;
        TRY(number_of_word(p, field, out));
    } else {
        TRY(kb_input_fail(p->in, "%s, the label, %s",
                          kb_column_in_words(&p->columns, p->columns.label).text,
                          length == 0 ? "is empty" : kb_number_fault_text(fault)));
    }
done:
    return status;
}

/* ---- rows -------------------------------------------------------------- */

static kb_status bad_number(parser *p, size_t column, const char *field) {
    size_t length = strlen(field);
    kb_number_fault fault = kb_number_check(field, length);
    kb_column_text where = kb_column_in_words(&p->columns, column);
    if (length == 0)
        return kb_input_fail(p->in, "%s is empty (kerbin takes no missing values)", where.text);
    return kb_input_fail(p->in, "%s: '%s' %s", where.text, kb_quote(field, length).text,
                         kb_number_fault_text(fault));
}

static kb_status take_weight(parser *p, const char *field) {
    size_t column = p->columns.weight;
    double *out = &p->data->weight[p->data->rows];
    if (!kb_number_read(field, out))
        return bad_number(p, column, field);
    if (*out < 0)
        return kb_input_fail(p->in, "%s: the weight %s is negative",
                             kb_column_in_words(&p->columns, column).text,
                             kb_quote(field, strlen(field)).text);
    return KB_OK;
}

static kb_status take_group(parser *p, const char *field) {
    size_t length = strlen(field);
    if (kb_number_check(field, length) == KB_NUMBER_MISSING)
        return kb_input_fail(p->in, "%s, the group, is %s",
                             kb_column_in_words(&p->columns, p->group).text,
                             length == 0 ? "empty" : "missing");
    return kb_text_ids_number(p->ctx, &p->groups, field, length, &p->data->group[p->data->rows]);
}

static kb_status wrong_count(parser *p, const char *than) {
    return kb_input_fail(p->in, "%s fields than the %zu of line %zu", than, p->columns.count,
                         p->columns.line_number);
}

static const char *skip_spaces(const char *p) {
    while (*p == ' ')
        p++;
    return p;
}

/* A number between the cursor and the next delimiter; 0 and nothing moved if there is
 * something else. */
static int parse_plain(char **cursor, char delimiter, double *out) {
    const char *end = kb_number_parse(skip_spaces(*cursor), out);
    if (!end)
        return 0;
    end = skip_spaces(end);
    if (*end != delimiter && *end != '\0')
        return 0;
    *cursor = *end == '\0' ? NULL : *cursor + (end - *cursor) + 1;
    return 1;
}

static kb_status parse_field(parser *p, size_t column, char **cursor, double *row) {
    const kb_csv_columns *c = &p->columns;
    size_t feature = c->feature[column];
    if (feature != KB_NO_COLUMN && parse_plain(cursor, c->delimiter, &row[feature]))
        return KB_OK;
    char *field = kb_field_cut(cursor, c->delimiter);
    if (!field)
        return kb_input_fail(p->in, "%s: a quote is not closed where the field ends",
                             kb_column_in_words(c, column).text);
    if (feature != KB_NO_COLUMN) {
        const char *end = kb_number_parse(field, &row[feature]);
        if (!end || *end != '\0')
            return bad_number(p, column, field);
    } else if (column == c->label) {
        return take_label(p, field);
    } else if (column == c->weight) {
        return take_weight(p, field);
    } else if (column == p->group) {
        return take_group(p, field);
    }
    return KB_OK;
}

static kb_status parse_row(parser *p, char *line) {
    kb_status status;
    kb_data *data = p->data;
    size_t count = p->columns.count, column = 0, cells = data->rows * data->features;
    if (data->rows == KB_ROWS_MAX)
        TRY(kb_input_fail(p->in, KB_ROWS_TOO_MANY));
    TRY(kb_reserve(p->ctx, cells + data->features, sizeof *data->dense, &p->dense_capacity,
                   &data->dense));
    if (p->columns.label != KB_NO_COLUMN)
        TRY(kb_reserve(p->ctx, data->rows + 1, sizeof *data->label, &p->label_capacity,
                       &data->label));
    if (p->columns.weight != KB_NO_COLUMN)
        TRY(kb_reserve(p->ctx, data->rows + 1, sizeof *data->weight, &p->weight_capacity,
                       &data->weight));
    if (p->group != KB_NO_COLUMN)
        TRY(kb_reserve(p->ctx, data->rows + 1, sizeof *data->group, &p->group_capacity,
                       &data->group));
    for (char *cursor = line; cursor; column++) {
        if (column == count)
            TRY(wrong_count(p, "more"));
        TRY(parse_field(p, column, &cursor, data->dense + cells));
    }
    if (column < count)
        TRY(wrong_count(p, "fewer"));
    data->rows++;
done:
    return status;
}

/* ---- the file ---------------------------------------------------------- */

static kb_status take_names(parser *p) {
    kb_status status;
    const kb_csv_columns *c = &p->columns;
    TRY(kb_zalloc(p->ctx, c->features, sizeof *p->data->feature_name, &p->data->feature_name));
    for (size_t k = 0; k < c->count; k++)
        if (c->feature[k] != KB_NO_COLUMN)
            TRY(kb_strdup(p->ctx, c->field[k], &p->data->feature_name[c->feature[k]]));
    if (c->label != KB_NO_COLUMN)
        TRY(kb_strdup(p->ctx, c->field[c->label], &p->data->label_name));
done:
    return status;
}

/* The next line that is not empty; NULL at the end. */
static kb_status next_line(kb_input *in, char **line) {
    size_t length;
    kb_status status;
    do
        status = kb_input_line(in, line, &length);
    while (status == KB_OK && *line && *skip_spaces(*line) == '\0');
    return status;
}

static kb_status read_first(parser *p, const kb_read_spec *spec) {
    kb_status status;
    char *line;
    do
        TRY(next_line(p->in, &line));
    while (line && line[0] == '#');
    if (!line)
        TRY(kb_fail(p->ctx, KB_ERR_DATA, "%s: no samples", kb_input_name(p->in)));
    TRY(kb_csv_columns_build(p->ctx, spec, p->in, line, &p->columns));
    p->data->features = p->columns.features;
    p->group = spec->to_predict ? KB_NO_COLUMN : p->columns.group;
    if (p->columns.header)
        TRY(take_names(p));
    else
        kb_input_again(p->in);
done:
    return status;
}

static kb_status finish(parser *p) {
    kb_status status;
    kb_data *data = p->data;
    if (data->rows == 0)
        TRY(kb_fail(p->ctx, KB_ERR_DATA, "%s: no samples: the header is all there is",
                    kb_input_name(p->in)));
    TRY(kb_realloc(p->ctx, data->rows * data->features, sizeof *data->dense, &data->dense));
    if (p->wordy) {
        TRY(kb_words_sort(p->ctx, &p->words, data->label, data->rows, &data->class_name));
        data->class_count = p->words.count;
    }
done:
    return status;
}

kb_status kb_csv_read(kb_context *ctx, const kb_read_spec *spec, kb_input *input, kb_data *data) {
    kb_status status;
    parser p = {.ctx = ctx, .in = input, .data = data};
    char *line;
    TRY(read_first(&p, spec));
    for (;;) {
        TRY(next_line(input, &line));
        if (!line)
            break;
        TRY(parse_row(&p, line));
    }
    TRY(finish(&p));
done:
    kb_csv_columns_clear(ctx, &p.columns);
    kb_words_clear(ctx, &p.words);
    kb_text_ids_clear(ctx, &p.groups);
    return status;
}
