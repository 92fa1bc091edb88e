/*
 * binkeys.h - from a sample to the keys of its bins.
 */
#ifndef KB_FEATURES_BINKEYS_H
#define KB_FEATURES_BINKEYS_H

#include "data/data.h"
#include "features/grids.h"
#include "simd/simd.h"

/* A sample's way into its bins: scale it, then cut it. */
typedef struct kb_binning {
    const kb_grids *grids;
    const double *shift, *scale; /* features each */
    const kb_simd *simd;         /* NULL: the best of this machine */
} kb_binning;

/* The keys of `rows` samples from row `begin` on, in the grids of one block:
 * keys[lane * stride + i].  `zero` is memory for kb_bin_keys_scratch() numbers, filled
 * by kb_bin_keys_prepare for the block. */
size_t kb_bin_keys_scratch(const kb_data *data);
void kb_bin_keys_prepare(const kb_binning *binning, const kb_data *data, size_t block,
                         uint64_t *zero);
void kb_bin_keys_compute(const kb_binning *binning, const kb_data *data, size_t block, size_t begin,
                         size_t rows, const uint64_t *zero, size_t stride, uint64_t *keys);

#endif
