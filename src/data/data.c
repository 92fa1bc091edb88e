/* data.c - see data.h. */
#include "data/data.h"
#include "core/strings.h"

#include <string.h>

kb_status kb_data_create(kb_context *ctx, kb_data **out) {
    kb_status status = kb_zalloc(ctx, 1, sizeof **out, out);
    if (status == KB_OK)
        (*out)->allocator = kb_allocator_of(ctx);
    return status;
}

/* All but the rows' starts, which are never borrowed. */
static void release_values(kb_data *data) {
    if (!data->borrowed_values) {
        kb_allocator_release(data->allocator, data->dense);
        kb_allocator_release(data->allocator, data->value);
    }
    if (!data->borrowed_columns)
        kb_allocator_release(data->allocator, data->column);
    data->dense = data->value = NULL;
    data->column = NULL;
    data->borrowed_values = data->borrowed_columns = 0;
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
    kb_allocator_release(allocator, data);
}

size_t kb_data_rows(const kb_data *data) {
    return data->rows;
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

/* ---- the form ---------------------------------------------------------- */

static kb_status make_dense(kb_context *ctx, kb_data *data) {
    kb_status status;
    double *dense;
    TRY(kb_alloc(ctx, data->rows * data->features, sizeof *dense, &dense));
    for (size_t i = 0; i < data->rows; i++) {
        kb_row row = kb_data_row(data, i);
        double *x = dense + i * data->features;
        memset(x, 0, data->features * sizeof *x);
        for (size_t k = 0; k < row.count; k++)
            x[row.column[k]] = row.value[k];
    }
    release_values(data);
    kb_release(ctx, data->row_start);
    data->row_start = NULL;
    data->dense = dense;
done:
    return status;
}

static kb_status make_sparse(kb_context *ctx, kb_data *data, size_t nonzeros) {
    kb_status status;
    size_t used = 0, *row_start = NULL;
    uint32_t *column = NULL;
    double *value = NULL;
    TRY(kb_alloc(ctx, data->rows + 1, sizeof *row_start, &row_start));
    TRY(kb_alloc(ctx, nonzeros, sizeof *column, &column));
    TRY(kb_alloc(ctx, nonzeros, sizeof *value, &value));
    for (size_t i = 0; i < data->rows; i++) {
        const double *x = data->dense + i * data->features;
        row_start[i] = used;
        for (size_t j = 0; j < data->features; j++)
            if (x[j] != 0) {
                column[used] = (uint32_t)j;
                value[used++] = x[j];
            }
    }
    row_start[data->rows] = used;
    release_values(data);
    data->row_start = row_start;
    data->column = column;
    data->value = value;
done:
    if (status != KB_OK) {
        kb_release(ctx, row_start);
        kb_release(ctx, column);
        kb_release(ctx, value);
    }
    return status;
}

kb_status kb_data_choose_form(kb_context *ctx, kb_data *data) {
    double border = KB_DENSE_SHARE * (double)data->rows * (double)data->features;
    if (!data->dense)
        return (double)data->row_start[data->rows] > border ? make_dense(ctx, data) : KB_OK;
    size_t nonzeros = 0, cells = data->rows * data->features;
    for (size_t k = 0; k < cells; k++)
        nonzeros += data->dense[k] != 0;
    return (double)nonzeros > border ? KB_OK : make_sparse(ctx, data, nonzeros);
}
