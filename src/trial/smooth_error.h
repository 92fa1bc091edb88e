/*
 * smooth_error.h - the share of wrong rows, smoothed: less chance, and the same for decisions of
 * any size.
 *
 * A row whose decision for its class exceeds the largest other one by m counts (1 - p)^2 with p =
 * 1 / (1 + exp(-T m)), and one that is wrong by far counts 1, as in the share of wrong rows.  T is
 * the one with the least mean.  So trials of different losses can be compared by it.
 */
#ifndef KB_TRIAL_SMOOTH_ERROR_H
#define KB_TRIAL_SMOOTH_ERROR_H

#include "trial/subsample.h"

/* For rows of classes; f is held x C.  `out`, held: the terms of each row, whose mean is the smooth
 * error.  O(held). */
void kb_smooth_errors(const kb_subsample *s, size_t held, const uint32_t *row, const double *f,
                      double *out);

#endif
