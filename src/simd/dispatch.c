/* dispatch.c - which of the compiled levels this machine runs; see simd.h. */
#include "simd/simd.h"

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

size_t kb_simd_list(const kb_simd **out, size_t room) {
    size_t count = 0;
    if (count < room)
        out[count++] = &plain;
#if KB_SIMD_X86
    __builtin_cpu_init();
    if (count < room && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        out[count++] = &avx2;
    if (count < room && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
        out[count++] = &avx512;
#endif
    return count;
}

const kb_simd *kb_simd_best(void) {
    const kb_simd *all[4];
    return all[kb_simd_list(all, 4) - 1];
}
