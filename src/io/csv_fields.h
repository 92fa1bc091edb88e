/*
 * csv_fields.h - a line of CSV cut into its fields.
 */
#ifndef KB_IO_CSV_FIELDS_H
#define KB_IO_CSV_FIELDS_H

#include <stddef.h>

/* What separates the fields of a line, outside of quotes: a tab, else a semicolon, else a comma,
 * else a vertical bar; a comma where there is none of them. */
char kb_field_delimiter(const char *line);

/* Cuts the next field off the line at *cursor, in place: ends it in '\0', takes off
 * blanks around it, or its quotes.  *cursor is NULL after the last.  Returns NULL if a
 * quote is not closed, or closed before the field ends. */
char *kb_field_cut(char **cursor, char delimiter);

#endif
