/*
 * loss.h - the losses, one table entry each.
 *
 * A loss is a function L(z, y) of a decision z and a target y: a number, or -1 and +1.  Every
 * solver knows a loss by its entry alone; to add one, add its name to
 * options/choices.h and an entry in loss.c (docs/extending.md).
 */
#ifndef KB_SOLVE_LOSS_H
#define KB_SOLVE_LOSS_H

#include "options/choices.h"

#include <stddef.h>

/* L and its first two derivatives in z. */
typedef struct kb_loss_point {
    double value, slope, curvature;
} kb_loss_point;

enum { KB_LOSS_SUM = 256 };

/* Arrays of them. */
typedef struct kb_loss_rows {
    double *value, *slope, *curvature;
} kb_loss_rows;

typedef struct kb_loss kb_loss;
struct kb_loss {
    kb_loss_kind kind;
    kb_loss_point (*at)(const kb_loss *loss, double z, double y);
    /* That alone, which may be cheaper. */
    double (*slope)(const kb_loss *loss, double z, double y);
    /* The same for n of them, to the bit, many at a time. */
    void (*rows)(const kb_loss *loss, size_t n, const double *z, const double *y, kb_loss_rows out);
    /* The same for n <= KB_LOSS_SUM of them, with the sum of the values; out.value is not used. */
    double (*sum)(const kb_loss *loss, size_t n, const double *z, const double *y,
                  kb_loss_rows out);
    double beta; /* the curvature is never above it */
    /* value[i] = L*(u[i]) = max over z of u[i] z - L(z, y[i]), infinite where there is none; for
     * duality gaps.  value may be u. */
    void (*conjugate)(const kb_loss *loss, size_t n, const double *u, const double *y,
                      double *value);
    int for_classes; /* the target must be -1 or +1 */
    int in_units;    /* decisions and targets are in units that suit it: solve/unit_fit.h */
    double quantile; /* of the loss quantile: between 0 and 1 */
};

/* NULL for KB_LOSS_AUTO. */
const kb_loss *kb_loss_of(kb_loss_kind kind);
/* By its name in the option loss; NULL for an unknown one. */
const kb_loss *kb_loss_find(const char *name);
const char *kb_loss_name(const kb_loss *loss);

/* With another quantile. */
kb_loss kb_loss_with_quantile(const kb_loss *loss, double quantile);

/* exp(z), by the same operations on every machine; of at most 700 in size. */
double kb_exp_bounded(double z);

/* 1 / (1 + exp(-z)), by the same operations on every machine. */
double kb_logistic(double z);

#endif
