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
