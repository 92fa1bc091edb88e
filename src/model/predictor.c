/*
 * predictor.c - decisions of single rows, in memory made beforehand.
 *
 * The same sums as in predict.c, in the same order: grid after grid.  The known bins have a layout
 * of their own here (model/row_table.h), since one row finds nothing in the caches.
 */
#include "model/row_table.h"
#include "model/model.h"

#include <float.h>
#include <math.h>
#include <string.h>

struct kb_predictor {
    kb_allocator allocator;
    const kb_model *model;
    kb_map_room room;    /* for the row after encoding and transform */
    kb_rival_row *rival; /* instead of all below */
    kb_binning binning;
    kb_row_table *table;
    kb_one_row row;
    double *least;  /* columns: the least bound of all blocks */
    double *scaled; /* columns: the row */
    uint64_t *keys; /* one a lane */
    uint32_t *bin;  /* likewise, where there are several outputs */
};

/* Scaled values are held within bounds that differ from block to block of the grids. */
static void find_least_bounds(const kb_grids *g, double *least) {
    for (size_t j = 0; j < g->features; j++) {
        least[j] = DBL_MAX;
        for (size_t block = 0; block < kb_grids_blocks(g); block++)
            least[j] = fmin(least[j], kb_grids_bound(g, block)[j]);
    }
}

/* `table`: taken over. */
static kb_status prepare_bins(kb_context *ctx, kb_predictor *p, kb_row_table *table) {
    kb_status status;
    const kb_map *map = p->model->map;
    const kb_grids *g = map->grids;
    p->table = table;
    p->binning = kb_map_binning(map);
    size_t blocks = kb_grids_blocks(g);
    p->row = (kb_one_row){blocks,      g->features,  g->parameter, g->factor,
                          table->line, table->first, table->count, table->mask};
    TRY(kb_alloc(ctx, map->columns, sizeof *p->least, &p->least));
    TRY(kb_alloc(ctx, map->columns, sizeof *p->scaled, &p->scaled));
    TRY(kb_alloc(ctx, blocks * KB_LANES, sizeof *p->keys, &p->keys));
    TRY(kb_alloc(ctx, blocks * KB_LANES, sizeof *p->bin, &p->bin));
    find_least_bounds(g, p->least);
done:
    return status;
}

/* With one output the table has the weights. */
static kb_status build_table(kb_context *ctx, const kb_model *model, kb_row_table **out) {
    kb_status status;
    const kb_dictionary *d = &model->map->dictionary;
    float *weight = NULL;
    if (model->info.outputs > 1 || !model->level)
        return kb_row_table_build(ctx, d, model->info.outputs == 1 ? model->weight : NULL, out);
    TRY(kb_alloc(ctx, d->bins, sizeof *weight, &weight));
    for (size_t r = 0; r < d->grids; r++)
        for (size_t b = d->start[r]; b < d->start[r + 1]; b++) {
            double sum = 0;
            kb_model_add_bin(model, r, b, &sum);
            weight[b] = (float)sum;
        }
    TRY(kb_row_table_build(ctx, d, weight, out));
done:
    kb_release(ctx, weight);
    return status;
}

/* `other`: a predictor of the same model whose table is shared, or NULL. */
static kb_status create(kb_context *ctx, const kb_model *model, const kb_predictor *other,
                        kb_predictor **out) {
    kb_status status;
    const kb_map *map = model->map;
    kb_predictor *p;
    kb_row_table *table = NULL;
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
        if (other)
            table = kb_row_table_share(other->table);
        else
            TRY(build_table(ctx, model, &table));
        TRY(prepare_bins(ctx, p, table));
    }
    *out = p;
done:
    if (status != KB_OK)
        kb_predictor_free(p);
    return status;
}

kb_status kb_predictor_create(kb_context *ctx, const kb_model *model, kb_predictor **out) {
    return create(ctx, model, NULL, out);
}

kb_status kb_predictor_copy(kb_context *ctx, const kb_predictor *from, kb_predictor **out) {
    return create(ctx, from->model, from, out);
}

void kb_predictor_free(kb_predictor *p) {
    if (!p)
        return;
    kb_map_room_release(&p->room);
    kb_rival_row_free(p->rival);
    kb_row_table_leave(p->table);
    void *all[] = {p->least, p->scaled, p->keys, p->bin, p};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kb_allocator_release(p->allocator, all[i]);
}

/* The scaled row; NULL where a value is out of bounds, and then the keys are there. */
static const double *scale_row(kb_predictor *p, const kb_data *x) {
    const kb_map *map = p->model->map;
    int within = 1;
    for (size_t j = 0; j < map->columns; j++) {
        p->scaled[j] = (x->dense[j] - map->shift[j]) * map->scale[j];
        within &= fabs(p->scaled[j]) <= p->least[j];
    }
    if (within)
        return p->scaled;
    for (size_t block = 0; block < kb_grids_blocks(map->grids); block++)
        kb_bin_keys_compute(&p->binning, x, block, 0, 1, NULL, 1, p->keys + block * KB_LANES);
    return NULL;
}

/* The sum of the weights of each output over the bins of a row; returns how many are known. */
static size_t sum_weights(kb_predictor *p, const kb_data *x, double *sum) {
    const kb_one_row_loops *loops = p->binning.simd->one_row;
    const kb_dictionary *d = &p->model->map->dictionary;
    const double *y = scale_row(p, x);
    size_t C = p->model->info.outputs;
    if (C == 1)
        return loops->sum(&p->row, y, p->keys, sum);
    size_t known = loops->find(&p->row, y, p->keys, p->bin);
    for (size_t r = 0; r < d->grids; r++)
        if (p->bin[r] != UINT32_MAX)
            __builtin_prefetch(kb_model_weights_at(p->model, d->start[r] + p->bin[r]));
    memset(sum, 0, C * sizeof *sum);
    for (size_t r = 0; r < d->grids; r++)
        if (p->bin[r] != UINT32_MAX)
            kb_model_add_bin(p->model, r, d->start[r] + p->bin[r], sum);
    return known;
}

static void decide_by_bins(kb_predictor *p, const kb_data *x, double *decision) {
    const kb_model *model = p->model;
    size_t C = model->info.outputs, known = sum_weights(p, x, decision);
    double factor = kb_bin_value(model->fill ? known : model->map->drawn);
    for (size_t c = 0; c < C; c++)
        decision[c] = known ? decision[c] * factor + model->intercept[c] : model->prior[c];
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
