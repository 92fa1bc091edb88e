/*
 * products.cu - see products.cuh.
 *
 * Z W has the sums of features/products.c: four grids of a group as ((0 + 1) + (2 + 3)), four
 * groups of a bundle with tuples likewise, and then one after the other.
 */
#include "products.cuh"
#include "simd/idgroup.h"

#include <string.h>

enum { PANEL = KB_DEVICE_PANEL, GROUPS = KB_DEVICE_BUNDLE / KB_DEVICE_GROUP };
/* Rows of a product at a time. */
enum { ROWS_AT_ONCE = 1 << 20 };

/* The sum of a row over the grids of a group. */
template <int COLUMNS>
__device__ static inline void sum_group(const kb_gpu_lane *lanes, size_t first, size_t grids,
                                        size_t i, const double *w, size_t columns, size_t c,
                                        double value, double *out) {
    double x[KB_GROUP][COLUMNS];
#pragma unroll
    for (int k = 0; k < KB_GROUP; k++) {
        size_t r = first + k;
        const double *at = NULL;
        if (r < grids)
            at = w + (lanes[r].start + kb_lane_id(lanes[r], i)) * columns + c;
#pragma unroll
        for (int e = 0; e < COLUMNS; e++)
            x[k][e] = at && c + e < columns ? at[e] * value : 0;
    }
#pragma unroll
    for (int e = 0; e < COLUMNS; e++)
        out[e] = (x[0][e] + x[1][e]) + (x[2][e] + x[3][e]);
}

/* blockIdx.y: the panel of columns.  Rows from `begin` on; out is that of the first of them. */
template <int COLUMNS>
__global__ static void times(const kb_gpu_lane *lanes, size_t grids, const uint8_t *has_tuples,
                             size_t begin, size_t rows, const double *w, size_t columns,
                             double value, double *out) {
    size_t n = (size_t)blockIdx.x * blockDim.x + threadIdx.x, c = (size_t)blockIdx.y * COLUMNS;
    double sum[COLUMNS], of[GROUPS][COLUMNS];
    if (n >= rows)
        return;
    for (int e = 0; e < COLUMNS; e++)
        sum[e] = 0;
    for (size_t first = 0; first < grids; first += KB_DEVICE_BUNDLE) {
        int tuples = has_tuples[first / KB_DEVICE_BUNDLE];
#pragma unroll
        for (int g = 0; g < GROUPS; g++) {
            size_t at = first + (size_t)g * KB_GROUP;
            if (at < grids || tuples) /* beyond the last grid: zeros */
                sum_group<COLUMNS>(lanes, at, grids, begin + n, w, columns, c, value, of[g]);
#pragma unroll
            for (int e = 0; e < COLUMNS; e++)
                if (!tuples && at < grids)
                    sum[e] = at == 0 ? of[g][e] : sum[e] + of[g][e];
        }
#pragma unroll
        for (int e = 0; e < COLUMNS; e++) {
            if (!tuples)
                continue;
            double all = (of[0][e] + of[1][e]) + (of[2][e] + of[3][e]);
            sum[e] = first == 0 ? all : sum[e] + all;
        }
    }
    for (int e = 0; e < COLUMNS; e++)
        if (c + e < columns)
            out[n * columns + c + e] = sum[e];
}

template <int COLUMNS>
static kb_device_result times_some(kb_gpu_bins *b, const uint8_t *has_tuples, size_t columns,
                                   double value, const double *w, size_t room, double *there,
                                   double *out) {
    for (size_t begin = 0, rows; begin < b->rows; begin += rows) {
        rows = b->rows - begin < room ? b->rows - begin : room;
        KB_LAUNCH(times<COLUMNS>, kb_blocks_for(rows), (columns + COLUMNS - 1) / COLUMNS,
                  KB_THREADS, 0, b->gpu, b->lanes.at, b->grids, has_tuples, begin, rows, w, columns,
                  value, there);
        KB_TRY(kb_gpu_launched(b->gpu, "times"));
        KB_TRY(kb_gpu_get(b->gpu, there, rows * columns, out + begin * columns));
    }
    return KB_DEVICE_OK;
}

/* What a product needs there. */
struct product {
    kb_gpu_array<double> w, out;
    kb_gpu_array<uint8_t> has_tuples;
};

static kb_device_result multiply(kb_gpu_bins *b, size_t columns, double value, const double *w,
                                 double *out, product *p) {
    kb_gpu *gpu = b->gpu;
    const kb_gpu_lane *last = b->lane + b->grids - 1;
    size_t cells = (last->start + last->bins) * columns;
    size_t room = b->rows < ROWS_AT_ONCE ? b->rows : (size_t)ROWS_AT_ONCE;
    KB_TRY(kb_gpu_reserve(gpu, cells, &p->w));
    KB_TRY(kb_gpu_put(gpu, w, cells, p->w.at));
    KB_TRY(kb_gpu_reserve(gpu, b->blocks, &p->has_tuples));
    for (size_t k = 0; k < b->blocks; k++) {
        uint8_t has = b->has_tuples[k] != 0;
        KB_TRY(kb_gpu_put(gpu, &has, 1, p->has_tuples.at + k));
    }
    KB_TRY(kb_gpu_reserve(gpu, room * columns, &p->out));
    if (columns == 1)
        return times_some<1>(b, p->has_tuples.at, columns, value, p->w.at, room, p->out.at, out);
    return times_some<4>(b, p->has_tuples.at, columns, value, p->w.at, room, p->out.at, out);
}

kb_device_result kb_bins_times(kb_gpu_bins *b, size_t columns, double value, const double *w,
                               double *out) {
    product p = {};
    kb_device_result result = multiply(b, columns, value, w, out, &p);
    kb_gpu_release(&p.w);
    kb_gpu_release(&p.out);
    kb_gpu_release(&p.has_tuples);
    return result;
}

/* ---- known bins -------------------------------------------------------- */

/* Blocks that CUDA takes in the second direction. */
enum { MOST_GRIDS = 65535 };

/* Marks the bins of the rows that fit; blockIdx.y is the grid. */
__global__ static void mark_bins(const kb_gpu_lane *lanes, size_t rows, const uint8_t *fits,
                                 uint8_t *mark) {
    size_t stride = (size_t)gridDim.x * blockDim.x;
    kb_gpu_lane lane = lanes[blockIdx.y];
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < rows; i += stride)
        if (fits[i])
            mark[lane.start + kb_lane_id(lane, i)] = 1;
}

__global__ static void count_marks(const kb_gpu_lane *lanes, size_t grids, size_t count,
                                   const uint32_t *row, const uint8_t *mark, uint32_t *known) {
    size_t h = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t sum = 0;
    if (h >= count)
        return;
    for (size_t r = 0; r < grids; r++)
        sum += mark[lanes[r].start + kb_lane_id(lanes[r], row[h])];
    known[h] = sum;
}

/* What counting needs there. */
struct counting {
    kb_gpu_array<uint8_t> fits, mark;
    kb_gpu_array<uint32_t> row, known;
};

static kb_device_result count(kb_gpu_bins *b, const uint8_t *fits, size_t count,
                              const uint32_t *row, uint32_t *known, counting *a) {
    kb_gpu *gpu = b->gpu;
    const kb_gpu_lane *last = b->lane + b->grids - 1;
    size_t bins = last->start + last->bins;
    KB_TRY(kb_gpu_reserve(gpu, b->rows, &a->fits));
    KB_TRY(kb_gpu_reserve(gpu, bins, &a->mark));
    KB_TRY(kb_gpu_reserve(gpu, count, &a->row));
    KB_TRY(kb_gpu_reserve(gpu, count, &a->known));
    KB_TRY(kb_gpu_put(gpu, fits, b->rows, a->fits.at));
    KB_TRY(kb_gpu_put(gpu, row, count, a->row.at));
    KB_TRY(kb_gpu_fill(gpu, 0, bins, a->mark.at));
    for (size_t r = 0; r < b->grids; r += MOST_GRIDS) {
        size_t some = b->grids - r < MOST_GRIDS ? b->grids - r : MOST_GRIDS;
        KB_LAUNCH(mark_bins, kb_blocks_filling(gpu, b->rows), some, KB_THREADS, 0, gpu,
                  b->lanes.at + r, b->rows, a->fits.at, a->mark.at);
        KB_TRY(kb_gpu_launched(gpu, "mark bins"));
    }
    KB_LAUNCH(count_marks, kb_blocks_for(count), 1, KB_THREADS, 0, gpu, b->lanes.at, b->grids,
              count, a->row.at, a->mark.at, a->known.at);
    KB_TRY(kb_gpu_launched(gpu, "count marks"));
    return kb_gpu_get(gpu, a->known.at, count, known);
}

kb_device_result kb_bins_count_known(kb_gpu_bins *b, const uint8_t *fits, size_t rows,
                                     const uint32_t *row, uint32_t *known) {
    counting a = {};
    if (rows == 0)
        return KB_DEVICE_OK;
    kb_device_result result = count(b, fits, rows, row, known, &a);
    kb_gpu_release(&a.fits);
    kb_gpu_release(&a.mark);
    kb_gpu_release(&a.row);
    kb_gpu_release(&a.known);
    return result;
}
