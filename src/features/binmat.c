/*
 * binmat.c - see binmat.h.
 *
 * A thread takes a bundle of grids at a time, in blocks of KB_LANES: it computes the keys
 * of a few thousand rows in all lanes at once, then numbers them grid by grid, so that each
 * grid's table stays in cache over the chunk.  Then it numbers the tuples of each group.
 * Within a grid the rows come in order, so the numbering is the same for any number of
 * threads.
 */
#include "features/binmat.h"
#include "features/bintable.h"
#include "core/team.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum { CHUNK = 8192 };

/* A bundle is KB_GROUP groups of KB_GROUP grids. */
enum { BUNDLE = KB_GROUP * KB_GROUP, BLOCKS = BUNDLE / KB_LANES };

/* Tuples are kept where they are at most this share of the rows; beyond, going through
 * them costs a product more than it saves. */
static const double TUPLE_SHARE = 0.5;

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
    uint32_t *ids;   /* KB_GROUP x rows x KB_GROUP: bins, group after group */
    uint32_t *tuple; /* rows x KB_GROUP */
    uint32_t *count; /* samples in each bin of a grid */
    size_t count_room;
    kb_bintable table[BUNDLE]; /* of the grids in hand */
    kb_bintable tuples[KB_GROUP];
    kb_status status;
} worker;

static kb_status worker_create(kb_context *ctx, const kb_data *data, worker *w) {
    kb_status status;
    TRY(kb_alloc(ctx, KB_LANES * CHUNK, sizeof(uint64_t), &w->keys));
    TRY(kb_alloc(ctx, kb_keys_scratch(data), sizeof(uint64_t), &w->zero));
    TRY(kb_alloc(ctx, data->rows, BUNDLE * sizeof(uint32_t), &w->ids));
    TRY(kb_alloc(ctx, data->rows, KB_GROUP * sizeof(uint32_t), &w->tuple));
done:
    return status;
}

static void worker_release(kb_context *ctx, worker *w) {
    kb_release(ctx, w->keys);
    kb_release(ctx, w->zero);
    kb_release(ctx, w->ids);
    kb_release(ctx, w->tuple);
    kb_release(ctx, w->count);
    for (int k = 0; k < BUNDLE; k++)
        kb_bintable_release(ctx, &w->table[k]);
    for (int g = 0; g < KB_GROUP; g++)
        kb_bintable_release(ctx, &w->tuples[g]);
}

/* Samples in the fullest bin of the grid in that lane. */
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

static int width_for(size_t numbers) {
    return numbers <= 1u << 8 ? 1 : numbers <= 1u << 16 ? 2 : 4;
}

/* Keeps rows x KB_GROUP numbers in as few bytes as they need. */
static kb_status keep_ids(kb_context *ctx, const uint32_t *from, size_t rows, size_t numbers,
                          kb_id_group *to) {
    size_t count = rows * KB_GROUP;
    to->width = width_for(numbers);
    kb_status status = kb_alloc(ctx, count, (size_t)to->width, &to->ids);
    if (status != KB_OK)
        return status;
    if (to->width == 1)
        for (size_t i = 0; i < count; i++)
            ((uint8_t *)to->ids)[i] = (uint8_t)from[i];
    else if (to->width == 2)
        for (size_t i = 0; i < count; i++)
            ((uint16_t *)to->ids)[i] = (uint16_t)from[i];
    else
        memcpy(to->ids, from, count * sizeof(uint32_t));
    return KB_OK;
}

/* The most bins that a grid of the group in hand has. */
static size_t most_bins(const worker *w, size_t g) {
    uint32_t most = 1;
    for (size_t k = g * KB_GROUP; k < (g + 1) * KB_GROUP; k++)
        most = w->table[k].count > most ? w->table[k].count : most;
    return most;
}

/* Numbers the tuples of group g.  Four ids of 16 bits make the key, so no two tuples share
 * one. */
static kb_status number_tuples(kb_context *ctx, worker *w, size_t rows, size_t g) {
    kb_status status;
    const uint32_t *ids = w->ids + g * rows * KB_GROUP;
    TRY(kb_bintable_clear(ctx, &w->tuples[g]));
    for (size_t begin = 0; begin < rows; begin += CHUNK) {
        size_t count = rows - begin < CHUNK ? rows - begin : CHUNK;
        for (size_t i = 0; i < count; i++) {
            const uint32_t *at = ids + (begin + i) * KB_GROUP;
            w->keys[i] = kb_key_mix(at[0] | (uint64_t)at[1] << 16 | (uint64_t)at[2] << 32 |
                                    (uint64_t)at[3] << 48);
        }
        TRY(kb_bintable_number(ctx, &w->tuples[g], count, w->keys, KB_GROUP,
                               w->tuple + begin * KB_GROUP + g));
    }
done:
    return status;
}

/* Moves the bins of each tuple to the front of the group's ids; tuples are numbered as
 * they appear, so nothing is overwritten that is still needed. */
static void gather_tuples(worker *w, size_t rows, size_t g) {
    uint32_t *ids = w->ids + g * rows * KB_GROUP, next = 0;
    for (size_t i = 0; i < rows; i++)
        if (w->tuple[i * KB_GROUP + g] == next)
            memmove(ids + next++ * KB_GROUP, ids + i * KB_GROUP, KB_GROUP * sizeof *ids);
}

/* Moves the finished bundle out of the worker's hands, with tuples or without. */
static kb_status keep_bundle(kb_context *ctx, kb_binmat *z, worker *w, size_t bundle) {
    kb_status status = KB_OK;
    size_t first = bundle * KB_GROUP, sum = 0, most = 1;
    size_t groups = z->groups - first < KB_GROUP ? z->groups - first : KB_GROUP;
    int narrow = 1;
    for (size_t g = 0; g < groups; g++)
        narrow &= most_bins(w, g) <= 1 << 16;
    for (size_t g = 0; narrow && g < KB_GROUP; g++) {
        TRY(number_tuples(ctx, w, z->rows, g));
        size_t tuples = w->tuples[g].count;
        sum += g < groups ? tuples : 0;
        most = tuples > most ? tuples : most;
    }
    int pays = narrow && (double)sum <= TUPLE_SHARE * (double)(groups * z->rows);
    if (pays)
        TRY(keep_ids(ctx, w->tuple, z->rows, most, &z->bundle[bundle]));
    for (size_t g = 0; g < groups; g++) {
        if (pays)
            gather_tuples(w, z->rows, g);
        z->tuples[first + g] = pays ? w->tuples[g].count : z->rows;
        TRY(keep_ids(ctx, w->ids + g * z->rows * KB_GROUP, z->tuples[first + g], most_bins(w, g),
                     &z->group[first + g]));
    }
done:
    return status;
}

/* Sizes, kappa and keys of the grids in hand. */
static kb_status keep_grids(kb_context *ctx, kb_binmat *z, worker *w, size_t bundle,
                            double *kappa) {
    kb_status status = KB_OK;
    for (size_t k = 0; k < BUNDLE && bundle * BUNDLE + k < z->grids; k++) {
        size_t r = bundle * BUNDLE + k, most;
        kb_bintable *table = &w->table[k];
        TRY(fullest(ctx, w, z->rows, (int)k, &most));
        kappa[r] = (double)z->rows / (double)most;
        z->start[r + 1] = table->count;
        TRY(kb_alloc(ctx, table->count, sizeof(uint64_t), &z->key[r]));
        memcpy(z->key[r], table->key, table->count * sizeof(uint64_t));
    }
done:
    return status;
}

/* Bins all rows in block `b` of the bundle.  Lanes past the last grid have one bin: their
 * width is infinite. */
static kb_status bin_block(kb_context *ctx, const kb_binning *binning, const kb_data *data,
                           worker *w, size_t block, size_t b, const double *progress) {
    kb_status status = KB_OK;
    size_t N = data->rows;
    kb_keys_prepare(binning, data, block, w->zero);
    for (size_t begin = 0; begin < N; begin += CHUNK) {
        size_t rows = N - begin < CHUNK ? N - begin : CHUNK;
        kb_keys_compute(binning, data, block, begin, rows, w->zero, CHUNK, w->keys);
        for (size_t k = 0; k < KB_LANES; k++) {
            size_t lane = b * KB_LANES + k;
            uint32_t *ids = w->ids + (lane / KB_GROUP * N + begin) * KB_GROUP + lane % KB_GROUP;
            TRY(kb_bintable_number(ctx, &w->table[lane], rows, w->keys + k * CHUNK, KB_GROUP, ids));
        }
        if (progress)
            TRY(kb_progress(ctx, "bin",
                            progress[0] + progress[1] * (double)(begin + rows) / (double)N));
    }
done:
    return status;
}

static kb_status bin_bundle(kb_context *ctx, const kb_binning *binning, const kb_data *data,
                            kb_binmat *z, worker *w, size_t bundle, double *kappa, int report) {
    kb_status status = KB_OK;
    size_t blocks = kb_grids_blocks(binning->grids);
    for (size_t k = 0; k < BUNDLE; k++)
        TRY(kb_bintable_clear(ctx, &w->table[k]));
    memset(w->ids, 0, z->rows * BUNDLE * sizeof *w->ids); /* for blocks that are not there */
    for (size_t b = 0; b < BLOCKS && bundle * BLOCKS + b < blocks; b++) {
        size_t block = bundle * BLOCKS + b;
        double progress[2] = {(double)block / (double)blocks, 1 / (double)blocks};
        TRY(bin_block(ctx, binning, data, w, block, b, report ? progress : NULL));
    }
    TRY(keep_grids(ctx, z, w, bundle, kappa));
    TRY(keep_bundle(ctx, z, w, bundle));
done:
    return status;
}

/* The bundles of a build, dealt out to the threads as they come. */
typedef struct build {
    kb_context *ctx;
    const kb_binning *binning;
    const kb_data *data;
    kb_binmat *z;
    worker *workers;
    size_t crew; /* threads that have one */
    double *kappa;
    size_t last;        /* bundles up to here */
    atomic_size_t next; /* the next one to be taken */
    atomic_int stop;
} build;

/* Thread 0 is the caller's own and is the one that reports. */
static void take_bundles(void *arg, int me, int threads) {
    build *b = arg;
    worker *w = &b->workers[me];
    (void)threads;
    while ((size_t)me < b->crew) {
        size_t bundle = atomic_fetch_add(&b->next, 1);
        if (bundle >= b->last || atomic_load(&b->stop))
            return;
        w->status = bin_bundle(b->ctx, b->binning, b->data, b->z, w, bundle, b->kappa, me == 0);
        if (w->status != KB_OK)
            atomic_store(&b->stop, 1);
    }
}

static kb_status bin_bundles(build *b, size_t first, size_t last) {
    atomic_store(&b->next, first);
    b->last = last;
    kb_team_run(b->ctx, last - first < 2, take_bundles, b);
    for (size_t t = 0; t < b->crew; t++)
        if (b->workers[t].status != KB_OK)
            return b->workers[t].status;
    return KB_OK;
}

static size_t id_bytes(const kb_binmat *z) {
    size_t bytes = 0;
    for (size_t b = 0; b < z->bundles; b++)
        bytes += z->bundle[b].ids ? z->rows * KB_GROUP * (size_t)z->bundle[b].width : 0;
    for (size_t q = 0; q < z->groups; q++)
        bytes += z->tuples[q] * KB_GROUP * (size_t)z->group[q].width;
    return bytes;
}

/* After the first bundles the rest is known well enough to say what it will take. */
static kb_status forecast(kb_context *ctx, kb_binmat *z, double share, size_t limit, double fixed,
                          double per_bin) {
    double ids, bins = 0;
    ids = (double)id_bytes(z) / share;
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
    z->bundles = (z->groups + KB_GROUP - 1) / KB_GROUP;
    TRY(kb_zalloc(ctx, z->groups, sizeof *z->group, &z->group));
    TRY(kb_zalloc(ctx, z->groups, sizeof *z->tuples, &z->tuples));
    TRY(kb_zalloc(ctx, z->bundles, sizeof *z->bundle, &z->bundle));
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
    z->id_bytes = id_bytes(z);
}

kb_status kb_binmat_build(kb_context *ctx, const kb_binning *binning, const kb_data *data,
                          size_t limit, double fixed, double per_bin, kb_binmat **out) {
    kb_status status;
    kb_binning with = *binning;
    size_t bundles = (with.grids->grids + BUNDLE - 1) / BUNDLE, threads = (size_t)ctx->threads;
    build b = {.ctx = ctx, .binning = &with, .data = data};
    b.crew = threads < bundles ? threads : bundles;
    *out = NULL;
    if (!with.kernels)
        with.kernels = kb_kernels_best();
    TRY(binmat_create(ctx, data->rows, with.grids->grids, &b.z));
    b.z->kernels = with.kernels;
    TRY(kb_alloc(ctx, b.z->grids, sizeof *b.kappa, &b.kappa));
    TRY(kb_zalloc(ctx, threads, sizeof *b.workers, &b.workers));
    for (size_t t = 0; t < b.crew; t++)
        TRY(worker_create(ctx, data, &b.workers[t]));
    TRY(bin_bundles(&b, 0, b.crew));
    TRY(forecast(ctx, b.z, (double)b.crew / (double)bundles, limit, fixed, per_bin));
    TRY(bin_bundles(&b, b.crew, bundles));
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
    for (size_t b = 0; z->bundle && b < z->bundles; b++)
        kb_allocator_release(z->allocator, z->bundle[b].ids);
    kb_allocator_release(z->allocator, z->group);
    kb_allocator_release(z->allocator, z->tuples);
    kb_allocator_release(z->allocator, z->bundle);
    kb_allocator_release(z->allocator, z->start);
    kb_allocator_release(z->allocator, z->key);
    kb_allocator_release(z->allocator, z);
}
