/*
 * column_choice.h - which columns of a table are features, and of what type: the options columns,
 * ignore and types, for files and data frames alike.
 */
#ifndef KB_IO_COLUMN_CHOICE_H
#define KB_IO_COLUMN_CHOICE_H

#include "io/column_names.h"

typedef struct kb_column_choice {
    const kb_column_names *names; /* zero where the columns have numbers only */
    size_t count;                 /* columns */
    const char *file;             /* for messages; or NULL */
    /* Lists (column_names.h); NULL: all columns, none, and types that the cells tell. */
    const char *columns, *ignore, *types;
} kb_column_choice;

/* ignored: count, whether the lists leave the column out.  `columns` does not leave out the column
 * `keep`, unless that is KB_NO_COLUMN, but `ignore` may.  KB_ERR_ARGUMENT if an item is no column;
 * so too in the next. */
kb_status kb_choose_columns(kb_context *ctx, const kb_column_choice *choice, size_t keep,
                            uint8_t *ignored);

/* place: count, the position of the column in the list `keep`, from 0, or KB_NO_COLUMN; *kept: how
 * many have one.  What an item with wildcards means comes in the order of the table. */
kb_status kb_choose_kept(kb_context *ctx, const kb_column_choice *choice, const char *keep,
                         size_t *place, size_t *kept);

/* wanted: count, where `types` does not name the column left as it is. */
kb_status kb_choose_types(kb_context *ctx, const kb_column_choice *choice, kb_column_type *wanted);

#endif
