/*
 * prune.c - removes the bins without a weight from a model, and then the grids without a bin.
 *
 * Its decisions stay the same to the bit, except for values so large that their bin numbers do not
 * fit in 32 bits: which of those share a bin depends on the grids of a block.
 */
#include "fit/prune.h"

#include <string.h>

static int has_weight(const kb_model *model, size_t bin) {
    size_t C = model->info.outputs;
    for (size_t c = 0; c < C; c++)
        if (model->weight[bin * C + c] != 0)
            return 1;
    return 0;
}

/* Which bins stay: at least one. */
static size_t mark(const kb_model *model, unsigned char *stays) {
    size_t count = 0, bins = model->map->dictionary.bins;
    for (size_t b = 0; b < bins; b++)
        count += stays[b] = (unsigned char)has_weight(model, b);
    if (count == 0)
        count = stays[0] = 1;
    return count;
}

/* The grids that have a bin left. */
static size_t list_grids(const kb_dictionary *d, const unsigned char *stays, size_t *grid) {
    size_t count = 0;
    for (size_t r = 0; r < d->grids; r++)
        for (size_t b = d->start[r]; b < d->start[r + 1]; b++)
            if (stays[b]) {
                grid[count++] = r;
                break;
            }
    return count;
}

static kb_status select_grids(kb_context *ctx, const kb_grids *from, size_t count,
                              const size_t *grid, kb_grids **out) {
    kb_status status = kb_grids_create(ctx, count, from->features, out);
    if (status != KB_OK)
        return status;
    memcpy((*out)->factor, from->factor, from->features * sizeof *from->factor);
    for (size_t r = 0; r < count; r++)
        for (size_t j = 0; j < from->features; j++) {
            kb_grids_at(*out, r, j)[0] = kb_grids_at(from, grid[r], j)[0];
            kb_grids_at(*out, r, j)[KB_LANES] = kb_grids_at(from, grid[r], j)[KB_LANES];
        }
    kb_grids_finish(*out);
    return KB_OK;
}

/* The weights of the bins that stay, in their new order. */
static kb_status select_weights(kb_context *ctx, const kb_model *model, size_t count,
                                const unsigned char *stays, float **out) {
    size_t C = model->info.outputs, bins = model->map->dictionary.bins, at = 0;
    kb_status status = kb_alloc(ctx, count * C, sizeof **out, out);
    for (size_t b = 0; status == KB_OK && b < bins; b++)
        if (stays[b])
            memcpy(*out + at++ * C, model->weight + b * C, C * sizeof **out);
    return status;
}

/* Everything is built before anything is replaced: a model that cannot be pruned stays as it
 * was. */
kb_status kb_model_prune(kb_context *ctx, kb_model *model) {
    kb_status status;
    kb_map *map = model->map;
    kb_dictionary less = {0};
    kb_grids *some = NULL;
    float *weight = NULL;
    unsigned char *stays = NULL;
    size_t *grid = NULL;
    TRY(kb_alloc(ctx, map->dictionary.bins, 1, &stays));
    TRY(kb_alloc(ctx, map->dictionary.grids, sizeof *grid, &grid));
    size_t bins = mark(model, stays), grids = list_grids(&map->dictionary, stays, grid);
    TRY(kb_dictionary_select(ctx, &map->dictionary, grids, grid, stays, &less));
    TRY(select_grids(ctx, map->grids, grids, grid, &some));
    TRY(select_weights(ctx, model, bins, stays, &weight));
    kb_dictionary_release(map->allocator, &map->dictionary);
    kb_grids_free(map->grids);
    kb_release(ctx, (void *)model->weight);
    map->dictionary = less;
    map->grids = some;
    model->weight = weight;
    model->info.kept_grids = grids;
    model->info.kept_bins = bins;
    less = (kb_dictionary){0};
    some = NULL;
done:
    kb_dictionary_release(map->allocator, &less);
    kb_grids_free(some);
    kb_release(ctx, stays);
    kb_release(ctx, grid);
    return status;
}
