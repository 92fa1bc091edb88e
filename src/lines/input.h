/*
 * input.h - lines of text from a file or from standard input, plain or compressed
 * by gzip, bzip2, xz, lzma or zstd (told by content, not by name).
 *
 * The text is UTF-8, whatever the file has; decode.h says how.  An INFO tells that a file is
 * UTF-16, and a WARNING after the last line that some bytes were not UTF-8.
 */
#ifndef KB_LINES_INPUT_H
#define KB_LINES_INPUT_H

#include "lines/decode.h"
#include "lines/parts.h"

typedef struct kb_input kb_input;

/* Opens `path` ("-": standard input) and reads its first block, so that a missing,
 * unreadable, damaged or empty file is known at once. */
kb_status kb_input_open(kb_context *ctx, const char *path, kb_input **out);
/* The same for several files that are read as one, whose name in messages is `pattern`: at first
 * the lines of the first are given alone.  The paths must outlive the input. */
kb_status kb_input_open_parts(kb_context *ctx, const char *pattern, const kb_parts *parts,
                              kb_input **out);
/* Only opens it, so that a file that is not text has a name and messages: nothing may be read. */
kb_status kb_input_open_unread(kb_context *ctx, const char *path, kb_input **out);
void kb_input_free(kb_input *input);

/* The next line: *text is NULL after the last.  The line ends in '\0' in place of
 * its newline, holds no other '\0', may be changed by the caller, and lives until the next
 * call.  Reports progress as "read" about once per megabyte. */
kb_status kb_input_line(kb_input *input, char **text, size_t *length);
/* Takes the last line back: it comes once more, as the caller left it. */
void kb_input_again(kb_input *input);

/* The text behind the last line that is in memory already; valid until the next call. */
const char *kb_input_peek(const kb_input *input, size_t *length);

/* KB_ERR_DATA if what was read so far, ahead of the last line, is not text. */
kb_status kb_input_check(kb_input *input);

/* From the next line on a field in quotes may go on over several lines (quotes.h), which then come
 * as one, with a blank in place of each line end.  May be called again with another delimiter, or
 * with 0 for lines as they are, while lines are read one by one. */
void kb_input_set_quotes(kb_input *input, char delimiter);

/* A longer line is an error.  One that is longer by less than a chunk may pass. */
#define KB_LINE_MAX ((size_t)1 << 30)
/* For the tests. */
void kb_input_set_longest_line(kb_input *input, size_t bytes);

/* The lines that have not been given yet, of `chunks` times `chunk` bytes or somewhat more, but
 * at least one; length 0 after the last.  Each ends in a newline, but for the last of the file.
 * The file is read in chunks whose places do not depend on `chunks`.  Where reading fails, the
 * lines before the failure are given first.  Lines of blocks are not counted in
 * kb_input_line_number.  A line end within quotes is KB_JOINT. */
kb_status kb_input_block(kb_input *input, size_t chunk, size_t chunks, kb_block *block);
/* For readers of blocks, when all have been parsed: the WARNING about bytes that were not UTF-8, if
 * there were any.  So the log does not depend on how far ahead the file was read when a line was
 * bad. */
void kb_input_tell(kb_input *input);
/* The same for the shares of all ranks, by all of them. */
kb_status kb_input_tell_all(kb_input *input);
/* Whether nothing follows, as far as is known. */
int kb_input_ended(const kb_input *input);

/* Takes the head off a file, which it gets with the quotes set: its first lines, which are not to
 * be given.  KB_ERR_DATA if it does not go with the first file. */
typedef kb_status kb_input_head(void *arg, kb_input *file);
/* From the next line on those of the files that follow are given too, without their heads; NULL:
 * they have none.  A file whose last line has no end ends it. */
void kb_input_go_on(kb_input *input, kb_input_head *head, void *arg);

/* Whether ranks can read parts of it: a plain file of UTF-8, or of bytes that are taken so; or
 * several files of any kind. */
int kb_input_is_plain(const kb_input *input);
/* KB_ERR_DATA if the ranks have not opened the same file. */
kb_status kb_input_compare(kb_input *input);
/* From the next line on this rank is given its share of the lines that are left (share.h); the
 * quotes set hold.  All ranks must have been given the same lines.  Of several files, whole ones
 * where one is compressed or UTF-16.  With one rank nothing changes. */
kb_status kb_input_share(kb_input *input);

/* The path, the pattern, or "standard input". */
const char *kb_input_name(const kb_input *input);
/* Of the last line; the first is 1.  That of a line with a field over several is its first. */
size_t kb_input_line_number(const kb_input *input);
/* Lines of the file up to the end of that line. */
size_t kb_input_lines_given(const kb_input *input);

/* KB_ERR_DATA with the sentence "name:line: ...", about the last line or about the one given;
 * "name: ..." where no line was read. */
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
