/* infer.c - see infer.h. */
#include "table/infer.h"
#include "core/number.h"
#include "options/say.h"
#include "table/cell.h"
#include "table/date.h"
#include "table/joined_texts.h"
#include "table/look.h"

#include <stdio.h>

/* A column of words in which so many cells are numbers, and so many different ones, looks like
 * numbers with a mistake in it. */
#define DOUBTFUL_SHARE  0.9
#define DOUBTFUL_LEVELS 20

/* What a pass over the cells tells of a column. */
typedef struct summary {
    size_t numbers, texts, missing; /* cells */
    double low, high;               /* of the numbers */
    double first_text;              /* a cell, where there is one */
    int texts_differ;
} summary;

static void summarize(const kb_cells *cells, summary *each) {
    for (size_t i = 0; i < cells->rows; i++)
        for (size_t j = 0; j < cells->columns; j++) {
            double x = cells->cell[i * cells->columns + j];
            summary *s = &each[j];
            if (kb_cell_is_text(x)) {
                if (s->texts++ == 0)
                    s->first_text = x;
                s->texts_differ |= kb_cell_number(x) != kb_cell_number(s->first_text);
            } else if (isnan(x)) {
                s->missing++;
            } else {
                s->low = s->numbers == 0 || x < s->low ? x : s->low;
                s->high = s->numbers == 0 || x > s->high ? x : s->high;
                s->numbers++;
            }
        }
}

/* What the cells of the next rank add. */
static void add_summary(summary *s, const summary *next) {
    if (next->numbers > 0) {
        s->low = s->numbers == 0 || next->low < s->low ? next->low : s->low;
        s->high = s->numbers == 0 || next->high > s->high ? next->high : s->high;
    }
    if (next->texts > 0 && s->texts == 0)
        s->first_text = next->first_text;
    else if (next->texts > 0)
        s->texts_differ |= kb_cell_number(next->first_text) != kb_cell_number(s->first_text);
    s->texts_differ |= next->texts_differ;
    s->numbers += next->numbers;
    s->texts += next->texts;
    s->missing += next->missing;
}

static kb_status summarize_all(kb_context *ctx, const kb_cells *cells, summary *each) {
    kb_status status;
    void *all = NULL;
    summarize(cells, each);
    if (kb_rank_count(ctx) == 1)
        return KB_OK;
    TRY(kb_ranks_gather(ctx, each, cells->columns * sizeof *each, &all, NULL));
    memset(each, 0, cells->columns * sizeof *each);
    for (size_t k = 0; k < (size_t)kb_rank_count(ctx) * cells->columns; k++)
        add_summary(&each[k % cells->columns], (summary *)all + k);
done:
    kb_release(ctx, all);
    return status;
}

kb_cell_column kb_cells_column(const kb_cells *cells, size_t j) {
    kb_cell_column out;
    char column[100];
    if (cells->name && !cells->numbered)
        snprintf(column, sizeof column, "column '%.80s'", cells->name[j]);
    else if (cells->name)
        snprintf(column, sizeof column, "column %.80s", cells->name[j]);
    else
        snprintf(column, sizeof column, "column %zu", j + 1);
    snprintf(out.text, sizeof out.text, "%.200s%s%s", cells->file ? cells->file : "",
             cells->file ? ": " : "", column);
    return out;
}

/* ---- one column -------------------------------------------------------- */

static int is_constant(const summary *s) {
    if (s->numbers + s->texts == 0)
        return 1;
    if (s->missing > 0 || (s->numbers > 0 && s->texts > 0))
        return 0;
    return s->numbers > 0 ? s->low == s->high : !s->texts_differ;
}

static int all_of_style(const kb_text_ids *text, kb_number_style style) {
    double x;
    for (size_t k = 0; k < text->count; k++)
        if (!kb_number_style_read(style, text->text + text->start[k],
                                  text->start[k + 1] - text->start[k], &x))
            return 0;
    return 1;
}

int kb_texts_have_style(const kb_text_ids *text, int comma_decimal, int beside_numbers,
                        kb_number_style *out) {
    kb_number_style order[] = {KB_WRITTEN_THOUSANDS, KB_WRITTEN_DECIMAL_COMMA, KB_WRITTEN_PERCENT};
    if (comma_decimal) {
        order[0] = KB_WRITTEN_DECIMAL_COMMA;
        order[1] = KB_WRITTEN_THOUSANDS;
    }
    for (size_t k = 0; k < sizeof order / sizeof *order; k++)
        if (!(order[k] == KB_WRITTEN_PERCENT && beside_numbers) && all_of_style(text, order[k])) {
            *out = order[k];
            return 1;
        }
    return 0;
}

/* The style that all texts have, beside the numbers of the column. */
static int find_style(const kb_infer_spec *spec, const summary *s, const kb_text_ids *text,
                      kb_number_style *out) {
    return kb_texts_have_style(text, spec->comma_decimal, s->numbers > 0, out);
}

static int all_dates(const kb_text_ids *text) {
    double x;
    for (size_t k = 0; k < text->count; k++)
        if (!kb_date_read(text->text + text->start[k], text->start[k + 1] - text->start[k], &x))
            return 0;
    return 1;
}

kb_status kb_cells_refuse_infinite(kb_context *ctx, const kb_cells *cells, size_t j) {
    kb_status status;
    const kb_text_ids *text = &cells->text[j];
    kb_number_fault fault = KB_NUMBER_WORD;
    struct {
        size_t row, rows; /* the first with a text, or `rows` */
        double cell;
    } mine = {0, cells->rows, 0}, *first;
    size_t before = 0;
    void *all = NULL;
    for (size_t k = 0; k < text->count; k++) {
        fault = kb_number_check(text->text + text->start[k], text->start[k + 1] - text->start[k]);
        if (fault != KB_NUMBER_INFINITE && fault != KB_NUMBER_TOO_LARGE)
            return KB_OK;
    }
    while (mine.row < mine.rows && !kb_cell_is_text(cells->cell[mine.row * cells->columns + j]))
        mine.row++;
    if (mine.row < mine.rows)
        mine.cell = cells->cell[mine.row * cells->columns + j];
    TRY(kb_ranks_gather(ctx, &mine, sizeof mine, &all, NULL));
    for (first = all; first->row == first->rows; first++)
        before += first->rows;
    size_t k = kb_cell_number(first->cell);
    status = kb_fail(ctx, KB_ERR_DATA, "%s, row %zu: '%.*s' %s", kb_cells_column(cells, j).text,
                     before + first->row + 1, (int)(text->start[k + 1] - text->start[k]),
                     text->text + text->start[k], kb_number_fault_text(fault));
done:
    kb_release(ctx, all);
    return status;
}

/* The texts of the cells, numbers as their shortest decimals, in the order of their first rows. */
static kb_status find_levels(kb_context *ctx, const kb_cells *cells, size_t j, kb_column *c) {
    kb_status status = KB_OK;
    kb_text_ids found = {0};
    const kb_text_ids *text = &cells->text[j];
    uint8_t *seen = NULL;
    uint32_t number, *place = NULL;
    TRY(kb_zalloc(ctx, text->count, 1, &seen));
    for (size_t i = 0; i < cells->rows; i++) {
        double x = cells->cell[i * cells->columns + j];
        if (kb_cell_is_text(x)) {
            size_t k = kb_cell_number(x);
            if (!seen[k])
                TRY(kb_text_ids_number(ctx, &found, text->text + text->start[k],
                                       text->start[k + 1] - text->start[k], &number));
            seen[k] = 1;
        } else if (!isnan(x)) {
            char decimal[KB_NUMBER_TEXT];
            size_t length = kb_number_format(x, decimal);
            TRY(kb_text_ids_number(ctx, &found, decimal, length, &number));
        }
    }
    TRY(kb_texts_join(ctx, &found, &place));
    TRY(kb_zalloc(ctx, found.count, sizeof *c->level, &c->level));
    c->levels = found.count;
    for (size_t k = 0; k < found.count; k++)
        TRY(kb_format(ctx, &c->level[k], "%.*s", (int)(found.start[k + 1] - found.start[k]),
                      found.text + found.start[k]));
done:
    kb_text_ids_clear(ctx, &found);
    kb_release(ctx, seen);
    kb_release(ctx, place);
    return status;
}

/* Words that may be meant as something else. */
static void doubt(kb_context *ctx, const kb_cells *cells, size_t j, const summary *s,
                  const kb_column *c) {
    const kb_text_ids *text = &cells->text[j];
    size_t k = kb_cell_number(s->first_text), length = text->start[k + 1] - text->start[k];
    kb_cell_column where = kb_cells_column(cells, j);
    char word[41];
    const char *so = c->type == KB_COLUMN_ID ? "left out as an id" : "a category";
    kb_texts_look look = s->numbers == 0 ? kb_texts_look_of(text) : KB_LOOK_WORDS;
    snprintf(word, sizeof word, "%.*s", (int)(length > 40 ? 40 : length),
             text->text + text->start[k]);
    if (look == KB_LOOK_UNITS)
        kb_log(ctx, KB_LOG_WARNING,
               "%s: '%s' and the like are no plain numbers, so it is %s (write numbers without "
               "a unit)",
               where.text, word, so);
    else if (look == KB_LOOK_DAY_FIRST)
        kb_log(ctx, KB_LOG_WARNING,
               "%s: '%s' and the like have the day before the month, so it is %s (write dates as "
               "YYYY-MM-DD)",
               where.text, word, so);
    else if (c->levels >= DOUBTFUL_LEVELS &&
             (double)s->numbers >= DOUBTFUL_SHARE * (double)(s->numbers + s->texts))
        kb_log(ctx, KB_LOG_WARNING,
               "%s: %zu of its %zu values are no numbers, such as '%s', so it is %s (%s makes it a "
               "number, and them missing)",
               where.text, s->texts, s->numbers + s->texts, word, so,
               kb_say(ctx, KB_OPT_TYPES).text);
}

static kb_status find_text_type(kb_context *ctx, const kb_infer_spec *spec, const kb_cells *cells,
                                size_t j, const summary *s, kb_column *c) {
    kb_status status = KB_OK;
    if (find_style(spec, s, &cells->text[j], &c->style)) {
        c->type = KB_COLUMN_NUMBER;
        goto done;
    }
    TRY(kb_cells_refuse_infinite(ctx, cells, j));
    if (s->numbers == 0 && all_dates(&cells->text[j])) {
        c->type = KB_COLUMN_DATE;
        goto done;
    }
    TRY(find_levels(ctx, cells, j, c));
    c->type = KB_COLUMN_CATEGORY;
    if (c->levels + (s->missing > 0) == 2)
        c->type = KB_COLUMN_BOOLEAN;
    else if ((double)c->levels > KB_ID_LEVELS_PER_ROW * (double)cells->all_rows)
        c->type = KB_COLUMN_ID;
    if (c->type != KB_COLUMN_BOOLEAN)
        doubt(ctx, cells, j, s, c);
done:
    return status;
}

static kb_status take_wanted(kb_context *ctx, const kb_infer_spec *spec, const kb_cells *cells,
                             size_t j, const summary *s, kb_column *c) {
    kb_status status = KB_OK;
    if (c->type == KB_COLUMN_NUMBER && s->texts > 0)
        find_style(spec, s, &cells->text[j], &c->style);
    if (c->type == KB_COLUMN_CATEGORY || c->type == KB_COLUMN_BOOLEAN)
        TRY(find_levels(ctx, cells, j, c));
    if (c->type == KB_COLUMN_BOOLEAN && c->levels + (s->missing > 0) > 2)
        TRY(kb_fail(ctx, KB_ERR_DATA,
                    "%s has %zu levels, and a boolean has two: call it a category",
                    kb_cells_column(cells, j).text, c->levels));
    if (c->type == KB_COLUMN_BOOLEAN && c->levels == 0)
        c->type = KB_COLUMN_CONSTANT;
done:
    return status;
}

static kb_status find_type(kb_context *ctx, const kb_infer_spec *spec, const kb_cells *cells,
                           size_t j, const summary *s, kb_column *c) {
    c->missing = s->missing;
    c->type = spec->wanted ? spec->wanted[j] : KB_COLUMN_AUTO;
    if (c->type != KB_COLUMN_AUTO)
        return take_wanted(ctx, spec, cells, j, s, c);
    c->type = is_constant(s) && cells->all_rows > 1 ? KB_COLUMN_CONSTANT : KB_COLUMN_NUMBER;
    return c->type == KB_COLUMN_NUMBER && s->texts > 0 ? find_text_type(ctx, spec, cells, j, s, c)
                                                       : KB_OK;
}

/* ---- all columns ------------------------------------------------------- */

static int is_feature(kb_column_type type) {
    return type == KB_COLUMN_NUMBER || type == KB_COLUMN_BOOLEAN || type == KB_COLUMN_DATE ||
           type == KB_COLUMN_CATEGORY;
}

static kb_status leave_out(kb_context *ctx, const kb_cells *cells, size_t j, kb_table *table) {
    char number[24];
    snprintf(number, sizeof number, "%zu", j + 1);
    return kb_table_leave_out(ctx, table, cells->name ? cells->name[j] : number,
                              table->column[j].type, j);
}

/* Moves the features together; what the others held is released. */
static void compact(kb_context *ctx, kb_cells *cells, kb_table *table) {
    size_t kept = 0, all = cells->columns;
    for (size_t i = 0; i < cells->rows; i++)
        for (size_t j = 0, k = i * all; j < all; j++, k++)
            if (is_feature(table->column[j].type))
                cells->cell[kept++] = cells->cell[k];
    kept = 0;
    for (size_t j = 0; j < all; j++) {
        kb_column *c = &table->column[j];
        if (!is_feature(c->type)) {
            for (size_t k = 0; c->level && k < c->levels; k++)
                kb_release(ctx, c->level[k]);
            kb_release(ctx, c->level);
            kb_text_ids_clear(ctx, &cells->text[j]);
            if (cells->name)
                kb_release(ctx, cells->name[j]);
            continue;
        }
        table->column[kept] = *c;
        cells->text[kept] = cells->text[j];
        if (cells->name)
            cells->name[kept] = cells->name[j];
        if (cells->is_days)
            cells->is_days[kept] = cells->is_days[j];
        kept++;
    }
    for (size_t j = kept; j < all; j++) {
        table->column[j] = (kb_column){.type = KB_COLUMN_NUMBER};
        cells->text[j] = (kb_text_ids){0};
        if (cells->name)
            cells->name[j] = NULL;
    }
    cells->columns = table->columns = kept;
}

static kb_status find_types(kb_context *ctx, const kb_infer_spec *spec, kb_cells *cells,
                            kb_table *table) {
    kb_status status;
    size_t features = 0;
    summary *each = NULL;
    TRY(kb_zalloc(ctx, cells->columns, sizeof *each, &each));
    TRY(summarize_all(ctx, cells, each));
    for (size_t j = 0; j < cells->columns; j++) {
        TRY(find_type(ctx, spec, cells, j, &each[j], &table->column[j]));
        features += is_feature(table->column[j].type);
    }
    if (features == 0)
        TRY(kb_fail(
            ctx, KB_ERR_DATA,
            "%s%sno column is left to learn from: all are constant, ids or ignored (%s may keep "
            "one)",
            cells->file ? cells->file : "", cells->file ? ": " : "",
            kb_say(ctx, KB_OPT_TYPES).text));
    for (size_t j = 0; j < cells->columns; j++)
        if (!is_feature(table->column[j].type))
            TRY(leave_out(ctx, cells, j, table));
done:
    kb_release(ctx, each);
    return status;
}

/* Where a type was asked for, some texts may have become missing. */
static kb_status count_missing(kb_context *ctx, const kb_cells *cells, kb_table *table) {
    kb_status status = KB_OK;
    for (size_t j = 0; j < table->columns; j++) {
        kb_column *c = &table->column[j];
        if (cells->text[j].count == 0 || c->level)
            continue;
        int64_t missing = 0;
        for (size_t i = 0; i < cells->rows; i++)
            missing += isnan(cells->cell[i * cells->columns + j]) != 0;
        TRY(kb_ranks_sum(ctx, &missing, 1));
        c->missing = (size_t)missing;
    }
done:
    return status;
}

kb_status kb_table_infer(kb_context *ctx, const kb_infer_spec *spec, kb_cells *cells,
                         kb_table **out) {
    kb_status status;
    *out = NULL;
    TRY(kb_cells_join(ctx, cells));
    TRY(kb_table_create(ctx, cells->columns, out));
    TRY(find_types(ctx, spec, cells, *out));
    if ((*out)->left_out > 0)
        compact(ctx, cells, *out);
    TRY(kb_table_conform(ctx, *out, cells));
    TRY(count_missing(ctx, cells, *out));
done:
    if (status != KB_OK) {
        kb_table_free(*out);
        *out = NULL;
    }
    return status;
}

int kb_table_is_plain(const kb_table *table) {
    for (size_t j = 0; j < table->columns; j++)
        if (table->column[j].type != KB_COLUMN_NUMBER || table->column[j].missing > 0 ||
            table->column[j].style != KB_WRITTEN_PLAIN)
            return 0;
    return table->left_out == 0;
}
