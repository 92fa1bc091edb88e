/*
 * libsvm.c - LIBSVM text into compressed rows; see reader.h for the format.
 *
 * Lines are parsed in pieces, by all threads (pieces.h).  Only the first row is looked at before:
 * whether it has a label is what the other rows must agree with.
 */
#include "core/number.h"
#include "data/of_all.h"
#include "io/pieces.h"
#include "io/reader.h"
#include "options/say.h"
#include "table/cell.h"

#include <string.h>
#include <strings.h>

typedef struct parser {
    kb_context *ctx;
    const kb_read_spec *spec;
    kb_input *in;
    kb_data *data;
    uint32_t base;       /* the first index */
    uint64_t limit;      /* columns from here on are left out */
    uint64_t widest;     /* features that the file has */
    int grouped;         /* qid:N is to be kept */
    size_t rows_cut;     /* rows with a column left out */
    int labelled;        /* as the first row: 1 or 0 */
    size_t first_number; /* line of the first row */
} parser;

static const char *skip_blanks(const char *p) {
    while (*p == ' ' || *p == '\t')
        p++;
    return p;
}

static int ends_token(char c) {
    return c == ' ' || c == '\t' || c == '\0' || c == '#';
}

static size_t token_length(const char *p) {
    size_t length = 0;
    while (!ends_token(p[length]))
        length++;
    return length;
}

/* ---- one row ----------------------------------------------------------- */

static kb_status bad_number(kb_piece *piece, const char *token) {
    size_t length = token_length(token);
    kb_number_fault fault = kb_number_check(token, length);
    return kb_piece_fail(piece, "'%s' %s", kb_quote(token, length).text,
                         kb_number_fault_text(fault));
}

static kb_status bad_index(const parser *p, kb_piece *piece, const char *token, uint64_t index,
                           uint64_t lowest) {
    const char *colon = token;
    while (kb_is_digit(*colon))
        colon++;
    if (colon == token || *colon != ':')
        return kb_piece_fail(piece, "'%s' is not index:value",
                             kb_quote(token, token_length(token)).text);
    if (index == 0 && p->base == 1)
        return kb_piece_fail(piece, "feature index 0 in 1-based data (use %s)",
                             kb_say(p->ctx, KB_OPT_ZERO_BASED).text);
    if (index >= lowest)
        return kb_piece_fail(piece, "feature index %s is too large (at most %u)",
                             kb_quote(token, (size_t)(colon - token)).text,
                             KB_FEATURES_MAX - 1 + p->base);
    return kb_piece_fail(piece, "feature index %llu %s; indices must increase along a line",
                         (unsigned long long)index,
                         index + 1 == lowest ? "comes twice" : "follows a larger one");
}

/* Why a line that has no label cannot begin as it does. */
static kb_status bad_label(kb_piece *piece, const char *token) {
    size_t length = token_length(token);
    if (memchr(token, ':', length))
        return kb_piece_fail(piece, "'%s' stands where the label should be",
                             kb_quote(token, length).text);
    if (memchr(token, ',', length))
        return kb_piece_fail(piece, "'%s' are several labels; kerbin takes one a line",
                             kb_quote(token, length).text);
    return bad_number(piece, token);
}

/* Behind a token that says that there is no value, as C programs write it too (-nan); else NULL. */
static const char *missing_at(const char *token) {
    const char *text = *token == '-' || *token == '+' ? token + 1 : token;
    size_t length = token_length(text);
    if (length == 0 || !kb_text_is_missing(text, length))
        return NULL;
    int nan = length == 3 && strncasecmp(text, "nan", 3) == 0;
    return nan || text == token ? text + length : NULL;
}

/* Behind the number at the token, or what stands for a missing one: then it is NaN.  NULL if there
 * is neither. */
static const char *value_at(const char *token, double *value) {
    const char *end = kb_number_parse(token, value);
    if (end && ends_token(*end))
        return end;
    *value = KB_CELL_MISSING;
    return missing_at(token);
}

/* The label, if the line has one; all lines must agree on that. */
static kb_status parse_label(const parser *p, kb_piece *piece, const char **cursor) {
    double *label = &piece->label[piece->rows];
    const char *token = *cursor, *end = value_at(token, label);
    if (!end && (!p->spec->to_predict || !memchr(token, ':', token_length(token))))
        return bad_label(piece, token);
    if (p->labelled != (end != NULL))
        return kb_piece_fail(piece, "this line has %s label, unlike line %zu", end ? "a" : "no",
                             p->first_number);
    if (end)
        *cursor = end;
    return KB_OK;
}

/* qid:N after the label: the group of the row, or ignored. */
static kb_status parse_query(const parser *p, kb_piece *piece, const char **cursor) {
    const char *token = skip_blanks(*cursor);
    size_t length = *token == 'q' && strncmp(token, "qid:", 4) == 0 ? token_length(token) : 0;
    *cursor = skip_blanks(token + length);
    if (!p->grouped)
        return KB_OK;
    if (length <= 4)
        return kb_piece_fail(piece, "no qid:N after the label, so the row has no group");
    kb_piece_set_group(piece, token + 4, length - 4);
    return KB_OK;
}

static kb_status parse_row(const parser *p, kb_piece *piece, const char *t) {
    kb_status status;
    TRY(parse_label(p, piece, &t));
    TRY(parse_query(p, piece, &t));

    uint32_t *column = piece->column + piece->entries;
    double *value = piece->value + piece->entries;
    uint64_t lowest = p->base, index = 0;
    size_t used = 0, cut = 0;
    for (; *t != '\0' && *t != '#'; t = skip_blanks(t)) {
        const char *colon = kb_index_parse(t, &index);
        if (!colon || *colon != ':' || index < lowest || index - p->base >= KB_FEATURES_MAX)
            TRY(bad_index(p, piece, t, index, lowest));
        const char *end = value_at(colon + 1, &value[used]);
        if (!end)
            TRY(bad_number(piece, colon + 1));
        lowest = index + 1;
        column[used] = (uint32_t)(index - p->base);
        if (index - p->base < p->limit)
            piece->missing += isnan(value[used++]);
        else
            cut++;
        t = end;
    }
    if (lowest - p->base > piece->widest)
        piece->widest = lowest - p->base;
    piece->rows_cut += cut > 0;
    kb_piece_end_row(piece, used);
done:
    return status;
}

/* The row of a line without the blanks before it; NULL if there is none. */
static const char *row_of(const char *line) {
    const char *t = skip_blanks(line);
    return *t == '\0' || *t == '#' ? NULL : t;
}

static void parse_piece(const void *arg, kb_piece *piece) {
    const char *line, *row;
    while ((line = kb_piece_line(piece)))
        if ((row = row_of(line)) && parse_row(arg, piece, row) != KB_OK)
            return;
}

/* ---- the file ---------------------------------------------------------- */

static kb_status join_piece(void *arg, kb_piece *piece) {
    parser *p = arg;
    if (piece->widest > p->widest)
        p->widest = piece->widest;
    p->rows_cut += piece->rows_cut;
    p->data->missing = p->data->missing || piece->missing > 0;
    return KB_OK;
}

static kb_status look_at_first_row(parser *p) {
    kb_status status;
    char *line;
    size_t length;
    double label;
    do {
        TRY(kb_input_line(p->in, &line, &length));
        if (!line)
            goto done;
    } while (!row_of(line));
    p->labelled = value_at(row_of(line), &label) != NULL;
    p->first_number = kb_input_line_number(p->in);
    kb_input_again(p->in);
done:
    return status;
}

/* Dense rows keep their missing values, and need a table.  Sparse ones do not: a table of as many
 * columns could be much larger than the rows.  So the form is chosen first. */
static kb_status describe_missing(parser *p) {
    kb_status status;
    kb_data *data = p->data;
    TRY(kb_data_choose_form_of_all(p->ctx, data));
    if (!data->missing)
        goto done;
    TRY(kb_data_count_missing_of_all(p->ctx, data));
done:
    return status;
}

/* What the ranks have read together. */
static kb_status add_up(parser *p, size_t *rows) {
    kb_status status;
    int64_t sum[] = {(int64_t)p->data->rows, (int64_t)p->rows_cut, p->data->missing};
    double widest = (double)p->widest;
    TRY(kb_ranks_sum(p->ctx, sum, 3));
    TRY(kb_ranks_most(p->ctx, &widest, 1));
    *rows = (size_t)sum[0];
    p->rows_cut = (size_t)sum[1];
    p->data->missing = sum[2] > 0;
    p->widest = (uint64_t)widest;
done:
    return status;
}

static kb_status finish(parser *p) {
    kb_status status;
    kb_data *data = p->data;
    size_t rows;
    TRY(add_up(p, &rows));
    if (rows == 0)
        TRY(kb_fail(p->ctx, KB_ERR_DATA, "%s: no samples", kb_input_name(p->in)));
    data->features = p->spec->features > 0 ? p->spec->features : p->widest;
    if (data->features == 0)
        TRY(kb_fail(p->ctx, KB_ERR_DATA, "%s: no features: its lines hold labels only",
                    kb_input_name(p->in)));
    if (p->rows_cut > 0)
        kb_log(p->ctx, KB_LOG_WARNING,
               "%s: features beyond the model's %zu (up to %llu) were ignored, in %zu row%s",
               kb_input_name(p->in), data->features, (unsigned long long)p->widest, p->rows_cut,
               p->rows_cut == 1 ? "" : "s");
    if (!p->labelled) {
        kb_release(p->ctx, data->label);
        data->label = NULL;
    }
    size_t entries = data->row_start[data->rows];
    TRY(kb_realloc(p->ctx, entries, sizeof *data->column, &data->column));
    TRY(kb_realloc(p->ctx, entries, sizeof *data->value, &data->value));
    if (data->missing)
        TRY(describe_missing(p));
done:
    return status;
}

kb_status kb_libsvm_read(kb_context *ctx, const kb_read_spec *spec, kb_input *input,
                         kb_data *data) {
    kb_status status;
    parser p = {.ctx = ctx, .spec = spec, .in = input, .data = data};
    p.base = spec->zero_based ? 0 : 1;
    p.grouped = spec->group && !spec->to_predict;
    p.limit = spec->features > 0 ? spec->features : KB_FEATURES_MAX;
    kb_piece_format format = {.shape = {.label = 1, .group = p.grouped},
                              .piece_bytes = spec->piece_bytes,
                              .arg = &p,
                              .parse = parse_piece,
                              .join = join_piece};
    TRY(kb_ranks_agree(ctx, look_at_first_row(&p)));
    kb_input_go_on(input, NULL, NULL);
    TRY(kb_input_share(input));
    TRY(kb_pieces_read(ctx, input, &format, data));
    TRY(finish(&p));
done:
    return status;
}
