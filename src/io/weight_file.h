/*
 * weight_file.h - how much each sample counts: files of weights.
 *
 * A weight is a finite number, 0 or more.  A file of weights holds one a line; empty
 * lines, and lines that open with #, are skipped.
 */
#ifndef KB_IO_WEIGHT_FILE_H
#define KB_IO_WEIGHT_FILE_H

#include "lines/input.h"

/* Reads a file of weights, plain or compressed.  On success *out holds *count of them and
 * belongs to the caller (kb_release); on failure it is NULL. */
kb_status kb_weights_read(kb_context *ctx, const char *path, double **out, size_t *count);

/* For other files that hold weights.  The next line that is neither empty nor a comment,
 * without the blanks around it; NULL at the end. */
kb_status kb_weights_line(kb_input *input, char **line);
/* The whole token as a weight; else KB_ERR_DATA with the file and the line. */
kb_status kb_weight_parse(kb_input *input, const char *token, double *out);

#endif
