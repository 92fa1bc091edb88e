/*
 * cells.h - the cells of a table, before it is known what its columns hold.
 */
#ifndef KB_TABLE_CELLS_H
#define KB_TABLE_CELLS_H

#include "table/text_ids.h"

typedef struct kb_cells {
    size_t rows, columns;
    size_t all_rows;   /* of all ranks; 0: not joined yet (joined_texts.h) */
    double *cell;      /* rows x columns, row after row (cell.h) */
    kb_text_ids *text; /* columns: the texts of their cells */
    char **name;       /* columns, or NULL */
    int numbered;      /* the names are the numbers of the columns in a file */
    const char *file;  /* for messages; or NULL */
    uint8_t *is_days;  /* columns, or NULL: the numbers are days since 2000-01-01 already */
} kb_cells;

#endif
