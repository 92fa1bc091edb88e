/*
 * encoding.h - the columns of a table as numbers that grids can cut.
 *
 * An encoding is a list of steps.  Each makes one column of the result from one column of the data,
 * row by row, so that training and prediction share the code:
 *
 *   fill      a number; a missing one is the median of the training rows
 *   missing   1 where the value is missing, else 0
 *   date      a part of a date (table/date.h), such as its month; a missing date is the median, and
 *             so is one more than KB_DATE_MOST days away
 *   code      a number for each level, one for missing cells and one for unknown levels
 *   level     the number of the level itself, for the kernel of levels (features/law.h)
 *
 * Every column has a step or more.  They stand together, in the order of the columns.
 */
#ifndef KB_ENCODE_ENCODING_H
#define KB_ENCODE_ENCODING_H

#include "data/data.h"
#include "table/date.h"

/* Ten thousand years: the dates that can be read are nearer. */
#define KB_DATE_MOST 3652425.0

typedef enum kb_encode_kind {
    KB_ENCODE_FILL = 0,
    KB_ENCODE_MISSING = 1,
    KB_ENCODE_DATE = 2,
    KB_ENCODE_CODE = 3,
    KB_ENCODE_LEVEL = 4,
    KB_ENCODE_KINDS
} kb_encode_kind;

typedef struct kb_encode_step {
    kb_encode_kind kind;
    size_t source;       /* column of the data */
    double fill;         /* FILL, DATE: instead of a missing value */
    kb_date_part part;   /* DATE */
    size_t first, count; /* CODE: its codes, of the levels, then missing, then unknown; LEVEL: count
                            is the number of levels */
} kb_encode_step;

typedef struct kb_encoding {
    kb_allocator allocator;
    size_t inputs;   /* columns of the data */
    size_t features; /* of the result: steps */
    kb_encode_step *step;
    size_t codes;
    double *code;
    int plain; /* every step is a fill, one for each column: rows without missing values stay as
                  they are.  Set by kb_encoding_finish. */
} kb_encoding;

/* Without steps; add them in the order of the columns. */
kb_status kb_encoding_create(kb_context *ctx, size_t inputs, kb_encoding **out);
kb_status kb_encoding_copy(kb_context *ctx, const kb_encoding *from, kb_encoding **out);
void kb_encoding_free(kb_encoding *e);
/* A step of kind CODE gets room for `step.count` codes, which the caller fills in from
 * e->code + step.first on. */
kb_status kb_encoding_add(kb_context *ctx, kb_encoding *e, kb_encode_step step);

/* Takes the steps of kind LEVEL out. */
void kb_encoding_drop_levels(kb_encoding *e);

/* After the last step. */
void kb_encoding_finish(kb_encoding *e);
/* Whether an encoding from a file is valid, and whether it belongs to the columns of this table.
 * Without a table (NULL) all are numbers; without an encoding (NULL) all must be. */
int kb_encoding_is_sound(const kb_encoding *e);
int kb_encoding_suits(const kb_encoding *e, const kb_table *table);

/* One column of the result: the value of a step for a cell. */
double kb_encode_value(const kb_encoding *e, const kb_encode_step *step, double cell);

/* The rows begin .. begin + rows of the data: out, rows x features.  The data may be sparse.
 * Without an encoding (e NULL), 0 for missing values. */
void kb_encoding_rows(const kb_encoding *e, const kb_data *data, size_t begin, size_t rows,
                      double *out);

/* Whether these data change by the encoding.  Without one, missing values become 0. */
static inline int kb_encoding_is_needed(const kb_encoding *e, const kb_data *data) {
    return data->missing || (e && !e->plain);
}

#endif
