/* emulated.cpp - see cuda_runtime.h.
 *
 * KB_EMULATED_MEMORY: bytes that the device has.  KB_EMULATED_NONE: there is no device. */
#include "cuda_runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

dim3 threadIdx, blockIdx, blockDim, gridDim;
unsigned char *kb_emulated_shared;

/* ---- switching stacks -------------------------------------------------- */

#if defined __x86_64__ && !defined __CET__
/* Keeps what a call keeps, and the stack: tens of times faster than a context with its signals. */
extern "C" void kb_switch(void **from, void *to);
__asm__(".text\n"
        ".type kb_switch,@function\n"
        "kb_switch:\n"
        "  push %rbp\n  push %rbx\n  push %r12\n  push %r13\n  push %r14\n  push %r15\n"
        "  mov %rsp, (%rdi)\n"
        "  mov %rsi, %rsp\n"
        "  pop %r15\n  pop %r14\n  pop %r13\n  pop %r12\n  pop %rbx\n  pop %rbp\n"
        "  ret\n"
        ".size kb_switch,.-kb_switch\n");
typedef void *place;
static void begin_at(place *at, char *stack, size_t bytes, void (*body)()) {
    void **top = (void **)((uintptr_t)(stack + bytes) / 16 * 16);
    *--top = NULL; /* body starts as if it were called */
    *--top = (void *)body;
    for (int k = 0; k < 6; k++)
        *--top = NULL;
    *at = top;
}
static void go(place *from, place *to) {
    kb_switch(from, *to);
}
#else
#include <ucontext.h>
typedef ucontext_t place;
static void begin_at(place *at, char *stack, size_t bytes, void (*body)()) {
    getcontext(at);
    at->uc_stack.ss_sp = stack;
    at->uc_stack.ss_size = bytes;
    at->uc_link = NULL;
    makecontext(at, body, 0);
}
static void go(place *from, place *to) {
    swapcontext(from, to);
}
#endif

/* ---- kernels ----------------------------------------------------------- */

enum { STACK = 64 << 10, SHARED = 100 << 10 };

namespace {

/* A stack that runs threads one after another, until one of them waits at a barrier. */
struct worker {
    place at;
    char *stack;
    int waits;       /* a thread of the block is at a barrier on it */
    unsigned thread; /* that one */
};

worker workers[KB_MOST_THREADS];
size_t made, me; /* workers that there are, and the one that runs */
place scheduler;
size_t started, threads; /* of the block */
bool backward;
const std::function<void()> *body;

void work() {
    for (;;) {
        while (started < threads) {
            unsigned t = (unsigned)(backward ? threads - 1 - started : started);
            started++;
            threadIdx.x = workers[me].thread = t;
            (*body)();
        }
        workers[me].waits = 0;
        go(&workers[me].at, &scheduler);
    }
}

void resume(size_t w) {
    me = w;
    threadIdx.x = workers[w].thread;
    go(&scheduler, &workers[w].at);
}

/* All threads of a block up to their first barrier, then up to the next, until all have ended. */
void run_block() {
    size_t used = 0;
    for (started = 0; started < threads; used++) {
        if (used == made) {
            workers[made].stack = (char *)malloc(STACK);
            begin_at(&workers[made].at, workers[made].stack, STACK, work);
            made++;
        }
        workers[used].waits = 0;
        resume(used);
    }
    for (size_t left = used, waiting = 0; left > 0; left = waiting) {
        size_t first = waiting = 0;
        for (size_t w = 0; w < used; w++)
            first += workers[w].waits;
        for (size_t w = 0; w < used; w++) {
            if (workers[w].waits)
                resume(w);
            waiting += workers[w].waits;
        }
        /* Barriers are for all threads: those that wait go on together. */
        if ((waiting != 0 && waiting != first) || (first != 0 && first != threads)) {
            fprintf(stderr, "emulated: %zu of %zu threads at a barrier\n", waiting, threads);
            abort();
        }
    }
}

} // namespace

void __syncthreads(void) {
    workers[me].waits = 1;
    go(&workers[me].at, &scheduler);
}

void kb_emulate(dim3 grid, size_t of_block, size_t shared, const std::function<void()> &kernel) {
    static unsigned char *memory;
    const char *order = getenv("KB_EMULATED_ORDER");
    if (shared > SHARED || of_block > KB_MOST_THREADS || grid.x == 0 || grid.y == 0) {
        fprintf(stderr, "emulated: a launch that a device would refuse\n");
        abort();
    }
    if (!memory)
        memory = (unsigned char *)malloc(SHARED);
    kb_emulated_shared = memory;
    backward = order && strcmp(order, "backward") == 0;
    body = &kernel;
    threads = of_block;
    gridDim = grid;
    blockDim = dim3((unsigned)threads);
    size_t blocks = (size_t)grid.x * grid.y;
    for (size_t b = 0; b < blocks; b++) {
        size_t k = backward ? blocks - 1 - b : b;
        blockIdx = dim3((unsigned)(k % grid.x), (unsigned)(k / grid.x));
        memset(memory, 0x5a, shared);
        run_block();
    }
}

/* ---- memory ------------------------------------------------------------ */

namespace {

const size_t GUARD = 64;
size_t taken;

size_t device_memory() {
    const char *text = getenv("KB_EMULATED_MEMORY");
    return text ? (size_t)strtoull(text, NULL, 10) : (size_t)1 << 32;
}

} // namespace

cudaError_t cudaMalloc(void **out, size_t bytes) {
    *out = NULL;
    if (taken + bytes > device_memory())
        return cudaErrorMemoryAllocation;
    unsigned char *block = (unsigned char *)malloc(bytes + 2 * GUARD);
    if (!block)
        return cudaErrorMemoryAllocation;
    memcpy(block, &bytes, sizeof bytes);
    memset(block + GUARD, 0x41, bytes);
    memset(block + GUARD + bytes, 0xb7, GUARD);
    taken += bytes;
    *out = block + GUARD;
    return cudaSuccess;
}

cudaError_t cudaFree(void *at) {
    if (!at)
        return cudaSuccess;
    unsigned char *block = (unsigned char *)at - GUARD;
    size_t bytes;
    memcpy(&bytes, block, sizeof bytes);
    for (size_t k = 0; k < GUARD; k++)
        if (block[GUARD + bytes + k] != 0xb7) {
            fprintf(stderr, "emulated: written behind an array of %zu bytes\n", bytes);
            abort();
        }
    taken -= bytes;
    free(block);
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *left, size_t *all) {
    *all = device_memory();
    *left = *all - taken;
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, int, cudaStream_t) {
    memcpy(to, from, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *to, int byte, size_t bytes, cudaStream_t) {
    memset(to, byte, bytes);
    return cudaSuccess;
}

/* ---- the rest ---------------------------------------------------------- */

cudaError_t cudaGetLastError(void) {
    return cudaSuccess;
}

const char *cudaGetErrorString(cudaError_t error) {
    return error == cudaErrorMemoryAllocation ? "out of memory" : "an error";
}

cudaError_t cudaGetDeviceCount(int *count) {
    *count = getenv("KB_EMULATED_NONE") == NULL;
    return *count ? cudaSuccess : cudaErrorNoDevice;
}

cudaError_t cudaSetDevice(int) {
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *about, int) {
    snprintf(about->name, sizeof about->name, "emulated");
    about->multiProcessorCount = 2;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, int, int) {
    *value = SHARED;
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, int) {
    *stream = 0;
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t) {
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t) {
    return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *, int, int) {
    return cudaSuccess;
}

/* Nothing takes time here. */
cudaError_t cudaEventCreate(cudaEvent_t *event) {
    *event = 1;
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t) {
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) {
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t) {
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t, cudaEvent_t) {
    *ms = 1;
    return cudaSuccess;
}
