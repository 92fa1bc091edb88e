/*
 * whole.h - sums over columns whose rows lie on several ranks; for kb_l1_grid_cd.
 *
 * Numbers of rows are rounded to multiples of a power of two, so few of its bits that a sum of them
 * is exact.  So the sums do not depend on the order of the rows, nor on the rank that has them.
 * Each rank has sums over its own rows, and one exchange adds them up.
 *
 * The pulls of a look are exact to 2^-50 of the largest push, in two such numbers a row.  Within
 * an epoch one is enough, since every model begins with new pushes: with N rows it has 51 - log2(N)
 * bits, at most 40.
 */
#ifndef KB_L1_WHOLE_H
#define KB_L1_WHOLE_H

#include "l1/grid_parts.h"

/* The number of bits at which sums over the rows of all ranks are exact, with two to spare. */
int kb_l1_bits(size_t rows);

/* Multiples of a power of two in which `most` has so many bits. */
kb_l1_unit kb_l1_unit_of(double most, int bits);

static inline double kb_l1_round(const kb_l1_unit *u, double x) {
    return (x + u->round) - u->round;
}

/* The largest of the N numbers of any rank. */
kb_status kb_l1_largest(const kb_l1_rows *r, const double *x, double *out);

/* Before the pulls: the pushes in two halves.  Then for each column the sums of both, by any
 * thread; then their sums over the ranks, and the pulls. */
kb_status kb_l1_halve(kb_l1_rows *r);
void kb_l1_sum_halves(const kb_l1_rows *r, size_t column);
kb_status kb_l1_join_halves(kb_l1_rows *r);
double kb_l1_whole_pull(const kb_l1_rows *r, size_t column);

/* The model's pushes and curvatures, in g->u and g->h, are rounded. */
kb_status kb_grid_round(kb_grid_cd *g);
/* A phase of an epoch: the sums of the parts become those of all ranks. */
kb_visit kb_grid_join;
/* u += by h for the rows of a run, or for all rows; rounded. */
void kb_grid_add_rounded(const kb_grid_cd *g, kb_run run, double by);
void kb_grid_shift_rounded(const kb_grid_cd *g, size_t begin, size_t end, double by);

#endif
