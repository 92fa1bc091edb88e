/*
 * gradients.h - the average gradient outer product (AGOP) of a small exact fit.
 *
 * Kernel ridge with the Matern-3/2 kernel on some rows, with z the columns times their units:
 *
 *     f(z) = sum_i c_i k(|z - z_i|),   k(r) = (1 + s r) exp(-s r),   (K + lambda/w) c = y
 *
 * Its gradient is known in closed form,
 *
 *     grad f(z) = -s^2 sum_i c_i exp(-s |z - z_i|) (z - z_i)
 *
 * and M, the mean of grad f grad f' over the rows, tells in which directions the targets change.
 * Each round but the first takes the root mean square of the derivative with respect to a column
 * as its unit, so that distances count by how much they change the targets (as recursive feature
 * machines do, Radhakrishnan et al. 2024).
 */
#ifndef KB_SLOPES_GRADIENTS_H
#define KB_SLOPES_GRADIENTS_H

#include "data/data.h"

/* What is fitted. */
typedef struct kb_gradient_fit {
    const kb_data *x;
    size_t C;             /* outputs */
    const double *y;      /* rows x C */
    const double *weight; /* rows; NULL: ones */
    size_t rounds;
    uint64_t seed; /* of the random signs */
} kb_gradient_fit;

/* More outputs are replaced by this many random signed sums of them, whose M has the same mean. */
enum { KB_GRADIENT_OUTPUTS = 8 };
/* The least unit that a round gives to a column, as a share of the largest. */
#define KB_GRADIENT_FLOOR 0.02

/* unit, features: those of the first round, 0 for a column that is left out, and then those of the
 * last one.  M, features x features, of the columns times these units, by the listed rows: every
 * third judges s and lambda, the others are fitted.  Some Cholesky decompositions of two thirds of
 * the rows in each round; the same bits for any number of threads.  M is 0 where the targets or the
 * columns do not vary. */
kb_status kb_gradients_learn(kb_context *ctx, const kb_gradient_fit *fit, size_t count,
                             const uint32_t *row, double *unit, double *M);
double kb_gradients_bytes(size_t count, size_t features, size_t outputs);

/* What one round finds, for tests: s, lambda, c and the gradients at the fitted rows, which are in
 * their order.  Both arrays belong to the caller (kb_release). */
typedef struct kb_gradient_detail {
    double s, lambda;
    size_t fitted, outputs, width; /* a gradient has `width` numbers, zeros behind the features */
    double *c;                     /* outputs x fitted */
    double *gradient;              /* fitted x outputs x width: times the root of the weight */
} kb_gradient_detail;
kb_status kb_gradients_find(kb_context *ctx, const kb_gradient_fit *fit, size_t count,
                            const uint32_t *row, const double *unit, kb_gradient_detail *out);

#endif
