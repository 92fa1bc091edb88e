/*
 * zip.h - the members of a zip file, as numpy.savez writes one: stored or deflated, of any size.
 */
#ifndef KB_PACKED_ZIP_H
#define KB_PACKED_ZIP_H

#include "packed/source.h"

#include <stdint.h>

typedef struct kb_zip kb_zip;

typedef struct kb_zip_member {
    char *name;
    uint64_t at; /* of its local header */
    uint64_t packed, size;
    uint32_t checksum;
    unsigned method, flags;
} kb_zip_member;

/* Reads the list of members at the end of the file.  Of a source that is no plain file all bytes
 * are kept in memory: `begin` are those that were read already.  The source must outlive it.
 * KB_ERR_DATA if there is no such list. */
kb_status kb_zip_open(kb_context *ctx, kb_source *source, const void *begin, size_t count,
                      kb_zip **out);
void kb_zip_free(kb_zip *zip);

size_t kb_zip_count(const kb_zip *zip);
const kb_zip_member *kb_zip_member_at(const kb_zip *zip, size_t i);

/* From now on kb_zip_read gives the bytes of that member. */
kb_status kb_zip_begin(kb_zip *zip, size_t member);
/* *got = 1 to `room` bytes, or 0 at the end, where size and checksum are compared. */
kb_status kb_zip_read(kb_zip *zip, void *to, size_t room, size_t *got);

#endif
