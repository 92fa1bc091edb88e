/*
 * parts.h - several files that are read as one, one after the other.
 *
 * A path that names no file and has * or ? in its last part is a pattern: it means the files of
 * that folder whose names match, in the order of the bytes of their names, as `LC_ALL=C ls` has
 * them. Names that begin with a dot match only a pattern that does.
 */
#ifndef KB_LINES_PARTS_H
#define KB_LINES_PARTS_H

#include "core/context.h"

typedef struct kb_parts {
    size_t count; /* 0: the path is no pattern */
    char **path;
} kb_parts;

/* KB_ERR_IO if no file matches.  Clear it also after a failure. */
kb_status kb_parts_find(kb_context *ctx, const char *path, kb_parts *out);
void kb_parts_clear(kb_context *ctx, kb_parts *parts);

/* With ranks: KB_ERR_DATA if they do not see the same files, by their names and sizes. */
kb_status kb_parts_compare(kb_context *ctx, const char *path, const kb_parts *parts);

#endif
