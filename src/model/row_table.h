/*
 * row_table.h - the known bins once more, laid out for single rows: see simd/one_row.h.
 *
 * About 26 bytes a bin.  Several predictors may share one table.
 */
#ifndef KB_MODEL_ROW_TABLE_H
#define KB_MODEL_ROW_TABLE_H

#include "features/dictionary.h"
#include "simd/one_row.h"

#include <stdatomic.h>

typedef struct kb_row_table {
    kb_allocator allocator;
    atomic_size_t users;
    uint64_t *first, *count; /* of the lines of each grid: see kb_one_row */
    uint64_t *mask;          /* likewise; NULL: the dictionary has whole keys */
    kb_key_line *line;
    void *memory; /* that `line` lies in */
} kb_row_table;

/* With `weight`, one a bin, the values are their bits; else the numbers of the bins within their
 * grid.  O(D) time.  On success *out has one user; on failure it is NULL. */
kb_status kb_row_table_build(kb_context *ctx, const kb_dictionary *dictionary, const float *weight,
                             kb_row_table **out);
kb_row_table *kb_row_table_share(kb_row_table *table);
/* Freed with its last user. */
void kb_row_table_leave(kb_row_table *table);

#endif
