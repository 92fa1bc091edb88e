/*
 * text.h - text from outside, such as file names, for figures and pages.
 */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include <stdarg.h>

/* One line on standard error: control characters, as a path may have, are written as \n or \x1b. */
void put_message(const char *before, const char *format, va_list list);
void put_sentence(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Nothing is written from now on, or again. */
void put_nothing(int nothing);
/* A path as it stands in a line of text, likewise. */
typedef struct path_words {
    char text[1024];
} path_words;
path_words path_in_words(const char *path);

/* Bytes of the UTF-8 character that begins here; 0 if none does. */
int utf8_length(const char *at);
/* The part of a path after the last slash. */
const char *file_part(const char *path);

/* A number as people write it, to so many digits: 1024 and 0.178, not 1.02e+03.  Only very large
 * and very small ones have an exponent. */
typedef struct number_words {
    char text[32];
} number_words;
number_words number_in_words(double x, int digits);

#endif
