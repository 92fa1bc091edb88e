/* dispatch.c - which of the compiled levels this machine runs; see simd.h. */
#include "simd/simd.h"

#include <stdatomic.h>

#if KB_SIMD_X86
#include <cpuid.h>
#endif

#define LEVEL(level)                                                                               \
    extern const kb_bin_loops kb_bin_loops_##level;                                                \
    extern const kb_light_loops kb_light_loops_##level;                                            \
    extern const kb_loss_loops kb_loss_loops_##level;                                              \
    extern const kb_tiles kb_tiles_##level;                                                        \
    extern const kb_masked_rows kb_masked_rows_##level;                                            \
    extern const kb_whole_sums kb_whole_sums_##level;                                              \
    extern const kb_one_row_loops kb_one_row_loops_##level;                                        \
    static const kb_simd level = {#level,                                                          \
                                  &kb_bin_loops_##level,                                           \
                                  &kb_light_loops_##level,                                         \
                                  &kb_loss_loops_##level,                                          \
                                  &kb_tiles_##level,                                               \
                                  &kb_masked_rows_##level,                                         \
                                  &kb_whole_sums_##level,                                          \
                                  &kb_one_row_loops_##level};

LEVEL(plain)
#if KB_SIMD_X86
LEVEL(avx2)
LEVEL(avx512)
#endif

#if KB_SIMD_X86
/* What the processor has, and the system keeps when it switches threads.  Asked here, since
 * __builtin_cpu_supports needs a part of the compiler's library that Zig's does not have. */
static void ask_cpu(int *has_avx2, int *has_avx512) {
    enum { YMM = 0x6, ZMM = 0xe6 }; /* registers that the system keeps: bits of XCR0 */
    const unsigned wanted = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31; /* f, dq, bw, vl */
    unsigned a, b, c, d, kept, high;
    *has_avx2 = *has_avx512 = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
        return;
    int fma = (c & bit_FMA) != 0;
    __asm__("xgetbv" : "=a"(kept), "=d"(high) : "c"(0));
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return;
    *has_avx2 = fma && (b & bit_AVX2) && (kept & YMM) == YMM;
    *has_avx512 = (b & wanted) == wanted && (kept & ZMM) == ZMM;
}
#endif

size_t kb_simd_list(const kb_simd **out, size_t room) {
    size_t count = 0;
    if (count < room)
        out[count++] = &plain;
#if KB_SIMD_X86
    int has_avx2, has_avx512;
    ask_cpu(&has_avx2, &has_avx512);
    if (count < room && has_avx2)
        out[count++] = &avx2;
    if (count < room && has_avx512)
        out[count++] = &avx512;
#endif
    return count;
}

/* Kept, because a virtual machine takes tens of microseconds for each question to the processor,
 * and loops ask for every block.  Whoever writes it, it is the same constant table. */
const kb_simd *kb_simd_best(void) {
    static _Atomic(const kb_simd *) best;
    const kb_simd *found = atomic_load_explicit(&best, memory_order_relaxed);
    if (!found) {
        const kb_simd *all[4];
        found = all[kb_simd_list(all, 4) - 1];
        atomic_store_explicit(&best, found, memory_order_relaxed);
    }
    return found;
}
