/*
 * fixed_math.h - log and exp by + - * / in a fixed order.
 *
 * Those of libm differ in the last bit from one CPU to another; bins and models must not.  Written
 * without branches and without conversions of 64-bit integers, which few CPUs have as vector
 * instructions, so that the compiler can vectorise loops over them (simd/bins.c).
 */
#ifndef KB_CORE_FIXED_MATH_H
#define KB_CORE_FIXED_MATH_H

#include <stdint.h>
#include <string.h>

#define KB_LN2_HIGH 0x1.62e42fefa3800p-1
#define KB_LN2_LOW  0x1.ef35793c76730p-45

static inline uint64_t kb_bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double kb_of_bits(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* log x for normal x > 0, within 1e-15 relative.
 *
 * x = m 2^e with sqrt(1/2) <= m < sqrt(2), and log m = 2 atanh s, s = (m-1)/(m+1),
 * whose series in t = s^2 <= 0.0295 is down to 1e-17 after eleven terms.  They are added in
 * pairs and pairs of pairs (Estrin), for speed.  The bits of 2^52 + n are those of 2^52 plus n: so
 * e becomes a double. */
static inline double kb_log_fixed(double x) {
    uint64_t bits = kb_bits_of(x);
    double half = kb_of_bits((bits & UINT64_C(0x000fffffffffffff)) | UINT64_C(0x3fe0000000000000));
    int small = half < 0x1.6a09e667f3bcdp-1;
    double m = small ? 2 * half : half;
    double e = kb_of_bits((bits >> 52) | UINT64_C(0x4330000000000000)) -
               (small ? 0x1p52 + 1023 : 0x1p52 + 1022);
    double s = (m - 1) / (m + 1), t = s * s, t2 = t * t, t4 = t2 * t2;
    double a = (1.0 / 3 + 1.0 / 5 * t) + (1.0 / 7 + 1.0 / 9 * t) * t2;
    double b = (1.0 / 11 + 1.0 / 13 * t) + (1.0 / 15 + 1.0 / 17 * t) * t2;
    double c = (1.0 / 19 + 1.0 / 21 * t) + 1.0 / 23 * t2;
    double series = t * (a + t4 * (b + t4 * c));
    return e * KB_LN2_HIGH + (2 * s + (2 * s * series + e * KB_LN2_LOW));
}

/* exp(-x) for x >= 0, within 1e-15 relative; exp(-700) for all above.
 *
 * -x = k ln 2 + r; exp(r) to the 13th power, in pairs as above.  Adding 1.5 2^52 leaves the
 * nearest k in the low bits of the sum, from where it goes to the exponent of 2^k. */
static inline double kb_exp_minus_fixed(double x) {
    static const double shift = 0x1.8p52;
    x = x < 700 ? x : 700;
    double rounded = x * -0x1.71547652b82fep+0 + shift, k = rounded - shift;
    double r = (-x - k * KB_LN2_HIGH) - k * KB_LN2_LOW;
    double r2 = r * r, r4 = r2 * r2;
    double b = (1.0 / 24 + 1.0 / 120 * r) + (1.0 / 720 + 1.0 / 5040 * r) * r2;
    double c = (1.0 / 40320 + 1.0 / 362880 * r) + (1.0 / 3628800 + 1.0 / 39916800 * r) * r2;
    double d = 1.0 / 479001600 + 1.0 / 6227020800 * r;
    double series = 1 + (r + ((0.5 + 1.0 / 6 * r) * r2 + r4 * (b + r4 * (c + r4 * d))));
    return series * kb_of_bits((kb_bits_of(rounded) + 1023) << 52);
}

/* exp(x) - 1 for 0 <= x <= 700, within 1e-15 relative. */
double kb_expm1_fixed(double x);

/* x^n for 0 <= x <= 1, within 0.51 of its last place while it is above 1e-290. */
double kb_power_fixed(double x, unsigned n);

#endif
