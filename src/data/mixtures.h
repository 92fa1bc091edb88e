/*
 * mixtures.h - columns that are weighted sums of others.
 *
 * A grid cuts one column at a time.  Where the targets follow a sum of columns, such cuts
 * approximate a slope by stairs; with the sum as a column of its own, one cut is enough.
 */
#ifndef KB_DATA_MIXTURES_H
#define KB_DATA_MIXTURES_H

#include "data/data.h"

typedef struct kb_mixtures {
    size_t count;       /* 0: none, and no arrays */
    size_t linear;      /* the first ones, predictions of a linear fit; the others are directions */
    size_t columns;     /* that they are sums of */
    double *weight;     /* count x columns */
    double *offset;     /* count */
    double *low, *high; /* count: where offset + sum is clipped */
} kb_mixtures;

/* With room for the arrays.  kb_mixtures_release either way. */
kb_status kb_mixtures_create(kb_context *ctx, size_t count, size_t columns, kb_mixtures *out);
kb_status kb_mixtures_copy(kb_context *ctx, const kb_mixtures *from, kb_mixtures *out);
/* Those of a, then those of b; either may be empty. */
kb_status kb_mixtures_join(kb_context *ctx, const kb_mixtures *a, const kb_mixtures *b,
                           kb_mixtures *out);
void kb_mixtures_release(kb_allocator allocator, kb_mixtures *m);

/* Whether arrays from a file are valid: finite numbers, low <= high. */
int kb_mixtures_are_sound(const kb_mixtures *m);

/* The sums are clipped to their range over the listed rows.  Dense data: it is brought to [0,
 * 1].  Sparse data: it is divided by its length and not shifted, so 0 stays 0, which is then
 * part of it.  A sum that does not vary, or too little to divide by, becomes 0. */
void kb_mixtures_fit(const kb_data *x, size_t count, const uint32_t *row, kb_mixtures *m);

/* Mixture k of a row. */
double kb_mixtures_value(const kb_mixtures *m, size_t k, kb_row row);

#endif
