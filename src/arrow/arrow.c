/*
 * arrow.c - see arrow.h.
 *
 * First it is decided which column of the frame becomes which column of cells, and how.  Then the
 * batches are copied, some rows of all columns at a time, so that the rows being written stay in
 * the cache.  The types of the columns are found as those of a CSV file, but for those that Arrow
 * names: dates, booleans and dictionaries.
 */
#include "arrow/arrow.h"
#include "core/strings.h"
#include "arrow/arrow_column.h"
#include "io/column_choice.h"
#include "options/say.h"
#include "table/cell.h"
#include "table/infer.h"

#include <stdio.h>

enum { ROWS_AT_ONCE = 1024, LISTED_NAMES = 400 };

/* A column by its name, for messages. */
typedef struct column_text {
    char text[96];
} column_text;

typedef struct frame {
    const kb_arrow_spec *spec;
    size_t all;            /* columns of the frame */
    int named;             /* they have names */
    kb_column_names names; /* all of them, if so */
    uint8_t *ignored;      /* all: whether the options leave it out */
    kb_column_type *asked; /* all: the type that the options ask for */
    kb_cells cells;        /* their columns are the next three, by number */
    size_t *source;        /* column of the frame */
    kb_arrow_type *type;
    kb_column_type *wanted; /* to train; AUTO: as Arrow has it, or as the cells are */
    column_text *text;
    kb_arrow_column *column; /* of the batch being read */
    size_t columns;          /* of cells, before any is left out */
} frame;

/* ---- the structures ---------------------------------------------------- */

static const struct ArrowSchema *child_of(const frame *f, size_t k) {
    return f->spec->schema->children[k];
}

static const char *given_name(const frame *f, size_t k) {
    return child_of(f, k)->name ? child_of(f, k)->name : "";
}

static column_text in_words(const frame *f, size_t k) {
    column_text out;
    if (f->named)
        snprintf(out.text, sizeof out.text, "column '%.80s'", f->names.name[k]);
    else
        snprintf(out.text, sizeof out.text, "column %zu", k + 1);
    return out;
}

static kb_status check_schema(kb_context *ctx, frame *f) {
    const struct ArrowSchema *schema = f->spec->schema;
    if (!schema || !schema->format || !schema->release)
        return kb_fail(ctx, KB_ERR_DATA, "there is no Arrow schema, or it was released");
    if (strcmp(schema->format, "+s") != 0)
        return kb_fail(ctx, KB_ERR_DATA,
                       "the Arrow schema '%.20s' is not that of a data frame: a struct (+s)",
                       schema->format);
    if (schema->n_children <= 0 || !schema->children)
        return kb_fail(ctx, KB_ERR_DATA, "the data have no features");
    if (schema->n_children > KB_FEATURES_MAX)
        return kb_fail(ctx, KB_ERR_DATA, "the data have too many columns");
    f->all = (size_t)schema->n_children;
    for (size_t k = 0; k < f->all; k++) {
        if (!child_of(f, k))
            return kb_fail(ctx, KB_ERR_DATA, "column %zu: it has no Arrow schema", k + 1);
        f->named |= *given_name(f, k) != '\0';
    }
    return KB_OK;
}

static kb_status check_batches(kb_context *ctx, frame *f) {
    kb_status status = KB_OK;
    size_t rows = 0;
    if (f->spec->batches > 0 && !f->spec->batch)
        TRY(kb_fail(ctx, KB_ERR_DATA, "there are no Arrow batches"));
    for (size_t b = 0; b < f->spec->batches; b++) {
        const struct ArrowArray *batch = f->spec->batch[b];
        TRY(kb_arrow_check(ctx, "the data frame", batch, 0, 0));
        if (batch->n_children != f->spec->schema->n_children || !batch->children)
            TRY(kb_fail(ctx, KB_ERR_DATA, "an Arrow batch has %lld columns, but its schema %zu",
                        (long long)batch->n_children, f->all));
        if (__builtin_add_overflow(rows, (size_t)batch->length, &rows) || rows > KB_ROWS_MAX)
            TRY(kb_fail(ctx, KB_ERR_DATA, KB_ROWS_TOO_MANY));
    }
    if (rows == 0)
        TRY(kb_fail(ctx, KB_ERR_DATA, "the data have no samples"));
    f->cells.rows = rows;
done:
    return status;
}

/* ---- which columns ----------------------------------------------------- */

/* As a CSV file has them: all different. */
static kb_status take_names(kb_context *ctx, frame *f) {
    kb_status status = KB_OK;
    char **given = NULL;
    size_t renamed;
    if (!f->named)
        return KB_OK;
    TRY(kb_alloc(ctx, f->all, sizeof *given, &given));
    for (size_t k = 0; k < f->all; k++)
        given[k] = (char *)given_name(f, k);
    TRY(kb_column_names_build(ctx, f->all, given, &f->names, &renamed));
    if (renamed > 0)
        kb_log(ctx, KB_LOG_WARNING, "%zu column%s of a name that came before, renamed as in name.1",
               renamed, renamed == 1 ? "" : "s");
done:
    kb_release(ctx, given);
    return status;
}

/* All features that the frame does not have, by name. */
static kb_status refuse_missing(kb_context *ctx, const frame *f, size_t missing) {
    const kb_arrow_spec *s = f->spec;
    char list[LISTED_NAMES + 100] = "";
    const char *first = NULL;
    size_t used = 0, left = missing;
    for (size_t j = 0; j < s->features && used < LISTED_NAMES; j++)
        if (f->source[j] == KB_NO_COLUMN) {
            first = first ? first : s->feature_name[j];
            used += (size_t)snprintf(list + used, sizeof list - used, "%s'%.80s'",
                                     used > 0 ? ", " : "", s->feature_name[j]);
            left--;
        }
    if (left > 0)
        snprintf(list + used, sizeof list - used, " and %zu more", left);
    return kb_fail(ctx, KB_ERR_DATA, "the data lack %s of the model: %s%s",
                   missing == 1 ? "a feature" : "features", list,
                   kb_column_names_hint(&f->names, first).text);
}

static void warn_of_ignored(kb_context *ctx, const frame *f, const uint8_t *used) {
    const kb_arrow_spec *s = f->spec;
    size_t ignored = 0, example = 0;
    for (size_t k = f->all; k-- > 0;) {
        const char *name = f->names.name[k];
        if (used[k] || (s->table && kb_table_leaves_out(s->table, name)) ||
            (s->label_name && strcmp(s->label_name, name) == 0))
            continue;
        ignored++;
        example = k;
    }
    if (ignored > 0)
        kb_log(ctx, KB_LOG_WARNING, "%zu column%s unknown to the model %s ignored (%s)", ignored,
               ignored == 1 ? "" : "s", ignored == 1 ? "is" : "are", in_words(f, example).text);
}

static kb_status find_by_name(kb_context *ctx, frame *f) {
    kb_status status;
    const kb_arrow_spec *s = f->spec;
    size_t missing = 0;
    uint8_t *used = NULL;
    TRY(kb_zalloc(ctx, f->all, 1, &used));
    for (size_t j = 0; j < s->features; j++) {
        size_t k = kb_column_named(&f->names, s->feature_name[j]);
        f->source[j] = k;
        missing += k == KB_NO_COLUMN;
        if (k != KB_NO_COLUMN)
            used[k] = 1;
    }
    if (missing > 0)
        TRY(refuse_missing(ctx, f, missing));
    warn_of_ignored(ctx, f, used);
done:
    kb_release(ctx, used);
    return status;
}

static kb_status find_by_place(kb_context *ctx, frame *f) {
    const kb_arrow_spec *s = f->spec;
    size_t left_out = s->table ? s->table->left_out : 0, j = 0;
    int whole = left_out > 0 && f->all == s->features + left_out;
    for (size_t k = 0; k < f->all; k++) {
        if (whole && kb_table_leaves_out_place(s->table, k))
            continue;
        if (j < s->features)
            f->source[j] = k;
        j++;
    }
    if (j != s->features)
        return kb_fail(ctx, KB_ERR_DATA,
                       "the data have %zu columns, but the model has %zu feature%s", f->all,
                       s->features, s->features == 1 ? "" : "s");
    return KB_OK;
}

/* To train: what the options say of all columns. */
static kb_status choose(kb_context *ctx, frame *f) {
    kb_status status;
    const kb_arrow_spec *s = f->spec;
    kb_column_choice choice = {.names = &f->names,
                               .count = f->all,
                               .columns = s->columns,
                               .ignore = s->ignore,
                               .types = s->types};
    TRY(kb_alloc(ctx, f->all, sizeof *f->ignored, &f->ignored));
    TRY(kb_zalloc(ctx, f->all, sizeof *f->asked, &f->asked));
    TRY(kb_choose_columns(ctx, &choice, KB_NO_COLUMN, f->ignored));
    TRY(kb_choose_types(ctx, &choice, f->asked));
    for (size_t k = 0; k < f->all; k++)
        f->columns += !f->ignored[k];
    if (f->columns == 0)
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT, "no features: %s and %s leave none",
                    kb_say(ctx, KB_OPT_COLUMNS).text, kb_say(ctx, KB_OPT_IGNORE).text));
done:
    return status;
}

static void take_chosen(frame *f) {
    for (size_t k = 0, j = 0; k < f->all; k++)
        if (!f->ignored[k]) {
            f->wanted[j] = f->asked[k];
            f->source[j++] = k;
        }
}

static kb_status find_columns(kb_context *ctx, frame *f) {
    kb_status status;
    const kb_arrow_spec *s = f->spec;
    TRY(take_names(ctx, f));
    if (s->to_predict)
        f->columns = s->features;
    else
        TRY(choose(ctx, f));
    TRY(kb_alloc(ctx, f->columns, sizeof *f->source, &f->source));
    TRY(kb_alloc(ctx, f->columns, sizeof *f->type, &f->type));
    TRY(kb_zalloc(ctx, f->columns, sizeof *f->wanted, &f->wanted));
    TRY(kb_alloc(ctx, f->columns, sizeof *f->text, &f->text));
    TRY(kb_zalloc(ctx, f->columns, sizeof *f->column, &f->column));
    if (s->to_predict)
        TRY((s->feature_name && f->named ? find_by_name : find_by_place)(ctx, f));
    else
        take_chosen(f);
    for (size_t j = 0; j < f->columns; j++) {
        f->text[j] = in_words(f, f->source[j]);
        TRY(kb_arrow_type_read(ctx, child_of(f, f->source[j]), f->text[j].text, &f->type[j]));
    }
done:
    return status;
}

/* ---- their types ------------------------------------------------------- */

/* Whether the booleans of a column are to be texts, not 1 and 0. */
static int takes_words(const frame *f, size_t j) {
    const kb_arrow_spec *s = f->spec;
    if (!s->to_predict)
        return f->wanted[j] != KB_COLUMN_NUMBER;
    if (!s->table || s->table->column[j].levels == 0)
        return 0;
    const kb_column *c = &s->table->column[j];
    for (size_t k = 0; k < c->levels; k++)
        if (strcmp(c->level[k], "0") == 0 || strcmp(c->level[k], "1") == 0)
            return 0;
    return 1;
}

/* Levels and numbers of a model cannot be told from days. */
static kb_status check_dates(kb_context *ctx, const frame *f) {
    const kb_table *table = f->spec->table;
    for (size_t j = 0; j < f->columns; j++) {
        kb_column_type type = f->wanted[j];
        if (f->spec->to_predict)
            type = table ? table->column[j].type : KB_COLUMN_NUMBER;
        if (f->type[j].kind != KB_ARROW_DATES || type == KB_COLUMN_AUTO || type == KB_COLUMN_DATE)
            continue;
        if (f->spec->to_predict)
            return kb_fail(ctx, KB_ERR_DATA, "%s holds dates, but in the model it is a %s",
                           f->text[j].text, kb_column_type_name(type));
        return kb_fail(ctx, KB_ERR_DATA, "%s holds dates: turn them into %s to use it as a %s",
                       f->text[j].text, type == KB_COLUMN_NUMBER ? "numbers" : "strings",
                       kb_column_type_name(type));
    }
    return KB_OK;
}

/* What Arrow itself says of the type of a column that nobody asked a type for. */
static kb_column_type declared(const frame *f, size_t j) {
    const kb_cells *cells = &f->cells;
    const kb_arrow_type *type = &f->type[j];
    uint64_t seen[2], bits;
    size_t values = 0, levels = 0; /* cells with a value, and different ones, 3 for more */
    if (type->kind != KB_ARROW_DATES && type->kind != KB_ARROW_BOOLEANS && !type->index)
        return KB_COLUMN_AUTO;
    for (size_t i = 0; i < cells->rows; i++) {
        double x = cells->cell[i * f->columns + j];
        if (kb_cell_is_missing(x))
            continue;
        memcpy(&bits, &x, sizeof bits);
        values++;
        if (levels > 2 || (levels > 0 && bits == seen[0]) || (levels > 1 && bits == seen[1]))
            continue;
        if (levels < 2)
            seen[levels] = bits;
        levels++;
    }
    int missing = values < cells->rows;
    if (levels == 0 || (levels == 1 && !missing))
        return KB_COLUMN_CONSTANT;
    if (type->kind == KB_ARROW_DATES)
        return KB_COLUMN_DATE;
    return levels + (size_t)missing == 2 ? KB_COLUMN_BOOLEAN : KB_COLUMN_CATEGORY;
}

static void tell_of_ids(kb_context *ctx, const frame *f, const kb_table *table) {
    for (size_t k = 0; k < table->left_out; k++)
        if (table->out[k].type == KB_COLUMN_ID)
            kb_log(ctx, KB_LOG_WARNING,
                   "%s has a text of its own in nearly every row: it is left out",
                   in_words(f, table->out[k].place).text);
}

/* ---- the cells --------------------------------------------------------- */

static kb_status make_cells(kb_context *ctx, frame *f) {
    kb_status status;
    kb_cells *cells = &f->cells;
    size_t count;
    cells->columns = f->columns;
    if (__builtin_mul_overflow(cells->rows, f->columns, &count))
        TRY(kb_fail(ctx, KB_ERR_MEMORY, "out of memory: %zu rows of %zu columns", cells->rows,
                    f->columns));
    TRY(kb_alloc(ctx, count, sizeof *cells->cell, &cells->cell));
    TRY(kb_zalloc(ctx, f->columns, sizeof *cells->text, &cells->text));
    TRY(kb_zalloc(ctx, f->columns, sizeof *cells->is_days, &cells->is_days));
    for (size_t j = 0; j < f->columns; j++)
        cells->is_days[j] = f->type[j].kind == KB_ARROW_DATES;
    if (f->spec->to_predict) {
        TRY(kb_strings_copy(ctx, f->columns, f->spec->feature_name, &cells->name));
        goto done;
    }
    TRY(kb_zalloc(ctx, f->columns, sizeof *cells->name, &cells->name));
    cells->numbered = !f->named;
    for (size_t j = 0; j < f->columns; j++)
        if (f->named)
            TRY(kb_strdup(ctx, f->names.name[f->source[j]], &cells->name[j]));
        else
            TRY(kb_format(ctx, &cells->name[j], "%zu", f->source[j] + 1));
done:
    return status;
}

/* The rows of a batch that are null as a whole. */
static void blank_rows(const frame *f, const struct ArrowArray *batch, size_t row) {
    if (batch->null_count == 0 || batch->n_buffers < 1 || !batch->buffers || !batch->buffers[0])
        return;
    for (size_t i = 0; i < (size_t)batch->length; i++)
        if (!kb_arrow_is_valid(batch->buffers[0], (size_t)batch->offset + i))
            for (size_t j = 0; j < f->columns; j++)
                f->cells.cell[(row + i) * f->columns + j] = KB_CELL_MISSING;
}

static kb_status read_batch(kb_context *ctx, frame *f, const struct ArrowArray *batch, size_t row) {
    kb_status status = KB_OK;
    size_t rows = (size_t)batch->length, offset = (size_t)batch->offset, opened = 0;
    for (; opened < f->columns && status == KB_OK; opened++)
        status = kb_arrow_column_open(
            ctx, &f->type[opened], f->text[opened].text, batch->children[f->source[opened]],
            offset + rows, takes_words(f, opened), &f->cells.text[opened], &f->column[opened]);
    for (size_t i = 0; i < rows && status == KB_OK; i += ROWS_AT_ONCE) {
        size_t count = rows - i < ROWS_AT_ONCE ? rows - i : ROWS_AT_ONCE;
        status = kb_progress(ctx, "read", (double)(row + i) / (double)f->cells.rows);
        for (size_t j = 0; j < f->columns && status == KB_OK; j++)
            status = kb_arrow_column_fill(ctx, &f->column[j], offset + i, count, row + i,
                                          f->columns, f->cells.cell + (row + i) * f->columns + j);
    }
    if (status == KB_OK)
        blank_rows(f, batch, row);
    for (size_t j = 0; j < opened; j++)
        kb_arrow_column_close(ctx, &f->column[j]);
    return status;
}

/* The cells as the model wants them. */
static kb_status conform(kb_context *ctx, frame *f, kb_table **out) {
    kb_status status;
    if (f->spec->table)
        TRY(kb_table_copy(ctx, f->spec->table, out));
    else
        TRY(kb_table_create(ctx, f->columns, out));
    TRY(kb_table_conform(ctx, *out, &f->cells));
done:
    return status;
}

/* Left-out columns by their place in the frame, those that the options ignore among them. */
static kb_status note_left_out(kb_context *ctx, const frame *f, kb_table *table) {
    kb_status status = KB_OK;
    char number[24];
    for (size_t k = 0; k < table->left_out; k++)
        table->out[k].place = f->source[table->out[k].place];
    for (size_t k = 0; k < f->all; k++)
        if (f->ignored[k]) {
            snprintf(number, sizeof number, "%zu", k + 1);
            TRY(kb_table_leave_out(ctx, table, f->named ? f->names.name[k] : number,
                                   KB_COLUMN_IGNORED, k));
        }
done:
    return status;
}

static kb_status find_types(kb_context *ctx, frame *f, kb_table **out) {
    kb_status status;
    for (size_t j = 0; j < f->columns; j++)
        if (f->wanted[j] == KB_COLUMN_AUTO)
            f->wanted[j] = declared(f, j);
    kb_infer_spec spec = {.wanted = f->wanted};
    TRY(kb_table_infer(ctx, &spec, &f->cells, out));
    TRY(note_left_out(ctx, f, *out));
    tell_of_ids(ctx, f, *out);
done:
    return status;
}

/* Moves the cells to the data. */
static kb_status finish(kb_context *ctx, frame *f, kb_data *data) {
    kb_status status;
    kb_cells *cells = &f->cells;
    if (cells->columns < f->columns)
        TRY(kb_realloc(ctx, cells->rows * cells->columns, sizeof *cells->cell, &cells->cell));
    data->rows = cells->rows;
    data->features = cells->columns;
    data->dense = cells->cell;
    cells->cell = NULL;
    if (!cells->numbered) {
        data->feature_name = cells->name;
        cells->name = NULL;
    }
    TRY(kb_data_count_missing(ctx, data));
    if (kb_table_is_plain(data->table)) {
        kb_table_free(data->table);
        data->table = NULL;
    }
done:
    return status;
}

static void release(kb_context *ctx, frame *f) {
    kb_cells *cells = &f->cells;
    kb_column_names_clear(ctx, &f->names);
    for (size_t j = 0; cells->text && j < f->columns; j++)
        kb_text_ids_clear(ctx, &cells->text[j]);
    if (cells->name)
        kb_strings_free(kb_allocator_of(ctx), f->columns, cells->name);
    void *all[] = {cells->cell, cells->text, cells->is_days, f->ignored, f->asked,
                   f->source,   f->type,     f->wanted,      f->text,    f->column};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        kb_release(ctx, all[k]);
}

kb_status kb_arrow_read(kb_context *ctx, const kb_arrow_spec *spec, kb_data *data) {
    kb_status status;
    frame f = {.spec = spec};
    size_t row = 0;
    TRY(check_schema(ctx, &f));
    TRY(check_batches(ctx, &f));
    TRY(find_columns(ctx, &f));
    TRY(check_dates(ctx, &f));
    TRY(make_cells(ctx, &f));
    for (size_t b = 0; b < spec->batches; b++) {
        TRY(read_batch(ctx, &f, spec->batch[b], row));
        row += (size_t)spec->batch[b]->length;
    }
    TRY((spec->to_predict ? conform : find_types)(ctx, &f, &data->table));
    TRY(finish(ctx, &f, data));
done:
    release(ctx, &f);
    return status;
}
