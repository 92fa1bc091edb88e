/* joined_texts.c - see joined_texts.h. */
#include "table/joined_texts.h"
#include "table/cell.h"

#include <string.h>

/* The texts as they travel: the length of each, and its bytes. */
static kb_status pack(kb_context *ctx, const kb_text_ids *ids, char **out, size_t *bytes) {
    kb_status status;
    size_t length = ids->count > 0 ? ids->start[ids->count] : 0, at = 0;
    TRY(kb_alloc(ctx, ids->count * sizeof length + length, 1, out));
    for (size_t k = 0; k < ids->count; k++) {
        length = ids->start[k + 1] - ids->start[k];
        memcpy(*out + at, &length, sizeof length);
        if (length > 0)
            memcpy(*out + at + sizeof length, ids->text + ids->start[k], length);
        at += sizeof length + length;
    }
    *bytes = at;
done:
    return status;
}

/* Numbers the texts of one rank behind those before. */
static kb_status number(kb_context *ctx, const char *from, const char *end, kb_text_ids *ids,
                        uint32_t *place) {
    kb_status status = KB_OK;
    size_t length;
    for (size_t k = 0; from < end; k++, from += sizeof length + length) {
        uint32_t id;
        memcpy(&length, from, sizeof length);
        TRY(kb_text_ids_number(ctx, ids, from + sizeof length, length, &id));
        if (place)
            place[k] = id;
    }
done:
    return status;
}

kb_status kb_texts_join(kb_context *ctx, kb_text_ids *ids, uint32_t **place) {
    kb_status status;
    kb_text_ids joined = {0};
    char *mine = NULL;
    void *all = NULL;
    size_t bytes = 0, *end = NULL;
    *place = NULL;
    if (kb_rank_count(ctx) == 1)
        return KB_OK;
    TRY(pack(ctx, ids, &mine, &bytes));
    TRY(kb_ranks_gather(ctx, mine, bytes, &all, &end));
    TRY(kb_alloc(ctx, ids->count, sizeof **place, place));
    for (int k = 0; k < kb_rank_count(ctx); k++)
        TRY(number(ctx, (char *)all + (k > 0 ? end[k - 1] : 0), (char *)all + end[k], &joined,
                   k == kb_rank(ctx) ? *place : NULL));
    kb_text_ids_clear(ctx, ids);
    *ids = joined;
    joined = (kb_text_ids){0};
done:
    kb_text_ids_clear(ctx, &joined);
    kb_release(ctx, mine);
    kb_release(ctx, all);
    kb_release(ctx, end);
    if (status != KB_OK) {
        kb_release(ctx, *place);
        *place = NULL;
    }
    return status;
}

kb_status kb_cells_join(kb_context *ctx, kb_cells *cells) {
    kb_status status;
    int64_t rows = (int64_t)cells->rows;
    uint32_t *place = NULL;
    if (cells->all_rows > 0)
        return KB_OK;
    for (size_t j = 0; j < cells->columns; j++) {
        TRY(kb_texts_join(ctx, &cells->text[j], &place));
        for (size_t i = 0; place && i < cells->rows; i++) {
            double *cell = &cells->cell[i * cells->columns + j];
            if (kb_cell_is_text(*cell))
                *cell = kb_cell_text(place[kb_cell_number(*cell)]);
        }
        kb_release(ctx, place);
        place = NULL;
    }
    TRY(kb_ranks_sum(ctx, &rows, 1));
    cells->all_rows = (size_t)rows;
done:
    kb_release(ctx, place);
    return status;
}
