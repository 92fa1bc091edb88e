/*
 * transform.h - columns that suit random binning, learned on the training data.
 *
 * Dense data: every column is clipped to the range that it had and brought to [0, 1]; columns that
 * are constant are dropped.  A column with more than KB_RANK_DISTINCT different values whose ranks
 * differ from its values (a correlation below KB_RANK_CORRELATION by more than chance: long tails,
 * gaps) gets a second copy: the share of the training rows below the value.  These are mid-ranks,
 * which count half of the equal rows, linear between at most KB_RANK_KNOTS knots.
 *
 * Sparse data stay sparse: a column is divided by its range (the zeros that are left out count)
 * and not shifted, so 0 stays 0; it is clipped to its range and 0; there are no ranks.
 *
 * Columns of level numbers (data->level) stay as they are, or are all left out.  A number above
 * those of the training rows stays above them.
 *
 * The result has the columns that stay, in their order, then the ranks, in the same order, then the
 * levels, and after them mixtures of the columns that are no levels, if kb_transform_mix added
 * some.
 */
#ifndef KB_DATA_TRANSFORM_H
#define KB_DATA_TRANSFORM_H

#include "data/mixtures.h"

enum { KB_RANK_DISTINCT = 32, KB_RANK_KNOTS = 1000, KB_TRANSFORM_ROWS = 100000 };
#define KB_RANK_CORRELATION 0.977

typedef struct kb_transform {
    kb_allocator allocator;
    size_t inputs;      /* features of the data */
    size_t features;    /* of the result */
    size_t plain;       /* of those that are no mixtures */
    size_t levels;      /* the last of the plain ones: level numbers */
    double *low, *high; /* inputs: where the values are clipped */

    /* plain: result = (x - shift) * factor of x = the source, or its rank if there are knots. */
    size_t *source;
    double *shift, *factor;
    size_t *knot_start; /* plain + 1; a column has no knots or two or more */
    double *knot;       /* increasing within a column */
    double *rank;       /* of each knot, 0 to 1, never falling within a column */

    kb_mixtures mixtures; /* of the plain columns */

    /* Made by kb_transform_finish of what is above. */
    uint32_t *place; /* inputs x 2: the columns with the values and with the ranks, or UINT32_MAX */
    double *zero;    /* features: what 0 becomes */
    int keeps_zero;  /* 0 becomes 0 everywhere */
    unsigned char *level; /* features: data->level of the result; NULL without levels */
} kb_transform;

/* O(cells) time, and O(KB_TRANSFORM_ROWS) for the ranks of each column of dense data: beyond so
 * many rows they come from evenly spaced ones.  Nothing depends on threads.  Data without any
 * column that varies give one constant column.  On failure *out is NULL. */
kb_status kb_transform_learn(kb_context *ctx, const kb_data *data, kb_transform **out);
/* The same without the columns of levels. */
kb_status kb_transform_learn_numbers(kb_context *ctx, const kb_data *data, kb_transform **out);
/* With ranks: the rows of all tell the ranges, and `sample` has evenly spaced rows of all. */
kb_status kb_transform_learn_from(kb_context *ctx, const kb_data *data, const kb_data *sample,
                                  int with_levels, kb_transform **out);
void kb_transform_free(kb_transform *t);

/* A copy that has these mixtures too, of all columns of t, which has none.  On failure *out is
 * NULL. */
kb_status kb_transform_mix(kb_context *ctx, const kb_transform *t, const kb_mixtures *mixtures,
                           kb_transform **out);

size_t kb_transform_features(const kb_transform *t);
/* The column of the data that plain column j of the result is made from. */
size_t kb_transform_source(const kb_transform *t, size_t j);

/* The same rows, without labels, names or weights; the transform must outlive those with levels.
 * The form stays; only where sparse rows meet a transform that moves zeros (learned on dense data),
 * the result is dense.  The same values for both forms.  KB_ERR_DATA if the data have other
 * features. */
kb_status kb_transform_apply(kb_context *ctx, const kb_transform *t, const kb_data *data,
                             kb_data **out);

/* The same for some rows at a time.  kb_transform_room: an empty set with room for the results
 * of `rows` rows.  kb_transform_rows: fills it with the rows from `begin`, a multiple of `rows`;
 * each thread has its own set. */
kb_status kb_transform_room(kb_context *ctx, const kb_transform *t, const kb_data *data,
                            size_t rows, kb_data **out);
void kb_transform_rows(const kb_transform *t, const kb_data *data, size_t begin, size_t rows,
                       kb_data *out);

/* Bytes that the result for such data takes. */
double kb_transform_bytes(const kb_transform *t, const kb_data *data);

/* For readers of model files: one to be filled, then checked and finished. */
kb_status kb_transform_create(kb_context *ctx, size_t inputs, size_t plain, size_t knots,
                              size_t mixtures, kb_transform **out);
int kb_transform_is_sound(const kb_transform *t);
kb_status kb_transform_finish(kb_context *ctx, kb_transform *t);

#endif
