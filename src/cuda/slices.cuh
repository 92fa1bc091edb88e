/*
 * slices.cuh - the kernels of one slice of grids: sums over bins, and the way back to the rows.
 */
#ifndef KB_CUDA_SLICES_H
#define KB_CUDA_SLICES_H

#include "bins.cuh"

/* Grids of a slice, and parts of a sum of squares (kb_sweep_square). */
enum { KB_SLICE = KB_DEVICE_BUNDLE, KB_SQUARE_PARTS = 3 };

/* h, rows x columns: for each row the sum of g, bins x columns, over its bins in some lanes that
 * stand one after the other.  Adds the squares of h, times the weights of the rows, to `squares`,
 * columns x KB_SQUARE_PARTS. */
kb_device_result kb_spread(kb_gpu *gpu, const kb_gpu_lane *there, const kb_gpu_lane *here,
                           size_t lanes, size_t rows, size_t columns, const int32_t *g,
                           const int32_t *share, int equal, int32_t *h,
                           unsigned long long *squares);

#endif
