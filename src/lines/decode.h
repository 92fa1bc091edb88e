/*
 * decode.h - the bytes of a text file as UTF-8, with '\n' at the end of each line.
 *
 *   UTF-8             as it is, without the byte order mark
 *   UTF-16            told by its byte order mark, or by zeros in every second of the first bytes
 *   any other byte    taken as Windows-1252, which holds Latin-1: wherever no UTF-8 character
 *                     begins, one byte is one character
 *   "\r\n" and "\r"   become "\n"
 *
 * A byte means the same wherever it stands, so the text does not depend on how the file is cut.
 * Text of ASCII and '\n' is looked at once and stays where it is.
 */
#ifndef KB_LINES_DECODE_H
#define KB_LINES_DECODE_H

#include "core/context.h"

#include <stdint.h>

/* Text that grows.  Zero to begin with; `text` belongs to the caller (kb_release). */
typedef struct kb_block {
    char *text; /* `length` bytes, and room for one more */
    size_t length, capacity;
    int joined; /* the text may hold KB_JOINT (quotes.h) */
} kb_block;

typedef enum kb_charset { KB_CHARSET_UTF8, KB_CHARSET_UTF16LE, KB_CHARSET_UTF16BE } kb_charset;

typedef struct kb_decoder {
    int started;
    kb_charset charset;
    uint8_t left[4]; /* a character of which the end is still to come */
    size_t left_count;
    int after_cr;      /* the last byte was '\r': a '\n' that follows belongs to it */
    size_t lines;      /* line ends so far */
    size_t foreign;    /* the line of the first byte that is not UTF-8; 0: there is none */
    const char *fault; /* what is wrong behind the text so far, on line `lines` + 1; or NULL */
    uint8_t *raw;      /* bytes that cannot be decoded in place */
    size_t raw_capacity;
} kb_decoder;

/* `got` bytes of the file stand behind the text of the block, in its memory; 0 tells that the file
 * has ended.  Adds their text to the block.  KB_OK where there is a fault, such as a zero byte: the
 * text before it is added, and nothing may follow. */
kb_status kb_decode(kb_context *ctx, kb_decoder *decoder, size_t got, kb_block *block);
void kb_decoder_clear(kb_context *ctx, kb_decoder *decoder);

/* Whether all of a text is UTF-8. */
int kb_is_utf8(const char *text);

/* How often a byte stands in a text. */
size_t kb_count_byte(const char *text, size_t length, char byte);

#endif
