/*
 * slices.cu - see slices.cuh.
 *
 * A block sums some of the rows of one grid in its shared memory, and then adds what it has to the
 * sums of all.  A sum of 64 bits is two halves of 32, since shared memory adds those at once. Where
 * a grid has few bins they are there several times, so that fewer rows meet at one.  Where it has
 * more than the memory holds, the rows are added to the sums of all right away.  All of these are
 * whole numbers, so their order does not matter.
 */
#include "slices.cuh"

/* Cells, of 8 bytes, that copies of the bins of a grid may take. */
enum { COPIED_CELLS = 2048 };
/* Rows that a block has at least, and threads that a processor may have. */
enum { LEAST_ROWS = 2048, THREADS_A_PROCESSOR = 2048 };
/* Bytes of shared memory from which on a block is large. */
enum { LARGE = 32 << 10 };

/* x as two halves. */
__device__ static inline void add_halves(uint32_t *low, uint32_t *high, int32_t x) {
    uint32_t before = atomicAdd(low, (uint32_t)x);
    uint32_t carry = before + (uint32_t)x < before;
    uint32_t more = (uint32_t)(x >> 31) + carry;
    if (more)
        atomicAdd(high, more);
}

/* Block (x, y) has part x of the rows of lane y.  cells: that the shared memory holds. */
template <int COLUMNS>
__global__ static void sum_rows(const kb_gpu_lane *lanes, size_t rows, const int32_t *v,
                                size_t first, uint32_t cells, long long *sums) {
    KB_DYNAMIC_SHARED(uint32_t, low);
    kb_gpu_lane lane = lanes[blockIdx.y];
    size_t share = (rows + gridDim.x - 1) / gridDim.x, begin = blockIdx.x * share;
    size_t end = begin + share < rows ? begin + share : rows;
    size_t mine = (size_t)lane.bins * COLUMNS;
    long long *out = sums + (lane.start - first) * COLUMNS;
    if (mine > cells) {
        for (size_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
            long long *at = out + (size_t)kb_lane_id(lane, i) * COLUMNS;
            for (int c = 0; c < COLUMNS; c++)
                atomicAdd((unsigned long long *)at + c,
                          (unsigned long long)(long long)(v ? v[i * COLUMNS + c] : 1));
        }
        return;
    }
    unsigned copies = (unsigned)((cells < COPIED_CELLS ? cells : COPIED_CELLS) / mine);
    copies = copies < 1 ? 1 : copies > blockDim.x ? blockDim.x : copies;
    uint32_t *high = low + copies * mine;
    for (size_t k = threadIdx.x; k < 2 * copies * mine; k += blockDim.x)
        low[k] = 0;
    __syncthreads();
    size_t copy = threadIdx.x % copies * mine;
    for (size_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
        size_t at = copy + (size_t)kb_lane_id(lane, i) * COLUMNS;
        for (int c = 0; c < COLUMNS; c++)
            add_halves(low + at + c, high + at + c, v ? v[i * COLUMNS + c] : 1);
    }
    __syncthreads();
    for (size_t k = threadIdx.x; k < mine; k += blockDim.x) {
        unsigned long long sum = 0;
        for (unsigned m = 0; m < copies; m++)
            sum += (unsigned long long)high[m * mine + k] << 32 | low[m * mine + k];
        if (sum)
            atomicAdd((unsigned long long *)out + k, sum);
    }
}

static size_t columns_of(const kb_gpu_lane *lane, size_t lanes) {
    return lane[lanes - 1].start + lane[lanes - 1].bins - lane[0].start;
}

template <int COLUMNS>
static kb_device_result sum_by_bins(kb_gpu *gpu, const kb_gpu_lane *there, const kb_gpu_lane *here,
                                    size_t lanes, size_t rows, const int32_t *v, long long *sums) {
    size_t room = gpu->shared / 8, most = 0, bytes;
    for (size_t k = 0; k < lanes; k++) {
        size_t cells = (size_t)here[k].bins * COLUMNS;
        most = cells <= room && cells > most ? cells : most;
    }
    most = most && most < COPIED_CELLS ? (size_t)COPIED_CELLS : most;
    bytes = most * 8;
    /* Few blocks with much memory share a processor. */
    size_t threads = bytes > LARGE ? KB_MOST_THREADS : KB_THREADS;
    if (bytes > 48 << 10)
        KB_TRY(kb_gpu_check(gpu,
                            cudaFuncSetAttribute((const void *)sum_rows<COLUMNS>,
                                                 cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                 (int)bytes),
                            "shared memory"));
    size_t parts = ((size_t)gpu->processors * THREADS_A_PROCESSOR / threads + lanes - 1) / lanes;
    size_t enough = (rows + LEAST_ROWS - 1) / LEAST_ROWS;
    parts = parts < enough ? parts : enough ? enough : 1;
    KB_TRY(kb_gpu_fill(gpu, 0, columns_of(here, lanes) * COLUMNS, sums));
    KB_LAUNCH(sum_rows<COLUMNS>, parts, lanes, threads, bytes, gpu, there, rows, v, here->start,
              (uint32_t)most, sums);
    return kb_gpu_launched(gpu, "sum by bins");
}

kb_device_result kb_sum_by_bins(kb_gpu *gpu, const kb_gpu_lane *there, const kb_gpu_lane *here,
                                size_t lanes, size_t rows, size_t columns, const int32_t *v,
                                long long *sums) {
    return columns == 1   ? sum_by_bins<1>(gpu, there, here, lanes, rows, v, sums)
           : columns == 2 ? sum_by_bins<2>(gpu, there, here, lanes, rows, v, sums)
           : columns == 4 ? sum_by_bins<4>(gpu, there, here, lanes, rows, v, sums)
                          : sum_by_bins<8>(gpu, there, here, lanes, rows, v, sums);
}

/* The sum of a number of each thread, in the first one. */
__device__ static unsigned long long add_threads(unsigned long long *room, unsigned long long x) {
    room[threadIdx.x] = x;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            room[threadIdx.x] += room[threadIdx.x + half];
        __syncthreads();
    }
    x = room[0];
    __syncthreads();
    return x;
}

/* h h times a weight of up to 2^31, in parts. */
__device__ static inline void add_square(int32_t h, int32_t share, int plain,
                                         unsigned long long *sum) {
    const unsigned long long half = 0xffffffffu;
    unsigned long long x = (unsigned long long)((long long)h * h);
    if (plain) {
        sum[0] += share ? x & half : 0;
        sum[1] += share ? x >> 32 : 0;
        return;
    }
    unsigned long long a = (x & half) * (unsigned long long)share;
    unsigned long long b = (x >> 32) * (unsigned long long)share;
    sum[0] += a & half;
    sum[1] += (a >> 32) + (b & half);
    sum[2] += b >> 32;
}

template <int COLUMNS>
__global__ static void spread_rows(const kb_gpu_lane *lanes, int count, size_t rows, size_t first,
                                   const int32_t *g, const int32_t *share, int equal, int32_t *h,
                                   unsigned long long *squares) {
    __shared__ unsigned long long room[KB_THREADS];
    unsigned long long sum[COLUMNS * KB_SQUARE_PARTS];
    size_t stride = (size_t)gridDim.x * blockDim.x;
    for (int k = 0; k < COLUMNS * KB_SQUARE_PARTS; k++)
        sum[k] = 0;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < rows; i += stride) {
        int32_t of_row[COLUMNS];
        int32_t weight = share ? share[i] : 1;
        for (int c = 0; c < COLUMNS; c++)
            of_row[c] = 0;
        for (int k = 0; k < count; k++) {
            kb_gpu_lane lane = lanes[k];
            const int32_t *at = g + (lane.start - first + kb_lane_id(lane, i)) * COLUMNS;
            for (int c = 0; c < COLUMNS; c++)
                of_row[c] += at[c];
        }
        for (int c = 0; c < COLUMNS; c++) {
            h[i * COLUMNS + c] = of_row[c];
            add_square(of_row[c], weight, !share || equal, sum + c * KB_SQUARE_PARTS);
        }
    }
    for (int k = 0; k < COLUMNS * KB_SQUARE_PARTS; k++) {
        unsigned long long all = add_threads(room, sum[k]);
        if (threadIdx.x == 0 && all)
            atomicAdd(squares + k, all);
    }
}

template <int COLUMNS>
static void spread(kb_gpu *gpu, const kb_gpu_lane *there, const kb_gpu_lane *here, size_t lanes,
                   size_t rows, const int32_t *g, const int32_t *share, int equal, int32_t *h,
                   unsigned long long *squares) {
    KB_LAUNCH(spread_rows<COLUMNS>, kb_blocks_filling(gpu, rows), 1, KB_THREADS, 0, gpu, there,
              (int)lanes, rows, here->start, g, share, equal, h, squares);
}

kb_device_result kb_spread(kb_gpu *gpu, const kb_gpu_lane *there, const kb_gpu_lane *here,
                           size_t lanes, size_t rows, size_t columns, const int32_t *g,
                           const int32_t *share, int equal, int32_t *h,
                           unsigned long long *squares) {
    if (columns == 1)
        spread<1>(gpu, there, here, lanes, rows, g, share, equal, h, squares);
    else if (columns == 2)
        spread<2>(gpu, there, here, lanes, rows, g, share, equal, h, squares);
    else if (columns == 4)
        spread<4>(gpu, there, here, lanes, rows, g, share, equal, h, squares);
    else
        spread<8>(gpu, there, here, lanes, rows, g, share, equal, h, squares);
    return kb_gpu_launched(gpu, "spread");
}
