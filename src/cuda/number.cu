/* number.cu - see number.cuh. */
#include "number.cuh"

/* Rows of a block that counts along them. */
enum { ROWS = 1024 };
/* Looks after which a row asks whether its table is too full. */
enum { LOOKS = 64 };

#define FREE (~(unsigned long long)0)

/* Finds or takes the slot of every row's key.  A lane with more than `most` keys is given up. */
__global__ static void insert_keys(kb_gpu_slots t, const uint64_t *keys, size_t rows, uint32_t most,
                                   uint32_t *slot, uint32_t *count) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x, lane = blockIdx.y;
    if (i >= rows)
        return;
    size_t mask = ((size_t)1 << t.bits) - 1;
    unsigned long long *of_lane = (unsigned long long *)t.key + lane * kb_slots_of_lane(t);
    uint32_t *first = t.first + lane * kb_slots_of_lane(t);
    unsigned long long key = keys[lane * rows + i];
    size_t s = key == FREE ? mask + 1 : (size_t)(key >> (64 - t.bits));
    for (uint32_t look = 1; key != FREE; look++, s = (s + 1) & mask) {
        unsigned long long there = ((volatile unsigned long long *)of_lane)[s];
        if (there == FREE) {
            there = atomicCAS(of_lane + s, FREE, key);
            if (there == FREE)
                atomicAdd(count + lane, 1u);
        }
        if (there == FREE || there == key)
            break;
        if (look % LOOKS == 0 && ((volatile uint32_t *)count)[lane] > most)
            return;
    }
    slot[lane * rows + i] = (uint32_t)s;
    if (((volatile uint32_t *)first)[s] > (uint32_t)i &&
        atomicMin(first + s, (uint32_t)i) == 0xffffffffu && key == FREE)
        atomicAdd(count + lane, 1u);
}

__device__ static inline int is_first(const kb_gpu_slots &t, const uint32_t *slot, size_t rows,
                                      size_t lane, size_t i) {
    return i < rows && t.first[lane * kb_slots_of_lane(t) + slot[lane * rows + i]] == (uint32_t)i;
}

/* How many rows of each block have a key first. */
__global__ static void count_first(kb_gpu_slots t, const uint32_t *slot, size_t rows,
                                   uint32_t *partial) {
    __shared__ uint32_t sum;
    size_t begin = (size_t)blockIdx.x * ROWS;
    uint32_t mine = 0;
    if (threadIdx.x == 0)
        sum = 0;
    __syncthreads();
    for (size_t k = threadIdx.x; k < ROWS; k += blockDim.x)
        mine += (uint32_t)is_first(t, slot, rows, blockIdx.y, begin + k);
    if (mine)
        atomicAdd(&sum, mine);
    __syncthreads();
    if (threadIdx.x == 0)
        partial[(size_t)blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

/* The counts of a lane as sums of those before; a block a lane. */
__global__ static void add_up(uint32_t *partial, size_t blocks) {
    __shared__ uint32_t sums[KB_THREADS];
    uint32_t *of_lane = partial + (size_t)blockIdx.x * blocks, sum = 0;
    size_t share = (blocks + blockDim.x - 1) / blockDim.x, from = threadIdx.x * share;
    size_t to = from + share < blocks ? from + share : blocks;
    for (size_t k = from; k < to; k++)
        sum += of_lane[k];
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        sum = 0;
        for (unsigned k = 0; k < blockDim.x; k++) {
            uint32_t here = sums[k];
            sums[k] = sum;
            sum += here;
        }
    }
    __syncthreads();
    sum = sums[threadIdx.x];
    for (size_t k = from; k < to; k++) {
        uint32_t here = of_lane[k];
        of_lane[k] = sum;
        sum += here;
    }
}

__global__ static void give_numbers(kb_gpu_slots t, const uint32_t *slot, size_t rows,
                                    const uint32_t *partial, const size_t *start,
                                    uint32_t *row_of) {
    __shared__ uint32_t scan[KB_THREADS];
    size_t lane = blockIdx.y, begin = (size_t)blockIdx.x * ROWS;
    uint32_t before = partial[lane * gridDim.x + blockIdx.x];
    for (size_t k = 0; k < ROWS; k += blockDim.x) {
        size_t i = begin + k + threadIdx.x;
        int first = is_first(t, slot, rows, lane, i);
        scan[threadIdx.x] = (uint32_t)first;
        __syncthreads();
        for (unsigned step = 1; step < blockDim.x; step *= 2) {
            uint32_t left = threadIdx.x >= step ? scan[threadIdx.x - step] : 0;
            __syncthreads();
            scan[threadIdx.x] += left;
            __syncthreads();
        }
        uint32_t number = before + scan[threadIdx.x] - 1;
        if (first) {
            t.number[lane * kb_slots_of_lane(t) + slot[lane * rows + i]] = number;
            row_of[start[lane] + number] = (uint32_t)i;
        }
        before += scan[blockDim.x - 1];
        __syncthreads();
    }
}

kb_device_result kb_numbering_create(kb_gpu *gpu, size_t rows, int lanes, kb_numbering *n) {
    *n = kb_numbering();
    n->gpu = gpu;
    n->rows = rows;
    KB_TRY(kb_gpu_reserve(gpu, rows * (size_t)lanes, &n->keys));
    KB_TRY(kb_gpu_reserve(gpu, rows * (size_t)lanes, &n->slot));
    KB_TRY(kb_gpu_reserve(gpu, (size_t)lanes, &n->count));
    KB_TRY(kb_gpu_reserve(gpu, (size_t)lanes, &n->start));
    return kb_gpu_reserve(gpu, (size_t)lanes * ((rows + ROWS - 1) / ROWS), &n->partial);
}

void kb_numbering_release(kb_numbering *n) {
    kb_gpu_release(&n->keys);
    kb_gpu_release(&n->slot);
    kb_gpu_release(&n->slot_key);
    kb_gpu_release(&n->slot_first);
    kb_gpu_release(&n->slot_number);
    kb_gpu_release(&n->count);
    kb_gpu_release(&n->partial);
    kb_gpu_release(&n->start);
    kb_gpu_release(&n->row_of);
}

/* Empty tables of 2^bits slots a lane. */
static kb_device_result clear(kb_numbering *n, int lanes, int bits) {
    size_t slots = (size_t)lanes * (((size_t)1 << bits) + 1);
    KB_TRY(kb_gpu_reserve(n->gpu, slots, &n->slot_key));
    KB_TRY(kb_gpu_reserve(n->gpu, slots, &n->slot_first));
    KB_TRY(kb_gpu_reserve(n->gpu, slots, &n->slot_number));
    n->slots = kb_gpu_slots{n->slot_key.at, n->slot_first.at, n->slot_number.at, bits};
    KB_TRY(kb_gpu_fill(n->gpu, 0xff, slots, n->slot_key.at));
    KB_TRY(kb_gpu_fill(n->gpu, 0xff, slots, n->slot_first.at));
    return kb_gpu_fill(n->gpu, 0, (size_t)lanes, n->count.at);
}

static int too_full(int lanes, const uint32_t *counts, uint32_t most) {
    for (int k = 0; k < lanes; k++)
        if (counts[k] > most)
            return 1;
    return 0;
}

kb_device_result kb_number_keys(kb_numbering *n, int lanes, int *bits,
                                int (*goes_on)(void *arg, const uint32_t *counts), void *arg,
                                uint32_t *counts, int *done) {
    kb_gpu *gpu = n->gpu;
    size_t blocks = (n->rows + ROWS - 1) / ROWS;
    *done = 0;
    for (;; ++*bits) { /* half of the slots are free, so that a search seldom looks twice */
        uint32_t most = (uint32_t)1 << (*bits - 1);
        KB_TRY(clear(n, lanes, *bits));
        KB_LAUNCH(insert_keys, kb_blocks_for(n->rows), lanes, KB_THREADS, 0, gpu, n->slots,
                  n->keys.at, n->rows, most, n->slot.at, n->count.at);
        KB_TRY(kb_gpu_launched(gpu, "number keys"));
        KB_TRY(kb_gpu_get(gpu, n->count.at, (size_t)lanes, counts));
        if (goes_on && !goes_on(arg, counts))
            return KB_DEVICE_OK;
        if (!too_full(lanes, counts, most))
            break;
    }
    n->first[0] = 0;
    for (int k = 0; k < lanes; k++)
        n->first[k + 1] = n->first[k] + counts[k];
    KB_TRY(kb_gpu_put(gpu, n->first, (size_t)lanes, n->start.at));
    KB_TRY(kb_gpu_reserve(gpu, n->first[lanes], &n->row_of));
    KB_LAUNCH(count_first, blocks, lanes, KB_THREADS, 0, gpu, n->slots, n->slot.at, n->rows,
              n->partial.at);
    KB_LAUNCH(add_up, lanes, 1, KB_THREADS, 0, gpu, n->partial.at, blocks);
    KB_LAUNCH(give_numbers, blocks, lanes, KB_THREADS, 0, gpu, n->slots, n->slot.at, n->rows,
              n->partial.at, n->start.at, n->row_of.at);
    *done = 1;
    return kb_gpu_launched(gpu, "number keys");
}
