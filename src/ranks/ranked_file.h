/*
 * ranked_file.h - one output file of which every rank writes parts.
 *
 * As core/outfile.h: rank 0 makes the temporary file and gives it its name when all is there.  All
 * ranks write their bytes to their places in it, by kb_ranks.write where there is one.
 */
#ifndef KB_RANKS_RANKED_FILE_H
#define KB_RANKS_RANKED_FILE_H

#include "ranks/ranks.h"

typedef struct kb_ranked_file kb_ranked_file;

/* By all ranks.  KB_ERR_IO where the path is no regular file, such as a pipe. */
kb_status kb_ranked_file_open(kb_context *ctx, const char *path, kb_ranked_file **out);
/* By one rank, from byte `at` on; no two write the same bytes. */
kb_status kb_ranked_file_put(kb_ranked_file *file, const void *bytes, size_t count, size_t at);
/* By all ranks, once all have written. */
kb_status kb_ranked_file_commit(kb_ranked_file *file);
/* What was not committed disappears.  NULL is fine. */
void kb_ranked_file_free(kb_ranked_file *file);

/* Writes the bytes of all ranks, those of rank 0 first; whole or not at all.  Where the output is
 * no regular file, rank 0 gets the bytes of the others and writes them in order. */
kb_status kb_ranked_file_write(kb_context *ctx, const char *path, const void *mine, size_t bytes);

#endif
