/* labels.c - see labels.h. */
#include "csv/labels.h"
#include "core/number.h"
#include "options/say.h"
#include "table/cell.h"
#include "table/infer.h"
#include "table/joined_texts.h"
#include "table/look.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY_WORDS = 100 };

typedef struct labels {
    kb_context *ctx;
    const kb_csv_columns *c;
    kb_input *in;
    kb_text_ids *text;
    kb_data *data;
    size_t rows; /* of all ranks */
    char *name;  /* or the number of the column */
    char number[24];
} labels;

static kb_status refuse(const labels *l, const char *what, size_t words) {
    return kb_fail(l->ctx, KB_ERR_DATA, "%s: %s, the label, has %zu different words%s (use %s)",
                   kb_input_name(l->in), kb_column_in_words(l->c, l->c->label).text, words, what,
                   kb_say(l->ctx, KB_OPT_LABEL).text);
}

/* Texts that are likely numbers or dates become classes. */
static kb_status doubt(const labels *l, size_t words) {
    const kb_text_ids *text = l->text;
    size_t length = text->start[1] - text->start[0];
    if (kb_texts_look_of(text) == KB_LOOK_WORDS || words < 3)
        return KB_OK;
    kb_column_text where = kb_column_in_words(l->c, l->c->label);
    kb_quoted word = kb_quote(text->text, length);
    if (words > MANY_WORDS)
        return kb_fail(l->ctx, KB_ERR_DATA,
                       "%s: %s, the label, has %zu different words such as '%s' (for regression "
                       "write plain numbers)",
                       kb_input_name(l->in), where.text, words, word.text);
    kb_log(l->ctx, KB_LOG_WARNING,
           "%s: %s, the label: '%s' and the like are taken as classes (for regression write plain "
           "numbers)",
           kb_input_name(l->in), where.text, word.text);
    return KB_OK;
}

/* ---- numbers ----------------------------------------------------------- */

static kb_status has_numbers(const labels *l, int *found) {
    *found = 0;
    for (size_t i = 0; i < l->data->rows && !*found; i++)
        *found = !isnan(l->data->label[i]);
    return kb_ranks_any(l->ctx, found);
}

static kb_cells cells_of(const labels *l) {
    return (kb_cells){.rows = l->data->rows,
                      .columns = 1,
                      .all_rows = l->rows,
                      .cell = l->data->label,
                      .text = l->text,
                      .name = (char **)&l->name,
                      .numbered = !l->c->header,
                      .file = kb_input_name(l->in)};
}

/* Texts that are numbers of one style become numbers. */
static kb_status take_numbers(const labels *l, kb_number_style style) {
    kb_status status;
    kb_table *table = NULL;
    kb_cells cells = cells_of(l);
    TRY(kb_table_create(l->ctx, 1, &table));
    table->column[0].style = style;
    TRY(kb_table_conform(l->ctx, table, &cells));
done:
    kb_table_free(table);
    return status;
}

/* ---- words ------------------------------------------------------------- */

typedef struct word {
    const char *text;
    uint32_t number; /* when it came */
} word;

static int by_text(const void *a, const void *b) {
    return strcmp(((const word *)a)->text, ((const word *)b)->text);
}

/* Numbers all labels by their words, in the order in which they come. */
static kb_status number_words(const labels *l, kb_text_ids *words) {
    kb_status status;
    uint32_t *place = NULL;
    for (size_t i = 0; i < l->data->rows; i++) {
        double *label = &l->data->label[i];
        char decimal[KB_NUMBER_TEXT];
        const char *text = decimal;
        size_t length, k = kb_cell_number(*label);
        uint32_t number;
        if (kb_cell_is_missing(*label))
            continue;
        if (kb_cell_is_text(*label)) {
            text = l->text->text + l->text->start[k];
            length = l->text->start[k + 1] - l->text->start[k];
        } else {
            length = kb_number_format(*label, decimal);
        }
        TRY(kb_text_ids_number(l->ctx, words, text, length, &number));
        *label = number;
    }
    TRY(kb_texts_join(l->ctx, words, &place));
    for (size_t i = 0; place && i < l->data->rows; i++)
        if (!isnan(l->data->label[i]))
            l->data->label[i] = place[(size_t)l->data->label[i]];
done:
    kb_release(l->ctx, place);
    return status;
}

/* The words in alphabetical order become the names of the classes, and labels their places. */
static kb_status sort_words(const labels *l, const kb_text_ids *words) {
    kb_status status;
    kb_data *data = l->data;
    size_t count = words->count;
    word *order = NULL;
    double *place = NULL;
    TRY(kb_zalloc(l->ctx, count, sizeof *data->class_name, &data->class_name));
    data->class_count = count;
    TRY(kb_alloc(l->ctx, count, sizeof *order, &order));
    TRY(kb_alloc(l->ctx, count, sizeof *place, &place));
    for (size_t k = 0; k < count; k++) {
        size_t length = words->start[k + 1] - words->start[k];
        TRY(kb_format(l->ctx, &data->class_name[k], "%.*s", (int)length,
                      words->text + words->start[k]));
        order[k] = (word){data->class_name[k], (uint32_t)k};
    }
    qsort(order, count, sizeof *order, by_text);
    for (size_t k = 0; k < count; k++) {
        place[order[k].number] = (double)k;
        data->class_name[k] = (char *)order[k].text;
    }
    for (size_t i = 0; i < data->rows; i++)
        if (!isnan(data->label[i]))
            data->label[i] = place[(size_t)data->label[i]];
done:
    kb_release(l->ctx, order);
    kb_release(l->ctx, place);
    return status;
}

static kb_status take_words(const labels *l, int to_predict) {
    kb_status status;
    kb_text_ids words = {0};
    kb_cells cells = cells_of(l);
    int numbers;
    TRY(has_numbers(l, &numbers));
    if (!to_predict && numbers)
        TRY(kb_cells_refuse_infinite(l->ctx, &cells, 0));
    TRY(number_words(l, &words));
    if (!to_predict && !numbers)
        TRY(doubt(l, words.count));
    if (words.count > KB_WORDS_MAX)
        TRY(refuse(l, ", too many for classes", words.count));
    if (!to_predict && words.count > MANY_WORDS && words.count > l->rows / 2)
        TRY(refuse(l, " in fewer than twice as many rows: it does not hold classes", words.count));
    TRY(sort_words(l, &words));
done:
    kb_text_ids_clear(l->ctx, &words);
    return status;
}

/* ---- all of it --------------------------------------------------------- */

static kb_status all_missing(const labels *l, int *missing) {
    int found = 0;
    for (size_t i = 0; i < l->data->rows && !found; i++)
        found = !kb_cell_is_missing(l->data->label[i]);
    kb_status status = kb_ranks_any(l->ctx, &found);
    *missing = !found;
    return status;
}

/* Numbers the words as in the rows of all ranks, and counts these. */
static kb_status join(labels *l) {
    kb_cells cells = cells_of(l);
    kb_status status = kb_cells_join(l->ctx, &cells);
    l->rows = cells.all_rows;
    return status;
}

kb_status kb_csv_labels_finish(kb_context *ctx, const kb_csv_columns *c, kb_input *in,
                               kb_text_ids *text, int to_predict, kb_data *data) {
    kb_status status = KB_OK;
    labels l = {.ctx = ctx, .c = c, .in = in, .text = text, .data = data};
    kb_number_style style;
    int none, numbers;
    if (c->header)
        TRY(kb_strdup(ctx, c->names.name[c->label], &data->label_name));
    data->label_column = c->label + 1;
    snprintf(l.number, sizeof l.number, "%zu", data->label_column);
    l.name = c->header ? data->label_name : l.number;
    TRY(join(&l));
    TRY(all_missing(&l, &none));
    if (none && !to_predict)
        TRY(kb_fail(ctx, KB_ERR_DATA, "%s: no row has a label: %s is empty (use %s)",
                    kb_input_name(in), kb_column_in_words(c, c->label).text,
                    kb_say(ctx, KB_OPT_LABEL).text));
    if (none) {
        kb_release(ctx, data->label);
        data->label = NULL;
    } else if (text->count > 0) {
        int comma = c->delimiter != ',';
        TRY(has_numbers(&l, &numbers));
        if (kb_texts_have_style(text, comma, numbers, &style))
            TRY(take_numbers(&l, style));
        else
            TRY(take_words(&l, to_predict));
    }
done:
    return status;
}
