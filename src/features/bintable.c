/*
 * bintable.c - see bintable.h.
 *
 * At most half of the slots are taken, and a slot is found by the high bits of the key, so a search
 * seldom looks twice.  Once the table has outgrown the cache, the slots and then the keys of a
 * small batch are prefetched, which hides most of the memory latency.
 */
#include "features/bintable.h"

#include <string.h>

enum { FIRST_BITS = 10, BATCH = 32 };

/* Up to this many slots there is room for all keys that they may hold. */
static const int BITS_SMALL = 13;

/* From this many slots on, prefetching is faster. */
static const int BITS_OUT_OF_CACHE = 16;

static inline size_t slot_of(const kb_bintable *t, uint64_t key) {
    return (size_t)(key >> (64 - t->bits));
}

kb_status kb_bintable_clear(kb_context *ctx, kb_bintable *t) {
    t->count = 0;
    if (t->slot) {
        memset(t->slot, 0, sizeof(uint32_t) << t->bits);
        return KB_OK;
    }
    t->bits = FIRST_BITS;
    return kb_zalloc(ctx, (size_t)1 << t->bits, sizeof(uint32_t), &t->slot);
}

static void place(kb_bintable *t, uint64_t key, uint32_t bin) {
    size_t mask = ((size_t)1 << t->bits) - 1, s = slot_of(t, key);
    while (t->slot[s])
        s = (s + 1) & mask;
    t->slot[s] = bin + 1;
}

static kb_status grow(kb_context *ctx, kb_bintable *t) {
    uint32_t *wider;
    kb_status status = kb_zalloc(ctx, (size_t)2 << t->bits, sizeof(uint32_t), &wider);
    if (status != KB_OK)
        return status;
    kb_release(ctx, t->slot);
    t->slot = wider;
    t->bits++;
    for (uint32_t bin = 0; bin < t->count; bin++)
        place(t, t->key[bin], bin);
    return KB_OK;
}

/* Room for BATCH more bins, so that the search below never has to stop. */
static kb_status make_room(kb_context *ctx, kb_bintable *t) {
    kb_status status;
    size_t need = (size_t)t->count + BATCH;
    while (2 * need > (size_t)1 << t->bits)
        TRY(grow(ctx, t));
    if (t->bits <= BITS_SMALL)
        need = (size_t)1 << (t->bits - 1);
    TRY(kb_reserve(ctx, need, sizeof(uint64_t), &t->room, &t->key));
done:
    return status;
}

static inline uint32_t number(kb_bintable *t, uint64_t key) {
    size_t mask = ((size_t)1 << t->bits) - 1;
    for (size_t s = slot_of(t, key);; s = (s + 1) & mask) {
        uint32_t bin = t->slot[s];
        if (bin == 0) {
            t->key[t->count] = key;
            t->slot[s] = ++t->count;
            return t->count - 1;
        }
        if (t->key[bin - 1] == key)
            return bin - 1;
    }
}

static void ask_ahead(const kb_bintable *t, size_t count, const uint64_t *keys) {
    for (size_t i = 0; i < count; i++)
        __builtin_prefetch(&t->slot[slot_of(t, keys[i])]);
    for (size_t i = 0; i < count; i++) {
        uint32_t bin = t->slot[slot_of(t, keys[i])];
        __builtin_prefetch(&t->key[bin ? bin - 1 : 0]);
    }
}

kb_status kb_bintable_number(kb_context *ctx, kb_bintable *t, size_t count, const uint64_t *keys,
                             size_t stride, uint32_t *ids) {
    for (size_t i = 0; i < count; i += BATCH) {
        size_t batch = count - i < BATCH ? count - i : BATCH;
        kb_status status = make_room(ctx, t);
        if (status != KB_OK)
            return status;
        if (t->bits >= BITS_OUT_OF_CACHE)
            ask_ahead(t, batch, keys + i);
        /* Close rows that stand side by side share many keys. */
        for (size_t k = i; k < i + batch; k++)
            ids[k * stride] =
                k > 0 && keys[k] == keys[k - 1] ? ids[(k - 1) * stride] : number(t, keys[k]);
    }
    return KB_OK;
}

void kb_bintable_release(kb_context *ctx, kb_bintable *t) {
    kb_release(ctx, t->key);
    kb_release(ctx, t->slot);
    memset(t, 0, sizeof *t);
}
