/* collect.c - see collect.h. */
#include "deal/collect.h"

#include <string.h>

kb_status kb_collect_items(kb_context *ctx, const void *mine, size_t size, size_t count,
                           void *all) {
    void *got = NULL;
    kb_status status = KB_OK;
    if (mine)
        status = kb_ranks_gather(ctx, mine, size * count, &got, NULL);
    memcpy(all, &got, sizeof got);
    return status;
}

/* The array of a set becomes that of all ranks. */
static kb_status widen(kb_context *ctx, kb_data *part, size_t size, size_t count, void *inout) {
    void *old, *all;
    memcpy(&old, inout, sizeof old);
    kb_status status = kb_collect_items(ctx, old, size, count, &all);
    if (status != KB_OK || !old)
        return status;
    kb_allocator_release(part->allocator, old);
    memcpy(inout, &all, sizeof all);
    return KB_OK;
}

static kb_status widen_sparse(kb_context *ctx, kb_data *part) {
    kb_status status;
    size_t rows = part->rows, entries = part->row_start[rows], *length = part->row_start;
    for (size_t i = 0; i < rows; i++)
        length[i] = length[i + 1] - length[i];
    TRY(widen(ctx, part, sizeof *part->column, entries, &part->column));
    TRY(widen(ctx, part, sizeof *part->value, entries, &part->value));
    int64_t all = (int64_t)rows;
    TRY(kb_ranks_sum(ctx, &all, 1));
    TRY(widen(ctx, part, sizeof *length, rows, &part->row_start));
    TRY(kb_realloc(ctx, (size_t)all + 1, sizeof *length, &part->row_start));
    size_t at = 0;
    for (size_t i = 0; i <= (size_t)all; i++) {
        size_t count = i < (size_t)all ? part->row_start[i] : 0;
        part->row_start[i] = at;
        at += count;
    }
done:
    return status;
}

kb_status kb_collect_rows(kb_context *ctx, const kb_data *data, size_t count, const uint32_t *rows,
                          kb_data **out) {
    kb_status status;
    kb_data *part = NULL;
    int64_t all = (int64_t)count;
    *out = NULL;
    TRY(kb_ranks_agree(ctx, kb_data_take_any(ctx, data, count, rows, &part)));
    TRY(widen(ctx, part, sizeof *part->label, count, &part->label));
    TRY(widen(ctx, part, sizeof *part->weight, count, &part->weight));
    TRY(widen(ctx, part, sizeof *part->group, count, &part->group));
    if (part->dense)
        TRY(widen(ctx, part, sizeof(double), count * part->features, &part->dense));
    else
        TRY(widen_sparse(ctx, part));
    TRY(kb_ranks_sum(ctx, &all, 1));
    part->rows = (size_t)all;
    *out = part;
done:
    if (status != KB_OK)
        kb_data_free(part);
    return status;
}

kb_status kb_collect_evenly(kb_context *ctx, const kb_data *data, size_t most, kb_data **out) {
    kb_status status;
    size_t N = kb_rows_of_all(data), n = N < most ? N : most, count = 0;
    size_t first = data->first_row, end = first + data->rows;
    uint32_t *row = NULL;
    TRY(kb_ranks_agree(ctx, kb_alloc(ctx, data->rows < n ? data->rows : n, sizeof *row, &row)));
    for (size_t i = first < N ? (size_t)((unsigned __int128)first * n / N) : n; i < n; i++) {
        size_t at = i * N / n; /* rows < 2^64 / most */
        if (at >= end)
            break;
        if (at >= first)
            row[count++] = (uint32_t)(at - first);
    }
    TRY(kb_collect_rows(ctx, data, count, row, out));
done:
    kb_release(ctx, row);
    return status;
}
