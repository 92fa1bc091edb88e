/*
 * lanes.h - vectors of eight numbers, and the bin numbers of a row.
 */
#ifndef KB_SIMD_LANES_H
#define KB_SIMD_LANES_H

#include "simd/idgroup.h"
#include "simd/level.h"

#include <string.h>

/* One number a lane.  The compiler splits these into the vectors that the machine has; loads go
 * through memcpy because their alignment is not known. */
typedef double reals __attribute__((vector_size(8 * KB_LANES)));

INLINE reals load(const double *p) {
    reals x;
    memcpy(&x, p, sizeof x);
    return x;
}

/* The four bin numbers of row i.  Two to a load: one load of all four would need more
 * shifting, four of one each more of the load ports. */
typedef struct four {
    size_t id[KB_GROUP];
} four;

INLINE four ids_of(const void *ids, int bits, size_t i) {
    if (bits == 8) {
        uint16_t x[2];
        memcpy(x, (const uint8_t *)ids + i * KB_GROUP, sizeof x);
        return (four){{x[0] & 255, x[0] >> 8, x[1] & 255, x[1] >> 8}};
    }
    if (bits == 16) {
        uint32_t x[2];
        memcpy(x, (const uint16_t *)ids + i * KB_GROUP, sizeof x);
        return (four){{x[0] & 65535, x[0] >> 16, x[1] & 65535, x[1] >> 16}};
    }
    if (bits == 18) {
        uint32_t x[2];
        const uint8_t *at = (const uint8_t *)ids + i * 9;
        size_t high = at[8];
        memcpy(x, at, sizeof x);
        return (four){{(x[0] & 65535) | (high << 16 & 0x30000), x[0] >> 16 | (high << 14 & 0x30000),
                       (x[1] & 65535) | (high << 12 & 0x30000),
                       x[1] >> 16 | (high << 10 & 0x30000)}};
    }
    if (bits == 24) {
        uint64_t x[2];
        const uint8_t *at = (const uint8_t *)ids + i * 3 * KB_GROUP;
        memcpy(&x[0], at, sizeof x[0]);
        memcpy(&x[1], at + 4, sizeof x[1]);
        return (four){{x[0] & 0xffffff, x[0] >> 24 & 0xffffff, x[1] >> 16 & 0xffffff, x[1] >> 40}};
    }
    const uint32_t *x = (const uint32_t *)ids + i * KB_GROUP;
    return (four){{x[0], x[1], x[2], x[3]}};
}

#endif
