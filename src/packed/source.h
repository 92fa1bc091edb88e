/*
 * source.h - the bytes of a file or of standard input, unpacked where they are compressed.
 *
 * The compression is told by the first bytes (unpack.h).  A file whose name says that it is
 * compressed, and whose first bytes are neither that nor text, is damaged.
 */
#ifndef KB_PACKED_SOURCE_H
#define KB_PACKED_SOURCE_H

#include "core/context.h"

#include <sys/types.h>

typedef struct kb_source kb_source;

/* Opens `path` ("-": standard input) and reads nothing yet. */
kb_status kb_source_open(kb_context *ctx, const char *path, kb_source **out);
void kb_source_free(kb_source *source);

/* *got = 1 to `room` bytes at `to`, or 0 at the end.  A signal that interrupts a wait asks the
 * progress callback whether to stop. */
kb_status kb_source_read(kb_source *source, void *to, size_t room, size_t *got);

/* Tells the progress: the part of the file that was read, as "read". */
kb_status kb_source_report(const kb_source *source);
/* The path, or "standard input". */
const char *kb_source_name(const kb_source *source);
/* The descriptor of a regular file, of which bytes can be read from any place, and its size; -1
 * where the source is something else. */
int kb_source_file(const kb_source *source, off_t *size);

/* Whether it is a regular file that is not compressed, once some of it was read. */
int kb_source_is_plain(const kb_source *source);
/* Goes on in a plain file at the byte `begin`, and ends before the byte `end`. */
kb_status kb_source_narrow(kb_source *source, off_t begin, off_t end);

#endif
