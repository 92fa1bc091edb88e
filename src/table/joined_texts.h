/*
 * joined_texts.h - texts and cells of all ranks, numbered as in one table.
 *
 * A text gets the number that it would have if the rows of all ranks were read one after the other:
 * the texts of each rank in their order, those of rank 0 first.  Every rank then has all texts.
 */
#ifndef KB_TABLE_JOINED_TEXTS_H
#define KB_TABLE_JOINED_TEXTS_H

#include "ranks/ranks.h"
#include "table/cells.h"

/* `ids` become those of all ranks; (*place)[k] is the new number of text k, or *place is NULL with
 * one rank, where nothing changes.  kb_release(*place). */
kb_status kb_texts_join(kb_context *ctx, kb_text_ids *ids, uint32_t **place);

/* The same for the texts of all columns, and their cells; sets all_rows.  Once it is set nothing is
 * done. */
kb_status kb_cells_join(kb_context *ctx, kb_cells *cells);

#endif
