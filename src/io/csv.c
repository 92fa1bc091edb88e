/*
 * csv.c - CSV into dense rows; see reader.h for the format.
 *
 * Lines are parsed in pieces, by all threads (pieces.h).  A feature that is a plain number is
 * parsed where it stands; only quotes, words and mistakes take the slow path, which cuts the field
 * out first.
 *
 * A label column is read as numbers until its first word.  From there on all labels
 * are words, those before it too: a number stands as its shortest decimal, so that
 * "1", "1.0" and "+1" are one class in either reading.  Words that came in earlier blocks are
 * looked up while a piece is parsed, new ones get their numbers when it is joined.
 */
#include "core/number.h"
#include "io/csv_columns.h"
#include "io/label_words.h"
#include "io/pieces.h"

#include <string.h>

typedef struct parser {
    kb_context *ctx;
    kb_input *in;
    kb_data *data;
    kb_csv_columns columns;
    kb_words words;
    int wordy;    /* labels are numbers of words */
    size_t group; /* column of the groups that are to be kept, or KB_NO_COLUMN */
} parser;

/* ---- one row ----------------------------------------------------------- */

static kb_status bad_number(const parser *p, kb_piece *piece, size_t column, const char *field) {
    size_t length = strlen(field);
    kb_number_fault fault = kb_number_check(field, length);
    kb_column_text where = kb_column_in_words(&p->columns, column);
    if (length == 0)
        return kb_piece_fail(piece, "%s is empty (kerbin takes no missing values)", where.text);
    return kb_piece_fail(piece, "%s: '%s' %s", where.text, kb_quote(field, length).text,
                         kb_number_fault_text(fault));
}

/* The number of a word that is known; else the label stays open, and its text with it.  NULL is
 * the text of a number. */
static void number_label(const parser *p, kb_piece *piece, const char *word, const char *text) {
    size_t number = kb_words_find(&p->words, word);
    if (number < KB_WORDS_MAX)
        piece->label[piece->rows] = (double)number;
    else
        piece->open_label[piece->open_labels++] = (kb_open_text){.row = piece->rows, .text = text};
}

static kb_status take_label(const parser *p, kb_piece *piece, const char *field) {
    double *label = &piece->label[piece->rows];
    if (kb_number_read(field, label)) {
        char word[KB_NUMBER_TEXT];
        if (p->wordy) {
            kb_number_format(*label, word);
            number_label(p, piece, word, NULL);
        }
        return KB_OK;
    }
    size_t length = strlen(field);
    kb_number_fault fault = kb_number_check(field, length);
    if (fault != KB_NUMBER_WORD)
        return kb_piece_fail(piece, "%s, the label, %s",
                             kb_column_in_words(&p->columns, p->columns.label).text,
                             length == 0 ? "is empty" : kb_number_fault_text(fault));
    number_label(p, piece, field, field);
    return KB_OK;
}

static kb_status take_weight(const parser *p, kb_piece *piece, const char *field) {
    size_t column = p->columns.weight;
    double *out = &piece->weight[piece->rows];
    if (!kb_number_read(field, out))
        return bad_number(p, piece, column, field);
    if (*out < 0)
        return kb_piece_fail(piece, "%s: the weight %s is negative",
                             kb_column_in_words(&p->columns, column).text,
                             kb_quote(field, strlen(field)).text);
    return KB_OK;
}

static kb_status take_group(const parser *p, kb_piece *piece, const char *field) {
    size_t length = strlen(field);
    if (kb_number_check(field, length) == KB_NUMBER_MISSING)
        return kb_piece_fail(piece, "%s, the group, is %s",
                             kb_column_in_words(&p->columns, p->group).text,
                             length == 0 ? "empty" : "missing");
    kb_piece_set_group(piece, field, length);
    return KB_OK;
}

static kb_status wrong_count(const parser *p, kb_piece *piece, const char *than) {
    return kb_piece_fail(piece, "%s fields than the %zu of line %zu", than, p->columns.count,
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

static kb_status parse_field(const parser *p, kb_piece *piece, size_t column, char **cursor,
                             double *row) {
    const kb_csv_columns *c = &p->columns;
    size_t feature = c->feature[column];
    if (feature != KB_NO_COLUMN && parse_plain(cursor, c->delimiter, &row[feature]))
        return KB_OK;
    char *field = kb_field_cut(cursor, c->delimiter);
    if (!field)
        return kb_piece_fail(piece, "%s: a quote is not closed where the field ends",
                             kb_column_in_words(c, column).text);
    if (feature != KB_NO_COLUMN) {
        if (!kb_number_read(field, &row[feature]))
            return bad_number(p, piece, column, field);
    } else if (column == c->label) {
        return take_label(p, piece, field);
    } else if (column == c->weight) {
        return take_weight(p, piece, field);
    } else if (column == p->group) {
        return take_group(p, piece, field);
    }
    return KB_OK;
}

static kb_status parse_row(const parser *p, kb_piece *piece, char *line) {
    kb_status status = KB_OK;
    size_t count = p->columns.count, column = 0;
    double *row = piece->value + piece->entries;
    for (char *cursor = line; cursor; column++) {
        if (column == count)
            TRY(wrong_count(p, piece, "more"));
        TRY(parse_field(p, piece, column, &cursor, row));
    }
    if (column < count)
        TRY(wrong_count(p, piece, "fewer"));
    kb_piece_end_row(piece, p->columns.features);
done:
    return status;
}

static void parse_piece(const void *arg, kb_piece *piece) {
    const parser *p = arg;
    char *line;
    piece->wordy = p->wordy;
    while ((line = kb_piece_line(piece)))
        if (*skip_spaces(line) != '\0' && parse_row(p, piece, line) != KB_OK)
            return;
}

/* ---- labels ------------------------------------------------------------ */

static size_t line_of(const kb_piece *piece, size_t row) {
    return piece->lines_before + piece->row_line[row];
}

static kb_status number_of_word(parser *p, size_t line, const char *word, double *label) {
    kb_status status;
    size_t number;
    TRY(kb_words_number(p->ctx, &p->words, word, &number));
    if (number == KB_WORDS_MAX)
        TRY(kb_input_fail_at(p->in, line, "%s, the label, has more than %d different words",
                             kb_column_in_words(&p->columns, p->columns.label).text, KB_WORDS_MAX));
    *label = (double)number;
done:
    return status;
}

static kb_status number_of_decimal(parser *p, size_t line, double *label) {
    char word[KB_NUMBER_TEXT];
    kb_number_format(*label, word);
    return number_of_word(p, line, word, label);
}

/* The first word of the file, in a row of the piece: the labels above become words. */
static kb_status begin_words(parser *p, const kb_piece *piece, size_t row) {
    kb_status status = KB_OK;
    for (double *label = p->data->label; label < &piece->label[row]; label++)
        TRY(number_of_decimal(p, line_of(piece, row), label));
    p->wordy = 1;
done:
    return status;
}

static kb_status number_open(parser *p, const kb_piece *piece, const kb_open_text *open) {
    size_t line = line_of(piece, open->row);
    double *label = &piece->label[open->row];
    return open->text ? number_of_word(p, line, open->text, label)
                      : number_of_decimal(p, line, label);
}

/* A piece that was parsed before the first word was known: its numbers are not open, and those
 * below that word become words too. */
static kb_status join_mixed(parser *p, const kb_piece *piece) {
    kb_status status = KB_OK;
    const kb_open_text *open = piece->open_label, *end = open + piece->open_labels;
    for (size_t i = 0; i < piece->rows; i++) {
        int is_open = open < end && open->row == i;
        if (is_open && !p->wordy)
            TRY(begin_words(p, piece, i));
        if (is_open)
            TRY(number_open(p, piece, open++));
        else if (p->wordy)
            TRY(number_of_decimal(p, line_of(piece, i), &piece->label[i]));
    }
done:
    return status;
}

static kb_status join_piece(void *arg, kb_piece *piece) {
    kb_status status = KB_OK;
    parser *p = arg;
    if (piece->wordy) {
        for (size_t k = 0; k < piece->open_labels; k++)
            if (piece->open_label[k].row < piece->rows)
                TRY(number_open(p, piece, &piece->open_label[k]));
    } else if (p->wordy || piece->open_labels > 0) {
        TRY(join_mixed(p, piece));
    }
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
    TRY(read_first(&p, spec));
    int labelled = p.columns.label != KB_NO_COLUMN;
    kb_piece_format format = {.shape = {.label = labelled,
                                        .line = labelled,
                                        .weight = p.columns.weight != KB_NO_COLUMN,
                                        .group = p.group != KB_NO_COLUMN,
                                        .features = data->features},
                              .piece_bytes = spec->piece_bytes,
                              .arg = &p,
                              .parse = parse_piece,
                              .join = join_piece};
    TRY(kb_pieces_read(ctx, input, &format, data));
    TRY(finish(&p));
done:
    kb_csv_columns_clear(ctx, &p.columns);
    kb_words_clear(ctx, &p.words);
    return status;
}
