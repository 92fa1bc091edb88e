/* module.cu - the table of functions that the library finds; see device/table.h. */
#include "products.cuh"
#include "rule.cuh"
#include "sweeps.cuh"
#include "whole.cuh"

#include <new>
#include <stdio.h>
#include <string.h>

/* The first one says why there is none. */
static kb_device_result refuse(char *message, size_t room, const char *what) {
    snprintf(message, room, "%s", what);
    return KB_DEVICE_FAILED;
}

static kb_device_result open_gpu(kb_gpu **out, char *message, size_t room) {
    int count = 0, shared = 0;
    cudaDeviceProp about;
    *out = NULL;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaErrorInsufficientDriver)
        return refuse(message, room,
                      "this machine has no driver for one, or one that is older than this module");
    if (error != cudaSuccess && error != cudaErrorNoDevice)
        return refuse(message, room, cudaGetErrorString(error));
    if (count == 0)
        return refuse(message, room, "this machine has none");
    kb_gpu *gpu = new (std::nothrow) kb_gpu();
    if (!gpu)
        return KB_DEVICE_MEMORY;
    error = cudaSetDevice(0);
    if (error == cudaSuccess)
        error = cudaGetDeviceProperties(&about, 0);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
    if (error == cudaSuccess)
        error = cudaStreamCreateWithFlags(&gpu->stream, cudaStreamNonBlocking);
    if (error == cudaSuccess) {
        error = cudaStreamCreateWithFlags(&gpu->aside, cudaStreamNonBlocking);
        if (error != cudaSuccess)
            cudaStreamDestroy(gpu->stream);
    }
    if (error != cudaSuccess) {
        delete gpu;
        return refuse(message, room, cudaGetErrorString(error));
    }
    gpu->processors = about.multiProcessorCount;
    gpu->shared = (size_t)shared;
    memcpy(gpu->name, about.name, sizeof gpu->name - 1);
    *out = gpu;
    return KB_DEVICE_OK;
}

static void close_gpu(kb_gpu *gpu) {
    if (!gpu)
        return;
    for (int k = 0; k < 2; k++)
        if (gpu->mark[k])
            cudaEventDestroy(gpu->mark[k]);
    cudaStreamDestroy(gpu->stream);
    cudaStreamDestroy(gpu->aside);
    delete gpu;
}

static const char *fault(const kb_gpu *gpu) {
    return gpu->fault;
}

static const char *name(const kb_gpu *gpu) {
    return gpu->name;
}

static double memory_free(const kb_gpu *gpu) {
    size_t left = 0, all = 0;
    (void)gpu;
    return cudaMemGetInfo(&left, &all) == cudaSuccess ? (double)left : 0;
}

static kb_device_result profile(kb_gpu *gpu, int on) {
    if (on && !gpu->mark[0])
        for (int k = 0; k < 2; k++)
            KB_TRY(kb_gpu_check(gpu, cudaEventCreate(&gpu->mark[k]), "profile"));
    gpu->profiling = on;
    if (!on)
        return KB_DEVICE_OK;
    gpu->measured = 0;
    return kb_gpu_check(gpu, cudaEventRecord(gpu->mark[0], gpu->stream), "profile");
}

static size_t measures(const kb_gpu *gpu) {
    return (size_t)gpu->measured;
}

static kb_gpu_measure measure(const kb_gpu *gpu, size_t number) {
    return gpu->measure[number];
}

static kb_device_result copy_times(kb_gpu *gpu, uint8_t *from, uint8_t *to, size_t bytes, int times,
                                   double *seconds) {
    for (int k = 0; k <= times; k++) { /* the first one does not count */
        KB_TRY(profile(gpu, 1));
        KB_TRY(kb_gpu_copy(gpu, from, bytes, to));
        KB_TRY(kb_gpu_launched(gpu, "copy"));
        if (k == 1 || (k > 1 && gpu->measure[0].seconds < *seconds))
            *seconds = gpu->measure[0].seconds;
    }
    return KB_DEVICE_OK;
}

static kb_device_result copy_seconds(kb_gpu *gpu, size_t bytes, int times, double *seconds) {
    kb_gpu_array<uint8_t> a = {}, b = {};
    kb_device_result result = kb_gpu_reserve(gpu, bytes, &a);
    if (result == KB_DEVICE_OK)
        result = kb_gpu_reserve(gpu, bytes, &b);
    if (result == KB_DEVICE_OK)
        result = kb_gpu_fill(gpu, 1, bytes, a.at);
    if (result == KB_DEVICE_OK)
        result = copy_times(gpu, a.at, b.at, bytes, times, seconds);
    gpu->profiling = 0;
    kb_gpu_release(&a);
    kb_gpu_release(&b);
    return result;
}

/* In the order of the table. */
static const kb_device_table TABLE = {KB_DEVICE_VERSION,
                                      open_gpu,
                                      close_gpu,
                                      fault,
                                      name,
                                      memory_free,
                                      kb_bins_bytes,
                                      kb_gpu_sweeps_bytes,
                                      profile,
                                      measures,
                                      measure,
                                      copy_seconds,
                                      kb_bins_create,
                                      kb_bins_free,
                                      kb_bins_bundle,
                                      kb_bundle_keys,
                                      kb_bins_finish,
                                      kb_bins_again,
                                      kb_bundle_group,
                                      kb_bundle_tuples,
                                      kb_bins_times,
                                      kb_bins_whole_products,
                                      kb_bins_count_known,
                                      kb_sweeps_create,
                                      kb_sweeps_free,
                                      kb_sweeps_load,
                                      kb_sweeps_sum,
                                      kb_sweeps_shift,
                                      kb_sweeps_sweep,
                                      kb_sweeps_slopes,
                                      kb_sweeps_span,
                                      kb_sweeps_combine,
                                      kb_sweeps_watched,
                                      kb_sweeps_keep,
                                      kb_sweeps_go_back,
                                      kb_sweeps_fetch,
                                      kb_rule_create,
                                      kb_rule_free,
                                      kb_rule_decide};

extern "C" __attribute__((visibility("default"))) const kb_device_table *
kb_device_table_of(unsigned version) {
    return version == KB_DEVICE_VERSION ? &TABLE : NULL;
}
