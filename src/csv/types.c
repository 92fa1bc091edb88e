/* types.c - see types.h. */
#include "csv/types.h"
#include "core/order.h"
#include "core/strings.h"
#include "core/team.h"
#include "options/say.h"
#include "table/cell.h"
#include "table/infer.h"
#include "table/joined_texts.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is asked for ------------------------------------------------- */

static kb_status take_types(kb_context *ctx, const kb_read_spec *spec, const kb_csv_columns *c,
                            kb_input *in, kb_column_type *wanted) {
    kb_status status;
    kb_column_choice choice = kb_csv_choice(spec, in, c);
    kb_column_type *asked = NULL;
    TRY(kb_zalloc(ctx, c->count, sizeof *asked, &asked));
    for (size_t j = 0; j < c->features; j++)
        asked[c->source[j]] = wanted[j];
    TRY(kb_choose_types(ctx, &choice, asked));
    if (c->label != KB_NO_COLUMN && asked[c->label] != KB_COLUMN_AUTO &&
        !strpbrk(spec->types, "*?"))
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT, "%s: %s: %s is the label (use %s)", kb_input_name(in),
                    kb_say(ctx, KB_OPT_TYPES).text, kb_column_in_words(c, c->label).text,
                    kb_say(ctx, KB_OPT_TASK).text));
    for (size_t j = 0; j < c->features; j++)
        wanted[j] = asked[c->source[j]];
done:
    kb_release(ctx, asked);
    return status;
}

/* The numbers of all ranks with the same remainder come together on one, so that those that are
 * equal meet. */
static kb_status meet(kb_context *ctx, size_t count, const double *value, double **out,
                      size_t *got) {
    kb_status status;
    size_t ranks = (size_t)kb_rank_count(ctx), *bytes = NULL, *at = NULL, *end = NULL;
    double *to = NULL;
    void *from = NULL;
    TRY(kb_zalloc(ctx, ranks, sizeof *bytes, &bytes));
    TRY(kb_zalloc(ctx, ranks, sizeof *at, &at));
    TRY(kb_alloc(ctx, count, sizeof *to, &to));
    for (size_t i = 0; i < count; i++)
        bytes[(size_t)fmod(value[i], (double)ranks)] += sizeof *to;
    for (size_t k = 1; k < ranks; k++)
        at[k] = at[k - 1] + bytes[k - 1] / sizeof *to;
    for (size_t i = 0; i < count; i++)
        to[at[(size_t)fmod(value[i], (double)ranks)]++] = value[i];
    TRY(kb_ranks_exchange(ctx, to, bytes, &from, &end));
    *out = from;
    *got = end[ranks - 1] / sizeof *to;
done:
    kb_release(ctx, bytes);
    kb_release(ctx, at);
    kb_release(ctx, end);
    kb_release(ctx, to);
    return status;
}

static int comes_twice(size_t count, double *value) {
    qsort(value, count, sizeof *value, kb_compare_doubles);
    for (size_t i = 1; i < count; i++)
        if (value[i] == value[i - 1])
            return 1;
    return 0;
}

/* The index of a data frame: a column without a name, of whole numbers that are all different. */
static kb_status find_index(kb_context *ctx, const kb_csv_columns *c, const kb_cells *cells,
                            size_t feature, int *out) {
    kb_status status = KB_OK;
    size_t N = cells->rows;
    double *value = NULL, *met = NULL;
    int other = 0;
    *out = 0;
    if (!c->header || *c->field[c->source[feature]] != '\0' || cells->all_rows < 2)
        return KB_OK;
    TRY(kb_alloc(ctx, N, sizeof *value, &value));
    for (size_t i = 0; i < N && !other; i++) {
        value[i] = cells->cell[i * cells->columns + feature];
        other = !(value[i] >= 0) || value[i] != floor(value[i]);
    }
    TRY(kb_ranks_any(ctx, &other));
    if (other)
        goto done;
    TRY(meet(ctx, N, value, &met, &N));
    other = comes_twice(N, met);
    TRY(kb_ranks_any(ctx, &other));
    *out = !other;
done:
    kb_release(ctx, value);
    kb_release(ctx, met);
    return status;
}

/* ---- the columns ------------------------------------------------------- */

/* Names for the messages: those of the file, or its numbers. */
static kb_status name_columns(kb_context *ctx, const kb_csv_columns *c, kb_cells *cells) {
    kb_status status;
    TRY(kb_zalloc(ctx, c->features, sizeof *cells->name, &cells->name));
    cells->numbered = !c->header;
    for (size_t j = 0; j < c->features; j++)
        if (c->header)
            TRY(kb_strdup(ctx, c->names.name[c->source[j]], &cells->name[j]));
        else
            TRY(kb_format(ctx, &cells->name[j], "%zu", c->source[j] + 1));
done:
    return status;
}

/* Left-out columns by their place in the file, those that the options ignore among them. */
static kb_status note_left_out(kb_context *ctx, const kb_csv_columns *c, kb_table *table) {
    kb_status status = KB_OK;
    char number[24];
    for (size_t k = 0; k < table->left_out; k++)
        table->out[k].place = kb_csv_place(c, c->source[table->out[k].place]);
    for (size_t k = 0; k < c->count; k++)
        if (c->ignored[k] && k != c->label && k != c->weight && k != c->group) {
            snprintf(number, sizeof number, "%zu", k + 1);
            TRY(kb_table_leave_out(ctx, table, c->header ? c->names.name[k] : number,
                                   KB_COLUMN_IGNORED, kb_csv_place(c, k)));
        }
done:
    return status;
}

static kb_status find_types(kb_context *ctx, const kb_read_spec *spec, const kb_csv_columns *c,
                            kb_input *in, kb_cells *cells, kb_data *data) {
    kb_status status;
    kb_column_type *wanted = NULL;
    TRY(kb_cells_join(ctx, cells));
    TRY(kb_zalloc(ctx, c->features, sizeof *wanted, &wanted));
    for (size_t j = 0; j < c->features; j++) {
        int is_index;
        TRY(find_index(ctx, c, cells, j, &is_index));
        if (is_index)
            wanted[j] = KB_COLUMN_ID;
    }
    if (spec->types)
        TRY(take_types(ctx, spec, c, in, wanted));
    kb_infer_spec infer = {.wanted = wanted, .comma_decimal = c->delimiter != ','};
    TRY(kb_table_infer(ctx, &infer, cells, &data->table));
    TRY(note_left_out(ctx, c, data->table));
done:
    kb_release(ctx, wanted);
    return status;
}

static kb_status take_model_types(kb_context *ctx, const kb_read_spec *spec, kb_cells *cells,
                                  kb_data *data) {
    kb_status status;
    if (spec->table)
        TRY(kb_table_copy(ctx, spec->table, &data->table));
    else
        TRY(kb_table_create(ctx, cells->columns, &data->table));
    TRY(kb_table_conform(ctx, data->table, cells));
done:
    return status;
}

/* ---- missing values ---------------------------------------------------- */

typedef struct search {
    const kb_data *data;
    atomic_int found;
} search;

static void find_missing(void *arg, size_t begin, size_t end) {
    search *s = arg;
    const double *x = s->data->dense;
    int found = 0;
    for (size_t k = begin * s->data->features; k < end * s->data->features; k++)
        found |= isnan(x[k]);
    if (found)
        atomic_store(&s->found, 1);
}

static kb_status note_missing(kb_context *ctx, kb_data *data) {
    search s = {.data = data};
    kb_team_for(ctx, data->rows, KB_WORTH_A_THREAD / data->features + 1, find_missing, &s);
    data->missing = atomic_load(&s.found);
    return kb_ranks_any(ctx, &data->missing);
}

kb_status kb_csv_types_finish(kb_context *ctx, const kb_read_spec *spec, const kb_csv_columns *c,
                              kb_input *in, kb_text_ids *text, kb_data *data) {
    kb_status status;
    size_t all = c->features;
    kb_cells cells = {.rows = data->rows,
                      .columns = all,
                      .cell = data->dense,
                      .text = text,
                      .file = kb_input_name(in)};
    TRY(name_columns(ctx, c, &cells));
    if (spec->to_predict)
        TRY(take_model_types(ctx, spec, &cells, data));
    else
        TRY(find_types(ctx, spec, c, in, &cells, data));
    data->features = cells.columns;
    TRY(kb_realloc(ctx, data->rows * data->features, sizeof *data->dense, &data->dense));
    if (c->header) {
        TRY(kb_strings_copy(ctx, data->features, cells.name, &data->feature_name));
    }
    TRY(note_missing(ctx, data));
    if (!data->missing && kb_table_is_plain(data->table)) {
        kb_table_free(data->table);
        data->table = NULL;
    }
done:
    for (size_t j = 0; cells.name && j < all; j++)
        kb_release(ctx, cells.name[j]);
    kb_release(ctx, cells.name);
    return status;
}
