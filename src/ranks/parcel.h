/*
 * parcel.h - a result on its way from the rank that made it to the others.
 *
 * What is to travel is said once, for both directions: the rank that made it writes the numbers,
 * the others read them to the same places.
 */
#ifndef KB_RANKS_PARCEL_H
#define KB_RANKS_PARCEL_H

#include "core/context.h"

typedef struct kb_parcel {
    kb_context *ctx;
    int reads;
    char *bytes; /* of a writer: to be released */
    size_t at, count, room;
} kb_parcel;

/* KB_ERR_DATA where fewer bytes are there than are read. */
kb_status kb_parcel_carry(kb_parcel *parcel, void *numbers, size_t bytes);

#endif
