/*
 * ranked_file.h - one output file of which every rank writes a part.
 *
 * As core/outfile.h: rank 0 makes the temporary file and gives it its name when all is there.  The
 * others write their bytes to their places in it, by kb_ranks.write where there is one.  Where the
 * output is no regular file, rank 0 gets the bytes of the others and writes them in order.
 */
#ifndef KB_RANKS_RANKED_FILE_H
#define KB_RANKS_RANKED_FILE_H

#include "ranks/ranks.h"

/* Writes the bytes of all ranks, those of rank 0 first; whole or not at all. */
kb_status kb_ranked_file_write(kb_context *ctx, const char *path, const void *mine, size_t bytes);

#endif
