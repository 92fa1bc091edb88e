/* attach.c - weights and groups that a program gives to samples it has made. */
#include "data/data.h"

#include <math.h>
#include <string.h>

/* *out, a pointer to one item of `size` bytes a row, becomes a copy of `from`, or NULL. */
static kb_status replace(kb_context *ctx, const kb_data *data, const void *from, size_t size,
                         void *out) {
    kb_status status = KB_OK;
    void *copy = NULL, *old;
    if (from) {
        TRY(kb_alloc(ctx, data->rows, size, &copy));
        memcpy(copy, from, data->rows * size);
    }
    memcpy(&old, out, sizeof old);
    kb_allocator_release(data->allocator, old);
    memcpy(out, &copy, sizeof copy);
done:
    return status;
}

kb_status kb_weights_check(kb_context *ctx, const char *name, size_t count, const double *weight) {
    double total = 0;
    for (size_t i = 0; i < count; i++)
        total += weight[i];
    if (total == 0 && ctx->ranks.ranks == 1)
        return kb_fail(ctx, KB_ERR_DATA, "%s: all %zu weights are 0", name, count);
    if (!isfinite(total))
        return kb_fail(ctx, KB_ERR_DATA, "%s: the sum of the weights is too large for a double",
                       name);
    return KB_OK;
}

kb_status kb_data_set_weights(kb_context *ctx, kb_data *data, const double *weight) {
    kb_status status = KB_OK;
    for (size_t i = 0; weight && i < data->rows; i++)
        if (!(isfinite(weight[i]) && weight[i] >= 0))
            TRY(kb_fail(ctx, KB_ERR_DATA,
                        "row %zu (counted from 0): the weight %g is not a finite number from 0 up",
                        i, weight[i]));
    if (weight)
        TRY(kb_weights_check(ctx, "the samples", data->rows, weight));
    TRY(replace(ctx, data, weight, sizeof *weight, &data->weight));
done:
    return status;
}

kb_status kb_data_set_groups(kb_context *ctx, kb_data *data, const uint32_t *group) {
    kb_status status = KB_OK;
    for (size_t i = 0; group && i < data->rows; i++)
        if (group[i] >= data->rows && ctx->ranks.ranks == 1)
            TRY(kb_fail(ctx, KB_ERR_ARGUMENT,
                        "row %zu (counted from 0): group %u, but groups are numbered from 0 and "
                        "there are %zu rows",
                        i, group[i], data->rows));
    TRY(replace(ctx, data, group, sizeof *group, &data->group));
done:
    return status;
}
