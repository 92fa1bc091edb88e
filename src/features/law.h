/*
 * law.h - the laws from which bin widths are drawn, one for each kernel.
 *
 * For a convex kernel k with k(0) = 1 and k(inf) = 0, widths of density
 * p(delta) = delta k''(delta) make two points at distance t share a bin with
 * probability k(t): a grid of width delta parts them with probability
 * min(t/delta, 1), and  integral_t^inf (1 - t/delta) delta k''(delta) = k(t).
 */
#ifndef KB_FEATURES_LAW_H
#define KB_FEATURES_LAW_H

#include "core/memory.h"
#include "core/random.h"

typedef enum kb_law_kind {
    KB_KERNEL_LAPLACE,  /* exp(-t) */
    KB_KERNEL_TRIANGLE, /* max(0, 1 - t) */
    KB_KERNEL_POWER,    /* (1 + t)^-a */
    KB_KERNEL_TABLE,    /* straight lines between knots */
} kb_law_kind;

typedef struct kb_law {
    kb_allocator allocator;
    kb_law_kind kind;
    double a;      /* POWER */
    size_t knots;  /* TABLE */
    double *knot;  /* where the slope changes */
    double *share; /* cumulated probability of the knots; the last is 1 */
} kb_law;

/* "laplace", "triangle", "power:A" or "table:FILE".  The file holds a line
 * `distance value` for each knot, from `0 1` down to `.. 0`, convex. */
kb_status kb_law_parse(kb_context *ctx, const char *text, kb_law **out);
void kb_law_free(kb_law *law);

/* A width for sigma = 1 from two uniform numbers; multiply it by sigma. */
double kb_law_width(const kb_law *law, kb_uniform2 draw);

/* k(t) for sigma = 1, t >= 0. */
double kb_law_kernel(const kb_law *law, double t);

#endif
