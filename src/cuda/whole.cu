/*
 * whole.cu - see whole.cuh.
 *
 * The same steps as joined/joined_operator.c, a slice of grids at a time: rows in units, summed by
 * bins; the sums as numbers, with their squares added up in blocks; then these in units of their
 * own, spread to the rows.
 */
#include "whole.cuh"
#include "joined/halves.h"
#include "slices.cuh"

#include <stdlib.h>
#include <string.h>

/* Columns at a time, each as two halves; bins whose squares one thread adds up. */
enum { MOST = KB_DEVICE_PANEL / 2, BLOCK = 256 };

/* A number for each column. */
struct of_columns {
    double of[MOST];
};

/* A panel of columns, there and here. */
struct whole {
    kb_gpu_bins *b;
    size_t N, C, first, used, P; /* P: `used`, and zeros up to 1, 2 or 4 */
    double value;
    kb_gpu_array<double> v, out; /* rows x P */
    kb_gpu_array<int32_t> in;    /* rows x P x 2 */
    kb_gpu_array<long long> S;   /* bins of a slice x P x 2 */
    kb_gpu_array<double> x;      /* bins of a slice x P: their sums */
    kb_gpu_array<int32_t> step;  /* the same in units, two halves each */
    kb_gpu_array<double> told;   /* blocks x {squares, largest} x P */
    kb_gpu_array<unsigned long long> largest;
    double *rows, *of_slice, *of_blocks; /* copies here */
    double unit[MOST];
};

/* ---- kernels ----------------------------------------------------------- */

/* Bits of numbers that are not negative are in their order. */
__device__ static inline unsigned long long bits_of(double x) {
    unsigned long long bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* The largest size of a column, blockIdx.y; infinity where one is no number. */
__global__ static void find_largest(size_t P, size_t rows, const double *v,
                                    unsigned long long *largest) {
    __shared__ unsigned long long most;
    size_t stride = (size_t)gridDim.x * blockDim.x, c = blockIdx.y;
    double mine = 0;
    if (threadIdx.x == 0)
        most = 0;
    __syncthreads();
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < rows; i += stride) {
        double size = fabs(v[i * P + c]);
        if (!(size <= mine))
            mine = size == size ? size : (double)INFINITY;
    }
    atomicMax(&most, bits_of(mine));
    __syncthreads();
    if (threadIdx.x == 0)
        atomicMax(largest + c, most);
}

__global__ static void take_rows(size_t P, size_t rows, const double *v, of_columns per,
                                 int32_t *in) {
    size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t e = (size_t)blockIdx.x * blockDim.x + threadIdx.x; e < rows * P; e += stride) {
        double p = per.of[e & (P - 1)];
        kb_halves_split(p > 0 ? kb_halves_whole(v[e], p) : 0, in + e * 2);
    }
}

/* The sums of a block of bins as numbers, their squares and the largest size. */
__global__ static void take_sums(size_t P, size_t bins, const long long *S, of_columns unit,
                                 double value, double *x, double *told) {
    __shared__ double here[BLOCK * MOST];
    size_t first = (size_t)blockIdx.x * BLOCK, rest = bins - first;
    size_t count = rest < BLOCK ? rest : (size_t)BLOCK;
    for (size_t k = threadIdx.x; k < count * P; k += blockDim.x) {
        size_t e = first * P + k;
        int64_t sum[2] = {S[e * 2], S[e * 2 + 1]};
        here[k] = x[e] = kb_halves_value(sum) * unit.of[k & (P - 1)] * value;
    }
    __syncthreads();
    if (threadIdx.x >= P)
        return;
    double square = 0, most = 0;
    for (size_t b = 0; b < count; b++) {
        double y = here[b * P + threadIdx.x];
        square += y * y;
        most = fmax(most, fabs(y));
    }
    told[blockIdx.x * 2 * P + threadIdx.x] = square;
    told[(blockIdx.x * 2 + 1) * P + threadIdx.x] = most;
}

__global__ static void take_steps(size_t P, size_t bins, const double *x, of_columns per,
                                  int32_t *step) {
    size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t e = (size_t)blockIdx.x * blockDim.x + threadIdx.x; e < bins * P; e += stride) {
        double p = per.of[e & (P - 1)];
        kb_halves_split(kb_halves_whole(p > 0 ? x[e] : 0, p), step + e * 2);
    }
}

/* Adds the share of a slice to the rows. */
template <int P>
__global__ static void add_slice(const kb_gpu_lane *lanes, int count, size_t rows, size_t first,
                                 const int32_t *step, of_columns unit, double value, int begins,
                                 double *out) {
    size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < rows; i += stride) {
        int32_t half[2 * P];
        for (int k = 0; k < 2 * P; k++)
            half[k] = 0;
        for (int k = 0; k < count; k++) {
            kb_gpu_lane lane = lanes[k];
            const int32_t *at = step + (lane.start - first + kb_lane_id(lane, i)) * 2 * P;
            for (int m = 0; m < 2 * P; m++)
                half[m] += at[m];
        }
        for (int c = 0; c < P; c++) {
            double *to = out + i * P + c;
            *to = (begins ? 0 : *to) + (double)kb_halves_join(half + 2 * c) * unit.of[c] * value;
        }
    }
}

/* ---- a panel ----------------------------------------------------------- */

static size_t first_of(const kb_gpu_bins *b, size_t grid) {
    return b->lane[grid].start;
}

/* The bins of the grids from `grid` on that make a slice, and how many these are. */
static size_t bins_of(const kb_gpu_bins *b, size_t grid, size_t *lanes) {
    size_t most = KB_SLICE, rest = b->grids - grid;
    *lanes = rest < most ? rest : most;
    const kb_gpu_lane *last = b->lane + grid + *lanes - 1;
    return last->start + last->bins - first_of(b, grid);
}

static size_t blocks_of(size_t bins) {
    return (bins + BLOCK - 1) / BLOCK;
}

static kb_device_result allocate(whole *w) {
    kb_gpu *gpu = w->b->gpu;
    size_t most = 0, lanes, cells = w->N * w->P;
    for (size_t grid = 0; grid < w->b->grids; grid += KB_SLICE) {
        size_t bins = bins_of(w->b, grid, &lanes);
        most = bins > most ? bins : most;
    }
    KB_TRY(kb_gpu_reserve(gpu, cells, &w->v));
    KB_TRY(kb_gpu_reserve(gpu, cells, &w->out));
    KB_TRY(kb_gpu_reserve(gpu, 2 * cells, &w->in));
    KB_TRY(kb_gpu_reserve(gpu, 2 * most * w->P, &w->S));
    KB_TRY(kb_gpu_reserve(gpu, most * w->P, &w->x));
    KB_TRY(kb_gpu_reserve(gpu, 2 * most * w->P, &w->step));
    KB_TRY(kb_gpu_reserve(gpu, 2 * blocks_of(most) * w->P, &w->told));
    KB_TRY(kb_gpu_reserve(gpu, MOST, &w->largest));
    w->rows = (double *)malloc(cells * sizeof(double));
    w->of_slice = (double *)malloc(most * w->P * sizeof(double));
    w->of_blocks = (double *)malloc(2 * blocks_of(most) * w->P * sizeof(double));
    return w->rows && w->of_slice && w->of_blocks ? KB_DEVICE_OK : KB_DEVICE_MEMORY;
}

static void release(whole *w) {
    kb_gpu_release(&w->v);
    kb_gpu_release(&w->out);
    kb_gpu_release(&w->in);
    kb_gpu_release(&w->S);
    kb_gpu_release(&w->x);
    kb_gpu_release(&w->step);
    kb_gpu_release(&w->told);
    kb_gpu_release(&w->largest);
    free(w->rows);
    free(w->of_slice);
    free(w->of_blocks);
}

/* The rows in units; those of columns that are not there are 0. */
static kb_device_result put_rows(whole *w, const double *v) {
    kb_gpu *gpu = w->b->gpu;
    unsigned long long largest[MOST] = {0};
    of_columns per = {};
    for (size_t e = 0; e < w->N * w->P; e++) {
        size_t i = e / w->P, c = e % w->P;
        w->rows[e] = c < w->used ? v[i * w->C + w->first + c] : 0;
    }
    KB_TRY(kb_gpu_put(gpu, w->rows, w->N * w->P, w->v.at));
    KB_TRY(kb_gpu_fill(gpu, 0, MOST, w->largest.at));
    KB_LAUNCH(find_largest, kb_blocks_filling(gpu, w->N), w->P, KB_THREADS, 0, gpu, w->P, w->N,
              w->v.at, w->largest.at);
    KB_TRY(kb_gpu_launched(gpu, "find largest"));
    KB_TRY(kb_gpu_get(gpu, w->largest.at, MOST, largest));
    for (size_t c = 0; c < w->P; c++) {
        double most;
        memcpy(&most, &largest[c], sizeof most);
        w->unit[c] = kb_halves_unit(most, KB_HALVES_BITS);
        per.of[c] = kb_halves_per_unit(w->unit[c]);
    }
    KB_LAUNCH(take_rows, kb_blocks_filling(gpu, w->N * w->P), 1, KB_THREADS, 0, gpu, w->P, w->N,
              w->v.at, per, w->in.at);
    return kb_gpu_launched(gpu, "take rows");
}

/* The sums of a slice to the caller, and the units in which they go back. */
static kb_device_result tell_sums(whole *w, size_t grid, size_t bins, double *of_bins,
                                  double *squares, double *unit) {
    kb_gpu *gpu = w->b->gpu;
    size_t P = w->P, blocks = blocks_of(bins);
    double most[MOST] = {0};
    KB_TRY(kb_gpu_get(gpu, w->told.at, blocks * 2 * P, w->of_blocks));
    for (size_t B = 0; B < blocks; B++)
        for (size_t c = 0; c < w->used; c++) {
            if (squares)
                squares[w->first + c] += w->of_blocks[B * 2 * P + c];
            most[c] = fmax(most[c], w->of_blocks[(B * 2 + 1) * P + c]);
        }
    for (size_t c = 0; c < MOST; c++)
        unit[c] = kb_halves_unit(most[c], KB_HALVES_BITS);
    if (!of_bins)
        return KB_DEVICE_OK;
    KB_TRY(kb_gpu_get(gpu, w->x.at, bins * P, w->of_slice));
    for (size_t b = 0; b < bins; b++)
        for (size_t c = 0; c < w->used; c++)
            of_bins[(first_of(w->b, grid) + b) * w->C + w->first + c] = w->of_slice[b * P + c];
    return KB_DEVICE_OK;
}

static kb_device_result spread(whole *w, size_t grid, size_t lanes, size_t bins,
                               const double *unit) {
    kb_gpu *gpu = w->b->gpu;
    size_t blocks = kb_blocks_filling(gpu, w->N), first = first_of(w->b, grid);
    const kb_gpu_lane *there = w->b->lanes.at + grid;
    of_columns per = {}, units = {};
    for (size_t c = 0; c < w->used; c++) {
        per.of[c] = kb_halves_per_unit(unit[c]);
        units.of[c] = unit[c];
    }
    KB_LAUNCH(take_steps, kb_blocks_filling(gpu, bins * w->P), 1, KB_THREADS, 0, gpu, w->P, bins,
              w->x.at, per, w->step.at);
    if (w->P == 1)
        KB_LAUNCH(add_slice<1>, blocks, 1, KB_THREADS, 0, gpu, there, (int)lanes, w->N, first,
                  w->step.at, units, w->value, grid == 0, w->out.at);
    else if (w->P == 2)
        KB_LAUNCH(add_slice<2>, blocks, 1, KB_THREADS, 0, gpu, there, (int)lanes, w->N, first,
                  w->step.at, units, w->value, grid == 0, w->out.at);
    else
        KB_LAUNCH(add_slice<4>, blocks, 1, KB_THREADS, 0, gpu, there, (int)lanes, w->N, first,
                  w->step.at, units, w->value, grid == 0, w->out.at);
    return kb_gpu_launched(gpu, "add slice");
}

static kb_device_result multiply(whole *w, const double *v, double *gram, double *of_bins,
                                 double *squares) {
    kb_gpu *gpu = w->b->gpu;
    of_columns unit = {};
    KB_TRY(allocate(w));
    KB_TRY(put_rows(w, v));
    memcpy(unit.of, w->unit, sizeof unit.of);
    for (size_t grid = 0, lanes; grid < w->b->grids; grid += lanes) {
        size_t bins = bins_of(w->b, grid, &lanes);
        double of_slice[MOST];
        KB_TRY(kb_sum_by_bins(gpu, w->b->lanes.at + grid, w->b->lane + grid, lanes, w->N, 2 * w->P,
                              w->in.at, w->S.at));
        KB_LAUNCH(take_sums, blocks_of(bins), 1, KB_THREADS, 0, gpu, w->P, bins, w->S.at, unit,
                  w->value, w->x.at, w->told.at);
        KB_TRY(kb_gpu_launched(gpu, "take sums"));
        KB_TRY(tell_sums(w, grid, bins, of_bins, squares, of_slice));
        if (gram)
            KB_TRY(spread(w, grid, lanes, bins, of_slice));
    }
    if (!gram)
        return KB_DEVICE_OK;
    KB_TRY(kb_gpu_get(gpu, w->out.at, w->N * w->P, w->rows));
    for (size_t i = 0; i < w->N; i++)
        for (size_t c = 0; c < w->used; c++)
            gram[i * w->C + w->first + c] = w->rows[i * w->P + c];
    return KB_DEVICE_OK;
}

/* Columns whose numbers left the range of doubles. */
static void fill_with_nan(const whole *w, double *gram, double *of_bins, double *squares) {
    const kb_gpu_lane *last = w->b->lane + w->b->grids - 1;
    size_t bins = last->start + last->bins;
    for (size_t c = 0; c < w->used; c++) {
        if (w->unit[c] == w->unit[c])
            continue;
        for (size_t i = 0; gram && i < w->N; i++)
            gram[i * w->C + w->first + c] = NAN;
        for (size_t b = 0; of_bins && b < bins; b++)
            of_bins[b * w->C + w->first + c] = NAN;
        if (squares)
            squares[w->first + c] = NAN;
    }
}

kb_device_result kb_bins_whole_products(kb_gpu_bins *b, size_t columns, size_t first, size_t used,
                                        double value, const double *v, double *gram,
                                        double *of_bins, double *squares) {
    whole w = {};
    w.b = b;
    w.N = b->rows;
    w.C = columns;
    w.first = first;
    w.used = used;
    w.P = used <= 2 ? used : (size_t)MOST;
    w.value = value;
    for (size_t c = 0; squares && c < used; c++)
        squares[first + c] = 0;
    kb_device_result result = multiply(&w, v, gram, of_bins, squares);
    if (result == KB_DEVICE_OK)
        fill_with_nan(&w, gram, of_bins, squares);
    release(&w);
    return result;
}
