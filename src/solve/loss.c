/*
 * loss.c - see loss.h.
 *
 *   square          (z - y)^2 / 2
 *   logistic        log(1 + exp(-y z))
 *   squared-hinge   max(1 - y z, 0)^2
 *   quantile        log(1 + exp(z - y)) + q (y - z)
 *   absolute        twice that for q = 1/2
 *   poisson         exp(z) - y z
 *
 * The loss of a quantile q is q (y - z) above the decision and (1 - q) (z - y) below, which bends
 * at 0.  What stands here is above it by at most log 2: smoothed over a width of 1 of its own units
 * (unit_fit.h).
 */
#include "solve/loss.h"
#include "core/fixed_math.h"
#include "core/sums.h"
#include "options/options.h"
#include "simd/simd.h"

#include <math.h>
#include <string.h>

/* rows() and sum() from at(), for those that the compiler can turn into vectors. */
#define ROWS_FROM(name)                                                                            \
    static void name##_rows(const kb_loss *loss, size_t n, const double *z, const double *y,       \
                            kb_loss_rows out) {                                                    \
        double *restrict value = out.value, *restrict slope = out.slope;                           \
        double *restrict curvature = out.curvature;                                                \
        for (size_t i = 0; i < n; i++) {                                                           \
            kb_loss_point at = name##_at(loss, z[i], y[i]);                                        \
            value[i] = at.value;                                                                   \
            slope[i] = at.slope;                                                                   \
            curvature[i] = at.curvature;                                                           \
        }                                                                                          \
    }                                                                                              \
    static double name##_sum(const kb_loss *loss, size_t n, const double *z, const double *y,      \
                             kb_loss_rows out) {                                                   \
        double value[KB_LOSS_SUM];                                                                 \
        name##_rows(loss, n, z, y, (kb_loss_rows){value, out.slope, out.curvature});               \
        return kb_sum(n, value);                                                                   \
    }

static kb_loss_point square_at(const kb_loss *loss, double z, double y) {
    (void)loss;
    return (kb_loss_point){(z - y) * (z - y) / 2, z - y, 1};
}
ROWS_FROM(square)

static double square_slope(const kb_loss *loss, double z, double y) {
    (void)loss;
    return z - y;
}

static void square_conjugate(const kb_loss *loss, size_t n, const double *u, const double *y,
                             double *value) {
    (void)loss;
    for (size_t i = 0; i < n; i++)
        value[i] = u[i] * u[i] / 2 + u[i] * y[i];
}

double kb_logistic(double z) {
    double e = kb_exp_minus_fixed(fabs(z));
    return z >= 0 ? 1 / (1 + e) : e / (1 + e);
}

static void logistic_rows(const kb_loss *loss, size_t n, const double *z, const double *y,
                          kb_loss_rows out) {
    (void)loss;
    kb_simd_best()->losses->logistic(n, z, y, out.value, out.slope, out.curvature);
}

static double logistic_sum(const kb_loss *loss, size_t n, const double *z, const double *y,
                           kb_loss_rows out) {
    (void)loss;
    return kb_simd_best()->losses->logistic_sum(n, z, y, out.slope, out.curvature);
}

static kb_loss_point logistic_at(const kb_loss *loss, double z, double y) {
    kb_loss_point at;
    logistic_rows(loss, 1, &z, &y, (kb_loss_rows){&at.value, &at.slope, &at.curvature});
    return at;
}

static double logistic_slope(const kb_loss *loss, double z, double y) {
    (void)loss;
    return -y * kb_logistic(-y * z);
}

static void logistic_conjugate(const kb_loss *loss, size_t n, const double *u, const double *y,
                               double *value) {
    (void)loss;
    kb_simd_best()->losses->logistic_conjugate(n, u, y, value);
}

static kb_loss_point squared_hinge_at(const kb_loss *loss, double z, double y) {
    (void)loss;
    double gap = 1 - y * z;
    gap = gap > 0 ? gap : 0;
    return (kb_loss_point){gap * gap, -2 * y * gap, gap > 0 ? 2 : 0};
}
ROWS_FROM(squared_hinge)

static double squared_hinge_slope(const kb_loss *loss, double z, double y) {
    (void)loss;
    double gap = 1 - y * z;
    return gap > 0 ? -2 * y * gap : 0;
}

static void squared_hinge_conjugate(const kb_loss *loss, size_t n, const double *u, const double *y,
                                    double *value) {
    (void)loss;
    for (size_t i = 0; i < n; i++) {
        double p = -u[i] * y[i];
        value[i] = p >= 0 ? p * p / 4 - p : INFINITY;
    }
}

/* log(1 + exp(z - y)) is the logistic loss of y - z and +1; then the linear part, and `times` all
 * of it. */
static void pinball_rows(size_t n, double times, double q, const double *z, const double *y,
                         kb_loss_rows out) {
    double margin[KB_LOSS_SUM], one[KB_LOSS_SUM];
    for (size_t first = 0, count; first < n; first += count) {
        count = n - first < KB_LOSS_SUM ? n - first : KB_LOSS_SUM;
        double *value = out.value + first, *slope = out.slope + first;
        double *curvature = out.curvature + first;
        for (size_t k = 0; k < count; k++) {
            margin[k] = y[first + k] - z[first + k];
            one[k] = 1;
        }
        kb_simd_best()->losses->logistic(count, margin, one, value, slope, curvature);
        for (size_t k = 0; k < count; k++) {
            value[k] = times * (value[k] + q * margin[k]);
            slope[k] = -times * (slope[k] + q);
            curvature[k] *= times;
        }
    }
}

static double pinball_slope(double times, double q, double z, double y) {
    return times * (kb_logistic(z - y) - q);
}

/* For u = times v: times the conjugate of log(1 + exp(z - y)) at p = v + q, and -q y. */
static void pinball_conjugate(size_t n, double times, double q, const double *u, const double *y,
                              double *value) {
    for (size_t i = 0; i < n; i++) {
        double p = u[i] / times + q, entropy = 0;
        entropy += p > 0 ? p * kb_log_fixed(p) : 0;
        entropy += p < 1 ? (1 - p) * kb_log_fixed(1 - p) : 0;
        value[i] = p >= 0 && p <= 1 ? times * (entropy + (p - q) * y[i]) : INFINITY;
    }
}

static void quantile_rows(const kb_loss *loss, size_t n, const double *z, const double *y,
                          kb_loss_rows out) {
    pinball_rows(n, 1, loss->quantile, z, y, out);
}

static double quantile_slope(const kb_loss *loss, double z, double y) {
    return pinball_slope(1, loss->quantile, z, y);
}

static void quantile_conjugate(const kb_loss *loss, size_t n, const double *u, const double *y,
                               double *value) {
    pinball_conjugate(n, 1, loss->quantile, u, y, value);
}

static void absolute_rows(const kb_loss *loss, size_t n, const double *z, const double *y,
                          kb_loss_rows out) {
    (void)loss;
    pinball_rows(n, 2, 0.5, z, y, out);
}

static double absolute_slope(const kb_loss *loss, double z, double y) {
    (void)loss;
    return pinball_slope(2, 0.5, z, y);
}

static void absolute_conjugate(const kb_loss *loss, size_t n, const double *u, const double *y,
                               double *value) {
    (void)loss;
    pinball_conjugate(n, 2, 0.5, u, y, value);
}

double kb_exp_bounded(double z) {
    return z > 0 ? 1 / kb_exp_minus_fixed(z) : kb_exp_minus_fixed(-z);
}

static void poisson_rows(const kb_loss *loss, size_t n, const double *z, const double *y,
                         kb_loss_rows out) {
    (void)loss;
    for (size_t i = 0; i < n; i++) {
        double mean = kb_exp_bounded(z[i]);
        out.value[i] = mean - y[i] * z[i];
        out.slope[i] = mean - y[i];
        out.curvature[i] = mean;
    }
}

static double poisson_slope(const kb_loss *loss, double z, double y) {
    (void)loss;
    return kb_exp_bounded(z) - y;
}

/* p log p - p, p = u + y. */
static void poisson_conjugate(const kb_loss *loss, size_t n, const double *u, const double *y,
                              double *value) {
    (void)loss;
    for (size_t i = 0; i < n; i++) {
        double p = u[i] + y[i];
        value[i] = p > 0 ? p * kb_log_fixed(p) - p : p == 0 ? 0 : INFINITY;
    }
}

#define AT_AND_SUM(name)                                                                           \
    static kb_loss_point name##_at(const kb_loss *loss, double z, double y) {                      \
        kb_loss_point at;                                                                          \
        name##_rows(loss, 1, &z, &y, (kb_loss_rows){&at.value, &at.slope, &at.curvature});         \
        return at;                                                                                 \
    }                                                                                              \
    static double name##_sum(const kb_loss *loss, size_t n, const double *z, const double *y,      \
                             kb_loss_rows out) {                                                   \
        double value[KB_LOSS_SUM];                                                                 \
        name##_rows(loss, n, z, y, (kb_loss_rows){value, out.slope, out.curvature});               \
        return kb_sum(n, value);                                                                   \
    }
AT_AND_SUM(quantile)
AT_AND_SUM(absolute)
AT_AND_SUM(poisson)

static const kb_loss TABLE[] = {
    {KB_LOSS_SQUARE, square_at, square_slope, square_rows, square_sum, 1, square_conjugate, 0, 0,
     0},
    {KB_LOSS_LOGISTIC, logistic_at, logistic_slope, logistic_rows, logistic_sum, 0.25,
     logistic_conjugate, 1, 0, 0},
    {KB_LOSS_SQUARED_HINGE, squared_hinge_at, squared_hinge_slope, squared_hinge_rows,
     squared_hinge_sum, 2, squared_hinge_conjugate, 1, 0, 0},
    {KB_LOSS_QUANTILE, quantile_at, quantile_slope, quantile_rows, quantile_sum, 0.25,
     quantile_conjugate, 0, 1, 0.5},
    {KB_LOSS_ABSOLUTE, absolute_at, absolute_slope, absolute_rows, absolute_sum, 0.5,
     absolute_conjugate, 0, 1, 0.5},
    {KB_LOSS_POISSON, poisson_at, poisson_slope, poisson_rows, poisson_sum, INFINITY,
     poisson_conjugate, 0, 1, 0},
};

const kb_loss *kb_loss_of(kb_loss_kind kind) {
    for (size_t i = 0; i < sizeof TABLE / sizeof *TABLE; i++)
        if (TABLE[i].kind == kind)
            return &TABLE[i];
    return NULL;
}

kb_loss kb_loss_with_quantile(const kb_loss *loss, double quantile) {
    kb_loss out = *loss;
    out.quantile = quantile;
    return out;
}

const char *kb_loss_name(const kb_loss *loss) {
    return kb_choice_word(KB_OPT_LOSS, (int)loss->kind);
}

const kb_loss *kb_loss_find(const char *name) {
    int kind;
    return kb_choice_find(KB_OPT_LOSS, name, &kind) ? kb_loss_of((kb_loss_kind)kind) : NULL;
}
