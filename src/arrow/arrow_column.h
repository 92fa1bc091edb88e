/*
 * arrow_column.h - a column of a record batch in the Arrow C data interface, as cells.
 *
 * Numbers, times and durations (in seconds) become numbers; dates and timestamps days since
 * 2000-01-01; strings what they would be in a CSV file: a number, nothing (cell.h has the words) or
 * a text.  Booleans are the texts True and False, or 1 and 0.  A dictionary gives the cells of its
 * values.  What an Arrow null, a NaN or the type null stands for is missing.
 */
#ifndef KB_ARROW_ARROW_COLUMN_H
#define KB_ARROW_ARROW_COLUMN_H

#include "arrow/arrow_type.h"
#include "table/text_ids.h"

/* A column of one batch. */
typedef struct kb_arrow_column {
    kb_arrow_type type;
    const char *name; /* for messages, with the word column */
    const struct ArrowArray *array;
    const uint8_t *valid; /* a bit for each row, or NULL: all are */
    kb_text_ids *text;    /* of the column, in all batches */
    double word[2];       /* booleans: the cells of false and true */
    size_t values;        /* of the dictionary */
    double *value;        /* their cells, or NULL: no dictionary */
} kb_arrow_column;

/* `rows`: the array must have as many.  `words`: booleans are texts.  Close it also after a
 * failure. What array and name point to must outlive it. */
kb_status kb_arrow_column_open(kb_context *ctx, const kb_arrow_type *type, const char *name,
                               const struct ArrowArray *array, size_t rows, int words,
                               kb_text_ids *text, kb_arrow_column *out);
void kb_arrow_column_close(kb_context *ctx, kb_arrow_column *column);

/* The cells of the rows begin .. begin + count, counted from the array's offset: cell[0],
 * cell[step], ..  `row` is what messages call the first. */
kb_status kb_arrow_column_fill(kb_context *ctx, kb_arrow_column *column, size_t begin, size_t count,
                               size_t row, size_t step, double *cell);

/* KB_ERR_DATA, with the name in front, if lengths or buffers of an array cannot be right. */
kb_status kb_arrow_check(kb_context *ctx, const char *name, const struct ArrowArray *array,
                         int64_t least_buffers, size_t rows);
/* Whether row i, counted from the first of the buffer, has a value. */
static inline int kb_arrow_is_valid(const uint8_t *valid, size_t i) {
    return !valid || (valid[i / 8] >> i % 8 & 1);
}

#endif
