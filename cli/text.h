/*
 * text.h - texts of others, such as names of files, on their way into figures and pages.
 */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

/* Bytes of the UTF-8 character that begins here; 0 if none does. */
int utf8_length(const char *at);
/* The part of a path behind the last slash. */
const char *file_part(const char *path);

#endif
