/*
 * law.h - the laws from which bin widths are drawn, one for each kernel.
 *
 * For a convex kernel k with k(0) = 1 and k(inf) = 0, widths of density
 * p(delta) = delta k''(delta) make two points at distance t share a bin with
 * probability k(t): a grid of width delta parts them with probability
 * min(t/delta, 1), and  integral_t^inf (1 - t/delta) delta k''(delta) = k(t).
 *
 * The levels of a category, as whole numbers, have a law of their own: a grid cuts the column with
 * probability 1 - exp(-1/sigma), and then each level has a bin of its own.  So k = 1 for equal
 * levels and exp(-1/sigma) for any two others: what laplace has at distance 1.
 */
#ifndef KB_FEATURES_LAW_H
#define KB_FEATURES_LAW_H

#include "core/memory.h"
#include "core/random.h"
#include "options/kernel_name.h"

typedef struct kb_law {
    kb_allocator allocator;
    /* LAPLACE exp(-t), TRIANGLE max(0, 1 - t), POWER (1 + t)^-a, or TABLE: straight lines between
     * knots. */
    kb_kernel_id kind;
    double a;      /* POWER */
    size_t knots;  /* TABLE */
    double *knot;  /* where the slope changes */
    double *share; /* cumulated probability of the knots; the last is 1 */
    int levels;    /* the law of levels; nothing above is used */
} kb_law;

/* The law of a product kernel.  The file of a table holds a line `distance value` for each knot,
 * from `0 1` down to `.. 0`, convex. */
kb_status kb_law_build(kb_context *ctx, const kb_kernel_name *kernel, kb_law **out);
/* The same from the kernel's name. */
kb_status kb_law_parse(kb_context *ctx, const char *text, kb_law **out);
void kb_law_free(kb_law *law);

/* The law of levels; it is never freed. */
const kb_law *kb_law_levels(void);
/* Its probability that a grid cuts the column, the same on every CPU. */
double kb_levels_cut(double sigma);

/* A width for sigma = 1 from two uniform numbers; multiply it by sigma.  Not for levels. */
double kb_law_width(const kb_law *law, kb_uniform2 draw);

/* k(t) for sigma = 1, t >= 0.  Not for levels. */
double kb_law_kernel(const kb_law *law, double t);

#endif
