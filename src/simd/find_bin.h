/*
 * find_bin.h - the column of Z that a key stands for: the search of a dictionary.
 *
 * A grid's bins are sorted by key.  The high bits of a key name one of 2^b buckets, and a small
 * table says where in the order each bucket begins, so a search looks at one or two keys.
 * features/dictionary.h makes dictionaries.
 */
#ifndef KB_SIMD_FIND_BIN_H
#define KB_SIMD_FIND_BIN_H

#include "core/both.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

typedef struct kb_dictionary {
    size_t grids, bins;
    const uint64_t *start;        /* R + 1: the first bin of each grid */
    const uint64_t *bucket_start; /* R + 1: the first entry of each grid in `bucket` */
    const uint32_t *bucket;       /* 2^b + 1 a grid: the bucket's first bin, within the grid */
    const uint64_t *key;          /* D; NULL in a compact dictionary */
    const uint16_t *tail;         /* D, instead of the keys; increasing within a bucket */
    const uint8_t *skip;          /* R: bits of a key before its tail; with tails only */
} kb_dictionary;

enum { KB_TAIL_BITS = 16 };

/* Every nonzero of Z, for R grids in all. */
KB_BOTH static inline double kb_bin_value(size_t R) {
    return 1 / sqrt((double)R);
}

KB_BOTH static inline size_t kb_dictionary_buckets(const kb_dictionary *d, size_t r) {
    return (size_t)(d->bucket_start[r + 1] - d->bucket_start[r]) - 1;
}

/* b. */
KB_BOTH static inline int kb_bucket_bits(size_t buckets) {
#ifdef __CUDA_ARCH__
    return __ffsll((long long)buckets) - 1;
#else
    return __builtin_ctzll(buckets);
#endif
}

/* The bucket of a key among 2^b. */
KB_BOTH static inline size_t kb_bucket_of(uint64_t key, size_t buckets) {
    return (size_t)((key >> 1) >> (63 - kb_bucket_bits(buckets)));
}

KB_BOTH static inline uint16_t kb_tail_of(uint64_t key, unsigned skip) {
    return (uint16_t)((key << skip) >> (64 - KB_TAIL_BITS));
}

/* The column of Z that `key` of grid r stands for, or -1. */
KB_BOTH static inline int64_t kb_dictionary_find(const kb_dictionary *d, size_t r, uint64_t key) {
    size_t buckets = kb_dictionary_buckets(d, r);
    const uint32_t *bucket = d->bucket + d->bucket_start[r] + kb_bucket_of(key, buckets);
    if (d->tail) {
        const uint16_t *tails = d->tail + d->start[r], tail = kb_tail_of(key, d->skip[r]);
        for (uint32_t i = bucket[0]; i < bucket[1]; i++)
            if (tails[i] == tail)
                return (int64_t)(d->start[r] + i);
        return -1;
    }
    const uint64_t *keys = d->key + d->start[r];
    for (uint32_t i = bucket[0]; i < bucket[1]; i++)
        if (keys[i] == key)
            return (int64_t)(d->start[r] + i);
    return -1;
}

#endif
