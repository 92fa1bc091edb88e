/* binkeys.c - see binkeys.h. */
#include "features/binkeys.h"

size_t kb_bin_keys_scratch(const kb_data *data) {
    return data->dense ? 0 : (data->features + 1) * KB_LANES;
}

static kb_bin_block block_of(const kb_binning *binning, size_t block) {
    const kb_grids *g = binning->grids;
    return (kb_bin_block){
        .features = g->features,
        .shift = binning->shift,
        .scale = binning->scale,
        .parameter = kb_grids_block(g, block),
        .bound = kb_grids_bound(g, block),
        .factor = g->factor,
    };
}

void kb_bin_keys_prepare(const kb_binning *binning, const kb_data *data, size_t block,
                         uint64_t *zero) {
    kb_bin_block b = block_of(binning, block);
    if (!data->dense)
        binning->simd->bins->keys_zero(&b, zero, zero + data->features * KB_LANES);
}

void kb_bin_keys_compute(const kb_binning *binning, const kb_data *data, size_t block, size_t begin,
                         size_t rows, const uint64_t *zero, size_t stride, uint64_t *keys) {
    kb_bin_block b = block_of(binning, block);
    if (data->dense)
        binning->simd->bins->keys_dense(&b, rows, data->dense + begin * data->features, stride,
                                        keys);
    else
        binning->simd->bins->keys_sparse(&b, rows, data->row_start + begin, data->column,
                                         data->value, zero, zero + data->features * KB_LANES,
                                         stride, keys);
}
