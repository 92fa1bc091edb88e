/* dispatch.c - which of the compiled kernels this machine runs; see kernels.h. */
#include "features/kernels.h"

extern const kb_kernels kb_kernels_plain;
#if KB_KERNELS_X86
extern const kb_kernels kb_kernels_avx2;
extern const kb_kernels kb_kernels_avx512;
#endif

size_t kb_kernels_list(const kb_kernels **out, size_t room) {
    size_t count = 0;
    if (count < room)
        out[count++] = &kb_kernels_plain;
#if KB_KERNELS_X86
    __builtin_cpu_init();
    if (count < room && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        out[count++] = &kb_kernels_avx2;
    if (count < room && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
        out[count++] = &kb_kernels_avx512;
#endif
    return count;
}

const kb_kernels *kb_kernels_best(void) {
    const kb_kernels *all[4];
    return all[kb_kernels_list(all, 4) - 1];
}
