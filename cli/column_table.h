/*
 * column_table.h - the data dictionary of a page: name, type, missing cells, range or levels of
 * each column of a model.
 */
#ifndef CLI_COLUMN_TABLE_H
#define CLI_COLUMN_TABLE_H

#include "session.h"

#include <stdio.h>

enum { COLUMN_TABLE_MOST = 200 }; /* columns */

typedef struct column_table {
    size_t rows;                  /* that the ranges are over */
    int known[COLUMN_TABLE_MOST]; /* whether a row has a value */
    double low[COLUMN_TABLE_MOST], high[COLUMN_TABLE_MOST];
} column_table;

/* Ranges over the rows of `data`, or over some of many.  Nothing is kept of the data. */
kb_status column_table_make(session *s, const kb_model *model, const kb_data *data,
                            column_table *out);
/* A heading and the table, as HTML. */
void column_table_put(FILE *to, const kb_model *model, const column_table *table);

#endif
