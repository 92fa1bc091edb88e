/*
 * linear.h - predictions of a linear fit, as mixtures of the columns.
 */
#ifndef KB_SOLVE_LINEAR_H
#define KB_SOLVE_LINEAR_H

#include "data/mixtures.h"

/* What is fitted. */
typedef struct kb_linear {
    const kb_data *x;
    size_t C;             /* outputs */
    const double *y;      /* rows x C */
    const double *weight; /* rows; NULL: ones */
} kb_linear;

/* One mixture for each output: least squares with a small ridge on the listed rows, by their
 * weights, whose range they are brought to; see kb_mixtures_fit.  At most KB_LINEAR_STEPS passes
 * over the rows for each.  kb_mixtures_release either way. */
enum { KB_LINEAR_STEPS = 50 };
kb_status kb_linear_learn(kb_context *ctx, const kb_linear *fit, size_t count, const uint32_t *row,
                          kb_mixtures *out);

#endif
