/*
 * quotes.h - fields of a CSV that go on over several lines.
 *
 * A quote opens a field only where a field begins: behind the delimiter or at the start of a line,
 * blanks allowed.  So a quote within a field, as in 12" pipe, does no harm.  Within quotes two
 * quotes stand for one.  A line end within quotes becomes KB_JOINT, so that a row is one line.
 */
#ifndef KB_LINES_QUOTES_H
#define KB_LINES_QUOTES_H

#include <stddef.h>

/* It stands for a line end within quotes, and for a blank when a line is given out.  No UTF-8 text
 * has this byte. */
#define KB_JOINT ((char)0xFF)

/* The longest field in quotes, in bytes of UTF-8: where a quote is not closed, no more than this is
 * read in vain. */
#define KB_QUOTED_MAX      ((size_t)1 << 20)
#define KB_QUOTED_MAX_TEXT "1 MiB"

typedef enum kb_quote_state {
    KB_FIELD_BEGINS,  /* nothing but blanks since the delimiter or the line end */
    KB_FIELD_PLAIN,   /* in a field without quotes, or behind the closing one */
    KB_FIELD_QUOTED,  /* in quotes, */
    KB_FIELD_AT_QUOTE /* where the last byte may have closed them */
} kb_quote_state;

typedef struct kb_quotes {
    char delimiter; /* 0: quotes mean nothing */
    kb_quote_state state;
    size_t bytes;  /* of the field in quotes, so far */
    size_t line;   /* on which it was opened */
    int too_long;  /* it is longer than KB_QUOTED_MAX: there is no other line */
    int any_joint; /* some line end was replaced */
} kb_quotes;

/* Replaces the line ends within quotes, in the text that follows what was given before.  `lines`
 * are those of the file before this text. */
void kb_quotes_join(kb_quotes *quotes, char *text, size_t length, size_t lines);

/* The state behind a text, of which no line end is replaced, from the state before it.  A '\r' is a
 * line end too, so it holds for bytes that are not decoded yet. */
kb_quote_state kb_quotes_after(char delimiter, kb_quote_state state, const char *text,
                               size_t length);

#endif
