/*
 * text.h - text from outside, such as file names, for figures and pages.
 */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

/* Bytes of the UTF-8 character that begins here; 0 if none does. */
int utf8_length(const char *at);
/* The part of a path after the last slash. */
const char *file_part(const char *path);

#endif
