/*
 * sweeps.cuh - a run of sweeps on the device: the steps of kb_sweep_steps, over rows that stay
 * there.
 */
#ifndef KB_CUDA_SWEEPS_H
#define KB_CUDA_SWEEPS_H

#include "bins.cuh"

kb_device_result kb_sweeps_create(kb_gpu_bins *bins, const kb_gpu_problem *problem,
                                  kb_gpu_sweeps **out);
void kb_sweeps_free(kb_gpu_sweeps *s);
kb_device_result kb_sweeps_load(kb_gpu_sweeps *s, const int32_t *r, const double *u);
kb_device_result kb_sweeps_sum(kb_gpu_sweeps *s, double *parts);
kb_device_result kb_sweeps_shift(kb_gpu_sweeps *s, const int32_t *by);
kb_device_result kb_sweeps_sweep(kb_gpu_sweeps *s, int backward, double *gradient, uint32_t *bits);
kb_device_result kb_sweeps_slopes(kb_gpu_sweeps *s, double *gradient);
kb_device_result kb_sweeps_span(kb_gpu_sweeps *s, double *row_parts, double *bin_parts);
kb_device_result kb_sweeps_combine(kb_gpu_sweeps *s, const double *of_move, const double *of_last,
                                   uint32_t *bits);
kb_device_result kb_sweeps_watched(kb_gpu_sweeps *s, int32_t *r);
kb_device_result kb_sweeps_keep(kb_gpu_sweeps *s);
kb_device_result kb_sweeps_go_back(kb_gpu_sweeps *s);
kb_device_result kb_sweeps_fetch(kb_gpu_sweeps *s, int32_t *r, double *u);
double kb_gpu_sweeps_bytes(size_t rows, size_t bins, size_t columns);

#endif
