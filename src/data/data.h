/*
 * data.h - samples, dense or sparse, with or without labels.
 */
#ifndef KB_DATA_DATA_H
#define KB_DATA_DATA_H

#include "core/memory.h"
#include "core/weights.h"
#include "data/kept.h"
#include "table/table.h"

/* Features are numbered by 32 bits, and files by signed ones. */
#define KB_FEATURES_MAX 2147483647u

/* Rows are numbered by 32 bits; the last number is not used. */
#define KB_ROWS_MAX      4294967294u
#define KB_ROWS_TOO_MANY "more rows than kerbin can number"

struct kb_data {
    kb_allocator allocator;
    size_t rows, features;
    /* Where the rows were dealt out to ranks (deal/deal.h): the number of the first among those of
     * all ranks, and how many there are in all; 0 and 0 where they were not. */
    size_t first_row, all_rows;

    /* Exactly one of the two forms holds the values: finite, or NaN where a value is missing. */
    double *dense;     /* rows x features, row after row */
    size_t *row_start; /* rows + 1 */
    uint32_t *column;  /* strictly increasing within a row, all < features */
    double *value;     /* explicit zeros are allowed */
    /* `dense` or `value` belongs to the caller of kb_data_from_arrays and must not be changed. */
    int borrowed_values;

    double *label;       /* rows, or NULL */
    double *weight;      /* rows, or NULL for ones: each 0 or more, their sum positive */
    uint32_t *group;     /* rows, or NULL: rows of one group, such as a patient, share a number */
    char **class_name;   /* words behind the labels 0, 1, .., sorted; NULL: numbers */
    size_t class_count;  /* of class_name */
    char **feature_name; /* features names, or NULL */
    char *label_name;    /* or NULL */
    size_t label_column; /* of the file, counted from 1; 0: not known */
    int missing;         /* some values are NaN */
    /* features, or NULL: 1 for a column of level numbers (features/law.h), which no scaling
     * changes. Only where the program made the columns; it belongs to what made them. */
    const unsigned char *level;
    kb_table *table; /* what the columns hold; NULL: numbers.  It is never NULL where some
                        are missing. */
    kb_kept *kept;   /* columns of a file to predict, for all rows; NULL: none.  Sets made of some
                        of its rows have none. */
};

/* The rows of all ranks, of data that were dealt out; else those of the data. */
static inline size_t kb_rows_of_all(const kb_data *data) {
    return data->all_rows ? data->all_rows : data->rows;
}

/* An empty set to be filled by a reader.  Whatever pointers it holds when it is
 * freed, kb_data_free releases; `features` and `class_count` must then be the
 * lengths of the two arrays of names. */
kb_status kb_data_create(kb_context *ctx, kb_data **out);

/* Checks and copies the labels, weights and class names of `a`, for as many rows as `data` has. */
kb_status kb_data_attach(kb_context *ctx, const kb_arrays *a, kb_data *data);

/* Counts the missing values of each column, in the table, which is made where there is none and
 * some are missing; and sets `missing`.  Sparse rows have none. */
kb_status kb_data_count_missing(kb_context *ctx, kb_data *data);

/* A new set of the listed rows of `data`, all below data->rows, in the order of the list, with
 * their labels, weights and groups and with all names.  KB_ERR_DATA if the list is empty, or if
 * no row of it has a weight above 0.  On failure *out is NULL. */
kb_status kb_data_take(kb_context *ctx, const kb_data *data, size_t count, const uint32_t *rows,
                       kb_data **out);

/* The same without the checks: the list may be empty. */
kb_status kb_data_take_any(kb_context *ctx, const kb_data *data, size_t count, const uint32_t *rows,
                           kb_data **out);

/* *out = a copy of the listed rows of an array with `size` bytes a row; unchanged where `from` is
 * NULL. */
kb_status kb_take_items(kb_context *ctx, const void *from, size_t size, size_t count,
                        const uint32_t *rows, void *out);

/* An order in which close rows stand side by side: order[i] is the row at place i, the caller's
 * (kb_release).  It follows Morton's curve through cells with cuts[j] cells for a unit of feature
 * j; rows of one cell keep their order.  For dense data with few features; O(N (64 + features))
 * time, and KB_ORDER_BYTES a row while it works. */
enum { KB_ORDER_FEATURES = 64, KB_ORDER_BYTES = 24 };
int kb_data_can_order(const kb_data *data);
kb_status kb_data_order(kb_context *ctx, const kb_data *data, const double *cuts, uint32_t **order);

/* KB_ERR_DATA, with `name` in front, if the weights do not sum to a positive double. */
kb_status kb_weights_check(kb_context *ctx, const char *name, size_t count, const double *weight);

/* The rows begin .. begin + count as a set that borrows everything: it is not freed, and valid
 * as long as `data`.  Where compressed rows begin is counted from the first row of `data`. */
kb_data kb_data_view(const kb_data *data, size_t begin, size_t count);

/* Puts the values into the form that suits them: dense when more than
 * KB_DENSE_SHARE of the cells are stored entries, else sparse.  An entry costs 12
 * bytes in compressed rows and 8 in the dense form, which would put the border at
 * 2/3; but a dense row is also binned several times faster per cell.  Needs both
 * forms in memory for a moment.  Dense data with missing values, levels or dates
 * stay dense; in sparse data missing values become 0. */
#define KB_DENSE_SHARE 0.4
kb_status kb_data_choose_form(kb_context *ctx, kb_data *data);

/* What that choice depends on: entries that are stored, or of dense data those that are not 0;
 * and whether dense data must stay dense. */
size_t kb_data_entries(kb_context *ctx, const kb_data *data);
int kb_data_stays_dense(const kb_data *data);
/* Puts the values into one of the forms; explicit zeros of sparse rows do not come back. */
kb_status kb_data_set_form(kb_context *ctx, kb_data *data, int dense);

/* The warning about missing values that became 0. */
void kb_data_tell_dropped(kb_context *ctx, size_t missing);

/* Values of the caller of kb_data_from_arrays are copied, so that they may be changed. */
kb_status kb_data_own_values(kb_context *ctx, kb_data *data);

/* Leaves out the rows whose label is NaN, of data that belong to nobody else; a warning with `name`
 * in front tells how many there were.  KB_ERR_DATA if no row is left, or if the weights of the
 * others are all 0. */
kb_status kb_data_keep_labelled(kb_context *ctx, const char *name, kb_data *data);

/* Nonzero entries and their places of row i, whatever the form: a dense row has
 * column = NULL and count = features. */
typedef struct kb_row {
    size_t count;
    const uint32_t *column;
    const double *value;
} kb_row;

static inline kb_row kb_data_row(const kb_data *data, size_t i) {
    if (data->dense)
        return (kb_row){data->features, NULL, data->dense + i * data->features};
    size_t begin = data->row_start[i];
    return (kb_row){data->row_start[i + 1] - begin, data->column + begin, data->value + begin};
}

#endif
