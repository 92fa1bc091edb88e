/*
 * category_codes.h - the codes of categories: partial effects of their levels.
 *
 * For regression and two classes a category has one column, for up to KB_ENCODE_CLASSES outputs one
 * each, and for more the first KB_ENCODE_COORDINATES principal coordinates of the effects.
 */
#ifndef KB_ENCODE_CATEGORY_CODES_H
#define KB_ENCODE_CATEGORY_CODES_H

#include "encode/encoding.h"

enum {
    KB_ENCODE_CLASSES = 5,
    KB_ENCODE_COORDINATES = 3,
    KB_ENCODE_OUTPUTS = 24, /* the caller replaces more outputs by so many sums of them */
    /* Up to so many levels a training row takes the code of all rows; with more, one that was
     * found without the rows of its fold. */
    KB_ENCODE_FEW_LEVELS = 20,
};

typedef struct kb_encode_spec {
    const kb_data *data;  /* dense */
    size_t C;             /* outputs, at most KB_ENCODE_OUTPUTS; 0: there are no targets */
    const double *y;      /* rows x C */
    const double *weight; /* rows, or NULL */
    uint64_t seed;
    int levels; /* whether categories get a column of levels after their codes */
} kb_encode_spec;

/* Columns of a category. */
size_t kb_category_columns(size_t C);

/* Fills in the codes of all categories, steps of `e`, and their columns of the training rows,
 * `encoded` (rows x e->features), whose other columns are there already.  An unknown level has the
 * code 0. */
kb_status kb_category_codes_set(kb_context *ctx, const kb_encode_spec *spec, kb_encoding *e,
                                double *encoded);

/* Bytes that it takes, at most; numbers: columns of e that are no codes of categories. */
double kb_category_codes_bytes(const kb_data *data, size_t C, size_t numbers, int threads);

/* What column j holds; a number where there is no table. */
static inline kb_column kb_encode_column(const kb_data *data, size_t j) {
    return data->table ? data->table->column[j] : (kb_column){.type = KB_COLUMN_NUMBER};
}

static inline int kb_encode_has_categories(const kb_data *data) {
    for (size_t j = 0; j < data->features; j++)
        if (kb_encode_column(data, j).type == KB_COLUMN_CATEGORY)
            return 1;
    return 0;
}

#endif
