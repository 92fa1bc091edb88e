/*
 * text_ids.h - texts numbered from 0 in the order in which they first come, such as the groups of
 * rows in a file: any number of them, told apart byte for byte.
 */
#ifndef KB_TABLE_TEXT_IDS_H
#define KB_TABLE_TEXT_IDS_H

#include "core/memory.h"

/* Zero to begin with. */
typedef struct kb_text_ids {
    char *text;     /* of all keys, one after the other */
    size_t *start;  /* count + 1: of each key in text */
    uint64_t *hash; /* count */
    uint32_t *slot; /* slots: 1 + the key there, or 0; at most half are taken */
    size_t count, slots, text_capacity, start_capacity, hash_capacity;
} kb_text_ids;

/* *number = that of the text, which gets the next if it is new.  There may be as many as there
 * are rows (KB_ROWS_MAX).  O(length) on average. */
kb_status kb_text_ids_number(kb_context *ctx, kb_text_ids *keys, const char *text, size_t length,
                             uint32_t *number);

/* The number of a text that has come already, else KB_TEXT_UNKNOWN.  Several threads may ask at
 * once while none is added. */
#define KB_TEXT_UNKNOWN UINT32_MAX
uint32_t kb_text_ids_find(const kb_text_ids *keys, const char *text, size_t length);

void kb_text_ids_clear(kb_context *ctx, kb_text_ids *keys);

#endif
