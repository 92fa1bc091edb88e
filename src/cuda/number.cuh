/*
 * number.cuh - keys of rows as numbers, in the order in which the rows have them first.
 *
 * Each lane (a grid, or a group of grids) has a table of open addressing.  The rows race for its
 * slots, but a slot keeps the first row that has its key, so that the numbers do not depend on who
 * came first: they are counted along the rows.
 */
#ifndef KB_CUDA_NUMBER_H
#define KB_CUDA_NUMBER_H

#include "gpu.cuh"

enum { KB_MOST_LANES = KB_DEVICE_BUNDLE };

/* lanes x (2^bits + 1) slots; the last of a lane is for the key that marks free ones. */
struct kb_gpu_slots {
    uint64_t *key;
    uint32_t *first;  /* row */
    uint32_t *number; /* of the key */
    int bits;
};

__host__ __device__ static inline size_t kb_slots_of_lane(const kb_gpu_slots &t) {
    return ((size_t)1 << t.bits) + 1;
}

struct kb_numbering {
    kb_gpu *gpu;
    size_t rows;
    kb_gpu_array<uint64_t> keys; /* lanes x rows: filled by the caller */
    kb_gpu_array<uint32_t> slot; /* lanes x rows */
    kb_gpu_array<uint64_t> slot_key;
    kb_gpu_array<uint32_t> slot_first, slot_number;
    kb_gpu_array<uint32_t> count;   /* lanes: keys found */
    kb_gpu_array<uint32_t> partial; /* lanes x blocks of rows */
    kb_gpu_array<size_t> start;     /* lanes: where each one's numbers begin in row_of */
    kb_gpu_array<uint32_t> row_of;  /* the first row of each number, lane after lane */
    kb_gpu_slots slots;
    size_t first[KB_MOST_LANES + 1]; /* `start` on this side */
};

/* Room for `lanes` lanes of keys. */
kb_device_result kb_numbering_create(kb_gpu *gpu, size_t rows, int lanes, kb_numbering *n);
void kb_numbering_release(kb_numbering *n);

/* Numbers the keys of some lanes; counts[lane]: how many there are.  goes_on(arg, counts) is asked
 * while a table was too small: 0 ends it with *done = 0. */
kb_device_result kb_number_keys(kb_numbering *n, int lanes, int *bits,
                                int (*goes_on)(void *arg, const uint32_t *counts), void *arg,
                                uint32_t *counts, int *done);

#endif
