/*
 * cuda_runtime.h - as much of CUDA as src/cuda uses, on the CPU: for tests without a GPU.
 *
 * The threads of a block are coroutines that take turns at __syncthreads, so a kernel that misses a
 * barrier gives other results in another order: KB_EMULATED_ORDER=backward runs blocks and threads
 * from the last to the first.  Memory of the device is filled with junk, and what lies behind an
 * array is checked when it is freed.
 */
#ifndef TESTS_CUDA_RUNTIME_H
#define TESTS_CUDA_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#include <functional>

#define __global__
#define __device__
#define __host__
#define __shared__ static

/* Small blocks have the same barriers, and fewer coroutines.  At least 24: search_line. */
#define KB_THREADS      32
#define KB_PIECE        1000 /* rows that are copied at a time */
#define KB_MOST_THREADS 64

struct dim3 {
    unsigned x, y;
    dim3(unsigned x_ = 1, unsigned y_ = 1) : x(x_), y(y_) {
    }
};

extern dim3 threadIdx, blockIdx, blockDim, gridDim;
extern unsigned char *kb_emulated_shared;

void kb_emulate(dim3 grid, size_t threads, size_t shared, const std::function<void()> &kernel);
void __syncthreads(void);

/* One thread runs at a time. */
template <class T, class X> T kb_fetch(T *at, X next) {
    T before = *at;
    *at = (T)next;
    return before;
}
template <class T> T atomicAdd(T *at, T x) {
    return kb_fetch(at, *at + x);
}
template <class T> T atomicOr(T *at, T x) {
    return kb_fetch(at, *at | x);
}
template <class T> T atomicMin(T *at, T x) {
    return kb_fetch(at, x < *at ? x : *at);
}
template <class T> T atomicMax(T *at, T x) {
    return kb_fetch(at, x > *at ? x : *at);
}
template <class T> T atomicCAS(T *at, T expected, T x) {
    return kb_fetch(at, *at == expected ? x : *at);
}

typedef int cudaError_t;
typedef int cudaStream_t;
typedef int cudaEvent_t;
const cudaError_t cudaSuccess = 0, cudaErrorMemoryAllocation = 2;
const cudaError_t cudaErrorInsufficientDriver = 35, cudaErrorNoDevice = 100;
enum { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum { cudaStreamNonBlocking };
enum { cudaDevAttrMaxSharedMemoryPerBlockOptin };
enum { cudaFuncAttributeMaxDynamicSharedMemorySize };

struct cudaDeviceProp {
    char name[256];
    int multiProcessorCount;
};

cudaError_t cudaGetLastError(void);
const char *cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *about, int device);
cudaError_t cudaDeviceGetAttribute(int *value, int attribute, int device);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, int flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaMalloc(void **out, size_t bytes);
cudaError_t cudaFree(void *block);
cudaError_t cudaMemGetInfo(size_t *left, size_t *all);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind,
                            cudaStream_t stream);
cudaError_t cudaMemsetAsync(void *to, int byte, size_t bytes, cudaStream_t stream);
cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to);
cudaError_t cudaFuncSetAttribute(const void *kernel, int attribute, int value);

#endif
