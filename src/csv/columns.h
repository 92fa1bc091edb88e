/*
 * columns.h - what each column of a CSV file is: a feature, the label, the weight, the group,
 * or ignored.  layout.h decides it.
 */
#ifndef KB_CSV_COLUMNS_H
#define KB_CSV_COLUMNS_H

#include "io/column_choice.h"
#include "io/reader.h"

typedef struct kb_csv_columns {
    char delimiter;
    int header;            /* the first line holds names, not values */
    size_t count;          /* fields of every line */
    char **field;          /* those of the first line, inside `line` */
    char *line;            /* a copy of the first line */
    kb_column_names names; /* of a file with a header */
    size_t *feature;       /* of each column; KB_NO_COLUMN for the others */
    size_t *source;        /* features: the column of each */
    size_t features;       /* how many */
    uint8_t *ignored;      /* columns: whether the options leave it out */
    size_t *keep;          /* columns: the place of each among those kept, or NULL: none is */
    size_t kept;           /* how many */
    size_t label;          /* column, or KB_NO_COLUMN */
    size_t weight;         /* likewise */
    size_t group;          /* likewise */
    size_t line_number;    /* of the first line */
} kb_csv_columns;

void kb_csv_columns_clear(kb_context *ctx, kb_csv_columns *columns);

/* What the options say of its columns. */
kb_column_choice kb_csv_choice(const kb_read_spec *spec, const kb_input *in,
                               const kb_csv_columns *columns);

/* Which of the columns that are no label, weight or group it is, counted from 0. */
size_t kb_csv_place(const kb_csv_columns *columns, size_t column);

/* "column 'age'", or "column 3" in a file without names: for messages. */
typedef struct kb_column_text {
    char text[64];
} kb_column_text;
kb_column_text kb_column_in_words(const kb_csv_columns *columns, size_t column);

#endif
