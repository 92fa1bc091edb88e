/* gpu.cu - see gpu.cuh. */
#include "gpu.cuh"

#include <stdio.h>
#include <string.h>

kb_device_result kb_gpu_check(kb_gpu *gpu, cudaError_t error, const char *what) {
    if (error == cudaSuccess)
        return KB_DEVICE_OK;
    cudaGetLastError(); /* forgets it, unless the device is lost */
    snprintf(gpu->fault, sizeof gpu->fault, "%s: %s", what, cudaGetErrorString(error));
    return error == cudaErrorMemoryAllocation ? KB_DEVICE_MEMORY : KB_DEVICE_FAILED;
}

/* Adds the time since the last mark to what it was for. */
static kb_device_result measure(kb_gpu *gpu, const char *what) {
    float ms = 0;
    int k = 0;
    KB_TRY(kb_gpu_check(gpu, cudaEventRecord(gpu->mark[1], gpu->stream), what));
    KB_TRY(kb_gpu_check(gpu, cudaEventSynchronize(gpu->mark[1]), what));
    KB_TRY(kb_gpu_check(gpu, cudaEventElapsedTime(&ms, gpu->mark[0], gpu->mark[1]), what));
    while (k < gpu->measured && strcmp(gpu->measure[k].what, what) != 0)
        k++;
    if (k == gpu->measured && k < KB_MOST_MEASURES)
        gpu->measure[gpu->measured++] = kb_gpu_measure{what, 0, 0};
    if (k < gpu->measured) {
        gpu->measure[k].seconds += ms / 1e3;
        gpu->measure[k].times++;
    }
    return kb_gpu_check(gpu, cudaEventRecord(gpu->mark[0], gpu->stream), what);
}

kb_device_result kb_gpu_launched(kb_gpu *gpu, const char *what) {
    KB_TRY(kb_gpu_check(gpu, cudaGetLastError(), what));
    return gpu->profiling ? measure(gpu, what) : KB_DEVICE_OK;
}

kb_device_result kb_gpu_wait(kb_gpu *gpu, const char *what) {
    KB_TRY(kb_gpu_check(gpu, cudaStreamSynchronize(gpu->stream), what));
    return gpu->profiling ? measure(gpu, what) : KB_DEVICE_OK;
}

kb_device_result kb_gpu_allocate(kb_gpu *gpu, size_t bytes, void **out) {
    *out = NULL;
    return kb_gpu_check(gpu, cudaMalloc(out, bytes), "memory of the GPU");
}
