/* light_bins.c - see light_bins.h. */
#include "simd/light_bins.h"
#include "simd/level.h"

#include <string.h>

#ifdef __AVX512DQ__
#include <immintrin.h>
#endif

extern const kb_light_loops KB_OF_LEVEL(kb_light_loops);

enum { WIDE = 16, STRIPS = KB_LIGHT_ROWS / WIDE };
typedef float floats __attribute__((vector_size(4 * WIDE)));
typedef int32_t wholes __attribute__((vector_size(4 * WIDE)));
typedef uint32_t words __attribute__((vector_size(4 * WIDE)));

#ifdef __AVX512DQ__
INLINE words floors(floats t) {
    return (words)_mm512_cvt_roundps_epi32((__m512)t, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}
#else
/* Truncation and one correction, because plain x86-64 has no floor. */
INLINE words floors(floats t) {
    wholes truncated = __builtin_convertvector(t, wholes);
    return (words)(truncated + (t < __builtin_convertvector(truncated, floats)));
}
#endif

/* The keys are mixed so that their high bits choose a place in a table. */
INLINE words mixed(words sum) {
    sum ^= sum >> 16;
    return sum * UINT32_C(0x9E3779B1);
}

static void keys(size_t cuts, const kb_light_cut *cut, size_t rows, const float *x, size_t apart,
                 uint32_t *key) {
    for (size_t i = 0; i < rows; i += KB_LIGHT_ROWS) {
        words sum[STRIPS] = {{0}};
        for (size_t k = 0; k < cuts; k++) {
            const float *column = x + cut[k].feature * apart + i;
            for (size_t s = 0; s < STRIPS; s++) {
                floats y;
                memcpy(&y, column + s * WIDE, sizeof y);
                sum[s] += floors(y * cut[k].inverse + cut[k].offset) * cut[k].factor;
            }
        }
        for (size_t s = 0; s < STRIPS; s++) {
            words mix = mixed(sum[s]);
            memcpy(key + i + s * WIDE, &mix, sizeof mix);
        }
    }
}

const kb_light_loops KB_OF_LEVEL(kb_light_loops) = {
    .keys = keys,
};
