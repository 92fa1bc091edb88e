/*
 * slopes.h - how the targets change with the columns, by the gradients of a small exact fit
 * (slopes/gradients.h): widths to begin with, and columns along which the targets change.
 */
#ifndef KB_SLOPES_SLOPES_H
#define KB_SLOPES_SLOPES_H

#include "trial/subsample.h"

/* The rows that may be used. */
typedef struct kb_learning_rows {
    const kb_subsample *sample;
    size_t pool;
    const uint32_t *row;
} kb_learning_rows;

/* Mean products of the derivatives with respect to the columns times their units. */
typedef struct kb_slopes {
    size_t columns;
    double *unit; /* columns; 0: levels, which are left out */
    double *M;    /* columns x columns */
} kb_slopes;

/* Some Cholesky decompositions of at most `most` rows, two thirds of them fitted.
 * kb_slopes_release either way. */
kb_status kb_slopes_learn(kb_context *ctx, kb_learning_rows rows, size_t most, uint64_t seed,
                          kb_slopes *out);
void kb_slopes_release(kb_context *ctx, kb_slopes *s);
double kb_slopes_bytes(kb_learning_rows rows, size_t most);

/* Two equal vectors of widths that are inversely proportional to the slopes and part the rows as
 * much as equal ones of this sigma.  *out belongs to the caller (kb_release out->width). */
kb_status kb_slopes_widths(kb_context *ctx, const kb_slopes *s, const kb_subsample *sample,
                           const kb_law *law, double sigma, kb_widths *out);

/* At most `most` mixtures, along the eigenvectors of the largest eigenvalues of M, and for each the
 * root mean square of the derivative along it, once it is brought to its range: `slope` has room
 * for `most`.  None where nothing changes.  kb_mixtures_release either way. */
kb_status kb_slopes_directions(kb_context *ctx, const kb_slopes *s, kb_learning_rows rows,
                               size_t most, kb_mixtures *out, double *slope);

#endif
