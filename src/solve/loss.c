/*
 * loss.c - see loss.h.
 *
 *   square          (z - y)^2 / 2
 *   logistic        log(1 + exp(-y z))
 *   squared-hinge   max(1 - y z, 0)^2
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
    static void name##_rows(size_t n, const double *z, const double *y, kb_loss_rows out) {        \
        double *restrict value = out.value, *restrict slope = out.slope;                           \
        double *restrict curvature = out.curvature;                                                \
        for (size_t i = 0; i < n; i++) {                                                           \
            kb_loss_point at = name##_at(z[i], y[i]);                                              \
            value[i] = at.value;                                                                   \
            slope[i] = at.slope;                                                                   \
            curvature[i] = at.curvature;                                                           \
        }                                                                                          \
    }                                                                                              \
    static double name##_sum(size_t n, const double *z, const double *y, kb_loss_rows out) {       \
        double value[KB_LOSS_SUM];                                                                 \
        name##_rows(n, z, y, (kb_loss_rows){value, out.slope, out.curvature});                     \
        return kb_sum(n, value);                                                                   \
    }

static kb_loss_point square_at(double z, double y) {
    return (kb_loss_point){(z - y) * (z - y) / 2, z - y, 1};
}
ROWS_FROM(square)

static double square_slope(double z, double y) {
    return z - y;
}

static void square_conjugate(size_t n, const double *u, const double *y, double *value) {
    for (size_t i = 0; i < n; i++)
        value[i] = u[i] * u[i] / 2 + u[i] * y[i];
}

double kb_logistic(double z) {
    double e = kb_exp_minus_fixed(fabs(z));
    return z >= 0 ? 1 / (1 + e) : e / (1 + e);
}

static void logistic_rows(size_t n, const double *z, const double *y, kb_loss_rows out) {
    kb_simd_best()->losses->logistic(n, z, y, out.value, out.slope, out.curvature);
}

static double logistic_sum(size_t n, const double *z, const double *y, kb_loss_rows out) {
    return kb_simd_best()->losses->logistic_sum(n, z, y, out.slope, out.curvature);
}

static kb_loss_point logistic_at(double z, double y) {
    kb_loss_point at;
    logistic_rows(1, &z, &y, (kb_loss_rows){&at.value, &at.slope, &at.curvature});
    return at;
}

static double logistic_slope(double z, double y) {
    return -y * kb_logistic(-y * z);
}

static void logistic_conjugate(size_t n, const double *u, const double *y, double *value) {
    kb_simd_best()->losses->logistic_conjugate(n, u, y, value);
}

static kb_loss_point squared_hinge_at(double z, double y) {
    double gap = 1 - y * z;
    gap = gap > 0 ? gap : 0;
    return (kb_loss_point){gap * gap, -2 * y * gap, gap > 0 ? 2 : 0};
}
ROWS_FROM(squared_hinge)

static double squared_hinge_slope(double z, double y) {
    double gap = 1 - y * z;
    return gap > 0 ? -2 * y * gap : 0;
}

static void squared_hinge_conjugate(size_t n, const double *u, const double *y, double *value) {
    for (size_t i = 0; i < n; i++) {
        double p = -u[i] * y[i];
        value[i] = p >= 0 ? p * p / 4 - p : INFINITY;
    }
}

static const kb_loss TABLE[] = {
    {KB_LOSS_SQUARE, square_at, square_slope, square_rows, square_sum, 1, square_conjugate, 0},
    {KB_LOSS_LOGISTIC, logistic_at, logistic_slope, logistic_rows, logistic_sum, 0.25,
     logistic_conjugate, 1},
    {KB_LOSS_SQUARED_HINGE, squared_hinge_at, squared_hinge_slope, squared_hinge_rows,
     squared_hinge_sum, 2, squared_hinge_conjugate, 1},
};

const kb_loss *kb_loss_of(kb_loss_kind kind) {
    for (size_t i = 0; i < sizeof TABLE / sizeof *TABLE; i++)
        if (TABLE[i].kind == kind)
            return &TABLE[i];
    return NULL;
}

const char *kb_loss_name(const kb_loss *loss) {
    return kb_choice_word(KB_OPT_LOSS, (int)loss->kind);
}

const kb_loss *kb_loss_find(const char *name) {
    int kind;
    return kb_choice_find(KB_OPT_LOSS, name, &kind) ? kb_loss_of((kb_loss_kind)kind) : NULL;
}
