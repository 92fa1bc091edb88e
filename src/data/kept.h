/*
 * kept.h - columns of a file that are kept as text, to be written beside predictions.
 *
 * The texts stand one after the other, row after row, each ended by a zero byte: their bytes, and 8
 * for each cell.
 */
#ifndef KB_DATA_KEPT_H
#define KB_DATA_KEPT_H

#include "core/memory.h"

typedef struct kb_kept {
    size_t columns;
    char **name;   /* columns */
    size_t *begin; /* cells: where the text of each begins */
    char *text;
    size_t cells, length; /* so far */
    size_t cell_capacity, text_capacity;
} kb_kept;

/* Without rows, and all names NULL.  On failure *out is NULL. */
kb_status kb_kept_create(kb_context *ctx, size_t columns, kb_kept **out);
void kb_kept_free(kb_allocator allocator, kb_kept *kept);

/* The next cell; a row is full after `columns` of them. */
kb_status kb_kept_add(kb_context *ctx, kb_kept *kept, const char *text, size_t length);

static inline const char *kb_kept_cell(const kb_kept *kept, size_t row, size_t column) {
    return kept->text + kept->begin[row * kept->columns + column];
}

#endif
