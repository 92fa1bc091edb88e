/*
 * share.h - which bytes of a text file each rank reads.
 *
 * The file is cut into as many equal parts as there are ranks, and each border moves to the next
 * line end that is none within quotes.  Whether a place is within quotes depends on all bytes
 * before it.  But it depends on them through one of four states (quotes.h) alone: so every rank
 * finds what its part makes of each state, in one pass over it, and the ranks' answers, a few bytes
 * each, are put together.  The result is that of one pass over the whole file.
 */
#ifndef KB_IO_SHARE_H
#define KB_IO_SHARE_H

#include "ranks/ranks.h"

#include <sys/types.h>

/* A file that all ranks have open. */
typedef struct kb_shared_file {
    int fd;
    off_t size;
    const char *name;
    size_t given;   /* its first lines, which no rank is to read again */
    char delimiter; /* of the fields; 0: quotes mean nothing */
} kb_shared_file;

/* KB_ERR_DATA if the ranks do not see the same file, by its size and its first bytes. */
kb_status kb_share_compare(kb_context *ctx, const kb_shared_file *file);

/* The bytes *begin up to *end for this rank, perhaps none; a byte order mark is left out. */
kb_status kb_share_find(kb_context *ctx, const kb_shared_file *file, off_t *begin, off_t *end);

/* Line ends before a byte. */
size_t kb_share_lines(int fd, off_t end);

#endif
