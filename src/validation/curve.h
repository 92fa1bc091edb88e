/*
 * curve.h - an increasing curve of straight pieces from decisions to logits, fitted to rows that
 * were held out.
 *
 * The square loss estimates the mean of targets of -1 and 1, so that the log odds of a class grow
 * faster than the decision near the ends; the logistic loss is too sure where it fits too closely.
 * One slope cannot mend both, a curve with a few knots does.  It passes through 0 at 0 for two
 * classes, and it increases, so that the most probable class is the predicted one.
 */
#ifndef KB_VALIDATION_CURVE_H
#define KB_VALIDATION_CURVE_H

#include "core/memory.h"

enum { KB_CURVE_KNOTS = 9 };

typedef struct kb_curve {
    size_t knots;                                /* 0: there is none; else 2 or more */
    double x[KB_CURVE_KNOTS], y[KB_CURVE_KNOTS]; /* both increasing */
} kb_curve;

/* Linear between the knots, and beyond them with the slope of the first and last piece. */
double kb_curve_at(const kb_curve *curve, double x);
/* The x of a y. */
double kb_curve_inverse(const kb_curve *curve, double y);
int kb_curve_is_sound(const kb_curve *curve);

/* Fits the curve by likelihood, from a line of the given slope, to which a small penalty pulls the
 * pieces.  f: N x C; class_of: N, of 0 .. C - 1, or 0 and 1 for C = 1; weight: N, or NULL.  No
 * knots where there are too few rows.  O(N C) for each of some steps, and 16 N bytes. */
kb_status kb_curve_fit(kb_context *ctx, size_t N, size_t C, const double *f,
                       const uint32_t *class_of, const double *weight, double slope, kb_curve *out);

#endif
