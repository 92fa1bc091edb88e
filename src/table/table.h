/*
 * table.h - what the columns of a table hold.
 *
 * In kb_data every cell is a double.  A table says what it means:
 *
 *   number              the number
 *   date                days since 2000-01-01
 *   boolean, category   which level: 0, 1, .. in the order of the levels, or KB_CELL_UNSEEN
 *
 * and NaN anywhere where there is no value.
 */
#ifndef KB_TABLE_TABLE_H
#define KB_TABLE_TABLE_H

#include "core/memory.h"
#include "table/number_style.h"

typedef struct kb_column {
    kb_column_type type; /* kerbin.h: NUMBER, BOOLEAN, DATE or CATEGORY */
    kb_number_style style;
    size_t levels;
    char **level;   /* levels names, in the order of their first rows; NULL where there are none */
    size_t missing; /* cells without a value in the training rows */
} kb_column;

/* A column of the training file that is no feature. */
typedef struct kb_left_out {
    char *name;          /* or its number, counted from 1, where the file has no names */
    kb_column_type type; /* why: ID, CONSTANT or IGNORED */
    size_t place;        /* among the columns that are no label, weight or group, from 0 */
} kb_left_out;

typedef struct kb_table {
    kb_allocator allocator;
    size_t columns;
    kb_column *column;
    size_t left_out;
    kb_left_out *out;
} kb_table;

/* All columns numbers; the caller may change them, and kb_table_free releases what they hold. */
kb_status kb_table_create(kb_context *ctx, size_t columns, kb_table **out);
kb_status kb_table_copy(kb_context *ctx, const kb_table *from, kb_table **out);
void kb_table_free(kb_table *table);

/* Notes that a column is left out. */
kb_status kb_table_leave_out(kb_context *ctx, kb_table *table, const char *name, kb_column_type why,
                             size_t place);
int kb_table_leaves_out(const kb_table *table, const char *name);
int kb_table_leaves_out_place(const kb_table *table, size_t place);

/* What kb_column_type_name gives, back into a type; 0 if there is no such type. */
int kb_column_type_find(const char *name, size_t length, kb_column_type *out);

/* Fills in what a caller asks of feature j, or of column k that is left out.  `table` may be NULL:
 * all features are numbers.  KB_ERR_ARGUMENT if there is no such column or out->size is wrong. */
kb_status kb_table_tell(const kb_table *table, size_t features, char *const *name, size_t j,
                        kb_column_info *out);
kb_status kb_table_tell_left_out(const kb_table *table, size_t k, kb_column_info *out);

#endif
