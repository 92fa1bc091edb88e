/*
 * bins.cu - rows into their bins, a bundle of grids at a time; see bins.cuh.
 *
 * The same arithmetic as simd/bins.c, so the same bins; numbers in the order of the rows, so the
 * same numbers.
 */
#include "bins.cuh"
#include "simd/idgroup.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <new>

enum { LANES = KB_LANES, FIRST_BITS = 12 };
/* Rows that are copied at a time. */
enum { ROWS_OF_A_PIECE = KB_PIECE };

/* ---- keys -------------------------------------------------------------- */

/* to[j * ld + place[i]] from x[i * features + j]. */
__global__ static void scale_rows(const double *x, size_t rows, size_t features,
                                  const double *shift, const double *scale, const uint32_t *place,
                                  size_t ld, double *to) {
    size_t stride = (size_t)gridDim.x * blockDim.x, cells = rows * features;
    for (size_t e = (size_t)blockIdx.x * blockDim.x + threadIdx.x; e < cells; e += stride) {
        size_t i = e / features, j = e % features;
        to[j * ld + (place ? place[i] : i)] = (x[e] - shift[j]) * scale[j];
    }
}

/* The keys of a row in a block of LANES grids; keys has the `lanes` of a bundle. */
__global__ static void find_keys(const double *scaled, size_t rows, size_t features,
                                 const double *parameter, const double *bound,
                                 const uint64_t *factor, int lanes, uint64_t *keys) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x, block = blockIdx.y;
    if (i >= rows)
        return;
    const double *p = parameter + block * features * 2 * LANES;
    uint64_t sum[LANES];
    for (int k = 0; k < LANES; k++)
        sum[k] = 0;
    for (size_t j = 0; j < features; j++, p += 2 * LANES) {
        double y = scaled[j * rows + i], most = bound[block * features + j];
        uint64_t times = factor[j];
        y = y < most ? y : most;
        y = y > -most ? y : -most;
#pragma unroll
        for (int k = 0; k < LANES; k++)
            if (p[k] != 0)
                sum[k] += (uint64_t)(int64_t)floor(y * p[k] + p[LANES + k]) * times;
    }
#pragma unroll
    for (int k = 0; k < LANES; k++)
        if ((int)block * LANES + k < lanes)
            keys[(block * LANES + (size_t)k) * rows + i] = kb_key_mix(sum[k]);
}

kb_device_result kb_scale_rows(kb_gpu *gpu, const double *x, size_t rows, size_t features,
                               const double *shift, const double *scale, const uint32_t *place,
                               size_t ld, double *to) {
    KB_LAUNCH(scale_rows, kb_blocks_filling(gpu, rows * features), 1, KB_THREADS, 0, gpu, x, rows,
              features, shift, scale, place, ld, to);
    return kb_gpu_launched(gpu, "scale rows");
}

kb_device_result kb_grids_put(kb_gpu *gpu, size_t grids, size_t features, const double *parameter,
                              const double *bound, const uint64_t *factor, kb_gpu_grids *g) {
    size_t blocks = (grids + LANES - 1) / LANES, cuts = blocks * features * 2 * LANES;
    KB_TRY(kb_gpu_reserve(gpu, cuts, &g->parameter));
    KB_TRY(kb_gpu_reserve(gpu, blocks * features, &g->bound));
    KB_TRY(kb_gpu_reserve(gpu, features, &g->factor));
    KB_TRY(kb_gpu_put(gpu, parameter, cuts, g->parameter.at));
    KB_TRY(kb_gpu_put(gpu, bound, blocks * features, g->bound.at));
    return kb_gpu_put(gpu, factor, features, g->factor.at);
}

void kb_grids_release(kb_gpu_grids *g) {
    kb_gpu_release(&g->parameter);
    kb_gpu_release(&g->bound);
    kb_gpu_release(&g->factor);
}

kb_device_result kb_find_keys(kb_gpu *gpu, const double *scaled, size_t rows, size_t features,
                              const kb_gpu_grids *g, size_t first, size_t lanes, uint64_t *keys) {
    size_t block = first / LANES;
    KB_LAUNCH(find_keys, kb_blocks_for(rows), (lanes + LANES - 1) / LANES, KB_THREADS, 0, gpu,
              scaled, rows, features, g->parameter.at + block * features * 2 * LANES,
              g->bound.at + block * features, g->factor.at, (int)lanes, keys);
    return kb_gpu_launched(gpu, "find keys");
}

/* The keys of numbers, from their first rows: blockIdx.y is the lane. */
__global__ static void keys_of_numbers(const uint64_t *keys, size_t rows, const size_t *start,
                                       const uint32_t *count, const uint32_t *row_of,
                                       uint64_t *out) {
    size_t lane = blockIdx.y, stride = (size_t)gridDim.x * blockDim.x;
    for (size_t n = (size_t)blockIdx.x * blockDim.x + threadIdx.x; n < count[lane]; n += stride)
        out[start[lane] + n] = keys[lane * rows + row_of[start[lane] + n]];
}

/* ---- ids --------------------------------------------------------------- */

__global__ static void write_ids(kb_gpu_slots t, const uint32_t *slot, size_t rows,
                                 const kb_gpu_lane *lanes) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x, lane = blockIdx.y;
    if (i >= rows)
        return;
    kb_gpu_lane to = lanes[lane];
    uint32_t id = t.number[lane * kb_slots_of_lane(t) + slot[lane * rows + i]];
    if (to.bytes == 1)
        ((uint8_t *)to.ids)[i] = (uint8_t)id;
    else if (to.bytes == 2)
        ((uint16_t *)to.ids)[i] = (uint16_t)id;
    else
        ((uint32_t *)to.ids)[i] = id;
}

/* The bins of row i in a group; 0 for lanes past the last grid. */
__device__ static inline void bins_of(const kb_gpu_lane *group, size_t grids, size_t i,
                                      uint32_t *bin) {
    for (size_t k = 0; k < KB_GROUP; k++)
        bin[k] = k < grids ? kb_lane_id(group[k], i) : 0;
}

__device__ static inline size_t grids_of_group(size_t grids, size_t g) {
    size_t most = KB_GROUP, rest = grids - g * most;
    return rest < most ? rest : most;
}

/* keys[g * rows + i] = that of the four bins of row i in group g = blockIdx.y. */
__global__ static void find_tuple_keys(const kb_gpu_lane *lanes, size_t grids, size_t rows,
                                       uint64_t *keys) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x, g = blockIdx.y;
    uint32_t bin[KB_GROUP];
    if (i >= rows)
        return;
    bins_of(lanes + g * KB_GROUP, grids_of_group(grids, g), i, bin);
    keys[g * rows + i] = kb_tuple_key(bin);
}

/* The bins of `count` rows in a group: those that row_of lists, or the first ones. */
__global__ static void pack_bins(const kb_gpu_lane *group, size_t grids, size_t count,
                                 const uint32_t *row_of, int bits, uint8_t *out) {
    size_t n = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t bin[KB_GROUP];
    if (n >= count)
        return;
    bins_of(group, grids, row_of ? row_of[n] : n, bin);
    kb_id_put(out, bits, n, bin);
}

/* The tuples of every row. */
__global__ static void pack_tuples(kb_gpu_slots t, const uint32_t *slot, size_t rows, size_t groups,
                                   int bits, uint8_t *out) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t tuple[KB_GROUP];
    if (i >= rows)
        return;
    for (size_t g = 0; g < KB_GROUP; g++)
        tuple[g] = g < groups ? t.number[g * kb_slots_of_lane(t) + slot[g * rows + i]] : 0;
    kb_id_put(out, bits, i, tuple);
}

/* The largest of the sums of each lane. */
__global__ static void find_most(const long long *sums, const kb_gpu_lane *lanes, size_t first,
                                 unsigned long long *most) {
    __shared__ unsigned long long largest;
    kb_gpu_lane lane = lanes[blockIdx.x];
    unsigned long long mine = 0;
    if (threadIdx.x == 0)
        largest = 0;
    __syncthreads();
    for (size_t b = threadIdx.x; b < lane.bins; b += blockDim.x) {
        unsigned long long here = (unsigned long long)sums[lane.start - first + b];
        mine = here > mine ? here : mine;
    }
    atomicMax(&largest, mine);
    __syncthreads();
    if (threadIdx.x == 0)
        most[blockIdx.x] = largest;
}

/* ---- making them ------------------------------------------------------- */

static size_t piece_of(size_t rows) {
    return rows < ROWS_OF_A_PIECE ? rows : (size_t)ROWS_OF_A_PIECE;
}

double kb_bins_bytes(size_t rows, size_t features, size_t grids) {
    double N = (double)rows, d = (double)features, lanes = KB_DEVICE_BUNDLE;
    /* The rows scaled, keys and slots of a bundle, a byte a number, and the rows as they come. */
    return N * (8 * d + 12 * lanes + 4 * KB_GROUP + (double)grids) +
           16 * d * (double)piece_of(rows) + 1e6;
}

/* What scaling needs there beside its result. */
struct scaling {
    kb_gpu_array<double> x[2], shift, scale;
    kb_gpu_array<uint32_t> place;
};

/* The rows a piece at a time: while one is scaled, the next one is copied. */
static kb_device_result scale_pieces(kb_gpu_bins *b, const kb_gpu_rows *r, scaling *s) {
    kb_gpu *gpu = b->gpu;
    size_t d = b->features, piece = piece_of(b->rows);
    KB_TRY(kb_gpu_reserve(gpu, b->rows * d, &b->scaled));
    KB_TRY(kb_gpu_reserve(gpu, d, &s->shift));
    KB_TRY(kb_gpu_reserve(gpu, d, &s->scale));
    KB_TRY(kb_gpu_put(gpu, r->shift, d, s->shift.at));
    KB_TRY(kb_gpu_put(gpu, r->scale, d, s->scale.at));
    if (r->place) {
        KB_TRY(kb_gpu_reserve(gpu, b->rows, &s->place));
        KB_TRY(kb_gpu_put(gpu, r->place, b->rows, s->place.at));
    }
    for (size_t begin = 0, k = 0; begin < b->rows; begin += piece, k = !k) {
        size_t rows = b->rows - begin < piece ? b->rows - begin : piece;
        KB_TRY(kb_gpu_reserve(gpu, piece * d, &s->x[k]));
        KB_TRY(kb_gpu_put_aside(gpu, r->x + begin * d, rows * d, s->x[k].at));
        KB_TRY(kb_gpu_wait(gpu, "scale rows")); /* of the piece before */
        KB_TRY(kb_scale_rows(gpu, s->x[k].at, rows, d, s->shift.at, s->scale.at,
                             r->place ? s->place.at + begin : NULL, b->rows,
                             b->scaled.at + (r->place ? 0 : begin)));
    }
    return kb_gpu_wait(gpu, "scale rows");
}

static kb_device_result put_rows(kb_gpu_bins *b, const kb_gpu_rows *r) {
    scaling s = {};
    kb_device_result result = scale_pieces(b, r, &s);
    kb_gpu_release(&s.x[0]);
    kb_gpu_release(&s.x[1]);
    kb_gpu_release(&s.shift);
    kb_gpu_release(&s.scale);
    kb_gpu_release(&s.place);
    return result;
}

static kb_device_result create(kb_gpu_bins *b, const kb_gpu_rows *r) {
    kb_gpu *gpu = b->gpu;
    size_t bundles = (b->grids + KB_DEVICE_BUNDLE - 1) / KB_DEVICE_BUNDLE;
    b->lane = (kb_gpu_lane *)calloc(b->grids, sizeof *b->lane);
    b->block = (void **)calloc(bundles, sizeof *b->block);
    b->has_tuples = (int *)calloc(bundles, sizeof *b->has_tuples);
    if (!b->lane || !b->block || !b->has_tuples)
        return KB_DEVICE_MEMORY;
    KB_TRY(put_rows(b, r));
    KB_TRY(kb_grids_put(gpu, b->grids, b->features, r->parameter, r->bound, r->factor, &b->cuts));
    KB_TRY(kb_gpu_reserve(gpu, b->grids, &b->lanes));
    size_t bundle = KB_DEVICE_BUNDLE, lanes = b->grids < bundle ? b->grids : bundle;
    return kb_numbering_create(gpu, b->rows, (int)lanes, &b->numbering);
}

kb_device_result kb_bins_create(kb_gpu *gpu, const kb_gpu_rows *r, kb_gpu_bins **out) {
    kb_gpu_bins *b = new (std::nothrow) kb_gpu_bins();
    *out = NULL;
    if (!b)
        return KB_DEVICE_MEMORY;
    b->gpu = gpu;
    b->rows = r->rows;
    b->features = r->features;
    b->grids = r->grids;
    b->ordered = r->place != NULL;
    b->bits = b->tuple_bits = FIRST_BITS;
    kb_device_result result = create(b, r);
    if (result != KB_DEVICE_OK) {
        kb_bins_free(b);
        return result;
    }
    *out = b;
    return KB_DEVICE_OK;
}

void kb_bins_finish(kb_gpu_bins *b) {
    kb_numbering_release(&b->numbering);
    kb_gpu_release(&b->scaled);
    kb_grids_release(&b->cuts);
    kb_gpu_release(&b->bin_key);
    kb_gpu_release(&b->sums);
    kb_gpu_release(&b->packed);
}

void kb_bins_free(kb_gpu_bins *b) {
    if (!b)
        return;
    kb_bins_finish(b);
    kb_gpu_release(&b->lanes);
    for (size_t k = 0; k < b->blocks; k++)
        cudaFree(b->block[k]);
    free(b->lane);
    free(b->block);
    free(b->has_tuples);
    delete b;
}

/* ---- a bundle ---------------------------------------------------------- */

/* Memory for the ids of a bundle, and where each lane has its own. */
static kb_device_result make_lanes(kb_gpu_bins *b, size_t lanes) {
    kb_gpu_lane *lane = b->lane + b->done;
    size_t start = b->done ? lane[-1].start + lane[-1].bins : 0, bytes = 0;
    for (size_t k = 0; k < lanes; k++) {
        lane[k].bins = b->bundle.bins[k];
        lane[k].bytes = lane[k].bins <= 1u << 8 ? 1 : lane[k].bins <= 1u << 16 ? 2 : 4;
        lane[k].start = start;
        start += lane[k].bins;
        bytes += (b->rows * (size_t)lane[k].bytes + 255) / 256 * 256;
    }
    KB_TRY(kb_gpu_allocate(b->gpu, bytes, &b->block[b->blocks]));
    uint8_t *at = (uint8_t *)b->block[b->blocks++];
    for (size_t k = 0; k < lanes; k++) {
        lane[k].ids = at;
        at += (b->rows * (size_t)lane[k].bytes + 255) / 256 * 256;
    }
    return kb_gpu_put(b->gpu, lane, lanes, b->lanes.at + b->done);
}

static kb_device_result number_bins(kb_gpu_bins *b, size_t lanes) {
    kb_gpu *gpu = b->gpu;
    kb_numbering *n = &b->numbering;
    int done;
    KB_TRY(kb_find_keys(gpu, b->scaled.at, b->rows, b->features, &b->cuts, b->done, lanes,
                        n->keys.at));
    KB_TRY(kb_number_keys(n, (int)lanes, &b->bits, NULL, NULL, b->bundle.bins, &done));
    memcpy(b->bin_first, n->first, sizeof b->bin_first);
    KB_TRY(kb_gpu_reserve(gpu, n->first[lanes], &b->bin_key));
    KB_LAUNCH(keys_of_numbers, 64, lanes, KB_THREADS, 0, gpu, n->keys.at, b->rows, n->start.at,
              n->count.at, n->row_of.at, b->bin_key.at);
    KB_TRY(make_lanes(b, lanes));
    KB_LAUNCH(write_ids, kb_blocks_for(b->rows), lanes, KB_THREADS, 0, gpu, n->slots, n->slot.at,
              b->rows, b->lanes.at + b->done);
    return kb_gpu_launched(gpu, "write ids");
}

static kb_device_result count_rows(kb_gpu_bins *b, size_t lanes) {
    kb_gpu *gpu = b->gpu;
    kb_gpu_lane *lane = b->lane + b->done;
    size_t bins = b->bin_first[lanes];
    unsigned long long most[KB_DEVICE_BUNDLE];
    KB_TRY(kb_gpu_reserve(gpu, bins + KB_DEVICE_BUNDLE, &b->sums));
    KB_TRY(kb_sum_by_bins(gpu, b->lanes.at + b->done, lane, lanes, b->rows, 1, NULL, b->sums.at));
    unsigned long long *there = (unsigned long long *)b->sums.at + bins;
    KB_LAUNCH(find_most, lanes, 1, KB_THREADS, 0, gpu, b->sums.at, b->lanes.at + b->done,
              lane->start, there);
    KB_TRY(kb_gpu_launched(gpu, "count rows"));
    KB_TRY(kb_gpu_get(gpu, there, lanes, most));
    for (size_t k = 0; k < lanes; k++)
        b->bundle.most[k] = most[k];
    return KB_DEVICE_OK;
}

struct paying {
    size_t rows, groups;
    int ordered;
};

/* There will only be more tuples. */
static int tuples_pay(void *arg, const uint32_t *counts) {
    const paying *p = (const paying *)arg;
    size_t sum = 0;
    for (size_t g = 0; g < p->groups; g++)
        sum += counts[g];
    return kb_tuples_pay(sum, p->groups * p->rows, p->ordered);
}

static kb_device_result number_tuples(kb_gpu_bins *b, size_t lanes) {
    kb_numbering *n = &b->numbering;
    paying p = {b->rows, (lanes + KB_GROUP - 1) / KB_GROUP, b->ordered};
    KB_LAUNCH(find_tuple_keys, kb_blocks_for(b->rows), p.groups, KB_THREADS, 0, b->gpu,
              b->lanes.at + b->now, lanes, b->rows, n->keys.at);
    KB_TRY(kb_gpu_launched(b->gpu, "find tuples"));
    return kb_number_keys(n, (int)p.groups, &b->tuple_bits, tuples_pay, &p, b->bundle.tuples,
                          &b->bundle.has_tuples);
}

kb_device_result kb_bins_bundle(kb_gpu_bins *b, int tuples, kb_gpu_bundle *out) {
    size_t rest = b->grids - b->done, most = KB_DEVICE_BUNDLE, lanes = rest < most ? rest : most;
    b->bundle = kb_gpu_bundle();
    b->now = b->done;
    b->lanes_now = lanes;
    KB_TRY(number_bins(b, lanes));
    KB_TRY(count_rows(b, lanes));
    if (tuples)
        KB_TRY(number_tuples(b, lanes));
    b->has_tuples[b->done / KB_DEVICE_BUNDLE] = b->bundle.has_tuples;
    b->done += lanes;
    *out = b->bundle;
    return KB_DEVICE_OK;
}

kb_device_result kb_bins_again(kb_gpu_bins *b, size_t bundle, int has_tuples) {
    size_t rest, most = KB_DEVICE_BUNDLE, groups = KB_GROUP;
    b->now = bundle * KB_DEVICE_BUNDLE;
    rest = b->grids - b->now;
    b->lanes_now = rest < most ? rest : most;
    b->bundle = kb_gpu_bundle();
    if (!has_tuples)
        return KB_DEVICE_OK;
    if (!b->numbering.keys.at)
        KB_TRY(kb_numbering_create(b->gpu, b->rows, (int)groups, &b->numbering));
    return number_tuples(b, b->lanes_now);
}

/* ---- to the caller ----------------------------------------------------- */

kb_device_result kb_bundle_keys(kb_gpu_bins *b, size_t grid, uint64_t *out) {
    return kb_gpu_get(b->gpu, b->bin_key.at + b->bin_first[grid], b->bundle.bins[grid], out);
}

static kb_device_result send(kb_gpu_bins *b, size_t rows, int bits, void *out) {
    KB_TRY(kb_gpu_launched(b->gpu, "pack ids"));
    return kb_gpu_get(b->gpu, b->packed.at, rows * kb_id_row_bytes(bits), (uint8_t *)out);
}

kb_device_result kb_bundle_group(kb_gpu_bins *b, size_t g, int bits, void *out) {
    size_t lanes = b->lanes_now, count = b->rows;
    const kb_numbering *n = &b->numbering;
    const uint32_t *row_of = NULL;
    size_t grids = lanes - g * KB_GROUP < KB_GROUP ? lanes - g * KB_GROUP : (size_t)KB_GROUP;
    if (b->bundle.has_tuples) {
        count = b->bundle.tuples[g];
        row_of = n->row_of.at + n->first[g];
    }
    KB_TRY(kb_gpu_reserve(b->gpu, count * kb_id_row_bytes(bits), &b->packed));
    KB_LAUNCH(pack_bins, kb_blocks_for(count), 1, KB_THREADS, 0, b->gpu,
              b->lanes.at + b->now + g * KB_GROUP, grids, count, row_of, bits, b->packed.at);
    return send(b, count, bits, out);
}

kb_device_result kb_bundle_tuples(kb_gpu_bins *b, int bits, void *out) {
    const kb_numbering *n = &b->numbering;
    size_t groups = (b->lanes_now + KB_GROUP - 1) / KB_GROUP;
    KB_TRY(kb_gpu_reserve(b->gpu, b->rows * kb_id_row_bytes(bits), &b->packed));
    KB_LAUNCH(pack_tuples, kb_blocks_for(b->rows), 1, KB_THREADS, 0, b->gpu, n->slots, n->slot.at,
              b->rows, groups, bits, b->packed.at);
    return send(b, b->rows, bits, out);
}
