/*
 * infer.h - the types of the columns of a table, found from the cells of its training rows.
 *
 *   no value, or one value and none missing    constant: left out
 *   all numbers, perhaps in one style          number
 *   all dates                                  date
 *   two levels, a missing cell counted as one  boolean
 *   text with more than 0.9 levels a row       id: left out
 *   any other text                             category
 *
 * The rules were measured on 31 tables (docs/accuracy.md).
 */
#ifndef KB_TABLE_INFER_H
#define KB_TABLE_INFER_H

#include "table/cells.h"
#include "table/table.h"

#define KB_ID_LEVELS_PER_ROW 0.9

typedef struct kb_infer_spec {
    /* columns: the type that is wanted, or KB_COLUMN_AUTO; NULL: all are found. */
    const kb_column_type *wanted;
    int comma_decimal; /* the file's delimiter is not a comma, so 1,234 has a decimal comma */
} kb_infer_spec;

/* "houses.csv: column 'rooms'" for messages. */
typedef struct kb_cell_column {
    char text[320];
} kb_cell_column;
kb_cell_column kb_cells_column(const kb_cells *cells, size_t column);

/* Finds the types and brings every cell to what table.h says.  Columns that are left out go from
 * `cells`, names and texts with them, and the others move together, so cells->columns may become
 * smaller.  *out belongs to the caller; it is NULL on failure.  KB_ERR_DATA if no column is left.
 * The messages about doubtful columns go to the log. */
kb_status kb_table_infer(kb_context *ctx, const kb_infer_spec *spec, kb_cells *cells,
                         kb_table **out);

/* KB_ERR_DATA with the row, where all texts of a column are "inf" or numbers too large for a
 * double: beside numbers they are no words. */
kb_status kb_cells_refuse_infinite(kb_context *ctx, const kb_cells *cells, size_t column);

/* Brings the cells of other rows to the types of a table with as many columns.  A text in a column
 * of numbers or dates counts as missing, a level that the table does not have as KB_CELL_UNSEEN
 * (but TRUE and true are one level); a warning for each column tells how many there were, with an
 * example. */
kb_status kb_table_conform(kb_context *ctx, const kb_table *table, kb_cells *cells);

/* Whether all texts are numbers of one style, which may stand beside plain numbers. */
int kb_texts_have_style(const kb_text_ids *text, int comma_decimal, int beside_numbers,
                        kb_number_style *out);

/* Where a table is not needed: all columns are plain numbers, no cell is missing, and no column is
 * left out. */
int kb_table_is_plain(const kb_table *table);

#endif
