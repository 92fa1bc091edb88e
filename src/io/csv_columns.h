/*
 * csv_columns.h - what each column of a CSV file is: a feature, the label, the weight, the group,
 * or ignored.  Decided once, from the first line and the options.
 */
#ifndef KB_IO_CSV_COLUMNS_H
#define KB_IO_CSV_COLUMNS_H

#include "io/reader.h"

#define KB_NO_COLUMN SIZE_MAX

typedef struct kb_csv_columns {
    char delimiter;
    int header;         /* the first line holds names, not values */
    size_t count;       /* fields of every line */
    char **field;       /* those of the first line, inside `line` */
    char *line;         /* a copy of the first line */
    size_t *feature;    /* of each column; KB_NO_COLUMN for the others */
    size_t features;    /* how many */
    size_t label;       /* column, or KB_NO_COLUMN */
    size_t weight;      /* likewise */
    size_t group;       /* likewise */
    size_t line_number; /* of the first line */
} kb_csv_columns;

/* `line` is the line that `input` gave last.  Clear it also after a failure. */
kb_status kb_csv_columns_build(kb_context *ctx, const kb_read_spec *spec, kb_input *input,
                               const char *line, kb_csv_columns *out);
void kb_csv_columns_clear(kb_context *ctx, kb_csv_columns *columns);

/* Cuts the next field off the line at *cursor, in place: ends it in '\0', takes off
 * blanks around it, or its quotes.  *cursor is NULL after the last.  Returns NULL if a
 * quote is not closed, or closed before the field ends. */
char *kb_field_cut(char **cursor, char delimiter);

/* "column 'age'", or "column 3" in a file without names: for messages. */
typedef struct kb_column_text {
    char text[64];
} kb_column_text;
kb_column_text kb_column_in_words(const kb_csv_columns *columns, size_t column);

#endif
