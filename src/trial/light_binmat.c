/* light_binmat.c - see light_binmat.h. */
#include "trial/light_binmat.h"
#include "core/team.h"

#include <float.h>
#include <string.h>

/* Bin numbers of a feature stay below this, where floats are still whole and halves apart; widths
 * that are narrower by the range of the feature are held there. */
static const float MOST_BINS = 4e6f;

/* Scaled values stay below this. */
static const double FARTHEST = 1e30;

/* At most half of the slots of a table are taken; it begins with a quarter. */
enum { FEWEST_BITS = 8 };

/* Tuples are looked for where there are so many rows for each bin of four grids together: 24 for a
 * bin of one.  [notes: time of a default train] */
enum { ROWS_A_BIN = 6 };

int kb_light_binmat_suits(const kb_data *data, size_t grids) {
    return data->rows > 0 && data->rows <= UINT16_MAX && data->features <= 2 * grids;
}

/* What one thread works with. */
typedef struct worker {
    kb_light_cut *cut; /* features */
    uint32_t *key;     /* a key for each row */
    uint32_t *known;   /* rows: the key of each bin of the grid */
    uint64_t *slot;    /* 2^bits: the key and, from 1 on, the number of a bin */
    int bits;
    size_t bins; /* of the last grid: about as many as the next one has */
    kb_status status;
} worker;

typedef struct build {
    kb_context *ctx;
    const kb_binning *binning;
    const kb_data *data;
    kb_binmat *z;
    float *x; /* features x apart: the scaled values */
    size_t apart;
    float *low, *high; /* features: the least and largest of them */
    worker *workers;
} build;

/* ---- columns ----------------------------------------------------------- */

static float scaled(const build *b, size_t j, double x) {
    double y = (x - b->binning->shift[j]) * b->binning->scale[j];
    y = y < FARTHEST ? y : FARTHEST;
    return (float)(y > -FARTHEST ? y : -FARTHEST);
}

static void take_rows(void *arg, size_t begin, size_t end) {
    build *b = arg;
    const kb_data *data = b->data;
    size_t d = data->features;
    for (size_t j = 0; !data->dense && j < d; j++)
        for (size_t i = begin; i < end; i++)
            b->x[j * b->apart + i] = scaled(b, j, 0);
    for (size_t i = begin; i < end; i++) {
        for (size_t j = 0; data->dense && j < d; j++)
            b->x[j * b->apart + i] = scaled(b, j, data->dense[i * d + j]);
        for (size_t e = data->dense ? 0 : data->row_start[i];
             !data->dense && e < data->row_start[i + 1]; e++)
            b->x[data->column[e] * b->apart + i] = scaled(b, data->column[e], data->value[e]);
    }
}

static void find_ranges(void *arg, size_t begin, size_t end) {
    build *b = arg;
    for (size_t j = begin; j < end; j++) {
        const float *x = b->x + j * b->apart;
        float low = x[0], high = x[0];
        for (size_t i = 1; i < b->data->rows; i++) {
            low = x[i] < low ? x[i] : low;
            high = x[i] > high ? x[i] : high;
        }
        b->low[j] = low;
        b->high[j] = high;
        memset(b->x + j * b->apart + b->data->rows, 0, (b->apart - b->data->rows) * sizeof(float));
    }
}

/* ---- one grid ---------------------------------------------------------- */

/* The features that grid r cuts within their range. */
static size_t find_cuts(const build *b, size_t r, kb_light_cut *cut) {
    const kb_grids *g = b->binning->grids;
    size_t cuts = 0;
    for (size_t j = 0; j < g->features; j++) {
        const double *at = kb_grids_at(g, r, j);
        float low = b->low[j], high = b->high[j], far = fmaxf(fabsf(low), fabsf(high));
        if (!(at[0] > 0) || low == high)
            continue;
        float inverse = (float)fmin(at[0], (double)(MOST_BINS / far)), offset = (float)at[KB_LANES];
        if (floorf(low * inverse + offset) == floorf(high * inverse + offset))
            continue;
        cut[cuts++] = (kb_light_cut){.inverse = inverse,
                                     .offset = offset,
                                     .factor = (uint32_t)(g->factor[j] >> 32) | 1,
                                     .feature = (uint32_t)j};
    }
    return cuts;
}

static void clear(worker *w, int bits) {
    w->bits = bits;
    memset(w->slot, 0, sizeof *w->slot << bits);
}

/* Where `key` is among 2^bits slots, or would be. */
static inline size_t find(const uint64_t *slot, int bits, uint32_t key) {
    size_t mask = ((size_t)1 << bits) - 1, s = key >> (32 - bits);
    while (slot[s] && slot[s] >> 32 != key)
        s = (s + 1) & mask;
    return s;
}

static uint64_t entry(uint32_t key, size_t number) {
    return (uint64_t)key << 32 | (number + 1);
}

/* Twice the slots. */
static void widen(worker *w, size_t count) {
    clear(w, w->bits + 1);
    for (size_t k = 0; k < count; k++)
        w->slot[find(w->slot, w->bits, w->known[k])] = entry(w->known[k], k);
}

/* ids[i * KB_GROUP] = the number of the bin of row i; gives the number of bins. */
static size_t number_keys(worker *w, size_t rows, uint16_t *ids) {
    const uint32_t *keys = w->key;
    uint64_t *slot = w->slot;
    int bits = w->bits;
    size_t count = 0;
    for (size_t i = 0; i < rows; i++) {
        size_t s = find(slot, bits, keys[i]);
        if (!slot[s]) {
            w->known[count] = keys[i];
            slot[s] = entry(keys[i], count++);
            ids[i * KB_GROUP] = (uint16_t)(count - 1);
            if (count * 2 > (size_t)1 << bits) {
                widen(w, count);
                bits = w->bits;
            }
            continue;
        }
        ids[i * KB_GROUP] = (uint16_t)((uint32_t)slot[s] - 1);
    }
    return count;
}

static int bits_for(size_t bins) {
    int bits = FEWEST_BITS;
    while ((size_t)1 << bits < 4 * bins)
        bits++;
    return bits;
}

static size_t number_grid(const build *b, worker *w, size_t r, size_t before, uint16_t *ids) {
    size_t rows = b->data->rows, cuts = find_cuts(b, r, w->cut);
    clear(w, bits_for(before < rows / 2 ? before : rows / 2));
    b->z->simd->light->keys(cuts, w->cut, b->apart, b->x, b->apart, w->key);
    return number_keys(w, rows, ids);
}

/* ---- four groups ------------------------------------------------------- */

/* From the first to the last: none is overwritten before it is read. */
static void to_bytes(kb_id_group *group, size_t rows) {
    const uint16_t *from = group->ids;
    uint8_t *to = group->ids;
    for (size_t i = 0; i < rows * KB_GROUP; i++)
        to[i] = (uint8_t)from[i];
}

static void set_bits(kb_id_group *group, size_t rows, size_t numbers) {
    group->bits = kb_id_bits(numbers);
    if (group->bits == 8)
        to_bytes(group, rows);
}

/* The most bins of a grid of group q; *all: those of all its grids. */
static size_t number_group(const build *b, worker *w, size_t q, size_t *all) {
    const kb_binmat *z = b->z;
    uint16_t *ids = z->group[q].ids;
    size_t most = 1, bins = w->bins;
    *all = 0;
    for (size_t r = q * KB_GROUP; r < (q + 1) * KB_GROUP && r < z->grids; r++) {
        bins = number_grid(b, w, r, bins, ids + r % KB_GROUP);
        z->start[r + 1] = bins;
        most = bins > most ? bins : most;
        *all += bins;
    }
    w->bins = bins;
    return most;
}

/* Numbers the tuples of a group: the four bins of each row are a key. */
static size_t number_tuples(const build *b, worker *w, const uint16_t *ids, uint16_t *tuple) {
    size_t rows = b->data->rows;
    for (size_t i = 0; i < rows; i++) {
        uint64_t four;
        memcpy(&four, ids + i * KB_GROUP, sizeof four);
        w->key[i] = (uint32_t)(kb_key_mix(four) >> 32);
    }
    clear(w, bits_for(rows / 4));
    return number_keys(w, rows, tuple);
}

/* Replaces the bins of the rows by those of the tuples, which appear in the order of their
 * numbers. */
static void keep_tuples(size_t rows, const uint16_t *tuple, uint16_t *ids) {
    for (size_t i = 0, t = 0; i < rows; i++)
        if (tuple[i * KB_GROUP] == t)
            memmove(ids + t++ * KB_GROUP, ids + i * KB_GROUP, KB_GROUP * sizeof *ids);
}

static kb_status try_tuples(kb_context *ctx, const build *b, worker *w, size_t first, size_t last) {
    kb_binmat *z = b->z;
    kb_id_group *bundle = &z->bundle[first / KB_GROUP];
    size_t rows = z->rows, count[KB_GROUP], all = 0, most = 1;
    uint16_t *tuple;
    kb_status status = kb_zalloc(ctx, rows * KB_GROUP, sizeof *tuple, &tuple);
    if (status != KB_OK)
        return status;
    for (size_t q = first; q < last; q++) {
        size_t n = number_tuples(b, w, z->group[q].ids, tuple + (q - first));
        count[q - first] = n;
        all += n;
        most = n > most ? n : most;
        if (2 * all > (last - first) * rows) /* too many already */
            break;
    }
    if (!kb_tuples_pay(all, (last - first) * rows, 0)) {
        kb_release(ctx, tuple);
        return KB_OK;
    }
    for (size_t q = first; q < last; q++) {
        keep_tuples(rows, tuple + (q - first), z->group[q].ids);
        z->tuples[q] = count[q - first];
    }
    bundle->ids = tuple;
    set_bits(bundle, rows, most);
    return KB_OK;
}

static kb_status number_bundle(kb_context *ctx, const build *b, worker *w, size_t bundle) {
    kb_status status = KB_OK;
    kb_binmat *z = b->z;
    size_t first = bundle * KB_GROUP, rest = z->groups - first, all = 0;
    size_t last = first + (rest < KB_GROUP ? rest : KB_GROUP), most[KB_GROUP];
    for (size_t q = first; q < last; q++) {
        size_t bins;
        most[q - first] = number_group(b, w, q, &bins);
        z->tuples[q] = z->rows;
        all += bins;
    }
    if (all * ROWS_A_BIN <= (last - first) * z->rows)
        TRY(try_tuples(ctx, b, w, first, last));
    for (size_t q = first; q < last; q++)
        set_bits(&z->group[q], z->tuples[q], most[q - first]);
done:
    return status;
}

/* ---- all of them ------------------------------------------------------- */

static void number_bundles(void *arg, int me, int threads) {
    build *b = arg;
    worker *w = &b->workers[me];
    size_t end = kb_share(b->z->bundles, me + 1, threads);
    for (size_t k = kb_share(b->z->bundles, me, threads); k < end && w->status == KB_OK; k++)
        w->status = number_bundle(b->ctx, b, w, k);
}

static kb_status begin_workers(kb_context *ctx, build *b, size_t threads) {
    kb_status status;
    size_t rows = b->data->rows, slots = (size_t)1 << bits_for(rows);
    TRY(kb_zalloc(ctx, threads, sizeof *b->workers, &b->workers));
    for (size_t t = 0; t < threads; t++) {
        worker *w = &b->workers[t];
        TRY(kb_alloc(ctx, b->data->features, sizeof *w->cut, &w->cut));
        TRY(kb_alloc(ctx, b->apart, sizeof *w->key, &w->key));
        TRY(kb_alloc(ctx, rows, sizeof *w->known, &w->known));
        TRY(kb_alloc(ctx, slots, sizeof *w->slot, &w->slot));
    }
done:
    return status;
}

static kb_status begin(kb_context *ctx, build *b, size_t R, size_t threads) {
    kb_status status;
    size_t rows = b->data->rows, d = b->data->features;
    b->apart = (rows + KB_LIGHT_ROWS - 1) / KB_LIGHT_ROWS * KB_LIGHT_ROWS;
    TRY(kb_binmat_create(ctx, rows, b->binning->grids->grids, R, &b->z));
    b->z->simd = b->binning->simd ? b->binning->simd : kb_simd_best();
    for (size_t q = 0; q < b->z->groups; q++) /* lanes past the last grid have one bin */
        TRY(kb_zalloc(ctx, rows * KB_GROUP, sizeof(uint16_t), &b->z->group[q].ids));
    TRY(kb_alloc(ctx, d * b->apart, sizeof *b->x, &b->x));
    TRY(kb_alloc(ctx, d, sizeof *b->low, &b->low));
    TRY(kb_alloc(ctx, d, sizeof *b->high, &b->high));
    TRY(begin_workers(ctx, b, threads));
done:
    return status;
}

static void end(kb_context *ctx, build *b, size_t threads) {
    for (size_t t = 0; b->workers && t < threads; t++) {
        kb_release(ctx, b->workers[t].cut);
        kb_release(ctx, b->workers[t].key);
        kb_release(ctx, b->workers[t].known);
        kb_release(ctx, b->workers[t].slot);
    }
    kb_release(ctx, b->workers);
    kb_release(ctx, b->x);
    kb_release(ctx, b->low);
    kb_release(ctx, b->high);
}

static void sum_up(kb_binmat *z) {
    for (size_t r = 0; r < z->grids; r++)
        z->start[r + 1] += z->start[r];
    z->bins = z->start[z->grids];
    for (size_t q = 0; q < z->groups; q++)
        z->id_bytes += kb_id_group_bytes(&z->group[q], z->tuples[q]);
    for (size_t k = 0; k < z->bundles; k++)
        z->id_bytes += z->bundle[k].ids ? kb_id_group_bytes(&z->bundle[k], z->rows) : 0;
}

kb_status kb_light_binmat_build(kb_context *ctx, const kb_binning *binning, const kb_data *data,
                                size_t R, kb_binmat **out) {
    kb_status status;
    build b = {.ctx = ctx, .binning = binning, .data = data};
    size_t threads = (size_t)ctx->threads;
    *out = NULL;
    TRY(begin(ctx, &b, R, threads));
    kb_team_for(ctx, data->rows, KB_WORTH_A_THREAD / (data->features + 1) + 1, take_rows, &b);
    kb_team_for(ctx, data->features, KB_WORTH_A_THREAD / data->rows + 1, find_ranges, &b);
    kb_team_run(ctx, data->rows * b.z->groups < KB_WORTH_A_THREAD, number_bundles, &b);
    for (size_t t = 0; t < threads; t++)
        TRY(b.workers[t].status);
    sum_up(b.z);
    *out = b.z;
done:
    end(ctx, &b, threads);
    if (status != KB_OK)
        kb_binmat_free(b.z);
    return status;
}

kb_status kb_light_binned_build(kb_context *ctx, const kb_binned_spec *spec, const kb_data *data,
                                kb_binned *out) {
    kb_status status;
    if (!kb_light_binmat_suits(data, spec->count))
        return kb_binned_build(ctx, spec, data, out);
    *out = (kb_binned){0};
    TRY(kb_grids_build(ctx, spec->seed, spec->first, spec->count, spec->widths, &out->grids));
    kb_binning binning = {out->grids, spec->shift, spec->scale, NULL};
    TRY(kb_light_binmat_build(ctx, &binning, data, spec->R, &out->z));
    TRY(kb_operator_binmat(ctx, out->z, &out->op));
done:
    if (status != KB_OK)
        kb_binned_release(out);
    return status;
}
