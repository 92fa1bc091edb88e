/*
 * binmat.c - see binmat.h.
 *
 * A thread takes a block of KB_LANES grids at a time: it computes the keys of a few
 * thousand rows in all lanes at once, then numbers them grid by grid, so that each
 * grid's table stays in cache over the chunk.  Within a grid the rows come in order,
 * so the numbering is the same for any number of threads.
 */
#include "features/binmat.h"
#include "features/bintable.h"
#include "core/team.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum { CHUNK = 8192, GROUPS_PER_BLOCK = KB_LANES / KB_GROUP };

size_t kb_keys_scratch(const kb_data *data) {
    return data->dense ? 0 : (data->features + 1) * KB_LANES;
}

static kb_bin_block block_of(const kb_binning *binning, size_t block) {
    const kb_grids *g = binning->grids;
    return (kb_bin_block){
        .features = g->features,
        .shift = binning->shift,
        .scale = binning->scale,
        .parameter = kb_grids_block(g, block),
        .bound = kb_grids_bound(g, block),
        .factor = g->factor,
    };
}

void kb_keys_prepare(const kb_binning *binning, const kb_data *data, size_t block, uint64_t *zero) {
    kb_bin_block b = block_of(binning, block);
    if (!data->dense)
        binning->kernels->keys_zero(&b, zero, zero + data->features * KB_LANES);
}

void kb_keys_compute(const kb_binning *binning, const kb_data *data, size_t block, size_t begin,
                     size_t rows, const uint64_t *zero, size_t stride, uint64_t *keys) {
    kb_bin_block b = block_of(binning, block);
    if (data->dense)
        binning->kernels->keys_dense(&b, rows, data->dense + begin * data->features, stride, keys);
    else
        binning->kernels->keys_sparse(&b, rows, data->row_start + begin, data->column, data->value,
                                      zero, zero + data->features * KB_LANES, stride, keys);
}

/* What one thread works with. */
typedef struct worker {
    uint64_t *keys;  /* KB_LANES x CHUNK */
    uint64_t *zero;  /* kb_keys_scratch */
    uint32_t *ids;   /* GROUPS_PER_BLOCK x rows x KB_GROUP */
    uint32_t *count; /* samples in each bin of a grid */
    size_t count_room;
    kb_bintable table[KB_LANES]; /* of the grids in hand */
    kb_status status;
} worker;

static kb_status worker_create(kb_context *ctx, const kb_data *data, worker *w) {
    kb_status status;
    TRY(kb_alloc(ctx, KB_LANES * CHUNK, sizeof(uint64_t), &w->keys));
    TRY(kb_alloc(ctx, kb_keys_scratch(data), sizeof(uint64_t), &w->zero));
    TRY(kb_alloc(ctx, GROUPS_PER_BLOCK * KB_GROUP * data->rows, sizeof(uint32_t), &w->ids));
done:
    return status;
}

static void worker_release(kb_context *ctx, worker *w) {
    kb_release(ctx, w->keys);
    kb_release(ctx, w->zero);
    kb_release(ctx, w->ids);
    kb_release(ctx, w->count);
    for (int k = 0; k < KB_LANES; k++)
        kb_bintable_release(ctx, &w->table[k]);
}

/* Samples in the fullest bin of the grid in lane k. */
static kb_status fullest(kb_context *ctx, worker *w, size_t rows, int lane, size_t *most) {
    uint32_t bins = w->table[lane].count;
    const uint32_t *ids = w->ids + (size_t)(lane / KB_GROUP) * rows * KB_GROUP + lane % KB_GROUP;
    kb_status status = kb_reserve(ctx, bins, sizeof(uint32_t), &w->count_room, &w->count);
    if (status != KB_OK)
        return status;
    memset(w->count, 0, bins * sizeof(uint32_t));
    for (size_t i = 0; i < rows; i++)
        w->count[ids[i * KB_GROUP]]++;
    *most = 0;
    for (uint32_t b = 0; b < bins; b++)
        *most = w->count[b] > *most ? w->count[b] : *most;
    return KB_OK;
}

static void narrow(const uint32_t *from, size_t count, int width, void *to) {
    if (width == 1)
        for (size_t i = 0; i < count; i++)
            ((uint8_t *)to)[i] = (uint8_t)from[i];
    else if (width == 2)
        for (size_t i = 0; i < count; i++)
            ((uint16_t *)to)[i] = (uint16_t)from[i];
    else
        memcpy(to, from, count * sizeof(uint32_t));
}

/* Moves one finished group of grids out of the worker's hands. */
static kb_status keep_group(kb_context *ctx, kb_binmat *z, worker *w, size_t q, int first_lane) {
    kb_status status;
    uint32_t bins = 1;
    for (int k = 0; k < KB_GROUP; k++)
        bins = w->table[first_lane + k].count > bins ? w->table[first_lane + k].count : bins;
    int width = bins <= 1u << 8 ? 1 : bins <= 1u << 16 ? 2 : 4;
    TRY(kb_alloc(ctx, z->rows * KB_GROUP, (size_t)width, &z->group[q].ids));
    z->group[q].width = width;
    narrow(w->ids + (size_t)(first_lane / KB_GROUP) * z->rows * KB_GROUP, z->rows * KB_GROUP, width,
           z->group[q].ids);
done:
    return status;
}

static kb_status keep_block(kb_context *ctx, kb_binmat *z, worker *w, size_t block, double *kappa) {
    kb_status status = KB_OK;
    for (size_t k = 0; k < KB_LANES && block * KB_LANES + k < z->grids; k++) {
        size_t r = block * KB_LANES + k, most;
        kb_bintable *table = &w->table[k];
        TRY(fullest(ctx, w, z->rows, (int)k, &most));
        kappa[r] = (double)z->rows / (double)most;
        z->start[r + 1] = table->count;
        TRY(kb_alloc(ctx, table->count, sizeof(uint64_t), &z->key[r]));
        memcpy(z->key[r], table->key, table->count * sizeof(uint64_t));
    }
    for (size_t q = 0; q < GROUPS_PER_BLOCK; q++)
        if (block * GROUPS_PER_BLOCK + q < z->groups)
            TRY(keep_group(ctx, z, w, block * GROUPS_PER_BLOCK + q, (int)q * KB_GROUP));
done:
    return status;
}

/* The lanes past the last grid have one bin: their width is infinite. */
static kb_status bin_block(kb_context *ctx, const kb_binning *binning, const kb_data *data,
                           kb_binmat *z, worker *w, size_t block, double *kappa,
                           const double *progress) {
    kb_status status = KB_OK;
    for (int k = 0; k < KB_LANES; k++)
        TRY(kb_bintable_clear(ctx, &w->table[k]));
    kb_keys_prepare(binning, data, block, w->zero);
    for (size_t begin = 0; begin < z->rows; begin += CHUNK) {
        size_t rows = z->rows - begin < CHUNK ? z->rows - begin : CHUNK;
        kb_keys_compute(binning, data, block, begin, rows, w->zero, CHUNK, w->keys);
        for (size_t k = 0; k < KB_LANES; k++) {
            uint32_t *ids = w->ids + (k / KB_GROUP * z->rows + begin) * KB_GROUP + k % KB_GROUP;
            TRY(kb_bintable_number(ctx, &w->table[k], rows, w->keys + k * CHUNK, KB_GROUP, ids));
        }
        if (progress)
            TRY(kb_progress(ctx, "bin",
                            progress[0] + progress[1] * (double)(begin + rows) / (double)z->rows));
    }
    TRY(keep_block(ctx, z, w, block, kappa));
done:
    return status;
}

/* The blocks of a build, dealt out to the threads as they come. */
typedef struct build {
    kb_context *ctx;
    const kb_binning *binning;
    const kb_data *data;
    kb_binmat *z;
    worker *workers;
    size_t crew; /* threads that have one */
    double *kappa;
    size_t last;        /* blocks up to here */
    atomic_size_t next; /* the next one to be taken */
    atomic_int stop;
} build;

/* Thread 0 is the caller's own and is the one that reports. */
static void take_blocks(void *arg, int me, int threads) {
    build *b = arg;
    worker *w = &b->workers[me];
    double blocks = (double)kb_grids_blocks(b->binning->grids);
    (void)threads;
    while ((size_t)me < b->crew) {
        size_t block = atomic_fetch_add(&b->next, 1);
        if (block >= b->last || atomic_load(&b->stop))
            return;
        double progress[2] = {(double)block / blocks, 1 / blocks};
        w->status =
            bin_block(b->ctx, b->binning, b->data, b->z, w, block, b->kappa, me ? NULL : progress);
        if (w->status != KB_OK)
            atomic_store(&b->stop, 1);
    }
}

static kb_status bin_blocks(build *b, size_t first, size_t last) {
    atomic_store(&b->next, first);
    b->last = last;
    kb_team_run(b->ctx, last - first < 2, take_blocks, b);
    for (size_t t = 0; t < b->crew; t++)
        if (b->workers[t].status != KB_OK)
            return b->workers[t].status;
    return KB_OK;
}

/* After the first blocks the rest is known well enough to say what it will take. */
static kb_status forecast(kb_context *ctx, kb_binmat *z, double share, size_t limit, double fixed,
                          double per_bin) {
    double ids = 0, bins = 0;
    for (size_t q = 0; q < z->groups; q++)
        ids += (double)z->group[q].width * KB_GROUP * (double)z->rows / share;
    for (size_t r = 0; r < z->grids; r++)
        bins += (double)z->start[r + 1] / share;
    z->forecast = fixed + ids + per_bin * bins;
    kb_log(ctx, KB_LOG_INFO, "memory: %s forecast, %s of it for the bin numbers, about %.3g bins",
           kb_size_in_words(z->forecast).text, kb_size_in_words(ids).text, bins);
    if (z->forecast <= (double)limit)
        return KB_OK;
    return kb_fail(ctx, KB_ERR_MEMORY,
                   "%zu grids with %.3g bins need %s of memory, and %s may be taken: use fewer "
                   "--grids, a larger --sigma or a larger --max-memory",
                   z->grids, bins, kb_size_in_words(z->forecast).text,
                   kb_size_in_words((double)limit).text);
}

static kb_status binmat_create(kb_context *ctx, size_t rows, size_t grids, kb_binmat **out) {
    kb_status status;
    kb_binmat *z;
    *out = NULL;
    TRY(kb_zalloc(ctx, 1, sizeof *z, &z));
    z->allocator = kb_allocator_of(ctx);
    z->rows = rows;
    z->grids = grids;
    z->groups = (grids + KB_GROUP - 1) / KB_GROUP;
    TRY(kb_zalloc(ctx, z->groups, sizeof *z->group, &z->group));
    TRY(kb_zalloc(ctx, grids + 1, sizeof *z->start, &z->start));
    TRY(kb_zalloc(ctx, grids, sizeof *z->key, &z->key));
    *out = z;
done:
    if (status != KB_OK)
        kb_binmat_free(z);
    return status;
}

static void sum_up(kb_binmat *z, const double *kappa) {
    for (size_t r = 0; r < z->grids; r++) {
        z->start[r + 1] += z->start[r];
        z->kappa += kappa[r] / (double)z->grids;
    }
    z->bins = z->start[z->grids];
    for (size_t q = 0; q < z->groups; q++)
        z->id_bytes += z->rows * KB_GROUP * (size_t)z->group[q].width;
}

kb_status kb_binmat_build(kb_context *ctx, const kb_binning *binning, const kb_data *data,
                          size_t limit, double fixed, double per_bin, kb_binmat **out) {
    kb_status status;
    kb_binning with = *binning;
    size_t blocks = kb_grids_blocks(with.grids), threads = (size_t)ctx->threads;
    build b = {.ctx = ctx, .binning = &with, .data = data};
    b.crew = threads < blocks ? threads : blocks;
    *out = NULL;
    if (!with.kernels)
        with.kernels = kb_kernels_best();
    TRY(binmat_create(ctx, data->rows, with.grids->grids, &b.z));
    b.z->kernels = with.kernels;
    TRY(kb_alloc(ctx, b.z->grids, sizeof *b.kappa, &b.kappa));
    TRY(kb_zalloc(ctx, threads, sizeof *b.workers, &b.workers));
    for (size_t t = 0; t < b.crew; t++)
        TRY(worker_create(ctx, data, &b.workers[t]));
    TRY(bin_blocks(&b, 0, b.crew));
    TRY(forecast(ctx, b.z, (double)b.crew / (double)blocks, limit, fixed, per_bin));
    TRY(bin_blocks(&b, b.crew, blocks));
    sum_up(b.z, b.kappa);
    *out = b.z;
done:
    for (size_t t = 0; b.workers && t < threads; t++)
        worker_release(ctx, &b.workers[t]);
    kb_release(ctx, b.workers);
    kb_release(ctx, b.kappa);
    if (status != KB_OK)
        kb_binmat_free(b.z);
    return status;
}

void kb_binmat_free(kb_binmat *z) {
    if (!z)
        return;
    for (size_t q = 0; z->group && q < z->groups; q++)
        kb_allocator_release(z->allocator, z->group[q].ids);
    for (size_t r = 0; z->key && r < z->grids; r++)
        kb_allocator_release(z->allocator, z->key[r]);
    kb_allocator_release(z->allocator, z->group);
    kb_allocator_release(z->allocator, z->start);
    kb_allocator_release(z->allocator, z->key);
    kb_allocator_release(z->allocator, z);
}
