/*
 * text.h - text from outside, such as file names, for figures and pages.
 */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

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
