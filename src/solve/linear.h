/*
 * linear.h - mixtures of the columns that tell the targets: what a linear fit says.
 */
#ifndef KB_SOLVE_LINEAR_H
#define KB_SOLVE_LINEAR_H

#include "trial/subsample.h"

/* One mixture for each output: least squares with a small ridge on the listed rows, by their
 * weights, whose range they are brought to; see kb_mixtures_fit.  At most KB_LINEAR_STEPS passes
 * over the rows for each.  kb_mixtures_release either way. */
enum { KB_LINEAR_STEPS = 50 };
kb_status kb_linear_learn(kb_context *ctx, const kb_subsample *s, size_t count, const uint32_t *row,
                          kb_mixtures *out);

#endif
