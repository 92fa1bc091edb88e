/*
 * share.h - which bytes of the text of a file, or of several, each rank reads.
 *
 * The text is cut into as many equal parts as there are ranks, and each border moves to the next
 * line end that is none within quotes.  Whether a place is within quotes depends on all bytes
 * of its file before it.  But it depends on them through one of four states (quotes.h) alone: so
 * every rank finds what its part makes of each state, in one pass over it, and the ranks' answers,
 * a few bytes each, are put together.  The result is that of one pass over the whole text.  Every
 * file ends a line, and begins outside of quotes.
 */
#ifndef KB_LINES_SHARE_H
#define KB_LINES_SHARE_H

#include "ranks/ranks.h"

#include <sys/types.h>

/* A file that all ranks can read, and the bytes of it that are to be shared. */
typedef struct kb_shared_file {
    const char *path;
    int fd; /* -1: it is opened while it is needed */
    off_t begin, end;
} kb_shared_file;

/* A place in the list of files. */
typedef struct kb_share_place {
    size_t file;
    off_t byte;
} kb_share_place;

/* KB_ERR_DATA if the ranks do not see the same file, by its size and its first bytes. */
kb_status kb_share_compare(kb_context *ctx, const kb_shared_file *file);

/* Where the lines begin that follow a byte order mark and the first `given` lines. */
kb_status kb_share_body(kb_context *ctx, const kb_shared_file *file, size_t given, off_t *out);

/* The bytes from *begin up to *end for this rank; none where both are the same place.  `delimiter`
 * is that of the fields; 0: quotes mean nothing.  Else *end lies in the file that has the last
 * byte. With `whole`, whose bytes need not be text, a rank gets whole files. */
kb_status kb_share_find(kb_context *ctx, const kb_shared_file *file, size_t files, char delimiter,
                        int whole, kb_share_place *begin, kb_share_place *end);

/* Line ends before a byte. */
size_t kb_share_lines(const kb_shared_file *file, off_t end);

#endif
