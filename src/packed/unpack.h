/*
 * unpack.h - one compressed stream after the other undone: gzip, bzip2, xz, lzma and zstd.
 *
 * Every checksum of a format is compared, and its data may end only where a stream ends.  Streams
 * of the same format may follow each other, and zeros may follow the last; anything else behind
 * it is damage.  The formats have a checksum of the data, but for lzma, and zstd where its writer
 * left it out.
 */
#ifndef KB_PACKED_UNPACK_H
#define KB_PACKED_UNPACK_H

#include "core/context.h"

#include <stdint.h>

typedef enum kb_packing {
    KB_PACKING_NONE = 0,
    KB_PACKING_GZIP,
    KB_PACKING_BZIP2,
    KB_PACKING_XZ, /* and lzma */
    KB_PACKING_ZSTD,
    KB_PACKING_DEFLATE, /* a stream without header, as in a zip file: nothing may follow */
} kb_packing;

/* By the first bytes of a file, of which KB_PACKING_MARK are enough. */
enum { KB_PACKING_MARK = 13 };
kb_packing kb_packing_of(const unsigned char *bytes, size_t count);
/* "gzip", ..; "" for none. */
const char *kb_packing_name(kb_packing packing);

typedef struct kb_unpacker kb_unpacker;

/* xz and zstd files say how much memory they need: at most what the charge leaves (memory.h). */
kb_status kb_unpacker_create(kb_context *ctx, kb_packing packing, kb_unpacker **out);
void kb_unpacker_free(kb_unpacker *unpacker);

typedef struct kb_unpack_step {
    const unsigned char *in; /* still packed; moves on */
    size_t in_left;
    int in_ends; /* nothing follows it in the file */
    char *out;   /* moves on */
    size_t out_left;
    int ended;       /* of the result: all is unpacked */
    const char *why; /* .. or what is wrong */
} kb_unpack_step;

/* Goes on until there is no input left or no room, or to the end.  On failure `why` is a few
 * words: KB_ERR_IO damage, KB_ERR_MEMORY too little memory. */
kb_status kb_unpack(kb_unpacker *unpacker, kb_unpack_step *step);

#endif
