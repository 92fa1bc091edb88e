/*
 * input.h - lines of text from a file or from standard input, plain or compressed
 * by gzip, bzip2, xz, lzma or zstd (told by content, not by name).
 */
#ifndef KB_IO_INPUT_H
#define KB_IO_INPUT_H

#include "core/context.h"

typedef struct kb_input kb_input;

/* Opens `path` ("-": standard input) and reads its first block, so that a missing,
 * unreadable, damaged or empty file is known at once. */
kb_status kb_input_open(kb_context *ctx, const char *path, kb_input **out);
void kb_input_free(kb_input *input);

/* The next line: *text is NULL after the last.  The line ends in '\0' in place of
 * its newline (and of the '\r' before it), holds no other '\0', may be changed by
 * the caller, and lives until the next call.  A byte order mark at the start is
 * skipped.  Reports progress as "read" once per megabyte. */
kb_status kb_input_line(kb_input *input, char **text, size_t *length);
/* Takes the last line back: it comes once more, as the caller left it. */
void kb_input_again(kb_input *input);

/* The text behind the last line that is in memory already; valid until the next call. */
const char *kb_input_peek(const kb_input *input, size_t *length);

/* Whole lines of text, for readers that parse many at a time.  Zero to begin with; `text` belongs
 * to the caller (kb_release). */
typedef struct kb_block {
    char *text; /* `length` bytes, and room for one more */
    size_t length, capacity;
} kb_block;

/* The lines that have not been given yet, of `chunks` times `chunk` bytes or somewhat more, but
 * at least one; length 0 after the last.  Each ends in a newline, but for the last of the file.
 * The file is read in chunks whose places do not depend on `chunks`.  Where reading fails, the
 * lines before the failure are given first.  Lines of blocks are not counted in
 * kb_input_line_number. */
kb_status kb_input_block(kb_input *input, size_t chunk, size_t chunks, kb_block *block);
/* Whether nothing follows, as far as is known. */
int kb_input_ended(const kb_input *input);

/* The path, or "standard input". */
const char *kb_input_name(const kb_input *input);
/* Of the last line; the first is 1. */
size_t kb_input_line_number(const kb_input *input);

/* KB_ERR_DATA with the sentence "name:line: ...", about the last line or about the one given. */
kb_status kb_input_fail(kb_input *input, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
kb_status kb_input_fail_at(kb_input *input, size_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A piece of a file for a message: cut when long, without control characters. */
typedef struct kb_quoted {
    char text[44];
} kb_quoted;
kb_quoted kb_quote(const char *text, size_t length);

#endif
