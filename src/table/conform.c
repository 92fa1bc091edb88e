/* conform.c - cells of other rows brought to the types of a table; see infer.h. */
#include "core/number.h"
#include "table/cell.h"
#include "table/date.h"
#include "table/infer.h"
#include "table/joined_texts.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

typedef struct odd_cells {
    size_t count;
    char example[48];
} odd_cells;

/* What the texts of one column become, and how many cells were odd. */
typedef struct conversion {
    const kb_column *column;
    kb_text_ids level; /* the names of its levels */
    double *of_text;   /* by the number of the text */
    uint8_t *is_odd;   /* likewise: no number, no date, or a level that is not known */
    int dots;          /* a dot stands between thousands, so 1.234 is 1234 */
    odd_cells odd;
} conversion;

static int is_word(const char *text, size_t length, const char *word) {
    return length == strlen(word) && strncasecmp(text, word, length) == 0;
}

/* One program writes True, another true or TRUE. */
static uint32_t find_truth(const conversion *v, const char *text, size_t length) {
    const char *word = is_word(text, length, "true") ? "true" : "false";
    if (!is_word(text, length, word))
        return KB_TEXT_UNKNOWN;
    for (size_t k = 0; k < v->column->levels; k++)
        if (is_word(v->column->level[k], strlen(v->column->level[k]), word))
            return (uint32_t)k;
    return KB_TEXT_UNKNOWN;
}

static double level_of(const conversion *v, const char *text, size_t length) {
    uint32_t level = kb_text_ids_find(&v->level, text, length);
    if (level == KB_TEXT_UNKNOWN)
        level = find_truth(v, text, length);
    return level == KB_TEXT_UNKNOWN ? KB_CELL_UNSEEN : level;
}

static kb_status prepare(kb_context *ctx, const kb_column *c, const kb_text_ids *text,
                         conversion *v) {
    kb_status status = KB_OK;
    uint32_t number;
    v->column = c;
    for (size_t k = 0; k < c->levels; k++)
        TRY(kb_text_ids_number(ctx, &v->level, c->level[k], strlen(c->level[k]), &number));
    TRY(kb_alloc(ctx, text->count, sizeof *v->of_text, &v->of_text));
    TRY(kb_zalloc(ctx, text->count, 1, &v->is_odd));
    for (size_t k = 0; k < text->count; k++) {
        const char *word = text->text + text->start[k];
        size_t length = text->start[k + 1] - text->start[k];
        double *out = &v->of_text[k];
        int fine = 1;
        if (c->type == KB_COLUMN_NUMBER)
            fine = kb_number_style_read(c->style, word, length, out);
        else if (c->type == KB_COLUMN_DATE)
            fine = kb_date_read(word, length, out);
        else
            fine = (*out = level_of(v, word, length)) != KB_CELL_UNSEEN;
        if (!fine && c->levels == 0)
            *out = KB_CELL_MISSING;
        v->is_odd[k] = !fine;
        v->dots |= c->style == KB_WRITTEN_DECIMAL_COMMA && memchr(word, '.', length) != NULL;
    }
done:
    return status;
}

static void note_odd(conversion *v, const char *text, size_t length) {
    if (v->odd.count++ == 0)
        snprintf(v->odd.example, sizeof v->odd.example, "%.*s", (int)(length < 40 ? length : 40),
                 text);
}

static double convert_number(conversion *v, double x) {
    char decimal[KB_NUMBER_TEXT];
    size_t length;
    switch (v->column->type) {
    case KB_COLUMN_NUMBER:
        return v->dots && x != floor(x) ? round(x * 1000) : x; /* 1.001 x 1000 is not 1001 */
    case KB_COLUMN_DATE:
        length = kb_number_format(x, decimal);
        note_odd(v, decimal, length);
        return KB_CELL_MISSING;
    default:
        length = kb_number_format(x, decimal);
        x = level_of(v, decimal, length);
        if (x == KB_CELL_UNSEEN)
            note_odd(v, decimal, length);
        return x;
    }
}

static void convert(const kb_cells *cells, size_t j, conversion *v) {
    const kb_text_ids *text = &cells->text[j];
    for (size_t i = 0; i < cells->rows; i++) {
        double *x = &cells->cell[i * cells->columns + j];
        if (kb_cell_is_text(*x)) {
            size_t k = kb_cell_number(*x);
            *x = v->of_text[k];
            if (v->is_odd[k])
                note_odd(v, text->text + text->start[k], text->start[k + 1] - text->start[k]);
        } else if (!isnan(*x)) {
            *x = convert_number(v, *x);
        }
    }
}

static void warn(kb_context *ctx, const kb_cells *cells, size_t j, const conversion *v) {
    kb_cell_column name = kb_cells_column(cells, j);
    if (v->odd.count == 0)
        return;
    const char *many = v->odd.count == 1 ? "" : "s";
    if (v->column->levels > 0)
        kb_log(ctx, KB_LOG_WARNING,
               "%s: %zu cell%s of a level that the training rows did not have, such as '%s'; the "
               "model knows nothing of such levels",
               name.text, v->odd.count, many, v->odd.example);
    else
        kb_log(ctx, KB_LOG_WARNING, "%s: %zu cell%s no %s, such as '%s'; taken as missing",
               name.text, v->odd.count, v->odd.count == 1 ? " is" : "s are",
               v->column->type == KB_COLUMN_DATE ? "date" : "number", v->odd.example);
}

/* Of all ranks, with the first example. */
static kb_status add_up_odd(kb_context *ctx, odd_cells *odd) {
    kb_status status;
    odd_cells mine = *odd;
    void *all = NULL;
    if (kb_rank_count(ctx) == 1)
        return KB_OK;
    TRY(kb_ranks_gather(ctx, &mine, sizeof mine, &all, NULL));
    *odd = (odd_cells){0};
    for (int k = 0; k < kb_rank_count(ctx); k++) {
        const odd_cells *next = (odd_cells *)all + k;
        if (odd->count == 0)
            memcpy(odd->example, next->example, sizeof odd->example);
        odd->count += next->count;
    }
done:
    kb_release(ctx, all);
    return status;
}

static void release(kb_context *ctx, conversion *v) {
    kb_text_ids_clear(ctx, &v->level);
    kb_release(ctx, v->of_text);
    kb_release(ctx, v->is_odd);
}

kb_status kb_table_conform(kb_context *ctx, const kb_table *table, kb_cells *cells) {
    kb_status status;
    TRY(kb_cells_join(ctx, cells));
    for (size_t j = 0; j < table->columns; j++) {
        const kb_column *c = &table->column[j];
        conversion v = {0};
        int days = c->type == KB_COLUMN_DATE && cells->is_days && cells->is_days[j];
        if ((days || c->type == KB_COLUMN_NUMBER) && cells->text[j].count == 0)
            continue;
        status = prepare(ctx, c, &cells->text[j], &v);
        if (status == KB_OK) {
            convert(cells, j, &v);
            status = add_up_odd(ctx, &v.odd);
        }
        if (status == KB_OK)
            warn(ctx, cells, j, &v);
        release(ctx, &v);
        TRY(status);
    }
done:
    return status;
}
