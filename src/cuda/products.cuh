/*
 * products.cuh - products of Z, and what else goes over the bin numbers of rows.
 */
#ifndef KB_CUDA_PRODUCTS_H
#define KB_CUDA_PRODUCTS_H

#include "bins.cuh"

kb_device_result kb_bins_times(kb_gpu_bins *bins, size_t columns, double value, const double *w,
                               double *out);
kb_device_result kb_bins_count_known(kb_gpu_bins *bins, const uint8_t *fits, size_t count,
                                     const uint32_t *row, uint32_t *known);

#endif
