/*
 * outfile.h - output that appears whole or not at all.
 *
 * Writing goes to a temporary file beside the target, which takes the target's name only when every
 * byte is on disk; then the folder is synced too.  It has the owner and the rights of a file that
 * was there, which must be one that may be written.  A symbolic link stays, and the file behind it
 * is replaced or made.  "-", /dev/stdout and other open descriptors, and paths that are not regular
 * files (a pipe, a device) are written directly and never replaced.
 * A temporary file that a killed process has left is removed when the same target is written next.
 */
#ifndef KB_CORE_OUTFILE_H
#define KB_CORE_OUTFILE_H

#include "core/context.h"

typedef struct kb_outfile kb_outfile;

kb_status kb_outfile_create(kb_context *ctx, const char *path, kb_outfile **out);
kb_status kb_outfile_write(kb_outfile *file, const void *bytes, size_t count);
kb_status kb_outfile_printf(kb_outfile *file, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Flushes, syncs and gives the file its name.  The handle stays to be freed. */
kb_status kb_outfile_commit(kb_outfile *file);
/* Output that goes to no file: it is kept in memory, until the handle is freed. */
kb_status kb_outfile_create_in_memory(kb_context *ctx, kb_outfile **out);
/* What was written to it. */
const char *kb_outfile_bytes(const kb_outfile *file, size_t *count);
/* The path of the temporary file; "" where the output is written in place. */
const char *kb_outfile_temporary(const kb_outfile *file);
/* kb_outfile_write as a callback: `file` is the kb_outfile. */
kb_status kb_outfile_put(void *file, const void *bytes, size_t count);
/* Frees the handle; what was not committed disappears.  NULL is fine. */
void kb_outfile_free(kb_outfile *file);

#endif
