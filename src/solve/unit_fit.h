/*
 * unit_fit.h - losses of numbers other than the square one, each in units that suit it.
 *
 * Targets come in any unit, and the solver begins at w = 0.  So the problem is solved for shifted
 * and scaled targets, and the result is brought back.
 *
 * quantile, absolute: the offset is the quantile of the targets, s their interquartile range, and
 *
 *     min over w   lambda/2 |w|^2 + s sum_i s_i P(y_i - offset - w'z_i)
 *
 * P being the loss smoothed over a width of KB_UNIT_WIDTH s.  The factor s makes lambda mean the
 * same in all units, as it does for the square loss.  A width that is small from the start would
 * take many steps, so wider ones come first.
 *
 * poisson: the offset is the log of the mean m, and the targets are divided by m:
 *
 *     min over w   lambda/2 |w|^2 + 1/m sum_i s_i (exp(offset + w'z_i) - y_i (offset + w'z_i))
 *
 * up to a constant.
 */
#ifndef KB_SOLVE_UNIT_FIT_H
#define KB_SOLVE_UNIT_FIT_H

#include "solve/smooth_problem.h"

/* The width of the smoothing, as a share of the interquartile range of the targets. */
#define KB_UNIT_WIDTH 0.02

/* The constant that fits C columns of targets best, as far as the loss goes: the quantile, or the
 * log of the mean.  s: weights of the rows, or NULL.  spread, C or NULL: the unit of the targets.
 * It is 1 for poisson; else the interquartile range, or where that is 0 the mean distance from the
 * median, or where all targets are equal 1.  With ranks: of the rows of all. */
kb_status kb_unit_centre(kb_context *ctx, const kb_loss *loss, size_t rows, size_t C,
                         const double *y, const double *s, double *centre, double *spread);

/* Solves for a loss with in_units.  p->offset: filled in; NULL: there is none.  alpha and f are in
 * units of the decisions, without the offset. */
kb_status kb_unit_fit(kb_context *ctx, kb_smooth *p);

#endif
