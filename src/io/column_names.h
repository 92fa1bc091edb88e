/*
 * column_names.h - the names of the columns of a table: found, listed, and guessed at.
 *
 * Lists of columns, such as "id,tmp_*,-2": names, names with * for any text and ? for any
 * character, or numbers (1 is the first, -1 the last).  A column that is named like a number is
 * meant first.
 */
#ifndef KB_IO_COLUMN_NAMES_H
#define KB_IO_COLUMN_NAMES_H

#include "core/memory.h"

#define KB_NO_COLUMN SIZE_MAX

/* Zero for columns without names. */
typedef struct kb_column_names {
    size_t count;
    char **name;   /* count, all different, none empty; NULL: the columns have numbers only */
    size_t *order; /* count: columns in the alphabetical order of their names */
} kb_column_names;

/* Copies the names.  An empty one becomes "unnamed 3", by its number, and one that came before
 * "name.1"; `renamed` is how many that were not empty are now another.  Clear it also after a
 * failure. */
kb_status kb_column_names_build(kb_context *ctx, size_t count, char *const *name,
                                kb_column_names *out, size_t *renamed);
void kb_column_names_clear(kb_context *ctx, kb_column_names *names);

/* The column of that name, else KB_NO_COLUMN.  O(log count). */
size_t kb_column_named(const kb_column_names *names, const char *name);
/* Column number 1 .. count, or -1 .. -count from the end; KB_NO_COLUMN for others, and for what is
 * no number. */
size_t kb_column_numbered(size_t count, const char *number);

/* Calls `found` for each column that the item of a list means; how many there were. */
size_t kb_columns_match(const kb_column_names *names, size_t count, const char *item,
                        void (*found)(void *arg, size_t column), void *arg);

/* Cuts the next item off a list separated by commas, without the blanks around it; 0 at the end.
 * An item of more than KB_ITEM_TEXT - 1 bytes is cut there. */
enum { KB_ITEM_TEXT = 256 };
int kb_list_item(const char **list, char item[KB_ITEM_TEXT]);

/* "; did you mean 'price'? The columns are id, price, rooms, .." for messages about a name that is
 * not there. */
typedef struct kb_names_hint {
    char text[320];
} kb_names_hint;
kb_names_hint kb_column_names_hint(const kb_column_names *names, const char *wanted);
/* The same for other names; what: "labels". */
kb_names_hint kb_names_hint_of(const char *what, size_t count, char *const *name,
                               const char *wanted);

#endif
