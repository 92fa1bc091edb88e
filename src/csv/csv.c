/*
 * csv.c - CSV into dense rows; see reader.h for the format.
 *
 * Lines are parsed in pieces, by all threads (pieces.h).  A cell that is a plain number is
 * parsed where it stands; only quotes, words and mistakes take the slow path, which cuts the field
 * out first.
 *
 * Features and labels are read alike, as numbers and texts (table/cell.h); what a column holds is
 * decided when all cells are known.  Texts that came in earlier blocks are looked up while a piece
 * is parsed, new ones get their numbers when it is joined.
 */
#include "core/number.h"
#include "core/strings.h"
#include "csv/fields.h"
#include "csv/labels.h"
#include "csv/layout.h"
#include "csv/types.h"
#include "io/pieces.h"
#include "ranks/ranks.h"
#include "table/cell.h"

#include <stdio.h>
#include <string.h>

typedef struct parser {
    kb_context *ctx;
    kb_input *in;
    kb_data *data;
    const kb_read_spec *spec;
    kb_csv_columns columns;
    kb_text_ids *text; /* features: of each */
    kb_text_ids label; /* of the labels */
    size_t group;      /* column of the groups that are to be kept, or KB_NO_COLUMN */
} parser;

/* ---- one row ----------------------------------------------------------- */

static kb_status bad_number(const parser *p, kb_piece *piece, size_t column, const char *field) {
    size_t length = strlen(field);
    kb_column_text where = kb_column_in_words(&p->columns, column);
    if (length == 0)
        return kb_piece_fail(piece, "%s, the weight, is empty", where.text);
    return kb_piece_fail(piece, "%s: '%s' %s", where.text, kb_quote(field, length).text,
                         kb_number_fault_text(kb_number_check(field, length)));
}

/* A field as a cell: a number, missing, or a text, which is open if it is new. */
static double cell_of(kb_piece *piece, const kb_text_ids *known, const char *field) {
    double number;
    size_t length;
    if (kb_number_read(field, &number))
        return number;
    length = strlen(field);
    if (kb_text_is_missing(field, length))
        return KB_CELL_MISSING;
    uint32_t id = kb_text_ids_find(known, field, length);
    if (id != KB_TEXT_UNKNOWN)
        return kb_cell_text(id);
    piece->has_open = 1;
    return kb_cell_open((uint32_t)(field - piece->text));
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
    char mark[] = {'\'', p->columns.delimiter, '\'', '\0'};
    return kb_piece_fail(
        piece, "%s fields than the %zu of line %zu (a field with %s in it needs quotes)", than,
        p->columns.count, p->columns.line_number, p->columns.delimiter == '\t' ? "a tab" : mark);
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

static size_t trimmed(const char *begin, const char *end) {
    while (end > begin && end[-1] == ' ')
        end--;
    return (size_t)(end - begin);
}

static void keep_text(const parser *p, kb_piece *piece, size_t column, const char *text,
                      size_t length) {
    if (!p->columns.keep || p->columns.keep[column] == KB_NO_COLUMN)
        return;
    piece->kept[piece->rows * p->columns.kept + p->columns.keep[column]] =
        (kb_kept_text){text, length};
}

static kb_status parse_field(const parser *p, kb_piece *piece, size_t column, char **cursor,
                             double *row) {
    const kb_csv_columns *c = &p->columns;
    size_t feature = c->feature[column];
    const char *begin = skip_spaces(*cursor);
    if (feature != KB_NO_COLUMN && parse_plain(cursor, c->delimiter, &row[feature])) {
        const char *end = *cursor ? *cursor - 1 : begin + strlen(begin);
        keep_text(p, piece, column, begin, trimmed(begin, end));
        return KB_OK;
    }
    char *field = kb_field_cut(cursor, c->delimiter);
    if (!field)
        return kb_piece_fail(
            piece, "%s: a quote is not closed where the field ends (in quotes, write \"\" for one)",
            kb_column_in_words(c, column).text);
    keep_text(p, piece, column, field, strlen(field));
    if (feature != KB_NO_COLUMN)
        row[feature] = cell_of(piece, &p->text[feature], field);
    else if (column == c->label)
        piece->label[piece->rows] = cell_of(piece, &p->label, field);
    else if (column == c->weight)
        return take_weight(p, piece, field);
    else if (column == p->group)
        return take_group(p, piece, field);
    return KB_OK;
}

/* Whether nothing but delimiters follows. */
static int is_empty_end(const char *cursor, char delimiter) {
    while (*cursor == ' ' || *cursor == delimiter)
        cursor++;
    return *cursor == '\0';
}

static kb_status parse_row(const parser *p, kb_piece *piece, char *line) {
    kb_status status = KB_OK;
    size_t count = p->columns.count, column = 0;
    double *row = piece->value + piece->entries;
    for (char *cursor = line; cursor; column++) {
        if (column == count && is_empty_end(cursor, p->columns.delimiter))
            break;
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
    while ((line = kb_piece_line(piece)))
        if (*skip_spaces(line) != '\0' && parse_row(p, piece, line) != KB_OK)
            return;
}

/* ---- joining ----------------------------------------------------------- */

static kb_status number_text(parser *p, const kb_piece *piece, kb_text_ids *ids, double *cell) {
    kb_status status;
    uint32_t id;
    const char *text = piece->text + kb_cell_number(*cell);
    TRY(kb_text_ids_number(p->ctx, ids, text, strlen(text), &id));
    *cell = kb_cell_text(id);
done:
    return status;
}

static kb_status join_piece(void *arg, kb_piece *piece) {
    kb_status status = KB_OK;
    parser *p = arg;
    size_t features = p->columns.features;
    for (size_t i = 0; piece->has_open && i < piece->rows; i++) {
        double *row = piece->value + i * features;
        for (size_t j = 0; j < features; j++)
            if (kb_cell_is_open(row[j]))
                TRY(number_text(p, piece, &p->text[j], &row[j]));
        if (piece->label && kb_cell_is_open(piece->label[i]))
            TRY(number_text(p, piece, &p->label, &piece->label[i]));
    }
    for (size_t k = 0; k < piece->rows * p->columns.kept; k++)
        TRY(kb_kept_add(p->ctx, p->data->kept, piece->kept[k].text, piece->kept[k].length));
done:
    return status;
}

/* ---- the file ---------------------------------------------------------- */

/* The next line that is not empty; NULL at the end. */
static kb_status next_line(kb_input *in, char **line) {
    size_t length;
    kb_status status;
    do
        status = kb_input_line(in, line, &length);
    while (status == KB_OK && *line && *skip_spaces(*line) == '\0');
    return status;
}

/* The line once more, now that its delimiter is known: a field in quotes may go on in the next
 * lines, and with these there may be another delimiter. */
static kb_status mind_quotes(kb_input *in, char **line) {
    kb_status status = KB_OK;
    size_t length;
    for (int pass = 0; pass < 2; pass++) {
        char delimiter = kb_field_delimiter(*line);
        kb_input_again(in);
        kb_input_set_quotes(in, delimiter);
        TRY(kb_input_line(in, line, &length));
    }
done:
    return status;
}

static kb_status name_kept(parser *p) {
    kb_status status;
    const kb_csv_columns *c = &p->columns;
    TRY(kb_kept_create(p->ctx, c->kept, &p->data->kept));
    for (size_t k = 0; k < c->count; k++) {
        char **name = c->keep[k] == KB_NO_COLUMN ? NULL : &p->data->kept->name[c->keep[k]];
        if (name && c->names.name)
            TRY(kb_strdup(p->ctx, c->names.name[k], name));
        else if (name)
            TRY(kb_format(p->ctx, name, "column %zu", k + 1));
    }
done:
    return status;
}

static kb_status read_first(parser *p) {
    kb_status status;
    char *line;
    do
        TRY(next_line(p->in, &line));
    while (line && line[0] == '#');
    if (!line)
        TRY(kb_fail(p->ctx, KB_ERR_DATA, "%s: no samples", kb_input_name(p->in)));
    TRY(mind_quotes(p->in, &line));
    TRY(kb_input_check(p->in)); /* what is no text should not be called ragged */
    TRY(kb_csv_columns_build(p->ctx, p->spec, p->in, line, &p->columns));
    TRY(kb_zalloc(p->ctx, p->columns.features, sizeof *p->text, &p->text));
    p->data->features = p->columns.features;
    p->group = p->spec->to_predict ? KB_NO_COLUMN : p->columns.group;
    if (p->columns.kept > 0)
        TRY(name_kept(p));
    if (!p->columns.header)
        kb_input_again(p->in);
done:
    return status;
}

/* The header of another file must be that of the first. */
static kb_status compare_header(const parser *p, kb_input *file, char *line) {
    kb_status status = KB_OK;
    const kb_csv_columns *c = &p->columns;
    size_t column = 0;
    const char *all = kb_input_name(p->in);
    for (char *cursor = line; cursor; column++) {
        if (column == c->count && is_empty_end(cursor, c->delimiter))
            break;
        char *field = kb_field_cut(&cursor, c->delimiter);
        if (column == c->count)
            TRY(kb_input_fail(file, "more columns than the %zu of the first file of %s", c->count,
                              all));
        if (!field || strcmp(field, c->field[column]) != 0)
            TRY(kb_input_fail(
                file, "column %zu is '%s', and '%s' in the first file of %s: all need one header",
                column + 1, kb_quote(field ? field : "", field ? strlen(field) : 0).text,
                kb_quote(c->field[column], strlen(c->field[column])).text, all));
    }
    if (column < c->count)
        TRY(kb_input_fail(file, "fewer columns than the %zu of the first file of %s", c->count,
                          all));
done:
    return status;
}

static kb_status take_head(void *arg, kb_input *file) {
    kb_status status;
    const parser *p = arg;
    char *line;
    do
        TRY(next_line(file, &line));
    while (line && line[0] == '#');
    if (line && p->columns.header)
        TRY(compare_header(p, file, line));
    else if (line)
        kb_input_again(file);
done:
    return status;
}

static kb_status finish(parser *p) {
    kb_status status;
    const kb_csv_columns *c = &p->columns;
    int64_t rows = (int64_t)p->data->rows;
    TRY(kb_ranks_sum(p->ctx, &rows, 1));
    if (rows == 0)
        TRY(kb_fail(p->ctx, KB_ERR_DATA, "%s: no samples: the header is all there is",
                    kb_input_name(p->in)));
    if (c->label != KB_NO_COLUMN)
        TRY(kb_csv_labels_finish(p->ctx, c, p->in, &p->label, p->spec->to_predict, p->data));
    TRY(kb_csv_types_finish(p->ctx, p->spec, c, p->in, p->text, p->data));
done:
    return status;
}

kb_status kb_csv_read(kb_context *ctx, const kb_read_spec *spec, kb_input *input, kb_data *data) {
    kb_status status;
    parser p = {.ctx = ctx, .in = input, .data = data, .spec = spec};
    TRY(kb_ranks_agree(ctx, read_first(&p)));
    kb_input_go_on(input, take_head, &p);
    TRY(kb_input_share(input));
    kb_piece_format format = {.shape = {.label = p.columns.label != KB_NO_COLUMN,
                                        .weight = p.columns.weight != KB_NO_COLUMN,
                                        .group = p.group != KB_NO_COLUMN,
                                        .features = data->features,
                                        .kept = p.columns.kept},
                              .piece_bytes = spec->piece_bytes,
                              .arg = &p,
                              .parse = parse_piece,
                              .join = join_piece};
    TRY(kb_pieces_read(ctx, input, &format, data));
    TRY(finish(&p));
done:
    for (size_t j = 0; p.text && j < p.columns.features; j++)
        kb_text_ids_clear(ctx, &p.text[j]);
    kb_release(ctx, p.text);
    kb_text_ids_clear(ctx, &p.label);
    kb_csv_columns_clear(ctx, &p.columns);
    return status;
}
