/*
 * labelled.c - rows without a label are left out, in place: a file may be large, and there is no
 * need for a second copy of it.
 */
#include "data/of_all.h"

#include <math.h>
#include <string.h>

/* Row `from` to place `to`, which is not behind it.  The starts of compressed rows behind `to` are
 * those of the old rows. */
static void move_row(kb_data *data, size_t from, size_t to) {
    data->label[to] = data->label[from];
    if (data->weight)
        data->weight[to] = data->weight[from];
    if (data->group)
        data->group[to] = data->group[from];
    if (data->dense) {
        size_t d = data->features;
        memmove(data->dense + to * d, data->dense + from * d, d * sizeof *data->dense);
        return;
    }
    size_t begin = data->row_start[from], count = data->row_start[from + 1] - begin;
    size_t place = data->row_start[to];
    memmove(data->column + place, data->column + begin, count * sizeof *data->column);
    memmove(data->value + place, data->value + begin, count * sizeof *data->value);
    data->row_start[to + 1] = place + count;
}

kb_status kb_data_keep_labelled(kb_context *ctx, const char *name, kb_data *data) {
    kb_status status = KB_OK;
    size_t rows = data->rows, kept = 0;
    for (size_t i = 0; data->label && i < rows; i++)
        kept += !isnan(data->label[i]);
    int64_t all[2] = {(int64_t)kept, (int64_t)(rows - kept)}; /* with a label, and without */
    if (!data->label)
        return KB_OK;
    TRY(kb_ranks_sum(ctx, all, 2));
    if (all[1] == 0)
        return KB_OK;
    if (all[0] == 0)
        return kb_fail(ctx, KB_ERR_DATA, "%s: no row has a label", name);
    kept = 0;
    /* Until the first row moves, it stands in its own place. */
    for (size_t i = 0; i < rows; i++)
        if (!isnan(data->label[i])) {
            if (kept < i)
                move_row(data, i, kept);
            kept++;
        }
    data->rows = kept;
    kb_log(ctx, KB_LOG_WARNING, "%s: %lld row%s without a label %s left out", name,
           (long long)all[1], all[1] == 1 ? "" : "s", all[1] == 1 ? "is" : "are");
    if (data->weight)
        TRY(kb_weights_check_of_all(ctx, name, kept, data->weight));
    if (data->table && data->dense)
        TRY(kb_data_count_missing_of_all(ctx, data));
done:
    return status;
}
