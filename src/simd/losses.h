/*
 * losses.h - the inner loops of the losses, over many rows at once.
 */
#ifndef KB_SIMD_LOSSES_H
#define KB_SIMD_LOSSES_H

#include <stddef.h>

/* So many factors of at most 2 do not overflow. */
enum { KB_LOGISTIC_MOST = 512 };

/* The largest dimension of a subspace in solve/newton.c. */
enum { KB_FORMS = 4 };

typedef struct kb_loss_loops {
    /* For the vectors k[0] .. k[count - 1], count <= KB_FORMS:
     * product[pair] = the sum over i of h[i] k[a][i] k[b][i], for b = 0, 1, .. and a = 0 .. b, and
     * dot[a] = that of v[i] k[a][i]. */
    void (*forms)(size_t n, size_t count, const double *h, const double *v, const double *const *k,
                  double *product, double *dot);

    /* value, slope and curvature of log(1 + exp(-y z)) in z, at each z[i], y[i]. */
    void (*logistic)(size_t n, const double *z, const double *y, double *value, double *slope,
                     double *curvature);
    /* The same with the sum of the values instead of each, for n <= KB_LOGISTIC_MOST: the sum
     * takes one logarithm. */
    double (*logistic_sum)(size_t n, const double *z, const double *y, double *slope,
                           double *curvature);

    /* The largest of u z - log(1 + exp(-y z)) over z, for y = -1 or 1; value may be u. */
    void (*logistic_conjugate)(size_t n, const double *u, const double *y, double *value);
} kb_loss_loops;

#endif
