/*
 * light_bins.h - from rows to keys of bins, for trials.
 *
 * A trial compares kernels on a few thousand rows, and its bins are not kept.  So values are floats
 * and keys have 32 bits, which twice as many lanes hold.
 */
#ifndef KB_SIMD_LIGHT_BINS_H
#define KB_SIMD_LIGHT_BINS_H

#include "simd/bins.h"

/* Columns and keys have room for a multiple of so many rows. */
enum { KB_LIGHT_ROWS = 64 };

/* How a grid cuts a feature. */
typedef struct kb_light_cut {
    float inverse, offset; /* the bin of x is floor(x * inverse + offset), below 2^31 */
    uint32_t factor;       /* of the hash */
    uint32_t feature;
} kb_light_cut;

typedef struct kb_light_loops {
    /* key[i] = the key of the bin of row i, in a grid that cuts the features of cut[0] up to
     * cut[cuts]; x holds the columns, `apart` numbers each.  Different bins have different keys but
     * for one pair in 2^32.  A multiple of KB_LIGHT_ROWS rows. */
    void (*keys)(size_t cuts, const kb_light_cut *cut, size_t rows, const float *x, size_t apart,
                 uint32_t *key);
} kb_light_loops;

#endif
