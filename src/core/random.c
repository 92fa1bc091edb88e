/* random.c - see random.h. */
#include "core/random.h"

#include <Random123/philox.h>
#include <math.h>

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
 * whose series in s^2 <= 0.0295 is down to 1e-17 after eleven terms. */
double kb_log_exact_order(double x) {
    static const double ln2_high = 0x1.62e42fefa3800p-1, ln2_low = 0x1.ef35793c76730p-45;
    int e;
    double m = frexp(x, &e);
    if (m < 0x1.6a09e667f3bcdp-1) {
        m *= 2;
        e--;
    }
    double s = (m - 1) / (m + 1), t = s * s, series = 0;
    for (int k = 23; k >= 3; k -= 2)
        series = (series + 1.0 / k) * t;
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
