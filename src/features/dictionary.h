/*
 * dictionary.h - the known bins of all grids, for predicting.
 *
 * A grid's bins are sorted by key.  The high bits of a key name one of 2^b buckets, and a small
 * table says where in the order each bucket begins (simd/find_bin.h).  Plain arrays without
 * pointers: they are written to a model file and used in place.
 */
#ifndef KB_FEATURES_DICTIONARY_H
#define KB_FEATURES_DICTIONARY_H

#include "features/binmat.h"
#include "simd/find_bin.h"

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
