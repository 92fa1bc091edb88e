/*
 * bins.cuh - keys of rows, and rows on the device with their bin numbers: kb_gpu_bins.
 */
#ifndef KB_CUDA_BINS_H
#define KB_CUDA_BINS_H

#include "number.cuh"

/* to, features x rows with columns that are ld apart, from x, rows x features: (x - shift) * scale.
 * place: of each row in `to`, or NULL. */
kb_device_result kb_scale_rows(kb_gpu *gpu, const double *x, size_t rows, size_t features,
                               const double *shift, const double *scale, const uint32_t *place,
                               size_t ld, double *to);

/* What binning needs of the grids, there. */
struct kb_gpu_grids {
    kb_gpu_array<double> parameter, bound;
    kb_gpu_array<uint64_t> factor;
};
kb_device_result kb_grids_put(kb_gpu *gpu, size_t grids, size_t features, const double *parameter,
                              const double *bound, const uint64_t *factor, kb_gpu_grids *g);
void kb_grids_release(kb_gpu_grids *g);

/* keys, lanes x rows: of all rows in some grids, from `first` on, a multiple of KB_LANES. */
kb_device_result kb_find_keys(kb_gpu *gpu, const double *scaled, size_t rows, size_t features,
                              const kb_gpu_grids *g, size_t first, size_t lanes, uint64_t *keys);

struct kb_gpu_bins {
    kb_gpu *gpu;
    size_t rows, features, grids;
    int ordered;                 /* close rows stand side by side */
    size_t done;                 /* grids that are binned */
    kb_gpu_array<double> scaled; /* features x rows: shifted and scaled */
    kb_gpu_grids cuts;
    kb_numbering numbering;
    int bits, tuple_bits; /* of the tables of bins and of tuples */
    kb_gpu_lane *lane;    /* grids: on this side, and there */
    kb_gpu_array<kb_gpu_lane> lanes;
    void **block;    /* the ids of each bundle */
    int *has_tuples; /* of each bundle */
    size_t blocks;
    size_t now, lanes_now; /* the first grid of the bundle below, and its grids */
    /* Of this bundle. */
    kb_gpu_bundle bundle;
    kb_gpu_array<uint64_t> bin_key; /* lane after lane */
    size_t bin_first[KB_MOST_LANES + 1];
    kb_gpu_array<long long> sums; /* for the rows of each bin */
    kb_gpu_array<uint8_t> packed; /* ids on the way to the caller */
};

/* Adds v, rows x columns (NULL: ones), up by the bins of some lanes that stand one after the other:
 * sums, bins x columns, is cleared first.  (slices.cu) */
kb_device_result kb_sum_by_bins(kb_gpu *gpu, const kb_gpu_lane *there, const kb_gpu_lane *here,
                                size_t lanes, size_t rows, size_t columns, const int32_t *v,
                                long long *sums);

kb_device_result kb_bins_create(kb_gpu *gpu, const kb_gpu_rows *rows, kb_gpu_bins **out);
void kb_bins_free(kb_gpu_bins *bins);
kb_device_result kb_bins_bundle(kb_gpu_bins *bins, int tuples, kb_gpu_bundle *out);
kb_device_result kb_bins_again(kb_gpu_bins *bins, size_t bundle, int has_tuples);
kb_device_result kb_bundle_keys(kb_gpu_bins *bins, size_t grid, uint64_t *out);
kb_device_result kb_bundle_group(kb_gpu_bins *bins, size_t group, int bits, void *out);
kb_device_result kb_bundle_tuples(kb_gpu_bins *bins, int bits, void *out);
void kb_bins_finish(kb_gpu_bins *bins);
double kb_bins_bytes(size_t rows, size_t features, size_t grids);

#endif
