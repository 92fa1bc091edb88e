/*
 * loss.c - see loss.h.
 *
 *   square          (z - y)^2 / 2
 *   logistic        log(1 + exp(-y z))
 *   squared-hinge   max(1 - y z, 0)^2
 */
#include "solve/loss.h"
#include "core/random.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static kb_loss_point square_at(double z, double y) {
    return (kb_loss_point){(z - y) * (z - y) / 2, z - y, 1};
}

static double square_conjugate(double u, double y) {
    return u * u / 2 + u * y;
}

/* exp(-x) for x >= 0. */
static double exp_minus(double x) {
    return kb_exp_minus_exact_order(fmin(x, 700));
}

double kb_logistic(double z) {
    double e = exp_minus(fabs(z));
    return z >= 0 ? 1 / (1 + e) : e / (1 + e);
}

/* With m = y z and e = exp(-|m|):  L = log(1 + e) + max(-m, 0), and the probability of
 * being wrong p = 1/(1 + exp m) gives the slope -y p and the curvature p (1 - p). */
static kb_loss_point logistic_slopes(double z, double y) {
    double m = y * z, e = exp_minus(fabs(m)), right = 1 / (1 + e);
    return (kb_loss_point){0, -y * (m >= 0 ? e * right : right), e * right * right};
}

static kb_loss_point logistic_at(double z, double y) {
    double m = y * z;
    kb_loss_point at = logistic_slopes(z, y);
    at.value = kb_log_exact_order(1 + exp_minus(fabs(m))) + fmax(-m, 0);
    return at;
}

static double x_log_x(double x) {
    return x > 0 ? x * kb_log_exact_order(x) : 0;
}

static double logistic_conjugate(double u, double y) {
    double p = -u * y;
    return p >= 0 && p <= 1 ? x_log_x(p) + x_log_x(1 - p) : INFINITY;
}

static kb_loss_point squared_hinge_at(double z, double y) {
    double gap = 1 - y * z;
    return gap > 0 ? (kb_loss_point){gap * gap, -2 * y * gap, 2} : (kb_loss_point){0, 0, 0};
}

static double squared_hinge_conjugate(double u, double y) {
    double p = -u * y;
    return p >= 0 ? p * p / 4 - p : INFINITY;
}

static const kb_loss TABLE[] = {
    {"square", square_at, square_at, 1, square_conjugate, 0},
    {"logistic", logistic_at, logistic_slopes, 0.25, logistic_conjugate, 1},
    {"squared-hinge", squared_hinge_at, squared_hinge_at, 2, squared_hinge_conjugate, 1},
};

const kb_loss *kb_loss_find(const char *name) {
    for (size_t i = 0; i < sizeof TABLE / sizeof *TABLE; i++)
        if (strcmp(TABLE[i].name, name) == 0)
            return &TABLE[i];
    return NULL;
}
