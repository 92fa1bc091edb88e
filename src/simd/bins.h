/*
 * bins.h - the inner loops of random binning: from rows to keys of bins, and sums over bins.
 */
#ifndef KB_SIMD_BINS_H
#define KB_SIMD_BINS_H

#include "core/both.h"

#include <stddef.h>
#include <stdint.h>

/* Grids are handled eight at a time, one in each lane of the machine's vectors. */
enum { KB_LANES = 8 };

/* One block of KB_LANES grids with what is needed to bin a row in it. */
typedef struct kb_bin_block {
    size_t features;
    const double *shift, *scale; /* of the features: scaled = (x - shift) * scale */
    const double *parameter;     /* features x {1/delta, offset} x lanes: kb_grids_block */
    const double *bound;         /* kb_grids_bound */
    const uint64_t *factor;      /* of the hash */
} kb_bin_block;

/* Four grids whose bin numbers lie side by side, row after row: one load of ids, one
 * of the vector, and four independent sums under way.  A last group that has fewer
 * grids is filled up with grids of a single bin. */
enum { KB_GROUP = 4 };

/* Columns of a product that are worked on together. */
enum { KB_PANEL = 8 };

typedef struct kb_id_group {
    void *ids; /* rows x KB_GROUP */
    int bits;  /* of a number: 8, 16, 18, 24 or 32 (idgroup.h) */
} kb_id_group;

typedef struct kb_bin_loops {
    /* keys[lane * stride + i] = the key of row i, of `rows` dense rows at x. */
    void (*keys_dense)(const kb_bin_block *block, size_t rows, const double *x, size_t stride,
                       uint64_t *keys);

    /* What the feature j adds to the sum of each lane where it is zero: zero[j * lanes +
     * lane], and the whole sum of an empty row in total[lane]. */
    void (*keys_zero)(const kb_bin_block *block, uint64_t *zero, uint64_t *total);

    /* As keys_dense, for rows of which only the entries row_start[i] .. are given. */
    void (*keys_sparse)(const kb_bin_block *block, size_t rows, const size_t *row_start,
                        const uint32_t *column, const double *value, const uint64_t *zero,
                        const uint64_t *total, size_t stride, uint64_t *keys);

    /* sums[g][bin * columns + c] += v[i * ld + c] for the rows begin up to end and every
     * grid g of the group; columns is 1, 2, 4 or KB_PANEL. */
    void (*scatter)(const kb_id_group *group, size_t begin, size_t end, size_t columns,
                    const double *v, size_t ld, double *const *sums);

    /* out[i * ld + c] += the sum over the grids of sums[g][bin * columns + c],
     * likewise; with `first` it is set instead of added to. */
    void (*gather)(const kb_id_group *group, size_t begin, size_t end, size_t columns,
                   const double *const *sums, int first, double *out, size_t ld);
} kb_bin_loops;

/* The keys are mixed so that their high bits choose a place in a table; the mixing
 * can be undone, so different sums keep different keys. */
#define KB_KEY_FACTOR UINT64_C(0x9E3779B97F4A7C15)

KB_BOTH static inline uint64_t kb_key_mix(uint64_t sum) {
    return (sum ^ sum >> 32) * KB_KEY_FACTOR;
}

/* KB_KEY_FACTOR times this is 1. */
#define KB_KEY_INVERSE UINT64_C(0xF1DE83E19937733D)

KB_BOTH static inline uint64_t kb_key_unmix(uint64_t key) {
    uint64_t sum = key * KB_KEY_INVERSE;
    return sum ^ sum >> 32;
}

/* The key of a tuple of four bins.  Bins below 2^16 make one that no other tuple has.  Larger ones
 * are mixed in, and 64 bits tell them apart as they do for bins. */
KB_BOTH static inline uint64_t kb_tuple_key(const uint32_t *bin) {
    uint64_t low = 0, high = 0;
    for (int k = 0; k < KB_GROUP; k++) {
        low |= (uint64_t)(bin[k] & 0xffff) << 16 * k;
        high |= (uint64_t)(bin[k] >> 16) << 16 * k;
    }
    return kb_key_mix(low ^ kb_key_mix(high * KB_KEY_FACTOR));
}

#endif
