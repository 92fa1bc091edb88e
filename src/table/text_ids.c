/* text_ids.c - see text_ids.h: a hash table with open addressing. */
#include "table/text_ids.h"

#include <string.h>

/* FNV-1a, with its high bits mixed into the low ones that choose a slot. */
static uint64_t hash_of(const char *text, size_t length) {
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < length; i++)
        h = (h ^ (unsigned char)text[i]) * 0x100000001b3u;
    return h ^ h >> 32;
}

static int is_key(const kb_text_ids *keys, size_t k, uint64_t hash, const char *text,
                  size_t length) {
    return keys->hash[k] == hash && keys->start[k + 1] - keys->start[k] == length &&
           memcmp(keys->text + keys->start[k], text, length) == 0;
}

/* Twice as many slots. */
static kb_status grow(kb_context *ctx, kb_text_ids *keys) {
    kb_status status;
    size_t slots = keys->slots > 0 ? 2 * keys->slots : 64;
    uint32_t *slot;
    TRY(kb_zalloc(ctx, slots, sizeof *slot, &slot));
    for (size_t k = 0; k < keys->count; k++) {
        size_t at = keys->hash[k] & (slots - 1);
        while (slot[at] != 0)
            at = (at + 1) & (slots - 1);
        slot[at] = (uint32_t)(k + 1);
    }
    kb_release(ctx, keys->slot);
    keys->slot = slot;
    keys->slots = slots;
done:
    return status;
}

static kb_status add(kb_context *ctx, kb_text_ids *keys, uint64_t hash, const char *text,
                     size_t length) {
    kb_status status;
    size_t k = keys->count, begin = k > 0 ? keys->start[k] : 0;
    TRY(kb_reserve(ctx, k + 2, sizeof *keys->start, &keys->start_capacity, &keys->start));
    TRY(kb_reserve(ctx, k + 1, sizeof *keys->hash, &keys->hash_capacity, &keys->hash));
    TRY(kb_reserve(ctx, begin + length, 1, &keys->text_capacity, &keys->text));
    if (length > 0)
        memcpy(keys->text + begin, text, length);
    keys->start[k] = begin;
    keys->start[k + 1] = begin + length;
    keys->hash[k] = hash;
    keys->count++;
done:
    return status;
}

/* The slot of the key, or the empty one that it would get. */
static size_t slot_of(const kb_text_ids *keys, uint64_t hash, const char *text, size_t length) {
    size_t at = hash & (keys->slots - 1);
    while (keys->slot[at] != 0 && !is_key(keys, keys->slot[at] - 1, hash, text, length))
        at = (at + 1) & (keys->slots - 1);
    return at;
}

uint32_t kb_text_ids_find(const kb_text_ids *keys, const char *text, size_t length) {
    if (keys->slots == 0)
        return KB_TEXT_UNKNOWN;
    uint32_t key = keys->slot[slot_of(keys, hash_of(text, length), text, length)];
    return key == 0 ? KB_TEXT_UNKNOWN : key - 1;
}

kb_status kb_text_ids_number(kb_context *ctx, kb_text_ids *keys, const char *text, size_t length,
                             uint32_t *number) {
    kb_status status = KB_OK;
    uint64_t hash = hash_of(text, length);
    if (2 * (keys->count + 1) > keys->slots)
        TRY(grow(ctx, keys));
    size_t at = slot_of(keys, hash, text, length);
    if (keys->slot[at] == 0) {
        TRY(add(ctx, keys, hash, text, length));
        keys->slot[at] = (uint32_t)keys->count;
    }
    *number = keys->slot[at] - 1;
done:
    return status;
}

void kb_text_ids_clear(kb_context *ctx, kb_text_ids *keys) {
    kb_release(ctx, keys->text);
    kb_release(ctx, keys->start);
    kb_release(ctx, keys->hash);
    kb_release(ctx, keys->slot);
    *keys = (kb_text_ids){0};
}
