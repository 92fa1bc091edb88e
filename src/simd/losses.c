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

typedef float floats8 __attribute__((vector_size(32)));
typedef int32_t ints8 __attribute__((vector_size(32)));
typedef int64_t longs8 __attribute__((vector_size(64)));

/* x + SHIFT has the nearest integer of |x| < 2^51 in its low bits. */
#define SHIFT      0x1.8p52
#define SHIFT_BITS 0x4338000000000000

static void whole(size_t n, double scale, const double *x, int32_t *v) {
    const double most = 0x1p28;
    for (size_t i = 0; i < n; i++) {
        double y = x[i] * scale;
        y = y > most ? most : y;
        y = (y < -most ? -most : y) + SHIFT;
        uint64_t bits;
        memcpy(&bits, &y, sizeof y);
        v[i] = (int32_t)(uint32_t)bits;
    }
}

/* The numbers of the columns, again and again, `apart` from one to the next. */
INLINE reals repeat(size_t columns, size_t apart, const double *x) {
    reals all;
    for (size_t lane = 0; lane < KB_LANES; lane++)
        all[lane] = x[lane % columns * apart];
    return all;
}

INLINE reals load_ints(const int32_t *p) {
    ints8 x;
    memcpy(&x, p, sizeof x);
    return __builtin_convertvector(x, reals);
}

INLINE reals load_floats(const float *p) {
    floats8 x;
    memcpy(&x, p, sizeof x);
    return __builtin_convertvector(x, reals);
}

INLINE reals load_longs(const int64_t *p) {
    longs8 x;
    memcpy(&x, p, sizeof x);
    return (reals)(x + SHIFT_BITS) - SHIFT;
}

static void real(size_t n, size_t columns, double scale, const double *offset, const int32_t *h,
                 double *out) {
    reals add = repeat(columns, 1, offset);
    size_t i = 0;
    for (; i + KB_LANES <= n; i += KB_LANES) {
        reals x = load_ints(h + i) * scale + add;
        memcpy(out + i, &x, sizeof x);
    }
    for (; i < n; i++)
        out[i] = h[i] * scale + offset[i % columns];
}

static void combine(size_t n, size_t columns, const double *x, const double *const *k,
                    double *out) {
    reals factor[KB_FORMS];
    size_t i = 0;
    _Static_assert(KB_FORMS == 4, "written out for four");
    for (size_t a = 0; a < KB_FORMS; a++)
        factor[a] = repeat(columns, KB_FORMS, x + a);
    for (; i + KB_LANES <= n; i += KB_LANES) {
        reals sum = (factor[0] * load(k[0] + i) + factor[1] * load(k[1] + i)) +
                    (factor[2] * load(k[2] + i) + factor[3] * load(k[3] + i));
        memcpy(out + i, &sum, sizeof sum);
    }
    for (; i < n; i++) {
        const double *by = x + i % columns * KB_FORMS;
        out[i] = (by[0] * k[0][i] + by[1] * k[1][i]) + (by[2] * k[2][i] + by[3] * k[3][i]);
    }
}

static void advance(size_t n, size_t columns, const double *t, const double *d, double *f) {
    reals by = repeat(columns, 1, t);
    size_t i = 0;
    for (; i + KB_LANES <= n; i += KB_LANES) {
        reals x = load(f + i) + by * load(d + i);
        memcpy(f + i, &x, sizeof x);
    }
    for (; i < n; i++)
        f[i] += t[i % columns] * d[i];
}

/* x, but at most `most` in size. */
INLINE reals cut(reals x, double most) {
    reals high = most - (reals){0};
    longs8 above = x > high, under = x < -high, other = ~(above | under);
    return (reals)(((longs8)x & other) | ((longs8)high & above) | ((longs8)-high & under));
}

/* The weights from i on, of which there are n <= KB_LANES, as vectors. */
INLINE void change(size_t i, size_t n, const kb_changes *how, reals *sum) {
    int64_t S[KB_LANES] = {0};
    double u[KB_LANES] = {0};
    float inverse[KB_LANES] = {0}, step[KB_FORMS - 1][KB_LANES] = {{0}};
    memcpy(S, how->S + i, n * sizeof *S);
    memcpy(u, how->u + i, n * sizeof *u);
    memcpy(inverse, how->inverse + i, n * sizeof *inverse);
    reals at = load(u), q = load_longs(S) * how->S_unit - how->Lambda * at;
    reals g = cut(q * load_floats(inverse), how->limit) + SHIFT;
    ints8 rounded = __builtin_convertvector((longs8)g - SHIFT_BITS, ints8);
    memcpy(how->g + i, &rounded, n * sizeof *how->g);
    g = (g - SHIFT) * how->unit;
    sum[KB_CHANGE_DESCENT] += g * q;
    sum[KB_CHANGE_OWN] += g * g;
    sum[KB_CHANGE_ALONG] += g * at;
    sum[KB_CHANGE_SLOPES] += q * q;
    for (size_t a = 0; a < KB_FORMS - 1; a++) {
        memcpy(step[a], how->step[a] + i, n * sizeof *step[a]);
        sum[KB_CHANGE_WITH + a] += g * load_floats(step[a]);
    }
}

static void changes(size_t n, size_t columns, const kb_changes *how, double *sum) {
    reals all[KB_CHANGE_SUMS] = {{0}};
    size_t i = 0;
    for (; i + KB_LANES <= n; i += KB_LANES)
        change(i, KB_LANES, how, all);
    if (i < n)
        change(i, n - i, how, all);
    memset(sum, 0, columns * KB_CHANGE_SUMS * sizeof *sum);
    for (size_t lane = 0; lane < KB_LANES; lane++)
        for (size_t k = 0; k < KB_CHANGE_SUMS; k++)
            sum[lane % columns * KB_CHANGE_SUMS + k] += all[k][lane];
}

static void step(size_t n, size_t columns, const double *x, const double *t, const kb_step *at) {
    reals by[KB_FORMS], go = repeat(columns, 1, t);
    size_t i = 0;
    for (size_t a = 0; a < KB_FORMS; a++)
        by[a] = repeat(columns, KB_FORMS, x + a) * (a == 0 ? at->unit : 1);
    for (; i + KB_LANES <= n; i += KB_LANES) {
        reals own = at->g ? by[0] * load_ints(at->g + i) : (reals){0};
        reals d = (own + by[1] * load_floats(at->step[0] + i)) +
                  (by[2] * load_floats(at->step[1] + i) + by[3] * load_floats(at->d + i));
        reals u = load(at->u + i) + go * d;
        floats8 narrow = __builtin_convertvector(d, floats8);
        memcpy(at->u + i, &u, sizeof u);
        memcpy(at->d + i, &narrow, sizeof narrow);
    }
    for (; i < n; i++) {
        size_t c = i % columns;
        double own = at->g ? x[c * KB_FORMS] * at->unit * at->g[i] : 0;
        double d =
            (own + x[c * KB_FORMS + 1] * (double)at->step[0][i]) +
            (x[c * KB_FORMS + 2] * (double)at->step[1][i] + x[c * KB_FORMS + 3] * (double)at->d[i]);
        at->u[i] += t[c] * d;
        at->d[i] = (float)d;
    }
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
    .whole = whole,
    .real = real,
    .combine = combine,
    .advance = advance,
    .changes = changes,
    .step = step,
    .logistic = logistic,
    .logistic_sum = logistic_sum,
    .logistic_conjugate = logistic_conjugate,
};
