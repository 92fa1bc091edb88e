/* fixed_math.c - see fixed_math.h. */
#include "core/fixed_math.h"

#include <math.h>

/* x = k ln 2 + r with |r| <= ln(2)/2, exp(x) - 1 = 2^k (exp(r) - 1) + (2^k - 1). */
double kb_expm1_fixed(double x) {
    double k = floor(x / 0x1.62e42fefa39efp-1 + 0.5);
    double r = (x - k * KB_LN2_HIGH) - k * KB_LN2_LOW, series = 0;
    for (int n = 18; n >= 2; n--)
        series = (series + 1) * (r / n);
    double p = ldexp(1, (int)k);
    return p * ((series + 1) * r) + (p - 1);
}

/* A number as an unevaluated sum, high + low. */
typedef struct pair {
    double high, low;
} pair;

/* a b, exactly: both are split into halves of 26 bits (Dekker, 1971). */
static pair product_of(double a, double b) {
    static const double splitter = 0x1p27 + 1;
    double t = splitter * a, ah = t - (t - a), al = a - ah;
    t = splitter * b;
    double bh = t - (t - b), bl = b - bh, high = a * b;
    return (pair){high, ((ah * bh - high) + ah * bl + al * bh) + al * bl};
}

static pair multiply(pair a, pair b) {
    pair p = product_of(a.high, b.high);
    double low = p.low + (a.high * b.low + a.low * b.high), high = p.high + low;
    return (pair){high, low - (high - p.high)};
}

double kb_power_fixed(double x, unsigned n) {
    pair power = {1, 0}, square = {x, 0};
    for (; n; n >>= 1) {
        if (n & 1)
            power = multiply(power, square);
        square = multiply(square, square);
    }
    return power.high + power.low;
}
