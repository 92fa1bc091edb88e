/*
 * margin_sweeps.h - a smooth loss of classes with the L2 penalty, by sweeps over slices of grids.
 *
 *     min over w, b   lambda/2 (|w|^2 + b^2) + sum_i s_i L(w'z_i + b, y_i)
 *
 * A slice is half of the grids.  With the slopes of the losses given, each of its bins has a best
 * change of its own; these changes together are one direction, and the last three steps are
 * others.  A step minimises the quadratic model of the objective over the span of the four, as a
 * round of solve/newton.c does, and the next slice sees the new slopes.
 *
 * A sweep reads every bin number twice, like a product K v, and its two steps reach further than
 * one round of Newton's method.
 *
 * Slopes and changes are whole numbers where they are summed over bins (simd/whole_sums.h), and all
 * other sums are by fixed parts, so the result is the same for any number of threads.
 */
#ifndef KB_SWEEPS_MARGIN_SWEEPS_H
#define KB_SWEEPS_MARGIN_SWEEPS_H

#include "core/bytes.h"
#include "sweeps/margin_problem.h"

/* Sweeps alone; op is not used.  Ends before max_steps where no step lowers the objective. */
kb_status kb_margin_sweeps(kb_context *ctx, kb_margin *problem);

/* Sweeps, and Newton's method from there if they did not reach the tolerance.  f and the objective
 * are those of w and b to the last digits. */
kb_status kb_margin_fit(kb_context *ctx, kb_margin *problem);

/* Memory of the second beside the caller's arrays, for a batch of C outputs. */
kb_bytes kb_margin_fit_bytes(size_t C);

#endif
