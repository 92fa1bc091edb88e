/*
 * lanes.h - vectors of eight numbers.
 */
#ifndef KB_SIMD_LANES_H
#define KB_SIMD_LANES_H

#include "simd/bins.h"
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

#endif
