/*
 * predictor.c - decisions of single rows, in memory made beforehand.
 *
 * The same sums as in predict.c, in the same order: grid after grid.  The memory that one row needs
 * is not in the caches, so three passes over the grids prefetch what the next one reads: the
 * buckets of the keys, then the weights of the bins.
 */
#include "model/model.h"

#include <math.h>
#include <string.h>

struct kb_predictor {
    kb_allocator allocator;
    const kb_model *model;
    kb_map_room room;    /* for the row after encoding and transform */
    kb_rival_row *rival; /* instead of all below */
    kb_binning binning;
    uint64_t *keys; /* R, and up to the end of the last block */
    int64_t *bin;   /* R */
};

kb_status kb_predictor_create(kb_context *ctx, const kb_model *model, kb_predictor **out) {
    kb_status status;
    const kb_map *map = model->map;
    kb_predictor *p;
    double any = 0;
    kb_data row = {.rows = 1, .features = map->features, .dense = &any, .missing = 1};
    *out = NULL;
    TRY(kb_zalloc(ctx, 1, sizeof *p, &p));
    p->allocator = kb_allocator_of(ctx);
    p->model = model;
    TRY(kb_map_room_create(ctx, map, &row, 1, &p->room));
    if (map->rival) {
        TRY(kb_rival_row_create(ctx, map->rival, model->info.outputs, model->rival_weight,
                                &p->rival));
    } else {
        p->binning = kb_map_binning(map);
        TRY(kb_alloc(ctx, kb_grids_blocks(map->grids) * KB_LANES, sizeof *p->keys, &p->keys));
        TRY(kb_alloc(ctx, map->dictionary.grids, sizeof *p->bin, &p->bin));
    }
    *out = p;
done:
    if (status != KB_OK)
        kb_predictor_free(p);
    return status;
}

void kb_predictor_free(kb_predictor *p) {
    if (!p)
        return;
    kb_map_room_release(&p->room);
    kb_rival_row_free(p->rival);
    kb_allocator_release(p->allocator, p->keys);
    kb_allocator_release(p->allocator, p->bin);
    kb_allocator_release(p->allocator, p);
}

/* The bins of a row, -1 where its bin is not known; returns how many are known. */
static size_t find_bins(kb_predictor *p, const kb_data *x) {
    const kb_dictionary *d = &p->model->map->dictionary;
    size_t C = p->model->info.outputs, known = 0;
    for (size_t block = 0; block < kb_grids_blocks(p->binning.grids); block++)
        kb_bin_keys_compute(&p->binning, x, block, 0, 1, NULL, 1, p->keys + block * KB_LANES);
    for (size_t r = 0; r < d->grids; r++)
        __builtin_prefetch(d->bucket + d->bucket_start[r] +
                           kb_bucket_of(p->keys[r], kb_dictionary_buckets(d, r)));
    for (size_t r = 0; r < d->grids; r++) {
        p->bin[r] = kb_dictionary_find(d, r, p->keys[r]);
        known += p->bin[r] >= 0;
        __builtin_prefetch(p->model->weight + (p->bin[r] < 0 ? 0 : p->bin[r]) * (int64_t)C);
    }
    return known;
}

static void decide_by_bins(kb_predictor *p, const kb_data *x, double *decision) {
    const kb_model *model = p->model;
    size_t C = model->info.outputs, R = model->map->dictionary.grids, known = find_bins(p, x);
    if (known == 0) {
        memcpy(decision, model->prior, C * sizeof *decision);
        return;
    }
    memset(decision, 0, C * sizeof *decision);
    for (size_t r = 0; r < R; r++) {
        const float *w = model->weight + (size_t)(p->bin[r] < 0 ? 0 : p->bin[r]) * C;
        for (size_t c = 0; p->bin[r] >= 0 && c < C; c++)
            decision[c] += w[c];
    }
    double factor = 1 / sqrt((double)(model->fill ? known : model->map->drawn));
    for (size_t c = 0; c < C; c++)
        decision[c] = decision[c] * factor + model->intercept[c];
}

kb_status kb_predictor_row(kb_predictor *p, const double *x, double *decision) {
    const kb_map *map = p->model->map;
    size_t first;
    kb_data row = {.rows = 1, .features = map->features, .dense = (double *)x};
    for (size_t j = 0; j < map->features; j++) {
        if (isinf(x[j]))
            return KB_ERR_DATA;
        row.missing |= isnan(x[j]);
    }
    const kb_data *z = kb_map_rows(map, &row, 0, 1, &p->room, &first);
    if (!p->rival) {
        decide_by_bins(p, z, decision);
        return KB_OK;
    }
    kb_rival_row_decide(p->rival, z->dense, decision);
    for (size_t c = 0; c < p->model->info.outputs; c++)
        decision[c] += p->model->intercept[c];
    return KB_OK;
}
