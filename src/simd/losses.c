/* losses.c - see losses.h. */
#include "simd/losses.h"
#include "core/fixed_math.h"
#include "simd/lanes.h"

#include <math.h>

extern const kb_loss_loops KB_OF_LEVEL(kb_loss_loops);

INLINE double sum_lanes(reals x) {
    return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
}

INLINE void forms_of(size_t n, size_t count, const double *h, const double *v,
                     const double *const *k, double *product, double *dot) {
    reals products[KB_FORMS * (KB_FORMS + 1) / 2] = {0}, dots[KB_FORMS] = {0};
    size_t i = 0;
    for (; i + KB_LANES <= n; i += KB_LANES) {
        reals at[KB_FORMS], weight = load(h + i), other = load(v + i);
        for (size_t b = 0, pair = 0; b < count; b++) {
            at[b] = load(k[b] + i);
            dots[b] += other * at[b];
            for (size_t a = 0; a <= b; a++, pair++)
                products[pair] += weight * at[a] * at[b];
        }
    }
    for (size_t b = 0, pair = 0; b < count; b++) {
        dot[b] = sum_lanes(dots[b]);
        for (size_t a = 0; a <= b; a++, pair++)
            product[pair] = sum_lanes(products[pair]);
    }
    for (; i < n; i++)
        for (size_t b = 0, pair = 0; b < count; b++) {
            dot[b] += v[i] * k[b][i];
            for (size_t a = 0; a <= b; a++, pair++)
                product[pair] += h[i] * k[a][i] * k[b][i];
        }
}

static void forms(size_t n, size_t count, const double *h, const double *v, const double *const *k,
                  double *product, double *dot) {
    if (count == 1)
        forms_of(n, 1, h, v, k, product, dot);
    else if (count == 2)
        forms_of(n, 2, h, v, k, product, dot);
    else if (count == 3)
        forms_of(n, 3, h, v, k, product, dot);
    else
        forms_of(n, KB_FORMS, h, v, k, product, dot);
}

/* With m = y z and e = exp(-|m|):  L = log(1 + e) + max(-m, 0), and the probability of
 * being wrong p = 1/(1 + exp m) gives the slope -y p and the curvature p (1 - p). */
static void logistic(size_t n, const double *z, const double *y, double *restrict value,
                     double *restrict slope, double *restrict curvature) {
    for (size_t i = 0; i < n; i++) {
        double m = y[i] * z[i], e = kb_exp_minus_fixed(m < 0 ? -m : m);
        double right = 1 / (1 + e), other = e * right;
        value[i] = kb_log_fixed(1 + e) + (m < 0 ? -m : 0);
        slope[i] = -y[i] * (m < 0 ? right : other);
        curvature[i] = other * right;
    }
}

static double logistic_sum(size_t n, const double *z, const double *y, double *restrict slope,
                           double *restrict curvature) {
    double factor[KB_LOGISTIC_MOST], beyond[KB_LOGISTIC_MOST], product = 1;
    reals factors = product - (reals){0}, beyonds = {0};
    for (size_t i = 0; i < n; i++) {
        double m = y[i] * z[i], e = kb_exp_minus_fixed(m < 0 ? -m : m);
        double right = 1 / (1 + e), other = e * right;
        factor[i] = 1 + e;
        beyond[i] = m < 0 ? -m : 0;
        slope[i] = -y[i] * (m < 0 ? right : other);
        curvature[i] = other * right;
    }
    size_t i = 0;
    for (; i + KB_LANES <= n; i += KB_LANES) {
        factors *= load(factor + i);
        beyonds += load(beyond + i);
    }
    double sum = sum_lanes(beyonds);
    for (size_t k = 0; k < KB_LANES; k++)
        product *= factors[k];
    for (; i < n; i++) {
        product *= factor[i];
        sum += beyond[i];
    }
    return sum + kb_log_fixed(product);
}

/* p log p + (1 - p) log (1 - p) with p = -y u; 0 log 0 is 0, since log 0 is finite here. */
static void logistic_conjugate(size_t n, const double *u, const double *y, double *value) {
    for (size_t i = 0; i < n; i++) {
        double p = -y[i] * u[i], q = 1 - p;
        double there = p * kb_log_fixed(p) + q * kb_log_fixed(q);
        value[i] = (p >= 0) & (q >= 0) ? there : INFINITY;
    }
}

const kb_loss_loops KB_OF_LEVEL(kb_loss_loops) = {
    .forms = forms,
    .logistic = logistic,
    .logistic_sum = logistic_sum,
    .logistic_conjugate = logistic_conjugate,
};
