/*
 * bintable.h - from the key of a bin to its number, while the bins are discovered.
 *
 * Numbers are given in the order of first appearance.  Open addressing over bin numbers alone: the
 * keys are stored apart, in the order of the numbers, as the finished dictionary needs them.
 */
#ifndef KB_FEATURES_BINTABLE_H
#define KB_FEATURES_BINTABLE_H

#include "core/memory.h"

typedef struct kb_bintable {
    uint64_t *key;  /* of bin 0, 1, .. */
    uint32_t count; /* bins */
    size_t room;    /* for keys */
    uint32_t *slot; /* bin + 1; 0: free */
    int bits;       /* log2 of the number of slots */
} kb_bintable;

/* Empties the table, keeping its memory; a table of zeros is a fresh one. */
kb_status kb_bintable_clear(kb_context *ctx, kb_bintable *table);

/* ids[i * stride] = number of keys[i], known or new. */
kb_status kb_bintable_number(kb_context *ctx, kb_bintable *table, size_t count,
                             const uint64_t *keys, size_t stride, uint32_t *ids);

void kb_bintable_release(kb_context *ctx, kb_bintable *table);

#endif
