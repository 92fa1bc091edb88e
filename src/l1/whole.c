/* whole.c - see whole.h. */
#include "l1/whole.h"

/* Bits that the numbers may gain, and at most have. */
enum { MOST_BITS = 40, MANTISSA = 53 };

int kb_l1_bits(size_t rows) {
    int bits = MANTISSA - KB_L1_SPARE;
    for (size_t n = 1; n < rows; n *= 2)
        bits--;
    return bits < MOST_BITS ? bits : MOST_BITS;
}

/* 1.5 * 2^52 units: the sum with it has no bits below the unit. */
kb_l1_unit kb_l1_unit_of(double most, int bits) {
    int e = 0;
    frexp(most, &e);
    if (!isfinite(most) || !(most > 0) || e < -900)
        return (kb_l1_unit){0};
    return (kb_l1_unit){
        .per = ldexp(1, bits - e), .unit = ldexp(1, e - bits), .round = ldexp(0x1.8p52, e - bits)};
}
