/* random.c - see random.h. */
#include "core/random.h"

#include <Random123/philox.h>
#include <math.h>
#include <string.h>

kb_random4 kb_random(uint64_t seed, kb_stream stream, uint64_t a, uint32_t b) {
    philox4x32_key_t key = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
    philox4x32_ctr_t counter = {{(uint32_t)a, (uint32_t)(a >> 32), b, (uint32_t)stream}};
    philox4x32_ctr_t out = philox4x32(counter, key);
    return (kb_random4){{out.v[0], out.v[1], out.v[2], out.v[3]}};
}

/* (k + 1/2) / 2^52 for a 52-bit k: exact, never 0 and never 1. */
static double uniform(uint32_t high, uint32_t low) {
    uint64_t k = (((uint64_t)high << 32) | low) >> 12;
    return ((double)k + 0.5) * 0x1p-52;
}

kb_uniform2 kb_random_uniform(uint64_t seed, kb_stream stream, uint64_t a, uint32_t b) {
    kb_random4 r = kb_random(seed, stream, a, b);
    return (kb_uniform2){uniform(r.word[0], r.word[1]), uniform(r.word[2], r.word[3])};
}

/* x = m 2^e with sqrt(1/2) <= m < sqrt(2), and log m = 2 atanh s, s = (m-1)/(m+1),
 * whose series in t = s^2 <= 0.0295 is down to 1e-17 after eleven terms.  They are added in
 * pairs and pairs of pairs (Estrin), for speed. */
double kb_log_exact_order(double x) {
    static const double ln2_high = 0x1.62e42fefa3800p-1, ln2_low = 0x1.ef35793c76730p-45;
    uint64_t bits;
    double m;
    memcpy(&bits, &x, sizeof bits);
    int e = (int)(bits >> 52) - 1022;
    bits = (bits & UINT64_C(0x000fffffffffffff)) | UINT64_C(0x3fe0000000000000);
    memcpy(&m, &bits, sizeof m);
    if (m < 0x1.6a09e667f3bcdp-1) {
        m *= 2;
        e--;
    }
    double s = (m - 1) / (m + 1), t = s * s, t2 = t * t, t4 = t2 * t2;
    double a = (1.0 / 3 + 1.0 / 5 * t) + (1.0 / 7 + 1.0 / 9 * t) * t2;
    double b = (1.0 / 11 + 1.0 / 13 * t) + (1.0 / 15 + 1.0 / 17 * t) * t2;
    double c = (1.0 / 19 + 1.0 / 21 * t) + 1.0 / 23 * t2;
    double series = t * (a + t4 * (b + t4 * c));
    return e * ln2_high + (2 * s + (2 * s * series + e * ln2_low));
}

/* x = k ln 2 + r with |r| <= ln(2)/2, exp(x) - 1 = 2^k (exp(r) - 1) + (2^k - 1). */
double kb_expm1_exact_order(double x) {
    static const double ln2_high = 0x1.62e42fefa3800p-1, ln2_low = 0x1.ef35793c76730p-45;
    double k = floor(x / 0x1.62e42fefa39efp-1 + 0.5);
    double r = (x - k * ln2_high) - k * ln2_low, series = 0;
    for (int n = 18; n >= 2; n--)
        series = (series + 1) * (r / n);
    double p = ldexp(1, (int)k);
    return p * ((series + 1) * r) + (p - 1);
}

/* -x = k ln 2 + r; exp(r) to the 13th power, in pairs as above; 2^k is put together from
 * its bits. */
double kb_exp_minus_exact_order(double x) {
    static const double ln2_high = 0x1.62e42fefa3800p-1, ln2_low = 0x1.ef35793c76730p-45;
    int64_t k = -(int64_t)(x * 0x1.71547652b82fep+0 + 0.5);
    double r = (-x - (double)k * ln2_high) - (double)k * ln2_low, power;
    double r2 = r * r, r4 = r2 * r2;
    double b = (1.0 / 24 + 1.0 / 120 * r) + (1.0 / 720 + 1.0 / 5040 * r) * r2;
    double c = (1.0 / 40320 + 1.0 / 362880 * r) + (1.0 / 3628800 + 1.0 / 39916800 * r) * r2;
    double d = 1.0 / 479001600 + 1.0 / 6227020800 * r;
    double series = 1 + (r + ((0.5 + 1.0 / 6 * r) * r2 + r4 * (b + r4 * (c + r4 * d))));
    uint64_t bits = (uint64_t)(1023 + k) << 52;
    memcpy(&power, &bits, sizeof power);
    return series * power;
}
