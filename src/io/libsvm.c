/*
 * libsvm.c - LIBSVM text into compressed rows; see reader.h for the format.
 *
 * One pass.  An entry takes at least four bytes of its line ("1:1 "), so room for a
 * whole line is made before it is parsed and the inner loop only writes.
 */
#include "io/text_ids.h"
#include "core/number.h"
#include "io/reader.h"
#include "options/say.h"

#include <string.h>

typedef struct parser {
    kb_context *ctx;
    const kb_read_spec *spec;
    kb_input *in;
    kb_data *data;
    size_t entries;
    kb_text_ids groups;
    size_t start_capacity, label_capacity, column_capacity, value_capacity, group_capacity;
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

static kb_status make_room(parser *p, size_t line_length) {
    kb_status status;
    kb_data *data = p->data;
    size_t entries = p->entries + line_length / 4 + 1, rows = data->rows + 1;
    TRY(kb_reserve(p->ctx, rows + 1, sizeof *data->row_start, &p->start_capacity,
                   &data->row_start));
    TRY(kb_reserve(p->ctx, rows, sizeof *data->label, &p->label_capacity, &data->label));
    TRY(kb_reserve(p->ctx, entries, sizeof *data->column, &p->column_capacity, &data->column));
    TRY(kb_reserve(p->ctx, entries, sizeof *data->value, &p->value_capacity, &data->value));
    if (p->grouped)
        TRY(kb_reserve(p->ctx, rows, sizeof *data->group, &p->group_capacity, &data->group));
done:
    return status;
}

/* ---- one row ----------------------------------------------------------- */

static kb_status bad_number(parser *p, const char *token) {
    size_t length = token_length(token);
    kb_number_fault fault = kb_number_check(token, length);
    return kb_input_fail(p->in, "'%s' %s", kb_quote(token, length).text,
                         kb_number_fault_text(fault));
}

static kb_status bad_index(parser *p, const char *token, uint64_t index, uint64_t lowest) {
    const char *colon = token;
    while (kb_is_digit(*colon))
        colon++;
    if (colon == token || *colon != ':')
        return kb_input_fail(p->in, "'%s' is not index:value",
                             kb_quote(token, token_length(token)).text);
    if (index == 0 && p->base == 1)
        return kb_input_fail(p->in, "feature index 0 in 1-based data (use %s)",
                             kb_say(p->ctx, KB_OPT_ZERO_BASED).text);
    if (index >= lowest)
        return kb_input_fail(p->in, "feature index %s is too large (at most %u)",
                             kb_quote(token, (size_t)(colon - token)).text,
                             KB_FEATURES_MAX - 1 + p->base);
    return kb_input_fail(p->in, "feature index %llu %s; indices must increase along a line",
                         (unsigned long long)index,
                         index + 1 == lowest ? "comes twice" : "follows a larger one");
}

/* The label, if the line has one; all lines must agree on that. */
static kb_status parse_label(parser *p, const char **cursor) {
    double label = 0;
    const char *token = *cursor, *end = kb_number_parse(token, &label);
    size_t length = token_length(token);
    int labelled = end == token + length;
    if (!labelled && !memchr(token, ':', length)) {
        if (memchr(token, ',', length))
            return kb_input_fail(p->in, "'%s' are several labels; kerbin takes one a line",
                                 kb_quote(token, length).text);
        return bad_number(p, token);
    }
    if (!labelled && !p->spec->to_predict)
        return kb_input_fail(p->in, "'%s' stands where the label should be",
                             kb_quote(token, length).text);
    if (p->data->rows == 0) {
        p->labelled = labelled;
        p->first_number = kb_input_line_number(p->in);
    } else if (p->labelled != labelled) {
        return kb_input_fail(p->in, "this line has %s label, unlike line %zu",
                             labelled ? "a" : "no", p->first_number);
    }
    p->data->label[p->data->rows] = label;
    if (labelled)
        *cursor = end;
    return KB_OK;
}

/* qid:N after the label: the group of the row, or ignored. */
static kb_status parse_query(parser *p, const char **cursor) {
    const char *token = skip_blanks(*cursor);
    size_t length = strncmp(token, "qid:", 4) == 0 ? token_length(token) : 0;
    *cursor = skip_blanks(token + length);
    if (!p->grouped)
        return KB_OK;
    if (length <= 4)
        return kb_input_fail(p->in, "no qid:N after the label, so the row has no group");
    return kb_text_ids_number(p->ctx, &p->groups, token + 4, length - 4,
                              &p->data->group[p->data->rows]);
}

static kb_status parse_row(parser *p, const char *line, size_t length) {
    kb_status status;
    const char *t = skip_blanks(line);
    if (*t == '\0' || *t == '#')
        return KB_OK;
    if (p->data->rows == KB_ROWS_MAX)
        TRY(kb_input_fail(p->in, KB_ROWS_TOO_MANY));
    TRY(make_room(p, length));
    TRY(parse_label(p, &t));
    TRY(parse_query(p, &t));

    uint32_t *column = p->data->column;
    double *value = p->data->value;
    uint64_t lowest = p->base, index = 0;
    size_t used = p->entries, cut = 0;
    for (; *t != '\0' && *t != '#'; t = skip_blanks(t)) {
        const char *colon = kb_index_parse(t, &index);
        if (!colon || *colon != ':' || index < lowest || index - p->base >= KB_FEATURES_MAX)
            TRY(bad_index(p, t, index, lowest));
        const char *end = kb_number_parse(colon + 1, &value[used]);
        if (!end || !ends_token(*end))
            TRY(bad_number(p, colon + 1));
        lowest = index + 1;
        column[used] = (uint32_t)(index - p->base);
        if (index - p->base < p->limit)
            used++;
        else
            cut++;
        t = end;
    }
    if (lowest - p->base > p->widest)
        p->widest = lowest - p->base;
    p->data->row_start[p->data->rows++] = p->entries;
    p->entries = used;
    p->rows_cut += cut > 0;
done:
    return status;
}

/* ---- the file ---------------------------------------------------------- */

static kb_status finish(parser *p) {
    kb_status status;
    kb_data *data = p->data;
    if (data->rows == 0)
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
    data->row_start[data->rows] = p->entries;
    if (!p->labelled) {
        kb_release(p->ctx, data->label);
        data->label = NULL;
    }
    TRY(kb_realloc(p->ctx, p->entries, sizeof *data->column, &data->column));
    TRY(kb_realloc(p->ctx, p->entries, sizeof *data->value, &data->value));
done:
    return status;
}

kb_status kb_libsvm_read(kb_context *ctx, const kb_read_spec *spec, kb_input *input,
                         kb_data *data) {
    kb_status status;
    parser p = {.ctx = ctx, .spec = spec, .in = input, .data = data};
    char *line;
    size_t length;
    p.base = spec->zero_based ? 0 : 1;
    p.grouped = spec->group && !spec->to_predict;
    p.limit = spec->features > 0 ? spec->features : KB_FEATURES_MAX;
    for (;;) {
        TRY(kb_input_line(input, &line, &length));
        if (!line)
            break;
        TRY(parse_row(&p, line, length));
    }
    TRY(finish(&p));
done:
    kb_text_ids_clear(ctx, &p.groups);
    return status;
}
