/*
 * contribution.h - what a scaled value adds to the keys of eight grids, and the keys from the sums.
 */
#ifndef KB_SIMD_CONTRIBUTION_H
#define KB_SIMD_CONTRIBUTION_H

#include "simd/lanes.h"

#ifdef __AVX512DQ__
#include <immintrin.h>
#endif

typedef int32_t ints __attribute__((vector_size(4 * KB_LANES)));
typedef int64_t longs __attribute__((vector_size(8 * KB_LANES)));
typedef uint64_t keys_t __attribute__((vector_size(8 * KB_LANES)));

/* floor(y / delta + offset) times the feature's factor, in every lane. */
#ifdef __AVX512DQ__
INLINE keys_t contribution(double y, const double *p, uint64_t factor) {
    reals t = y * load(p) + load(p + KB_LANES);
    return (keys_t)_mm512_cvt_roundpd_epi64((__m512d)t, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC) *
           factor;
}
#else
/* Truncation and one correction, because plain x86-64 has no floor. */
INLINE keys_t contribution(double y, const double *p, uint64_t factor) {
    reals t = y * load(p) + load(p + KB_LANES);
    ints truncated = __builtin_convertvector(t, ints);
    longs above = t < __builtin_convertvector(truncated, reals); /* -1 where true */
    longs bin = __builtin_convertvector(truncated, longs) + above;
    return (keys_t)bin * factor;
}
#endif

INLINE void store_keys(keys_t sum, size_t stride, uint64_t *keys) {
    sum ^= sum >> 32; /* kb_key_mix */
    sum *= KB_KEY_FACTOR;
    for (int k = 0; k < KB_LANES; k++)
        keys[(size_t)k * stride] = sum[k];
}

#endif
