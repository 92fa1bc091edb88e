/*
 * halves.h - numbers in whole units, as two halves that are summed apart.
 */
#ifndef KB_JOINED_HALVES_H
#define KB_JOINED_HALVES_H

#include "core/both.h"

#include <math.h>
#include <stdint.h>

/* Bits of a number against the largest of its column, and of its lower half.  The sum of a slice's
 * halves fits into 32 bits, that of the grids into 64. */
enum { KB_HALVES_BITS = 50, KB_HALVES_LOW = 25 };

KB_BOTH static inline void kb_halves_split(int64_t x, int32_t *half) {
    half[1] = (int32_t)(x & (((int64_t)1 << KB_HALVES_LOW) - 1));
    half[0] = (int32_t)(x >> KB_HALVES_LOW);
}

KB_BOTH static inline int64_t kb_halves_join(const int32_t *half) {
    return (int64_t)half[0] * ((int64_t)1 << KB_HALVES_LOW) + half[1];
}

/* The nearest whole number. */
KB_BOTH static inline int64_t kb_halves_whole(double x, double per_unit) {
    return (int64_t)rint(x * per_unit);
}

/* The nearest double of two sums of halves, of which the first is below 2^61 in size. */
KB_BOTH static inline double kb_halves_value(const int64_t *sum) {
    const int64_t one = (int64_t)1 << KB_HALVES_LOW;
    int64_t high = sum[0] + (sum[1] >> KB_HALVES_LOW), low = sum[1] & (one - 1);
    int negative = high < 0, cut = 0;
    if (negative) {
        high = -high - (low > 0);
        low = low > 0 ? one - low : 0;
    }
    /* 62 bits of it, the last of which tells whether there were more: they round alike. */
    while (high >> (62 - KB_HALVES_LOW + cut))
        cut++;
    int64_t rest = low & (((int64_t)1 << cut) - 1);
    int64_t most = high * ((int64_t)1 << (KB_HALVES_LOW - cut)) + (low >> cut);
    double size = (double)(most | (rest != 0)) * (double)((int64_t)1 << cut);
    return negative ? -size : size;
}

/* The unit in which `most` is the largest; 0 where there is nothing but zeros, NAN where numbers
 * left the range of doubles. */
static inline double kb_halves_unit(double most, int bits) {
    return isfinite(most) ? ldexp(most, -bits) : NAN;
}

/* 0 for a unit of which there is no inverse. */
static inline double kb_halves_per_unit(double unit) {
    return unit > 0 && isfinite(1 / unit) ? 1 / unit : 0;
}

#endif
