/*
 * gpu.cuh - what all parts of the CUDA module share: a device in use, its memory, and launches.
 *
 * The kernels are plain C++ without warp intrinsics, so that a test can run them on the CPU
 * (tests/cuda/emulated): KB_CUDA_EMULATED is defined there.
 */
#ifndef KB_CUDA_GPU_H
#define KB_CUDA_GPU_H

#include "device/table.h"

#include <cuda_runtime.h>

#ifdef KB_CUDA_EMULATED
#define KB_LAUNCH(kernel, x, y, threads, shared, gpu, ...)                                         \
    kb_emulate(dim3((unsigned)(x), (unsigned)(y)), threads, shared, [&] { kernel(__VA_ARGS__); })
#define KB_DYNAMIC_SHARED(type, name) type *name = (type *)kb_emulated_shared
#else
#define KB_THREADS      256
#define KB_PIECE        (1 << 20)
#define KB_MOST_THREADS 1024
#define KB_LAUNCH(kernel, x, y, threads, shared, gpu, ...)                                         \
    kernel<<<dim3((unsigned)(x), (unsigned)(y)), threads, shared, (gpu)->stream>>>(__VA_ARGS__)
#define KB_DYNAMIC_SHARED(type, name)                                                              \
    extern __shared__ double kb_dynamic_shared[];                                                  \
    type *name = (type *)kb_dynamic_shared
#endif

enum { KB_MOST_MEASURES = 32 };

struct kb_gpu {
    cudaStream_t stream;
    cudaStream_t aside; /* for copies to the device beside other work */
    int processors;
    size_t shared; /* bytes that a block may have */
    char name[128];
    char fault[256];
    int profiling;
    cudaEvent_t mark[2]; /* where the last measured work ended, and where this one does */
    int measured;
    kb_gpu_measure measure[KB_MOST_MEASURES];
};

/* One number per row of a grid, local to the grid. */
struct kb_gpu_lane {
    void *ids;     /* rows */
    int bytes;     /* of a number: 1, 2 or 4 */
    uint32_t bins; /* of the grid */
    size_t start;  /* its first column of Z */
};

__device__ static inline uint32_t kb_lane_id(const kb_gpu_lane &lane, size_t i) {
    return lane.bytes == 1   ? ((const uint8_t *)lane.ids)[i]
           : lane.bytes == 2 ? ((const uint16_t *)lane.ids)[i]
                             : ((const uint32_t *)lane.ids)[i];
}

#define KB_TRY(call)                                                                               \
    do {                                                                                           \
        kb_device_result result_ = (call);                                                         \
        if (result_ != KB_DEVICE_OK)                                                               \
            return result_;                                                                        \
    } while (0)

/* The sentence of a failed call; `what` it was for. */
kb_device_result kb_gpu_check(kb_gpu *gpu, cudaError_t error, const char *what);
/* After launches; `what` is a text that stays.  Measures them if the device is profiled. */
kb_device_result kb_gpu_launched(kb_gpu *gpu, const char *what);
/* Waits for all work, and checks it. */
kb_device_result kb_gpu_wait(kb_gpu *gpu, const char *what);

/* An array there; all zero: none. */
template <class T> struct kb_gpu_array {
    T *at;
    size_t room;
};

kb_device_result kb_gpu_allocate(kb_gpu *gpu, size_t bytes, void **out);

/* Makes room; what the array had is lost if it grows. */
template <class T> kb_device_result kb_gpu_reserve(kb_gpu *gpu, size_t count, kb_gpu_array<T> *a) {
    if (a->at && count <= a->room)
        return KB_DEVICE_OK;
    cudaFree(a->at);
    a->at = NULL;
    a->room = 0;
    void *block;
    KB_TRY(kb_gpu_allocate(gpu, (count ? count : 1) * sizeof(T), &block));
    a->at = (T *)block;
    a->room = count;
    return KB_DEVICE_OK;
}

template <class T> void kb_gpu_release(kb_gpu_array<T> *a) {
    cudaFree(a->at);
    a->at = NULL;
    a->room = 0;
}

/* Copies wait for the work before them, and the caller for the copy. */
template <class T> kb_device_result kb_gpu_put(kb_gpu *gpu, const T *from, size_t count, T *to) {
    KB_TRY(kb_gpu_check(
        gpu, cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyHostToDevice, gpu->stream),
        "copy to the GPU"));
    return kb_gpu_wait(gpu, "copy to the GPU");
}

/* The same beside the work that is under way, which must not use `to`. */
template <class T>
kb_device_result kb_gpu_put_aside(kb_gpu *gpu, const T *from, size_t count, T *to) {
    KB_TRY(kb_gpu_check(
        gpu, cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyHostToDevice, gpu->aside),
        "copy to the GPU"));
    return kb_gpu_check(gpu, cudaStreamSynchronize(gpu->aside), "copy to the GPU");
}

template <class T> kb_device_result kb_gpu_get(kb_gpu *gpu, const T *from, size_t count, T *to) {
    KB_TRY(kb_gpu_check(
        gpu, cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyDeviceToHost, gpu->stream),
        "copy from the GPU"));
    return kb_gpu_wait(gpu, "copy from the GPU");
}

template <class T> kb_device_result kb_gpu_copy(kb_gpu *gpu, const T *from, size_t count, T *to) {
    return kb_gpu_check(
        gpu, cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyDeviceToDevice, gpu->stream),
        "copy on the GPU");
}

/* Every byte of an array. */
template <class T> kb_device_result kb_gpu_fill(kb_gpu *gpu, int byte, size_t count, T *to) {
    return kb_gpu_check(gpu, cudaMemsetAsync(to, byte, count * sizeof(T), gpu->stream), "clear");
}

/* Blocks of KB_THREADS for so many items, one each. */
static inline size_t kb_blocks_for(size_t items) {
    return items ? (items + KB_THREADS - 1) / KB_THREADS : 1;
}

/* Blocks that walk over the items and fill the device. */
static inline size_t kb_blocks_filling(const kb_gpu *gpu, size_t items) {
    size_t most = (size_t)gpu->processors * 8, blocks = kb_blocks_for(items);
    return blocks < most ? blocks : most;
}

#endif
