/*
 * whole.h - numbers of rows whose sums do not depend on their order; for rows on ranks.
 *
 * They are rounded to multiples of a power of two, and have so few bits that a sum of them is
 * exact.  So each rank has sums over its own rows, and one exchange adds them up.
 */
#ifndef KB_L1_WHOLE_H
#define KB_L1_WHOLE_H

#include <math.h>
#include <stddef.h>

/* Multiples of `unit`: `per` is 1 / unit, and a number plus `round` minus `round` is the nearest
 * one.  All 0: there is nothing to round, or no number that can be. */
typedef struct kb_l1_unit {
    double unit, per, round;
} kb_l1_unit;

/* Bits by which numbers may grow. */
enum { KB_L1_SPARE = 2 };
/* The bits of numbers whose sum over so many rows is exact, even after they have grown. */
int kb_l1_bits(size_t rows);

/* The unit of which `most` has so many bits. */
kb_l1_unit kb_l1_unit_of(double most, int bits);

static inline double kb_l1_round(const kb_l1_unit *u, double x) {
    return (x + u->round) - u->round;
}

#endif
