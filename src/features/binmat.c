/*
 * binmat.c - see binmat.h.
 *
 * A thread takes a bundle of grids at a time and a few thousand rows at a time: it computes their
 * keys in the lanes of each block at once, numbers them grid by grid, so that each grid's table
 * stays in cache over the chunk, and then numbers the tuples of each group.  Of a row only its
 * tuples are kept, from which its bins can be recovered.  The rows come in order, so the numbering
 * is the same for any number of threads.
 */
#include "features/binmat.h"
#include "features/bintable.h"
#include "core/team.h"
#include "options/say.h"

#include <stdatomic.h>
#include <string.h>

/* Rows of a chunk, and how far the keys of its grids are apart: not a power of two, with which
 * all grids of a block would compete for the same cache lines. */
enum { CHUNK = 4096, APART = CHUNK + 8 };

/* Blocks of a bundle. */
enum { BLOCKS = KB_BUNDLE / KB_LANES };

/* Of few rows, most tuples are different.  This is seen after PROBE of them; the others are then not
 * compared. */
enum { PROBE = 512, FEW = 4 * CHUNK };

/* After so many bundles the memory that all will take is forecast. */
enum { PILOT = 4 };

size_t kb_bin_keys_scratch(const kb_data *data) {
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

void kb_bin_keys_prepare(const kb_binning *binning, const kb_data *data, size_t block,
                         uint64_t *zero) {
    kb_bin_block b = block_of(binning, block);
    if (!data->dense)
        binning->simd->bins->keys_zero(&b, zero, zero + data->features * KB_LANES);
}

void kb_bin_keys_compute(const kb_binning *binning, const kb_data *data, size_t block, size_t begin,
                         size_t rows, const uint64_t *zero, size_t stride, uint64_t *keys) {
    kb_bin_block b = block_of(binning, block);
    if (data->dense)
        binning->simd->bins->keys_dense(&b, rows, data->dense + begin * data->features, stride,
                                        keys);
    else
        binning->simd->bins->keys_sparse(&b, rows, data->row_start + begin, data->column,
                                         data->value, zero, zero + data->features * KB_LANES,
                                         stride, keys);
}

/* What one thread works with. */
typedef struct worker {
    uint64_t *keys;           /* KB_LANES x APART */
    uint64_t *zero[BLOCKS];   /* kb_bin_keys_scratch */
    uint32_t *ids;            /* KB_GROUP x CHUNK x KB_GROUP: bins, group after group */
    uint32_t *tuple;          /* rows x KB_GROUP */
    uint32_t *bins[KB_GROUP]; /* of each group's tuples, KB_GROUP each */
    size_t bins_room[KB_GROUP];
    size_t tuples[KB_GROUP]; /* how many there are */
    int apart[KB_GROUP];     /* every further row is a tuple of its own */
    uint32_t *count;         /* samples, for kb_binmat.kappa */
    size_t count_room;
    kb_bintable table[KB_BUNDLE]; /* of the current grids */
    kb_bintable known[KB_GROUP];  /* of their tuples */
    kb_status status;
} worker;

static kb_status worker_create(kb_context *ctx, const kb_data *data, worker *w) {
    kb_status status;
    TRY(kb_alloc(ctx, KB_LANES * APART, sizeof(uint64_t), &w->keys));
    for (int b = 0; b < BLOCKS; b++)
        TRY(kb_alloc(ctx, kb_bin_keys_scratch(data), sizeof(uint64_t), &w->zero[b]));
    TRY(kb_alloc(ctx, CHUNK, KB_BUNDLE * sizeof(uint32_t), &w->ids));
    TRY(kb_alloc(ctx, data->rows, KB_GROUP * sizeof(uint32_t), &w->tuple));
done:
    return status;
}

static void worker_release(kb_context *ctx, worker *w) {
    kb_release(ctx, w->keys);
    for (int b = 0; b < BLOCKS; b++)
        kb_release(ctx, w->zero[b]);
    kb_release(ctx, w->ids);
    kb_release(ctx, w->tuple);
    kb_release(ctx, w->count);
    for (int k = 0; k < KB_BUNDLE; k++)
        kb_bintable_release(ctx, &w->table[k]);
    for (int g = 0; g < KB_GROUP; g++) {
        kb_release(ctx, w->bins[g]);
        kb_bintable_release(ctx, &w->known[g]);
    }
}

/* ---- rows to tuples ---------------------------------------------------- */

/* Numbers the tuples of group g in the chunk, from its row `first` on.  Four ids of 16 bits make a
 * tuple's key, so no two share one; once a grid has more bins than that, every row is a tuple of its
 * own. */
static kb_status number_tuples(kb_context *ctx, worker *w, size_t g, size_t begin, size_t first,
                               size_t rows) {
    kb_status status = KB_OK;
    const uint32_t *ids = w->ids + (g * CHUNK + first) * KB_GROUP;
    uint32_t *tuple = w->tuple + (begin + first) * KB_GROUP + g;
    int apart = w->apart[g];
    for (size_t k = g * KB_GROUP; k < (g + 1) * KB_GROUP; k++)
        apart |= w->table[k].count > 1u << 16;
    for (size_t i = 0; i < rows && !apart; i++) {
        const uint32_t *at = ids + i * KB_GROUP;
        w->keys[i] = kb_key_mix(at[0] | (uint64_t)at[1] << 16 | (uint64_t)at[2] << 32 |
                                (uint64_t)at[3] << 48);
    }
    if (!apart)
        TRY(kb_bintable_number(ctx, &w->known[g], rows, w->keys, KB_GROUP, tuple));
    TRY(kb_reserve(ctx, (w->tuples[g] + rows) * KB_GROUP, sizeof(uint32_t), &w->bins_room[g],
                   &w->bins[g]));
    for (size_t i = 0; i < rows; i++) {
        if (apart)
            tuple[i * KB_GROUP] = (uint32_t)w->tuples[g];
        if (tuple[i * KB_GROUP] == w->tuples[g])
            memcpy(w->bins[g] + w->tuples[g]++ * KB_GROUP, ids + i * KB_GROUP,
                   KB_GROUP * sizeof(uint32_t));
    }
done:
    return status;
}

/* Looks at the first rows of few, then at the others. */
static kb_status number_chunk(kb_context *ctx, const kb_data *data, worker *w, size_t g,
                              size_t begin, size_t rows) {
    kb_status status;
    size_t probe = begin == 0 && rows > PROBE && data->rows <= FEW ? PROBE : 0;
    TRY(number_tuples(ctx, w, g, begin, 0, probe));
    if (probe > 0)
        w->apart[g] = 8 * w->tuples[g] > 7 * probe;
    TRY(number_tuples(ctx, w, g, begin, probe, rows - probe));
done:
    return status;
}

/* Lanes past the last grid have one bin: their width is infinite, or the block is missing. */
static kb_status bin_chunk(kb_context *ctx, const kb_binning *binning, const kb_data *data,
                           worker *w, size_t bundle, size_t begin, size_t rows) {
    kb_status status = KB_OK;
    size_t blocks = kb_grids_blocks(binning->grids);
    for (size_t b = 0; b < BLOCKS && bundle * BLOCKS + b < blocks; b++) {
        kb_bin_keys_compute(binning, data, bundle * BLOCKS + b, begin, rows, w->zero[b], APART,
                            w->keys);
        for (size_t k = 0; k < KB_LANES; k++) {
            size_t lane = b * KB_LANES + k;
            TRY(kb_bintable_number(ctx, &w->table[lane], rows, w->keys + k * APART, KB_GROUP,
                                   w->ids + lane / KB_GROUP * CHUNK * KB_GROUP + lane % KB_GROUP));
        }
    }
    for (size_t g = 0; g < KB_GROUP; g++)
        TRY(number_chunk(ctx, data, w, g, begin, rows));
done:
    return status;
}

/* ---- what is kept of a bundle ------------------------------------------ */

/* Samples in the fullest bin of each of the group's grids, from the tuples. */
static kb_status fullest(kb_context *ctx, worker *w, size_t rows, size_t g, size_t *most) {
    kb_status status;
    size_t J = w->tuples[g], room = J + 1;
    for (size_t k = 0; k < KB_GROUP; k++) {
        size_t bins = w->table[g * KB_GROUP + k].count;
        room = J + bins > room ? J + bins : room;
    }
    TRY(kb_reserve(ctx, room, sizeof(uint32_t), &w->count_room, &w->count));
    uint32_t *of_tuple = w->count, *of_bin = w->count + J;
    memset(of_tuple, 0, J * sizeof(uint32_t));
    for (size_t i = 0; i < rows; i++)
        of_tuple[w->tuple[i * KB_GROUP + g]]++;
    for (size_t k = 0; k < KB_GROUP; k++) {
        size_t bins = w->table[g * KB_GROUP + k].count;
        bins = bins ? bins : 1;
        memset(of_bin, 0, bins * sizeof(uint32_t));
        for (size_t t = 0; t < J; t++)
            of_bin[w->bins[g][t * KB_GROUP + k]] += of_tuple[t];
        most[k] = 0;
        for (size_t b = 0; b < bins; b++)
            most[k] = of_bin[b] > most[k] ? of_bin[b] : most[k];
    }
done:
    return status;
}

static int width_for(size_t numbers) {
    return numbers <= 1u << 8 ? 1 : numbers <= 1u << 16 ? 2 : 4;
}

static void store(kb_id_group *to, size_t place, uint32_t id) {
    if (to->width == 1)
        ((uint8_t *)to->ids)[place] = (uint8_t)id;
    else if (to->width == 2)
        ((uint16_t *)to->ids)[place] = (uint16_t)id;
    else
        ((uint32_t *)to->ids)[place] = id;
}

/* Keeps KB_GROUP numbers a row in as few bytes as they need: row i's are those at from[i], or
 * at from[which[i * KB_GROUP]]. */
static kb_status keep_ids(kb_context *ctx, const uint32_t *from, const uint32_t *which, size_t rows,
                          size_t numbers, kb_id_group *to) {
    to->width = width_for(numbers);
    kb_status status = kb_alloc(ctx, rows * KB_GROUP, (size_t)to->width, &to->ids);
    for (size_t i = 0; status == KB_OK && i < rows; i++) {
        const uint32_t *at = from + (which ? which[i * KB_GROUP] : i) * KB_GROUP;
        for (size_t k = 0; k < KB_GROUP; k++)
            store(to, i * KB_GROUP + k, at[k]);
    }
    return status;
}

/* Moves the finished bundle from the worker to the matrix, with tuples or without. */
static kb_status keep_bundle(kb_context *ctx, kb_binmat *z, worker *w, size_t bundle) {
    kb_status status = KB_OK;
    size_t first = bundle * KB_GROUP, sum = 0, most = 1;
    size_t groups = z->groups - first < KB_GROUP ? z->groups - first : KB_GROUP;
    for (size_t g = 0; g < groups; g++) {
        sum += w->tuples[g];
        most = w->tuples[g] > most ? w->tuples[g] : most;
    }
    int pays = kb_tuples_pay(sum, groups * z->rows);
    if (pays)
        TRY(keep_ids(ctx, w->tuple, NULL, z->rows, most, &z->bundle[bundle]));
    for (size_t g = 0; g < groups; g++) {
        size_t bins = 1, rows = pays ? w->tuples[g] : z->rows;
        for (size_t k = g * KB_GROUP; k < (g + 1) * KB_GROUP; k++)
            bins = w->table[k].count > bins ? w->table[k].count : bins;
        z->tuples[first + g] = rows;
        TRY(keep_ids(ctx, w->bins[g], pays ? NULL : w->tuple + g, rows, bins,
                     &z->group[first + g]));
    }
done:
    return status;
}

/* Sizes, kappa and keys of the current grids. */
static kb_status keep_grids(kb_context *ctx, kb_binmat *z, worker *w, size_t bundle,
                            double *kappa) {
    kb_status status = KB_OK;
    size_t most[KB_GROUP] = {0};
    for (size_t k = 0; k < KB_BUNDLE && bundle * KB_BUNDLE + k < z->grids; k++) {
        size_t r = bundle * KB_BUNDLE + k;
        kb_bintable *table = &w->table[k];
        if (k % KB_GROUP == 0)
            TRY(fullest(ctx, w, z->rows, k / KB_GROUP, most));
        kappa[r] = (double)z->rows / (double)most[k % KB_GROUP];
        z->start[r + 1] = table->count;
        TRY(kb_alloc(ctx, table->count, sizeof(uint64_t), &z->key[r]));
        memcpy(z->key[r], table->key, table->count * sizeof(uint64_t));
    }
done:
    return status;
}

static kb_status bin_bundle(kb_context *ctx, const kb_binning *binning, const kb_data *data,
                            kb_binmat *z, worker *w, size_t bundle, double *kappa, int report) {
    kb_status status = KB_OK;
    size_t N = z->rows, blocks = kb_grids_blocks(binning->grids);
    for (size_t k = 0; k < KB_BUNDLE; k++)
        TRY(kb_bintable_clear(ctx, &w->table[k]));
    for (size_t g = 0; g < KB_GROUP; g++) {
        TRY(kb_bintable_clear(ctx, &w->known[g]));
        w->tuples[g] = 0;
        w->apart[g] = 0;
    }
    memset(w->ids, 0, CHUNK * KB_BUNDLE * sizeof *w->ids); /* for a block past the last */
    for (size_t b = 0; b < BLOCKS && bundle * BLOCKS + b < blocks; b++)
        kb_bin_keys_prepare(binning, data, bundle * BLOCKS + b, w->zero[b]);
    for (size_t begin = 0; begin < N; begin += CHUNK) {
        size_t rows = N - begin < CHUNK ? N - begin : CHUNK;
        TRY(bin_chunk(ctx, binning, data, w, bundle, begin, rows));
        if (report)
            TRY(kb_progress(ctx, "bin",
                            ((double)bundle + (double)(begin + rows) / (double)N) /
                                (double)z->bundles));
    }
    TRY(keep_grids(ctx, z, w, bundle, kappa));
    TRY(keep_bundle(ctx, z, w, bundle));
done:
    return status;
}

/* The bundles of a build, taken by the threads as they become free. */
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

/* The memory of the build and its caller, once `share` of the grids are binned: a forecast, or
 * exact for a share of 1. */
static kb_status check_memory(kb_context *ctx, kb_binmat *z, double share,
                              const kb_memory_plan *memory) {
    double ids = (double)id_bytes(z) / share, bins = 0;
    for (size_t r = 0; r < z->grids; r++)
        bins += (double)z->start[r + 1] / share;
    double need = memory->fixed + ids + memory->per_bin * bins;
    if (share < 1 || z->forecast == 0) {
        z->forecast = need;
        kb_log(ctx, KB_LOG_INFO,
               "memory: %s forecast, %s of it for the bin numbers, about %.3g bins",
               kb_size_in_words(need).text, kb_size_in_words(ids).text, bins);
    }
    if (need <= (double)memory->limit)
        return KB_OK;
    return kb_fail(ctx, KB_ERR_MEMORY,
                   "%zu grids with %.3g bins need %s of memory, and %s may be taken: use fewer "
                   "%s, a larger %s or a larger %s",
                   z->grids, bins, kb_size_in_words(need).text,
                   kb_size_in_words((double)memory->limit).text, kb_say(ctx, KB_OPT_GRIDS).text,
                   kb_say(ctx, KB_OPT_SIGMA).text, kb_say(ctx, KB_OPT_MAX_MEMORY).text);
}

kb_status kb_binmat_create(kb_context *ctx, size_t rows, size_t grids, size_t R, kb_binmat **out) {
    kb_status status;
    kb_binmat *z;
    *out = NULL;
    TRY(kb_zalloc(ctx, 1, sizeof *z, &z));
    z->allocator = kb_allocator_of(ctx);
    z->rows = rows;
    z->grids = grids;
    z->R = R;
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

kb_status kb_binmat_build(kb_context *ctx, const kb_binning *binning, const kb_data *data, size_t R,
                          const kb_memory_plan *memory, kb_binmat **out) {
    static const kb_memory_plan NO_LIMIT = {SIZE_MAX, 0, 0};
    kb_status status;
    kb_binning with = *binning;
    size_t bundles = (with.grids->grids + KB_BUNDLE - 1) / KB_BUNDLE,
           threads = (size_t)ctx->threads;
    build b = {.ctx = ctx, .binning = &with, .data = data};
    size_t pilot = bundles < PILOT ? bundles : PILOT;
    b.crew = threads < bundles ? threads : bundles;
    *out = NULL;
    memory = memory ? memory : &NO_LIMIT;
    if (!with.simd)
        with.simd = kb_simd_best();
    TRY(kb_binmat_create(ctx, data->rows, with.grids->grids, R, &b.z));
    b.z->simd = with.simd;
    TRY(kb_alloc(ctx, b.z->grids, sizeof *b.kappa, &b.kappa));
    TRY(kb_zalloc(ctx, threads, sizeof *b.workers, &b.workers));
    for (size_t t = 0; t < b.crew; t++)
        TRY(worker_create(ctx, data, &b.workers[t]));
    TRY(bin_bundles(&b, 0, pilot));
    TRY(check_memory(ctx, b.z, (double)pilot / (double)bundles, memory));
    TRY(bin_bundles(&b, pilot, bundles));
    TRY(check_memory(ctx, b.z, 1, memory));
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
