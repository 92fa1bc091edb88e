/*
 * dictionary.h - the known bins of all grids, for predicting.
 *
 * A grid's bins are sorted by key.  The high bits of a key name one of 2^b buckets, and a small
 * table says where in the order each bucket begins, so a search looks at one or two keys.  Plain
 * arrays without pointers: they are written to a model file and used in place.
 */
#ifndef KB_FEATURES_DICTIONARY_H
#define KB_FEATURES_DICTIONARY_H

#include "features/binmat.h"

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

static inline size_t kb_dictionary_buckets(const kb_dictionary *d, size_t r) {
    return (size_t)(d->bucket_start[r + 1] - d->bucket_start[r]) - 1;
}

/* The bucket of a key among 2^b. */
static inline size_t kb_bucket_of(uint64_t key, size_t buckets) {
    return (size_t)((key >> 1) >> (63 - __builtin_ctzll(buckets)));
}

static inline uint16_t kb_tail_of(uint64_t key, unsigned skip) {
    return (uint16_t)((key << skip) >> (64 - KB_TAIL_BITS));
}

/* The column of Z that `key` of grid r stands for, or -1. */
static inline int64_t kb_dictionary_find(const kb_dictionary *d, size_t r, uint64_t key) {
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

/* Sorts the bins of z into fresh arrays, which the caller releases with
 * kb_dictionary_release.  (*order)[start[r] + i] is the number in z of the bin that is
 * now the i-th of grid r.  O(D) time.  Takes the keys out of z. */
kb_status kb_dictionary_build(kb_context *ctx, kb_binmat *z, kb_dictionary *out, uint32_t **order);
void kb_dictionary_release(kb_allocator allocator, kb_dictionary *dictionary);

/* From keys that increase within a grid, those of grid r from start[r] on.  On success *out owns
 * both arrays. */
kb_status kb_dictionary_of_keys(kb_context *ctx, size_t grids, const uint64_t *start,
                                const uint64_t *key, kb_dictionary *out);

/* The same with the bins that `stays` says, of the grids that are listed in increasing order. */
kb_status kb_dictionary_select(kb_context *ctx, const kb_dictionary *from, size_t grids,
                               const size_t *grid, const unsigned char *stays, kb_dictionary *out);

/* The same bins as a compact dictionary.  (*order)[start[r] + i] is the number in `from`, within
 * grid r, of the bin that is now its i-th.  Twins, bins of a grid with the same tail and bucket,
 * are rare and stand side by side; a search finds the first.  Release both as after
 * kb_dictionary_build. */
kb_status kb_dictionary_cut(kb_context *ctx, const kb_dictionary *from, kb_dictionary *out,
                            uint32_t **order);

/* The bits of the keys of grid r that are known, as ones.  And the keys with zeros for the others,
 * in order.  `room` is for all keys of the grid; the result is in it, or in the dictionary. */
uint64_t kb_dictionary_mask(const kb_dictionary *d, size_t r);
const uint64_t *kb_dictionary_keys(const kb_dictionary *d, size_t r, uint64_t *room);
/* The bins of the fullest grid. */
size_t kb_dictionary_most_bins(const kb_dictionary *d);

/* 0 if a search could leave the arrays: for those that came from a file.
 * kb_dictionary_starts_are_sound does not look at the buckets of the grids, and so at R numbers
 * only. */
int kb_dictionary_is_sound(const kb_dictionary *d, size_t buckets);
int kb_dictionary_starts_are_sound(const kb_dictionary *d, size_t buckets);

#endif
