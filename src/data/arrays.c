/*
 * arrays.c - samples from the caller's memory.
 *
 * The caller's arrays are checked once, here, so that no later code meets an infinity or a column
 * that does not exist.  A NaN is a missing value.
 */
#include "data/data.h"
#include "core/strings.h"

#include <math.h>
#include <string.h>

static kb_status check_shape(kb_context *ctx, size_t rows, size_t features) {
    size_t cells;
    if (rows == 0 && ctx->ranks.ranks == 1)
        return kb_fail(ctx, KB_ERR_DATA, "the data have no samples");
    if (rows > KB_ROWS_MAX)
        return kb_fail(ctx, KB_ERR_DATA, KB_ROWS_TOO_MANY);
    if (features == 0)
        return kb_fail(ctx, KB_ERR_DATA, "the data have no features");
    if (features > KB_FEATURES_MAX)
        return kb_fail(ctx, KB_ERR_ARGUMENT, "%zu features are more than the %u that kerbin takes",
                       features, KB_FEATURES_MAX);
    if (__builtin_mul_overflow(rows, features, &cells))
        return kb_fail(ctx, KB_ERR_MEMORY, "out of memory: %zu rows of %zu features", rows,
                       features);
    return KB_OK;
}

static kb_status check_values(kb_context *ctx, kb_data *data) {
    for (size_t i = 0; i < data->rows; i++) {
        kb_row row = kb_data_row(data, i);
        for (size_t k = 0; k < row.count; k++) {
            if (isinf(row.value[k]))
                return kb_fail(ctx, KB_ERR_DATA,
                               "row %zu, column %zu (counted from 0): the value is infinite", i,
                               row.column ? row.column[k] : k);
            data->missing |= isnan(row.value[k]);
        }
    }
    return KB_OK;
}

/* ---- dense ------------------------------------------------------------- */

static size_t width_of(kb_value_type type) {
    return type == KB_VALUE_FLOAT ? sizeof(float) : sizeof(double);
}

/* `count` numbers, `step` bytes from one to the next. */
static void copy_numbers(kb_value_type type, const void *from, ptrdiff_t step, size_t count,
                         double *to) {
    const char *at = from;
    if (type == KB_VALUE_DOUBLE && step == sizeof(double)) {
        memcpy(to, from, count * sizeof *to);
        return;
    }
    for (size_t k = 0; k < count; k++, at += step)
        to[k] = type == KB_VALUE_FLOAT ? *(const float *)at : *(const double *)at;
}

/* Squares of cells, so that both the columns read and the rows written stay in the cache. */
static void copy_transposed(const kb_arrays *a, double *to) {
    enum { SIDE = 32 };
    for (size_t i = 0; i < a->rows; i += SIDE)
        for (size_t j = 0; j < a->features; j += SIDE)
            for (size_t k = i; k < a->rows && k < i + SIDE; k++) {
                const char *from = (const char *)a->values + (ptrdiff_t)k * a->row_step +
                                   (ptrdiff_t)j * a->column_step;
                size_t count = a->features - j < SIDE ? a->features - j : SIDE;
                copy_numbers(a->type, from, a->column_step, count, to + k * a->features + j);
            }
}

static int lies_as_ours(const kb_arrays *a) {
    return a->type == KB_VALUE_DOUBLE && a->column_step == sizeof(double) &&
           a->row_step == (ptrdiff_t)(a->features * sizeof(double));
}

static kb_status take_dense(kb_context *ctx, const kb_arrays *a, kb_data *data) {
    kb_status status = KB_OK;
    if (a->borrow && lies_as_ours(a)) {
        data->dense = (double *)a->values;
        data->borrowed_values = 1;
        goto done;
    }
    TRY(kb_alloc(ctx, a->rows * a->features, sizeof(double), &data->dense));
    copy_transposed(a, data->dense);
done:
    return status;
}

/* ---- compressed rows --------------------------------------------------- */

static size_t index_at(const void *index, size_t bytes, size_t i) {
    return bytes == 4 ? ((const uint32_t *)index)[i] : (size_t)((const uint64_t *)index)[i];
}

static kb_status take_starts(kb_context *ctx, const kb_arrays *a, kb_data *data) {
    kb_status status;
    TRY(kb_alloc(ctx, a->rows + 1, sizeof *data->row_start, &data->row_start));
    for (size_t i = 0; i <= a->rows; i++)
        data->row_start[i] = index_at(a->row_start, a->row_start_bytes, i);
    for (size_t i = 0; i < a->rows; i++)
        if (data->row_start[i] > data->row_start[i + 1])
            TRY(kb_fail(ctx, KB_ERR_ARGUMENT,
                        "row %zu (counted from 0): it starts at %zu and ends before that, at %zu",
                        i, data->row_start[i], data->row_start[i + 1]));
    if (a->counted && data->row_start[a->rows] > a->entries)
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT, "the rows end at entry %zu, but there are %zu",
                    data->row_start[a->rows], a->entries));
done:
    return status;
}

static kb_status take_columns(kb_context *ctx, const kb_arrays *a, size_t first, size_t entries,
                              kb_data *data) {
    kb_status status;
    TRY(kb_alloc(ctx, entries, sizeof *data->column, &data->column));
    for (size_t k = 0; k < entries; k++) {
        size_t column = index_at(a->columns, a->column_bytes, first + k);
        data->column[k] = column < UINT32_MAX ? (uint32_t)column : UINT32_MAX; /* refused below */
    }
done:
    return status;
}

/* Within the features, and strictly increasing along a row.  Of our own copy, which nobody changes
 * after the check. */
static kb_status check_columns(kb_context *ctx, const kb_data *data) {
    for (size_t i = 0; i < data->rows; i++) {
        kb_row row = kb_data_row(data, i);
        for (size_t k = 0; k < row.count; k++) {
            if (row.column[k] >= data->features)
                return kb_fail(ctx, KB_ERR_ARGUMENT,
                               "row %zu (counted from 0): column %u, but there are %zu", i,
                               row.column[k], data->features);
            if (k > 0 && row.column[k] <= row.column[k - 1])
                return kb_fail(ctx, KB_ERR_ARGUMENT,
                               "row %zu (counted from 0): column %u follows column %u; they must "
                               "increase",
                               i, row.column[k], row.column[k - 1]);
        }
    }
    return KB_OK;
}

static kb_status take_sparse(kb_context *ctx, const kb_arrays *a, kb_data *data) {
    kb_status status;
    TRY(take_starts(ctx, a, data));
    size_t first = data->row_start[0], entries = data->row_start[a->rows] - first;
    for (size_t i = 0; i <= a->rows; i++)
        data->row_start[i] -= first;
    TRY(take_columns(ctx, a, first, entries, data));
    TRY(check_columns(ctx, data));
    size_t width = width_of(a->type);
    const char *values = (const char *)a->values + first * width;
    if (a->borrow && a->type == KB_VALUE_DOUBLE && entries > 0) {
        data->value = (double *)values;
        data->borrowed_values = 1;
        goto done;
    }
    TRY(kb_alloc(ctx, entries, sizeof *data->value, &data->value));
    if (entries > 0)
        copy_numbers(a->type, values, (ptrdiff_t)width, entries, data->value);
done:
    return status;
}

/* ---- labels, weights, names -------------------------------------------- */

static kb_status take_labels(kb_context *ctx, const kb_arrays *a, kb_data *data) {
    kb_status status = KB_OK;
    if (!a->labels)
        return KB_OK;
    TRY(kb_alloc(ctx, data->rows, sizeof *data->label, &data->label));
    for (size_t i = 0; i < data->rows; i++) {
        double label = data->label[i] = a->labels[i];
        if (!isfinite(label))
            TRY(kb_fail(ctx, KB_ERR_DATA, "row %zu (counted from 0): the label is not finite", i));
        if (a->class_names && !(label >= 0 && label < (double)a->classes && label == floor(label)))
            TRY(kb_fail(ctx, KB_ERR_ARGUMENT,
                        "row %zu (counted from 0): the label %g is not the place of a class name",
                        i, label));
    }
done:
    return status;
}

static kb_status take_classes(kb_context *ctx, const kb_arrays *a, kb_data *data) {
    kb_status status;
    for (size_t i = 1; a->class_names && i < a->classes; i++)
        if (strcmp(a->class_names[i - 1], a->class_names[i]) >= 0)
            TRY(kb_fail(ctx, KB_ERR_ARGUMENT,
                        "the class name '%.60s' follows '%.60s'; they must increase",
                        a->class_names[i], a->class_names[i - 1]));
    data->class_count = a->class_names ? a->classes : 0;
    TRY(kb_strings_copy(ctx, data->class_count, (char *const *)a->class_names, &data->class_name));
done:
    return status;
}

kb_status kb_data_attach(kb_context *ctx, const kb_arrays *a, kb_data *data) {
    kb_status status;
    TRY(take_labels(ctx, a, data));
    TRY(kb_data_set_weights(ctx, data, a->weights));
    TRY(take_classes(ctx, a, data));
done:
    return status;
}

/* ---- all of it --------------------------------------------------------- */

kb_status kb_data_from_arrays(kb_context *ctx, const kb_arrays *arrays, kb_data **out) {
    kb_status status;
    kb_data *data = NULL;
    kb_arrays a;
    *out = NULL;
    TRY(kb_take_struct(ctx, "kb_arrays", arrays, &a, sizeof a));
    TRY(check_shape(ctx, a.rows, a.features));
    if (a.row_step == 0 && a.column_step == 0) {
        a.column_step = (ptrdiff_t)width_of(a.type);
        a.row_step = (ptrdiff_t)a.features * a.column_step;
    }
    TRY(kb_data_create(ctx, &data));
    data->rows = a.rows;
    data->features = a.features;
    TRY(a.row_start ? take_sparse(ctx, &a, data) : take_dense(ctx, &a, data));
    TRY(check_values(ctx, data));
    TRY(kb_data_attach(ctx, &a, data));
    TRY(kb_strings_copy(ctx, a.features, (char *const *)a.feature_names, &data->feature_name));
    TRY(kb_data_choose_form(ctx, data));
    TRY(kb_data_count_missing(ctx, data));
    *out = data;
done:
    if (status != KB_OK)
        kb_data_free(data);
    return status;
}
