/* data.c - see data.h. */
#include "data/data.h"
#include "core/strings.h"
#include "core/team.h"

#include <math.h>
#include <string.h>

kb_status kb_data_create(kb_context *ctx, kb_data **out) {
    kb_status status = kb_zalloc(ctx, 1, sizeof **out, out);
    if (status == KB_OK)
        (*out)->allocator = kb_allocator_of(ctx);
    return status;
}

/* All but the rows' starts. */
static void release_values(kb_data *data) {
    if (!data->borrowed_values) {
        kb_allocator_release(data->allocator, data->dense);
        kb_allocator_release(data->allocator, data->value);
    }
    kb_allocator_release(data->allocator, data->column);
    data->dense = data->value = NULL;
    data->column = NULL;
    data->borrowed_values = 0;
}

void kb_data_free(kb_data *data) {
    if (!data)
        return;
    kb_allocator allocator = data->allocator;
    release_values(data);
    kb_allocator_release(allocator, data->row_start);
    kb_allocator_release(allocator, data->label);
    kb_allocator_release(allocator, data->weight);
    kb_allocator_release(allocator, data->group);
    kb_strings_free(allocator, data->class_count, data->class_name);
    kb_strings_free(allocator, data->features, data->feature_name);
    kb_allocator_release(allocator, data->label_name);
    kb_table_free(data->table);
    kb_kept_free(allocator, data->kept);
    kb_allocator_release(allocator, data);
}

size_t kb_data_rows(const kb_data *data) {
    return data->rows;
}

size_t kb_data_rows_of_all(const kb_data *data) {
    return kb_rows_of_all(data);
}

size_t kb_data_first_row(const kb_data *data) {
    return data->first_row;
}

size_t kb_data_features(const kb_data *data) {
    return data->features;
}

int kb_data_is_sparse(const kb_data *data) {
    return data->dense == NULL;
}

const double *kb_data_labels(const kb_data *data) {
    return data->label;
}

const char *kb_data_class_name(const kb_data *data, size_t i) {
    return data->class_name && i < data->class_count ? data->class_name[i] : NULL;
}

const char *kb_data_label_name(const kb_data *data) {
    return data->label_name;
}

size_t kb_data_label_column(const kb_data *data) {
    return data->label_column;
}

size_t kb_data_kept(const kb_data *data) {
    return data->kept ? data->kept->columns : 0;
}

const char *kb_data_kept_name(const kb_data *data, size_t k) {
    return k < kb_data_kept(data) ? data->kept->name[k] : NULL;
}

const char *kb_data_kept_cell(const kb_data *data, size_t row, size_t k) {
    return k < kb_data_kept(data) && row < data->rows ? kb_kept_cell(data->kept, row, k) : NULL;
}

kb_status kb_data_column(const kb_data *data, size_t j, kb_column_info *out) {
    return kb_table_tell(data->table, data->features, data->feature_name, j, out);
}

size_t kb_data_left_out(const kb_data *data) {
    return data->table ? data->table->left_out : 0;
}

kb_status kb_data_left_out_column(const kb_data *data, size_t k, kb_column_info *out) {
    return kb_table_tell_left_out(data->table, k, out);
}

/* ---- the form ---------------------------------------------------------- */

/* Cells for which it pays to wake another thread. */
enum { CELLS_OF_A_THREAD = 1 << 16 };
/* The rows in parts, so that the entries of each can be counted before they are written. */
enum { PARTS = 64 };

/* One form being made from the other. */
typedef struct change {
    kb_data *data;
    double *dense;
    size_t *row_start;
    uint32_t *column;
    double *value;
    size_t nonzeros[PARTS + 1]; /* in each part; then, where it begins, and the end of all */
    atomic_int changed;         /* a borrowed array, by its owner, since the entries were counted */
} change;

static size_t part_begin(const change *c, size_t part) {
    return kb_share(c->data->rows, (int)part, PARTS);
}

static void fill_dense(void *arg, size_t begin, size_t end) {
    const change *c = arg;
    for (size_t i = begin; i < end; i++) {
        kb_row row = kb_data_row(c->data, i);
        double *x = c->dense + i * c->data->features;
        memset(x, 0, c->data->features * sizeof *x);
        for (size_t k = 0; k < row.count; k++)
            x[row.column[k]] = row.value[k];
    }
}

static kb_status make_dense(kb_context *ctx, kb_data *data) {
    kb_status status;
    change c = {.data = data};
    TRY(kb_alloc(ctx, data->rows * data->features, sizeof *c.dense, &c.dense));
    kb_team_for(ctx, data->rows, CELLS_OF_A_THREAD / data->features + 1, fill_dense, &c);
    release_values(data);
    kb_release(ctx, data->row_start);
    data->row_start = NULL;
    data->dense = c.dense;
done:
    return status;
}

static void count_nonzeros(void *arg, size_t begin, size_t end) {
    change *c = arg;
    for (size_t part = begin; part < end; part++) {
        const double *x = c->data->dense;
        size_t last = part_begin(c, part + 1) * c->data->features, nonzeros = 0;
        for (size_t k = part_begin(c, part) * c->data->features; k < last; k++)
            nonzeros += x[k] != 0;
        c->nonzeros[part] = nonzeros;
    }
}

static void fill_sparse(void *arg, size_t begin, size_t end) {
    change *c = arg;
    size_t used = c->nonzeros[begin], room = c->nonzeros[end];
    for (size_t i = part_begin(c, begin); i < part_begin(c, end); i++) {
        const double *x = c->data->dense + i * c->data->features;
        c->row_start[i] = used;
        for (size_t j = 0; j < c->data->features && used < room; j++)
            if (x[j] != 0) {
                c->column[used] = (uint32_t)j;
                c->value[used++] = x[j];
            }
    }
    if (used < room)
        atomic_store(&c->changed, 1);
}

static kb_status make_sparse(kb_context *ctx, change *c, size_t nonzeros, size_t parts_at_once) {
    kb_status status;
    kb_data *data = c->data;
    size_t used = 0;
    TRY(kb_alloc(ctx, data->rows + 1, sizeof *c->row_start, &c->row_start));
    TRY(kb_alloc(ctx, nonzeros, sizeof *c->column, &c->column));
    TRY(kb_alloc(ctx, nonzeros, sizeof *c->value, &c->value));
    for (size_t part = 0; part < PARTS; part++) {
        size_t count = c->nonzeros[part];
        c->nonzeros[part] = used;
        used += count;
    }
    c->nonzeros[PARTS] = used;
    kb_team_for(ctx, PARTS, parts_at_once, fill_sparse, c);
    if (atomic_load(&c->changed))
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT, "the values were changed while they were being read"));
    c->row_start[data->rows] = used;
    release_values(data);
    data->row_start = c->row_start;
    data->column = c->column;
    data->value = c->value;
done:
    if (status != KB_OK) {
        kb_release(ctx, c->row_start);
        kb_release(ctx, c->column);
        kb_release(ctx, c->value);
    }
    return status;
}

/* Whether a column holds levels or dates: 0 is then a value like any other. */
static int is_typed(const kb_data *data) {
    for (size_t j = 0; data->table && j < data->table->columns; j++)
        if (data->table->column[j].type != KB_COLUMN_NUMBER)
            return 1;
    return 0;
}

void kb_data_tell_dropped(kb_context *ctx, size_t missing) {
    kb_log(ctx, KB_LOG_WARNING, "%zu missing value%s in sparse rows %s taken as 0", missing,
           missing == 1 ? "" : "s", missing == 1 ? "is" : "are");
}

/* In sparse rows a missing value counts as 0, like one that is left out. */
static kb_status drop_missing(kb_context *ctx, kb_data *data) {
    kb_status status = KB_OK;
    size_t entries = data->row_start[data->rows], missing = 0;
    double *value = data->value;
    if (!data->missing)
        return KB_OK;
    if (data->borrowed_values)
        TRY(kb_alloc(ctx, entries, sizeof *value, &value));
    for (size_t k = 0; k < entries; k++) {
        int none = isnan(data->value[k]);
        value[k] = none ? 0 : data->value[k];
        missing += (size_t)none;
    }
    data->value = value;
    data->borrowed_values = 0;
    data->missing = 0;
    for (size_t j = 0; data->table && j < data->table->columns; j++)
        data->table->column[j].missing = 0;
    kb_data_tell_dropped(ctx, missing);
done:
    return status;
}

int kb_data_stays_dense(const kb_data *data) {
    return data->dense && (data->missing || is_typed(data));
}

static size_t parts_at_once(const kb_data *data) {
    size_t cells = data->rows * data->features;
    return cells < CELLS_OF_A_THREAD ? PARTS : CELLS_OF_A_THREAD / (cells / PARTS) + 1;
}

/* Of dense data. */
static size_t count_entries(kb_context *ctx, change *c) {
    size_t nonzeros = 0;
    kb_team_for(ctx, PARTS, parts_at_once(c->data), count_nonzeros, c);
    for (size_t part = 0; part < PARTS; part++)
        nonzeros += c->nonzeros[part];
    return nonzeros;
}

size_t kb_data_entries(kb_context *ctx, const kb_data *data) {
    change c = {.data = (kb_data *)data};
    return data->dense ? count_entries(ctx, &c) : data->row_start ? data->row_start[data->rows] : 0;
}

kb_status kb_data_set_form(kb_context *ctx, kb_data *data, int dense) {
    kb_status status = KB_OK;
    change c = {.data = data};
    if (data->dense && !dense) {
        size_t nonzeros = count_entries(ctx, &c);
        TRY(make_sparse(ctx, &c, nonzeros, parts_at_once(data)));
    } else if (!data->dense && dense) {
        TRY(make_dense(ctx, data));
    }
    if (!data->dense)
        TRY(drop_missing(ctx, data));
done:
    return status;
}

static kb_status choose_form(kb_context *ctx, kb_data *data) {
    double border = KB_DENSE_SHARE * (double)data->rows * (double)data->features;
    if (!data->dense)
        return (double)data->row_start[data->rows] > border ? make_dense(ctx, data) : KB_OK;
    change c = {.data = data};
    size_t nonzeros = count_entries(ctx, &c);
    return (double)nonzeros > border ? KB_OK : make_sparse(ctx, &c, nonzeros, parts_at_once(data));
}

kb_status kb_data_choose_form(kb_context *ctx, kb_data *data) {
    kb_status status = KB_OK;
    if (kb_data_stays_dense(data))
        return KB_OK;
    TRY(choose_form(ctx, data));
    if (!data->dense)
        TRY(drop_missing(ctx, data));
done:
    return status;
}

kb_status kb_data_own_values(kb_context *ctx, kb_data *data) {
    kb_status status;
    double *copy, **values = data->dense ? &data->dense : &data->value;
    size_t count = data->dense ? data->rows * data->features : data->row_start[data->rows];
    if (!data->borrowed_values)
        return KB_OK;
    TRY(kb_alloc(ctx, count, sizeof *copy, &copy));
    memcpy(copy, *values, count * sizeof *copy);
    *values = copy;
    data->borrowed_values = 0;
done:
    return status;
}

kb_status kb_data_count_missing(kb_context *ctx, kb_data *data) {
    kb_status status = KB_OK;
    data->missing = 0;
    for (size_t j = 0; data->table && j < data->table->columns; j++)
        data->table->column[j].missing = 0;
    if (!data->dense)
        return KB_OK;
    for (size_t i = 0; i < data->rows; i++)
        for (size_t j = 0; j < data->features; j++) {
            if (!isnan(data->dense[i * data->features + j]))
                continue;
            if (!data->table)
                TRY(kb_table_create(ctx, data->features, &data->table));
            data->table->column[j].missing++;
            data->missing = 1;
        }
done:
    return status;
}
