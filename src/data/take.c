/* take.c - some rows of a set as a set of their own; see data.h. */
#include "data/data.h"
#include "core/strings.h"
#include "options/say.h"

#include <string.h>

/* All that does not belong to a row. */
static kb_status copy_frame(kb_context *ctx, const kb_data *data, kb_data *part) {
    kb_status status = KB_OK;
    part->features = data->features;
    part->class_count = data->class_count;
    TRY(kb_strings_copy(ctx, data->class_count, data->class_name, &part->class_name));
    TRY(kb_strings_copy(ctx, data->features, data->feature_name, &part->feature_name));
    part->label_column = data->label_column;
    part->missing = data->missing;
    part->level = data->level;
    if (data->label_name)
        TRY(kb_strdup(ctx, data->label_name, &part->label_name));
    if (data->table)
        TRY(kb_table_copy(ctx, data->table, &part->table));
done:
    return status;
}

static kb_status take_dense(kb_context *ctx, const kb_data *data, const uint32_t *rows,
                            kb_data *part) {
    kb_status status;
    size_t width = data->features;
    TRY(kb_alloc(ctx, part->rows * width, sizeof *part->dense, &part->dense));
    for (size_t k = 0; k < part->rows; k++)
        memcpy(part->dense + k * width, data->dense + rows[k] * width, width * sizeof(double));
done:
    return status;
}

static kb_status take_sparse(kb_context *ctx, const kb_data *data, const uint32_t *rows,
                             kb_data *part) {
    kb_status status;
    size_t entries = 0;
    TRY(kb_alloc(ctx, part->rows + 1, sizeof *part->row_start, &part->row_start));
    for (size_t k = 0; k < part->rows; k++) {
        part->row_start[k] = entries;
        entries += kb_data_row(data, rows[k]).count;
    }
    part->row_start[part->rows] = entries;
    TRY(kb_alloc(ctx, entries, sizeof *part->column, &part->column));
    TRY(kb_alloc(ctx, entries, sizeof *part->value, &part->value));
    for (size_t k = 0; k < part->rows; k++) {
        kb_row row = kb_data_row(data, rows[k]);
        if (row.count == 0)
            continue;
        memcpy(part->column + part->row_start[k], row.column, row.count * sizeof *row.column);
        memcpy(part->value + part->row_start[k], row.value, row.count * sizeof *row.value);
    }
done:
    return status;
}

kb_status kb_take_items(kb_context *ctx, const void *from, size_t size, size_t count,
                        const uint32_t *rows, void *out) {
    kb_status status = KB_OK;
    char *items;
    if (!from)
        return KB_OK;
    TRY(kb_alloc(ctx, count, size, &items));
    for (size_t k = 0; k < count; k++)
        memcpy(items + k * size, (const char *)from + rows[k] * size, size);
    memcpy(out, &items, sizeof items);
done:
    return status;
}

kb_data kb_data_view(const kb_data *data, size_t begin, size_t count) {
    kb_data part = *data;
    part.rows = count;
    part.kept = NULL;
    if (data->dense)
        part.dense += begin * data->features;
    else
        part.row_start += begin;
    if (data->label)
        part.label += begin;
    if (data->weight)
        part.weight += begin;
    if (data->group)
        part.group += begin;
    return part;
}

static kb_status check_weights(kb_context *ctx, const kb_data *part) {
    if (!part->weight)
        return KB_OK;
    for (size_t i = 0; i < part->rows; i++)
        if (part->weight[i] > 0)
            return KB_OK;
    return kb_fail(ctx, KB_ERR_DATA,
                   "of the data set apart, all %zu row%s the weight 0: leave such rows out of the "
                   "data, or try another %s or %s",
                   part->rows, part->rows == 1 ? " has" : "s have", kb_say(ctx, KB_OPT_SPLIT).text,
                   kb_say(ctx, KB_OPT_SEED).text);
}

kb_status kb_data_take_any(kb_context *ctx, const kb_data *data, size_t count, const uint32_t *rows,
                           kb_data **out) {
    kb_status status;
    kb_data *part = NULL;
    *out = NULL;
    TRY(kb_data_create(ctx, &part));
    part->rows = count;
    TRY(copy_frame(ctx, data, part));
    TRY(data->dense ? take_dense(ctx, data, rows, part) : take_sparse(ctx, data, rows, part));
    TRY(kb_take_items(ctx, data->label, sizeof *data->label, count, rows, &part->label));
    TRY(kb_take_items(ctx, data->weight, sizeof *data->weight, count, rows, &part->weight));
    TRY(kb_take_items(ctx, data->group, sizeof *data->group, count, rows, &part->group));
    *out = part;
done:
    if (status != KB_OK)
        kb_data_free(part);
    return status;
}

kb_status kb_data_take(kb_context *ctx, const kb_data *data, size_t count, const uint32_t *rows,
                       kb_data **out) {
    kb_status status;
    *out = NULL;
    if (count == 0)
        TRY(kb_fail(ctx, KB_ERR_DATA, "one part of the data has no rows"));
    TRY(kb_data_take_any(ctx, data, count, rows, out));
    status = check_weights(ctx, *out);
    if (status != KB_OK) {
        kb_data_free(*out);
        *out = NULL;
    }
done:
    return status;
}
