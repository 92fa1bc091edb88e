/*
 * whole.cuh - products of Z' and of Z Z' in whole numbers, whose order does not matter.
 */
#ifndef KB_CUDA_WHOLE_H
#define KB_CUDA_WHOLE_H

#include "bins.cuh"

kb_device_result kb_bins_whole_products(kb_gpu_bins *bins, size_t columns, size_t first,
                                        size_t used, double value, const double *v, double *gram,
                                        double *of_bins, double *squares);

#endif
