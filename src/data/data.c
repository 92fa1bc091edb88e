/*
 * data.c - see data.h.
 *
 * Data that come in through the public interface are checked once, here, so that
 * no routine to the right of this room ever meets a NaN, an infinity or a column
 * that does not exist.
 */
#include "data/data.h"

#include <math.h>
#include <string.h>

kb_status kb_data_create(kb_context *ctx, kb_data **out) {
    kb_status status = kb_zalloc(ctx, 1, sizeof **out, out);
    if (status == KB_OK)
        (*out)->allocator = kb_allocator_of(ctx);
    return status;
}

kb_status kb_names_copy(kb_context *ctx, char *const *from, size_t count, char ***out) {
    kb_status status = KB_OK;
    if (!from)
        return KB_OK;
    TRY(kb_zalloc(ctx, count, sizeof **out, out));
    for (size_t i = 0; i < count; i++)
        TRY(kb_strdup(ctx, from[i], &(*out)[i]));
done:
    return status;
}

static void free_names(kb_allocator allocator, char **name, size_t count) {
    for (size_t i = 0; name && i < count; i++)
        kb_allocator_release(allocator, name[i]);
    kb_allocator_release(allocator, name);
}

void kb_data_free(kb_data *data) {
    if (!data)
        return;
    kb_allocator allocator = data->allocator;
    kb_allocator_release(allocator, data->dense);
    kb_allocator_release(allocator, data->row_start);
    kb_allocator_release(allocator, data->column);
    kb_allocator_release(allocator, data->value);
    kb_allocator_release(allocator, data->label);
    kb_allocator_release(allocator, data->weight);
    kb_allocator_release(allocator, data->group);
    free_names(allocator, data->class_name, data->class_count);
    free_names(allocator, data->feature_name, data->features);
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

/* ---- from arrays ------------------------------------------------------- */

static kb_status check_shape(kb_context *ctx, size_t rows, size_t features) {
    if (rows == 0)
        return kb_fail(ctx, KB_ERR_DATA, "the data have no samples");
    if (rows > KB_ROWS_MAX)
        return kb_fail(ctx, KB_ERR_DATA, KB_ROWS_TOO_MANY);
    if (features == 0)
        return kb_fail(ctx, KB_ERR_DATA, "the data have no features");
    if (features > KB_FEATURES_MAX)
        return kb_fail(ctx, KB_ERR_ARGUMENT, "%zu features are more than the %u that kerbin takes",
                       features, KB_FEATURES_MAX);
    return KB_OK;
}

static kb_status copy_labels(kb_context *ctx, kb_data *data, const double *labels) {
    kb_status status;
    TRY(kb_alloc(ctx, data->rows, sizeof *labels, &data->label));
    for (size_t i = 0; i < data->rows; i++) {
        if (!isfinite(labels[i]))
            TRY(kb_fail(ctx, KB_ERR_DATA, "row %zu (counted from 0): the label is not finite", i));
        data->label[i] = labels[i];
    }
done:
    return status;
}

static kb_status check_values(kb_context *ctx, const kb_data *data) {
    for (size_t i = 0; i < data->rows; i++) {
        kb_row row = kb_data_row(data, i);
        for (size_t k = 0; k < row.count; k++)
            if (!isfinite(row.value[k]))
                return kb_fail(ctx, KB_ERR_DATA,
                               "row %zu, column %zu (counted from 0): the value is not finite", i,
                               row.column ? row.column[k] : k);
    }
    return KB_OK;
}

kb_status kb_data_from_dense(kb_context *ctx, size_t rows, size_t features, const double *values,
                             const double *labels, kb_data **out) {
    kb_status status;
    kb_data *data = NULL;
    size_t cells;
    *out = NULL;
    TRY(check_shape(ctx, rows, features));
    if (__builtin_mul_overflow(rows, features, &cells))
        TRY(kb_fail(ctx, KB_ERR_MEMORY, "out of memory: %zu rows of %zu features", rows, features));
    TRY(kb_data_create(ctx, &data));
    data->rows = rows;
    data->features = features;
    TRY(kb_alloc(ctx, cells, sizeof *values, &data->dense));
    memcpy(data->dense, values, cells * sizeof *values);
    TRY(check_values(ctx, data));
    if (labels)
        TRY(copy_labels(ctx, data, labels));
    *out = data;
done:
    if (status != KB_OK)
        kb_data_free(data);
    return status;
}

/* Row starts that never step back, columns that strictly increase. */
static kb_status check_pattern(kb_context *ctx, size_t rows, size_t features,
                               const size_t *row_start, const uint32_t *columns) {
    for (size_t i = 0; i < rows; i++) {
        if (row_start[i] > row_start[i + 1])
            return kb_fail(
                ctx, KB_ERR_ARGUMENT,
                "row %zu (counted from 0): it starts at %zu and ends before that, at %zu", i,
                row_start[i], row_start[i + 1]);
        for (size_t k = row_start[i]; k < row_start[i + 1]; k++) {
            if (columns[k] >= features)
                return kb_fail(ctx, KB_ERR_ARGUMENT,
                               "row %zu (counted from 0): column %u, but there are %zu", i,
                               columns[k], features);
            if (k > row_start[i] && columns[k] <= columns[k - 1])
                return kb_fail(ctx, KB_ERR_ARGUMENT,
                               "row %zu (counted from 0): column %u follows column %u; they must "
                               "increase",
                               i, columns[k], columns[k - 1]);
        }
    }
    return KB_OK;
}

kb_status kb_data_from_csr(kb_context *ctx, size_t rows, size_t features, const size_t *row_start,
                           const uint32_t *columns, const double *values, const double *labels,
                           kb_data **out) {
    kb_status status;
    kb_data *data = NULL;
    *out = NULL;
    TRY(check_shape(ctx, rows, features));
    TRY(check_pattern(ctx, rows, features, row_start, columns));
    size_t first = row_start[0], entries = row_start[rows] - first;
    TRY(kb_data_create(ctx, &data));
    data->rows = rows;
    data->features = features;
    TRY(kb_alloc(ctx, rows + 1, sizeof *row_start, &data->row_start));
    TRY(kb_alloc(ctx, entries, sizeof *columns, &data->column));
    TRY(kb_alloc(ctx, entries, sizeof *values, &data->value));
    for (size_t i = 0; i <= rows; i++)
        data->row_start[i] = row_start[i] - first;
    if (entries > 0) {
        memcpy(data->column, columns + first, entries * sizeof *columns);
        memcpy(data->value, values + first, entries * sizeof *values);
    }
    TRY(check_values(ctx, data));
    if (labels)
        TRY(copy_labels(ctx, data, labels));
    *out = data;
done:
    if (status != KB_OK)
        kb_data_free(data);
    return status;
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
    kb_release(ctx, data->row_start);
    kb_release(ctx, data->column);
    kb_release(ctx, data->value);
    data->row_start = NULL;
    data->column = NULL;
    data->value = NULL;
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
    kb_release(ctx, data->dense);
    data->dense = NULL;
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
