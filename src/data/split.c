/*
 * split.c - rows dealt out into two sets, say one to learn from and one to choose by.
 *
 * Row i goes to the second set when the uniform number of (seed, i) is below the share: rows that
 * are added behind change the fate of none before them, and nothing is shuffled or remembered.
 */
#include "data/data.h"
#include "core/random.h"

#include <string.h>

/* in_second[i]: whether row i is dealt to the second set; returns how many are.  Where all fell to
 * one side, the row whose draw came nearest to the border goes to the other. */
static size_t deal(size_t rows, double share, uint64_t seed, unsigned char *in_second) {
    size_t count = 0, lowest = 0, highest = 0;
    double low = 1, high = 0;
    for (size_t i = 0; i < rows; i++) {
        double u = kb_random_uniform(seed, KB_STREAM_VALID, i, 0).u;
        count += in_second[i] = u < share;
        if (u < low) {
            low = u;
            lowest = i;
        }
        if (u > high) {
            high = u;
            highest = i;
        }
    }
    if (count == 0)
        count = in_second[lowest] = 1;
    if (count == rows) {
        in_second[highest] = 0;
        count--;
    }
    return count;
}

static kb_status copy_names(kb_context *ctx, char **from, size_t count, char ***out) {
    kb_status status = KB_OK;
    if (!from)
        return KB_OK;
    TRY(kb_zalloc(ctx, count, sizeof **out, out));
    for (size_t i = 0; i < count; i++)
        TRY(kb_strdup(ctx, from[i], &(*out)[i]));
done:
    return status;
}

/* All that does not belong to a row. */
static kb_status copy_frame(kb_context *ctx, const kb_data *data, kb_data *part) {
    kb_status status = KB_OK;
    part->features = data->features;
    part->class_count = data->class_count;
    TRY(copy_names(ctx, data->class_name, data->class_count, &part->class_name));
    TRY(copy_names(ctx, data->feature_name, data->features, &part->feature_name));
    if (data->label_name)
        TRY(kb_strdup(ctx, data->label_name, &part->label_name));
done:
    return status;
}

static kb_status copy_numbers(kb_context *ctx, const kb_data *data, const double *from,
                              const unsigned char *side, unsigned char which, size_t rows,
                              double **out) {
    kb_status status = KB_OK;
    if (!from)
        return KB_OK;
    TRY(kb_alloc(ctx, rows, sizeof **out, out));
    for (size_t i = 0, k = 0; i < data->rows; i++)
        if (side[i] == which)
            (*out)[k++] = from[i];
done:
    return status;
}

static kb_status copy_dense(kb_context *ctx, const kb_data *data, const unsigned char *side,
                            unsigned char which, kb_data *part) {
    kb_status status;
    size_t width = data->features;
    TRY(kb_alloc(ctx, part->rows * width, sizeof *part->dense, &part->dense));
    for (size_t i = 0, k = 0; i < data->rows; i++)
        if (side[i] == which)
            memcpy(part->dense + k++ * width, data->dense + i * width, width * sizeof(double));
done:
    return status;
}

static kb_status copy_sparse(kb_context *ctx, const kb_data *data, const unsigned char *side,
                             unsigned char which, kb_data *part) {
    kb_status status;
    size_t entries = 0, k = 0;
    for (size_t i = 0; i < data->rows; i++)
        if (side[i] == which)
            entries += kb_data_row(data, i).count;
    TRY(kb_alloc(ctx, part->rows + 1, sizeof *part->row_start, &part->row_start));
    TRY(kb_alloc(ctx, entries, sizeof *part->column, &part->column));
    TRY(kb_alloc(ctx, entries, sizeof *part->value, &part->value));
    part->row_start[0] = 0;
    for (size_t i = 0; i < data->rows; i++) {
        kb_row row = kb_data_row(data, i);
        if (side[i] != which)
            continue;
        size_t begin = part->row_start[k];
        if (row.count > 0) {
            memcpy(part->column + begin, row.column, row.count * sizeof *row.column);
            memcpy(part->value + begin, row.value, row.count * sizeof *row.value);
        }
        part->row_start[++k] = begin + row.count;
    }
done:
    return status;
}

static kb_status check_weights(kb_context *ctx, const kb_data *part) {
    if (!part->weight)
        return KB_OK;
    for (size_t i = 0; i < part->rows; i++)
        if (part->weight[i] > 0)
            return KB_OK;
    return kb_fail(ctx, KB_ERR_DATA, "all rows of one part have the weight 0; try another seed");
}

/* The rows with side[i] == which, `rows` of them. */
static kb_status copy_part(kb_context *ctx, const kb_data *data, const unsigned char *side,
                           unsigned char which, size_t rows, kb_data **out) {
    kb_status status;
    TRY(kb_data_create(ctx, out));
    kb_data *part = *out;
    part->rows = rows;
    TRY(copy_frame(ctx, data, part));
    TRY(data->dense ? copy_dense(ctx, data, side, which, part)
                    : copy_sparse(ctx, data, side, which, part));
    TRY(copy_numbers(ctx, data, data->label, side, which, rows, &part->label));
    TRY(copy_numbers(ctx, data, data->weight, side, which, rows, &part->weight));
    TRY(check_weights(ctx, part));
done:
    return status;
}

kb_status kb_data_split(kb_context *ctx, const kb_data *data, double share, uint64_t seed,
                        kb_data **first, kb_data **second) {
    kb_status status;
    unsigned char *side = NULL;
    *first = *second = NULL;
    if (!(share > 0 && share < 1))
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT, "a share of %g: must be above 0 and below 1", share));
    if (data->rows < 2)
        TRY(kb_fail(ctx, KB_ERR_DATA, "%zu row%s cannot be split in two", data->rows,
                    data->rows == 1 ? "" : "s"));
    TRY(kb_alloc(ctx, data->rows, sizeof *side, &side));
    size_t count = deal(data->rows, share, seed, side);
    TRY(copy_part(ctx, data, side, 0, data->rows - count, first));
    TRY(copy_part(ctx, data, side, 1, count, second));
done:
    kb_release(ctx, side);
    if (status != KB_OK) {
        kb_data_free(*first);
        kb_data_free(*second);
        *first = *second = NULL;
    }
    return status;
}
