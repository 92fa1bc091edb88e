/*
 * sweeps.cu - see sweeps.cuh.
 *
 * Sums of doubles are made in the order of the CPU (sweeps/sweep_slices.c, core/sums.c): parts of
 * fixed size, each by one thread in order, and then the parts in order.
 */
#include "sweeps.cuh"
#include "slices.cuh"
#include "sweeps/sweep_math.h"

#include <new>
#include <string.h>

/* Rows of a part, as KB_SUM_ROWS, and of a piece of it. */
enum { SUM_ROWS = 2048, PIECE = 64, PANEL = KB_DEVICE_PANEL };
/* Sums of a block of bins: g (S - Lambda u), g g and (S - Lambda u)^2. */
enum { UP, OWN, SLOPE, BLOCK_SUMS };

struct kb_gpu_sweeps {
    kb_gpu *gpu;
    kb_gpu_bins *bins;
    kb_gpu_problem p;
    size_t N, D, P;
    kb_gpu_array<int32_t> r, before, h, last, v, share, g, kept_r, watched_r;
    kb_gpu_array<uint32_t> watch, bits;
    kb_gpu_array<double> u, products, residual, t, parts;
    kb_gpu_array<float> d, u_last, n, kept_u;
    kb_gpu_array<long long> S;
    kb_gpu_array<unsigned long long> squares;
};

/* A number for each column. */
template <class T> struct panel { T of[PANEL]; };

__device__ static inline size_t thread_of_all(void) {
    return (size_t)blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ static inline size_t all_threads(void) {
    return (size_t)gridDim.x * blockDim.x;
}

/* Where element e of an array stands; P is 1, 2, 4 or 8. */
__device__ static inline size_t row_of(size_t e, size_t P) {
    return P == 1 ? e : P == 2 ? e >> 1 : P == 4 ? e >> 2 : e >> 3;
}

__device__ static inline size_t column_of(size_t e, size_t P) {
    return e & (P - 1);
}

/* ---- a slice ----------------------------------------------------------- */

/* The weight of the samples of each bin. */
__global__ static void take_counts(const long long *S, size_t bins, double one, float *n) {
    for (size_t b = thread_of_all(); b < bins; b += all_threads())
        n[b] = (float)((double)S[b] * one);
}

/* The best change of every bin of a block of KB_SWEEP_BLOCK, and the sums over the block. */
__global__ static void find_steps(size_t P, size_t bins, double Lambda, const long long *S,
                                  const float *n, const double *u, const float *d, int32_t *g,
                                  double *products) {
    KB_DYNAMIC_SHARED(double, x); /* bins of a block x P, twice */
    double *step = x + KB_SWEEP_BLOCK * P;
    size_t first = (size_t)blockIdx.x * KB_SWEEP_BLOCK, rest = bins - first;
    size_t count = rest < KB_SWEEP_BLOCK ? rest : KB_SWEEP_BLOCK;
    for (size_t k = threadIdx.x; k < count * P; k += blockDim.x) {
        size_t e = first * P + k;
        double slope = kb_sweep_slope(S[e], Lambda, u[e], d[e]);
        double best = rint(slope * kb_sweep_inverse(n[row_of(e, P)], Lambda));
        g[e] = (int32_t)best;
        x[k] = slope;
        step[k] = best;
    }
    __syncthreads();
    for (size_t k = threadIdx.x; k < BLOCK_SUMS * P; k += blockDim.x) {
        size_t kind = row_of(k, P), c = column_of(k, P);
        const double *a = kind == SLOPE ? x : step, *b = kind == OWN ? step : x;
        double sum = 0;
        for (size_t j = 0; j < count; j++)
            sum += a[j * P + c] * b[j * P + c];
        products[blockIdx.x * BLOCK_SUMS * P + k] = sum;
    }
}

/* Adds up the blocks in order, to the gradient, and, unless t is NULL, to the length of the step of
 * each column; by one block. */
__global__ static void search_line(size_t P, size_t blocks, const double *products,
                                   unsigned long long *squares, double whole, double Lambda,
                                   double *residual, double *t) {
    __shared__ double piece[PIECE * BLOCK_SUMS * PANEL];
    __shared__ double total[BLOCK_SUMS * PANEL];
    size_t width = BLOCK_SUMS * P, k = threadIdx.x;
    double sum = k < width && row_of(k, P) == SLOPE ? residual[column_of(k, P)] : 0;
    for (size_t B = 0; B < blocks; B += PIECE) {
        size_t count = blocks - B < PIECE ? blocks - B : PIECE;
        for (size_t e = threadIdx.x; e < count * width; e += blockDim.x)
            piece[e] = products[B * width + e];
        __syncthreads();
        for (size_t j = 0; k < width && j < count; j++)
            sum += piece[j * width + k];
        __syncthreads();
    }
    if (k < width)
        total[k] = sum;
    __syncthreads();
    if (k >= P)
        return;
    residual[k] = total[SLOPE * P + k];
    if (!t)
        return;
    unsigned long long *a = squares + k * KB_SQUARE_PARTS;
    double square = kb_sweep_square(a[0], a[1], a[2]);
    t[k] = kb_sweep_length(total[UP * P + k], square, whole, Lambda, total[OWN * P + k]);
    a[0] = a[1] = a[2] = 0;
}

/* All bits of a block's threads, into *bits. */
__device__ static void note_bits(uint32_t mine, uint32_t *bits) {
    __shared__ uint32_t all;
    if (threadIdx.x == 0)
        all = 0;
    __syncthreads();
    atomicOr(&all, mine);
    __syncthreads();
    if (threadIdx.x == 0 && all)
        atomicOr(bits, all);
}

/* Residuals and weights take the step. */
__global__ static void take_step(size_t P, size_t N, size_t bins, const double *t, const int32_t *h,
                                 int32_t *r, const int32_t *share, int equal, int32_t *v,
                                 const int32_t *g, float *d, uint32_t *bits) {
    uint32_t mine = 0;
    for (size_t e = thread_of_all(); e < N * P; e += all_threads()) {
        int32_t now = kb_sweep_advance(t[column_of(e, P)], h[e], r[e]);
        r[e] = now;
        mine |= kb_sweep_bits(now);
        if (share)
            v[e] = kb_sweep_weighted(now, share[row_of(e, P)], equal);
    }
    for (size_t e = thread_of_all(); e < bins * P; e += all_threads())
        d[e] += (float)(t[column_of(e, P)] * g[e]);
    note_bits(mine, bits);
}

/* ---- all rows and bins ------------------------------------------------- */

/* The start: `before` and the weighted residuals from r. */
__global__ static void begin_rows(size_t P, size_t N, const int32_t *r, const int32_t *share,
                                  int equal, int32_t *before, int32_t *v) {
    for (size_t e = thread_of_all(); e < N * P; e += all_threads()) {
        before[e] = r[e];
        if (share)
            v[e] = kb_sweep_weighted(r[e], share[row_of(e, P)], equal);
    }
}

__global__ static void shift_rows(size_t P, size_t N, panel<int32_t> by, int32_t *r,
                                  const int32_t *share, int equal, int32_t *before, int32_t *v) {
    for (size_t e = thread_of_all(); e < N * P; e += all_threads()) {
        int32_t now = r[e] - by.of[column_of(e, P)];
        r[e] = before[e] = now;
        if (share)
            v[e] = kb_sweep_weighted(now, share[row_of(e, P)], equal);
    }
}

/* Sums of whole numbers over a part of the rows: block (part, column).  They fit 2^53, so that
 * their order does not matter. */
__global__ static void sum_parts(size_t P, size_t N, const int32_t *v, double *parts) {
    __shared__ long long room[KB_THREADS];
    size_t begin = (size_t)blockIdx.x * SUM_ROWS, c = blockIdx.y;
    size_t end = begin + SUM_ROWS < N ? begin + SUM_ROWS : N;
    long long sum = 0;
    for (size_t i = begin + threadIdx.x; i < end; i += blockDim.x)
        sum += v[i * P + c];
    room[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            room[threadIdx.x] += room[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        parts[blockIdx.x * P + c] = (double)room[0];
}

/* The sums of the span over a part of the rows, column after column; each by one thread. */
__global__ static void span_of_rows(size_t P, size_t N, const int32_t *before, const int32_t *r,
                                    const int32_t *last, const int32_t *share, double *parts) {
    __shared__ int32_t of_before[PIECE * PANEL], of_r[PIECE * PANEL], of_last[PIECE * PANEL];
    __shared__ double weight[PIECE];
    const double whole = 1 / (double)(1 << KB_SHARE_BITS);
    size_t begin = (size_t)blockIdx.x * SUM_ROWS, k = threadIdx.x, width = KB_SPAN_SUMS * P;
    size_t end = begin + SUM_ROWS < N ? begin + SUM_ROWS : N;
    double sum[2] = {0, 0}; /* of so many numbers at most, for KB_THREADS of 32 */
    for (size_t i = begin; i < end; i += PIECE) {
        size_t count = end - i < PIECE ? end - i : PIECE;
        for (size_t e = threadIdx.x; e < count * P; e += blockDim.x) {
            of_before[e] = before[i * P + e];
            of_r[e] = r[i * P + e];
            of_last[e] = last[i * P + e];
        }
        for (size_t j = threadIdx.x; j < count; j += blockDim.x)
            weight[j] = share ? share[i + j] * whole : 1;
        __syncthreads();
        for (size_t m = 0; k + m * blockDim.x < width && m < 2; m++) {
            size_t at = k + m * blockDim.x, c = at / KB_SPAN_SUMS;
            for (size_t j = 0; j < count; j++)
                sum[m] += kb_span_of_row((int)(at % KB_SPAN_SUMS), weight[j], of_before[j * P + c],
                                         of_r[j * P + c], of_last[j * P + c]);
        }
        __syncthreads();
    }
    for (size_t m = 0; k + m * blockDim.x < width && m < 2; m++)
        parts[blockIdx.x * width + k + m * blockDim.x] = sum[m];
}

__global__ static void span_of_bins(size_t P, size_t D, double Lambda, const double *u,
                                    const float *d, const float *u_last, double *parts) {
    __shared__ double of_u[PIECE * PANEL];
    __shared__ float of_d[PIECE * PANEL], of_last[PIECE * PANEL];
    size_t begin = (size_t)blockIdx.x * SUM_ROWS, k = threadIdx.x, width = KB_SPAN_SUMS * P;
    size_t end = begin + SUM_ROWS < D ? begin + SUM_ROWS : D;
    double sum[2] = {0, 0};
    for (size_t i = begin; i < end; i += PIECE) {
        size_t count = end - i < PIECE ? end - i : PIECE;
        for (size_t e = threadIdx.x; e < count * P; e += blockDim.x) {
            of_u[e] = u[i * P + e];
            of_d[e] = d[i * P + e];
            of_last[e] = u_last[i * P + e];
        }
        __syncthreads();
        for (size_t m = 0; k + m * blockDim.x < width && m < 2; m++) {
            size_t at = k + m * blockDim.x, c = at / KB_SPAN_SUMS;
            for (size_t j = 0; j < count; j++)
                sum[m] += kb_span_of_bin((int)(at % KB_SPAN_SUMS), Lambda, of_u[j * P + c],
                                         of_d[j * P + c], of_last[j * P + c]);
        }
        __syncthreads();
    }
    for (size_t m = 0; k + m * blockDim.x < width && m < 2; m++)
        parts[blockIdx.x * width + k + m * blockDim.x] = sum[m];
}

__global__ static void combine_rows(size_t P, size_t N, panel<double> of_move,
                                    panel<double> of_last, int32_t *before, int32_t *r,
                                    int32_t *last, const int32_t *share, int equal, int32_t *v,
                                    uint32_t *bits) {
    uint32_t mine = 0;
    for (size_t e = thread_of_all(); e < N * P; e += all_threads()) {
        int32_t move = kb_combined_row(of_move.of[column_of(e, P)], of_last.of[column_of(e, P)],
                                       before[e], r[e], last[e]);
        int32_t now = before[e] - move;
        last[e] = move;
        r[e] = before[e] = now;
        mine |= kb_sweep_size(now);
        if (share)
            v[e] = kb_sweep_weighted(now, share[row_of(e, P)], equal);
    }
    note_bits(mine, bits);
}

__global__ static void combine_bins(size_t P, size_t D, panel<double> of_move,
                                    panel<double> of_last, double *u, float *d, float *u_last) {
    for (size_t e = thread_of_all(); e < D * P; e += all_threads()) {
        float move = kb_combined_bin(of_move.of[column_of(e, P)], of_last.of[column_of(e, P)], d[e],
                                     u_last[e]);
        u_last[e] = move;
        u[e] += (double)move;
        d[e] = 0;
    }
}

__global__ static void take_watched(size_t P, size_t count, const uint32_t *row, const int32_t *r,
                                    int32_t *out) {
    for (size_t e = thread_of_all(); e < count * P; e += all_threads())
        out[e] = r[row[row_of(e, P)] * P + column_of(e, P)];
}

__global__ static void to_floats(size_t count, const double *from, float *to) {
    for (size_t e = thread_of_all(); e < count; e += all_threads())
        to[e] = (float)from[e];
}

__global__ static void to_doubles(size_t count, const float *from, double *to) {
    for (size_t e = thread_of_all(); e < count; e += all_threads())
        to[e] = (double)from[e];
}

/* ---- making and ending a run ------------------------------------------- */

/* The grids of a slice, and its bins. */
struct slice {
    const kb_gpu_lane *here, *there;
    size_t lanes, first, bins;
};

static size_t slices_of(const kb_gpu_sweeps *s) {
    return (s->bins->grids + KB_SLICE - 1) / KB_SLICE;
}

static slice slice_of(const kb_gpu_sweeps *s, size_t k) {
    size_t most = KB_SLICE, grid = k * most, rest = s->bins->grids - grid;
    size_t lanes = rest < most ? rest : most;
    const kb_gpu_lane *here = s->bins->lane + grid, *last = here + lanes - 1;
    return slice{here, s->bins->lanes.at + grid, lanes, here->start,
                 last->start + last->bins - here->start};
}

static size_t blocks_of(size_t bins) {
    return (bins + KB_SWEEP_BLOCK - 1) / KB_SWEEP_BLOCK;
}

static size_t parts_of(size_t rows) {
    return (rows + SUM_ROWS - 1) / SUM_ROWS;
}

double kb_gpu_sweeps_bytes(size_t rows, size_t bins, size_t columns) {
    double P = (double)columns;
    return (double)rows * (4 + 24 * P) + (double)bins * (4 + 24 * P) + 1e6;
}

static kb_device_result allocate(kb_gpu_sweeps *s) {
    kb_gpu *gpu = s->gpu;
    size_t rows = s->N * s->P, bins = s->D * s->P, most = 0;
    for (size_t k = 0; k < slices_of(s); k++) {
        slice at = slice_of(s, k);
        most = at.bins > most ? at.bins : most;
    }
    KB_TRY(kb_gpu_reserve(gpu, rows, &s->r));
    KB_TRY(kb_gpu_reserve(gpu, rows, &s->before));
    KB_TRY(kb_gpu_reserve(gpu, rows, &s->h));
    KB_TRY(kb_gpu_reserve(gpu, rows, &s->last));
    KB_TRY(kb_gpu_reserve(gpu, bins, &s->u));
    KB_TRY(kb_gpu_reserve(gpu, bins, &s->d));
    KB_TRY(kb_gpu_reserve(gpu, bins, &s->u_last));
    KB_TRY(kb_gpu_reserve(gpu, s->D, &s->n));
    KB_TRY(kb_gpu_reserve(gpu, most * s->P, &s->S));
    KB_TRY(kb_gpu_reserve(gpu, most * s->P, &s->g));
    KB_TRY(kb_gpu_reserve(gpu, blocks_of(most) * BLOCK_SUMS * s->P, &s->products));
    KB_TRY(kb_gpu_reserve(gpu, PANEL, &s->residual));
    KB_TRY(kb_gpu_reserve(gpu, PANEL, &s->t));
    KB_TRY(kb_gpu_reserve(gpu, PANEL * KB_SQUARE_PARTS, &s->squares));
    KB_TRY(kb_gpu_reserve(gpu, 1, &s->bits));
    size_t parts = parts_of(s->N > s->D ? s->N : s->D);
    KB_TRY(kb_gpu_reserve(gpu, parts * KB_SPAN_SUMS * s->P, &s->parts));
    if (s->p.share) {
        KB_TRY(kb_gpu_reserve(gpu, s->N, &s->share));
        KB_TRY(kb_gpu_reserve(gpu, rows, &s->v));
    }
    if (s->p.watched) {
        KB_TRY(kb_gpu_reserve(gpu, s->p.watched, &s->watch));
        KB_TRY(kb_gpu_reserve(gpu, s->p.watched * s->P, &s->watched_r));
    }
    if (s->p.keeps) {
        KB_TRY(kb_gpu_reserve(gpu, rows, &s->kept_r));
        KB_TRY(kb_gpu_reserve(gpu, bins, &s->kept_u));
    }
    return KB_DEVICE_OK;
}

/* Zeros, the weights of the samples, and of the bins. */
static kb_device_result begin(kb_gpu_sweeps *s) {
    kb_gpu *gpu = s->gpu;
    size_t bins = s->D * s->P;
    double one = s->p.share ? 1 / (double)(1 << KB_SHARE_BITS) : 1;
    KB_TRY(kb_gpu_fill(gpu, 0, s->N * s->P, s->last.at));
    KB_TRY(kb_gpu_fill(gpu, 0, bins, s->u.at));
    KB_TRY(kb_gpu_fill(gpu, 0, bins, s->d.at));
    KB_TRY(kb_gpu_fill(gpu, 0, bins, s->u_last.at));
    KB_TRY(kb_gpu_fill(gpu, 0, PANEL * KB_SQUARE_PARTS, s->squares.at));
    KB_TRY(kb_gpu_fill(gpu, 0, 1, s->bits.at));
    if (s->p.share)
        KB_TRY(kb_gpu_put(gpu, s->p.share, s->N, s->share.at));
    if (s->p.watched)
        KB_TRY(kb_gpu_put(gpu, s->p.watch, s->p.watched, s->watch.at));
    for (size_t k = 0; k < slices_of(s); k++) {
        slice at = slice_of(s, k);
        KB_TRY(kb_sum_by_bins(gpu, at.there, at.here, at.lanes, s->N, 1, s->share.at, s->S.at));
        KB_LAUNCH(take_counts, kb_blocks_filling(gpu, at.bins), 1, KB_THREADS, 0, gpu, s->S.at,
                  at.bins, one, s->n.at + at.first);
    }
    return kb_gpu_launched(gpu, "count samples");
}

kb_device_result kb_sweeps_create(kb_gpu_bins *bins, const kb_gpu_problem *problem,
                                  kb_gpu_sweeps **out) {
    kb_gpu_sweeps *s = new (std::nothrow) kb_gpu_sweeps();
    *out = NULL;
    if (!s)
        return KB_DEVICE_MEMORY;
    const kb_gpu_lane *last = bins->lane + bins->grids - 1;
    s->gpu = bins->gpu;
    s->bins = bins;
    s->p = *problem;
    s->N = bins->rows;
    s->D = last->start + last->bins;
    s->P = problem->columns;
    kb_device_result result = allocate(s);
    if (result == KB_DEVICE_OK)
        result = begin(s);
    if (result != KB_DEVICE_OK) {
        kb_sweeps_free(s);
        return result;
    }
    *out = s;
    return KB_DEVICE_OK;
}

void kb_sweeps_free(kb_gpu_sweeps *s) {
    if (!s)
        return;
    kb_gpu_array<int32_t> *ints[] = {&s->r,     &s->before, &s->h,      &s->last,     &s->v,
                                     &s->share, &s->g,      &s->kept_r, &s->watched_r};
    kb_gpu_array<double> *doubles[] = {&s->u, &s->products, &s->residual, &s->t, &s->parts};
    kb_gpu_array<float> *floats[] = {&s->d, &s->u_last, &s->n, &s->kept_u};
    for (kb_gpu_array<int32_t> *a : ints)
        kb_gpu_release(a);
    for (kb_gpu_array<double> *a : doubles)
        kb_gpu_release(a);
    for (kb_gpu_array<float> *a : floats)
        kb_gpu_release(a);
    kb_gpu_release(&s->watch);
    kb_gpu_release(&s->bits);
    kb_gpu_release(&s->S);
    kb_gpu_release(&s->squares);
    delete s;
}

/* ---- the steps --------------------------------------------------------- */

/* What is summed over the bins. */
static const int32_t *summed(const kb_gpu_sweeps *s) {
    return s->p.share ? s->v.at : s->r.at;
}

kb_device_result kb_sweeps_load(kb_gpu_sweeps *s, const int32_t *r, const double *u) {
    KB_TRY(kb_gpu_put(s->gpu, r, s->N * s->P, s->r.at));
    if (u)
        KB_TRY(kb_gpu_put(s->gpu, u, s->D * s->P, s->u.at));
    KB_LAUNCH(begin_rows, kb_blocks_filling(s->gpu, s->N * s->P), 1, KB_THREADS, 0, s->gpu, s->P,
              s->N, s->r.at, s->share.at, s->p.equal, s->before.at, s->v.at);
    return kb_gpu_launched(s->gpu, "load");
}

kb_device_result kb_sweeps_sum(kb_gpu_sweeps *s, double *parts) {
    KB_LAUNCH(sum_parts, parts_of(s->N), s->P, KB_THREADS, 0, s->gpu, s->P, s->N, summed(s),
              s->parts.at);
    KB_TRY(kb_gpu_launched(s->gpu, "sum"));
    return kb_gpu_get(s->gpu, s->parts.at, parts_of(s->N) * s->P, parts);
}

kb_device_result kb_sweeps_shift(kb_gpu_sweeps *s, const int32_t *by) {
    panel<int32_t> all = {};
    memcpy(all.of, by, s->P * sizeof *by);
    KB_LAUNCH(shift_rows, kb_blocks_filling(s->gpu, s->N * s->P), 1, KB_THREADS, 0, s->gpu, s->P,
              s->N, all, s->r.at, s->share.at, s->p.equal, s->before.at, s->v.at);
    return kb_gpu_launched(s->gpu, "shift");
}

/* Sums of a slice, and the best change of its bins. */
static kb_device_result steps_of_slice(kb_gpu_sweeps *s, const slice &at) {
    size_t P = s->P, shared = 2 * KB_SWEEP_BLOCK * P * sizeof(double);
    KB_TRY(kb_sum_by_bins(s->gpu, at.there, at.here, at.lanes, s->N, P, summed(s), s->S.at));
    KB_LAUNCH(find_steps, blocks_of(at.bins), 1, KB_THREADS, shared, s->gpu, P, at.bins,
              s->p.Lambda, s->S.at, s->n.at + at.first, s->u.at + at.first * P,
              s->d.at + at.first * P, s->g.at, s->products.at);
    return kb_gpu_launched(s->gpu, "find steps");
}

static void add_up(kb_gpu_sweeps *s, const slice &at, double *t) {
    KB_LAUNCH(search_line, 1, 1, KB_THREADS, 0, s->gpu, s->P, blocks_of(at.bins), s->products.at,
              s->squares.at, s->p.whole, s->p.Lambda, s->residual.at, t);
}

static kb_device_result step(kb_gpu_sweeps *s, const slice &at) {
    size_t P = s->P, cells = s->N > at.bins ? s->N * P : at.bins * P;
    KB_TRY(steps_of_slice(s, at));
    KB_TRY(kb_spread(s->gpu, at.there, at.here, at.lanes, s->N, P, s->g.at, s->share.at, s->p.equal,
                     s->h.at, s->squares.at));
    add_up(s, at, s->t.at);
    KB_LAUNCH(take_step, kb_blocks_filling(s->gpu, cells), 1, KB_THREADS, 0, s->gpu, P, s->N,
              at.bins, s->t.at, s->h.at, s->r.at, s->share.at, s->p.equal, s->v.at, s->g.at,
              s->d.at + at.first * P, s->bits.at);
    return kb_gpu_launched(s->gpu, "take step");
}

kb_device_result kb_sweeps_sweep(kb_gpu_sweeps *s, int backward, double *gradient, uint32_t *bits) {
    size_t count = slices_of(s);
    KB_TRY(kb_gpu_fill(s->gpu, 0, PANEL, s->residual.at));
    for (size_t k = 0; k < count; k++)
        KB_TRY(step(s, slice_of(s, backward ? count - 1 - k : k)));
    KB_TRY(kb_gpu_get(s->gpu, s->residual.at, s->P, gradient));
    return kb_gpu_get(s->gpu, s->bits.at, 1, bits);
}

kb_device_result kb_sweeps_slopes(kb_gpu_sweeps *s, double *gradient) {
    KB_TRY(kb_gpu_fill(s->gpu, 0, PANEL, s->residual.at));
    for (size_t k = 0; k < slices_of(s); k++) {
        slice at = slice_of(s, k);
        KB_TRY(steps_of_slice(s, at));
        add_up(s, at, NULL);
    }
    KB_TRY(kb_gpu_launched(s->gpu, "slopes"));
    return kb_gpu_get(s->gpu, s->residual.at, s->P, gradient);
}

kb_device_result kb_sweeps_span(kb_gpu_sweeps *s, double *row_parts, double *bin_parts) {
    size_t width = KB_SPAN_SUMS * s->P;
    KB_LAUNCH(span_of_rows, parts_of(s->N), 1, KB_THREADS, 0, s->gpu, s->P, s->N, s->before.at,
              s->r.at, s->last.at, s->share.at, s->parts.at);
    KB_TRY(kb_gpu_launched(s->gpu, "span of rows"));
    KB_TRY(kb_gpu_get(s->gpu, s->parts.at, parts_of(s->N) * width, row_parts));
    KB_LAUNCH(span_of_bins, parts_of(s->D), 1, KB_THREADS, 0, s->gpu, s->P, s->D, s->p.Lambda,
              s->u.at, s->d.at, s->u_last.at, s->parts.at);
    KB_TRY(kb_gpu_launched(s->gpu, "span of bins"));
    return kb_gpu_get(s->gpu, s->parts.at, parts_of(s->D) * width, bin_parts);
}

kb_device_result kb_sweeps_combine(kb_gpu_sweeps *s, const double *of_move, const double *of_last,
                                   uint32_t *bits) {
    panel<double> move = {}, last = {};
    memcpy(move.of, of_move, s->P * sizeof *of_move);
    memcpy(last.of, of_last, s->P * sizeof *of_last);
    KB_LAUNCH(combine_rows, kb_blocks_filling(s->gpu, s->N * s->P), 1, KB_THREADS, 0, s->gpu, s->P,
              s->N, move, last, s->before.at, s->r.at, s->last.at, s->share.at, s->p.equal, s->v.at,
              s->bits.at);
    KB_LAUNCH(combine_bins, kb_blocks_filling(s->gpu, s->D * s->P), 1, KB_THREADS, 0, s->gpu, s->P,
              s->D, move, last, s->u.at, s->d.at, s->u_last.at);
    KB_TRY(kb_gpu_launched(s->gpu, "combine"));
    return kb_gpu_get(s->gpu, s->bits.at, 1, bits);
}

kb_device_result kb_sweeps_watched(kb_gpu_sweeps *s, int32_t *r) {
    KB_LAUNCH(take_watched, kb_blocks_filling(s->gpu, s->p.watched * s->P), 1, KB_THREADS, 0,
              s->gpu, s->P, s->p.watched, s->watch.at, s->r.at, s->watched_r.at);
    KB_TRY(kb_gpu_launched(s->gpu, "watch"));
    return kb_gpu_get(s->gpu, s->watched_r.at, s->p.watched * s->P, r);
}

kb_device_result kb_sweeps_keep(kb_gpu_sweeps *s) {
    size_t bins = s->D * s->P;
    KB_TRY(kb_gpu_copy(s->gpu, s->r.at, s->N * s->P, s->kept_r.at));
    KB_LAUNCH(to_floats, kb_blocks_filling(s->gpu, bins), 1, KB_THREADS, 0, s->gpu, bins, s->u.at,
              s->kept_u.at);
    return kb_gpu_launched(s->gpu, "keep");
}

kb_device_result kb_sweeps_go_back(kb_gpu_sweeps *s) {
    size_t bins = s->D * s->P;
    KB_TRY(kb_gpu_copy(s->gpu, s->kept_r.at, s->N * s->P, s->r.at));
    KB_LAUNCH(to_doubles, kb_blocks_filling(s->gpu, bins), 1, KB_THREADS, 0, s->gpu, bins,
              s->kept_u.at, s->u.at);
    return kb_gpu_launched(s->gpu, "go back");
}

kb_device_result kb_sweeps_fetch(kb_gpu_sweeps *s, int32_t *r, double *u) {
    KB_TRY(kb_gpu_get(s->gpu, s->r.at, s->N * s->P, r));
    return kb_gpu_get(s->gpu, s->u.at, s->D * s->P, u);
}
