/*
 * losses.h - the inner loops of the losses, over many rows at once.
 */
#ifndef KB_SIMD_LOSSES_H
#define KB_SIMD_LOSSES_H

#include <stddef.h>
#include <stdint.h>

/* So many factors of at most 2 do not overflow. */
enum { KB_LOGISTIC_MOST = 512 };

/* The largest dimension of a subspace in solve/newton.c. */
enum { KB_FORMS = 4 };

/* Sums over weights, q being S - Lambda u: of g q, g g, g u, q q, and of g times each past step. */
enum {
    KB_CHANGE_DESCENT,
    KB_CHANGE_OWN,
    KB_CHANGE_ALONG,
    KB_CHANGE_SLOPES,
    KB_CHANGE_WITH,
    KB_CHANGE_SUMS = KB_CHANGE_WITH + KB_FORMS - 1
};

/* g = inverse (S - Lambda u) in whole units, at most `limit` of them. */
typedef struct kb_changes {
    double S_unit, Lambda, unit, limit;
    const int64_t *S; /* below 2^51 */
    const double *u;
    const float *inverse;
    const float *step[KB_FORMS - 1];
    int32_t *g;
} kb_changes;

typedef struct kb_step {
    double unit;
    const int32_t *g;
    const float *step[KB_FORMS - 2];
    float *d;
    double *u;
} kb_step;

typedef struct kb_loss_loops {
    /* For the vectors k[0] .. k[count - 1], count <= KB_FORMS:
     * product[pair] = the sum over i of h[i] k[a][i] k[b][i], for b = 0, 1, .. and a = 0 .. b, and
     * dot[a] = that of v[i] k[a][i]. */
    void (*forms)(size_t n, size_t count, const double *h, const double *v, const double *const *k,
                  double *product, double *dot);

    /* v[i] = x[i] times scale, rounded to the nearest and cut off at 2^28. */
    void (*whole)(size_t n, double scale, const double *x, int32_t *v);
    /* out[i * columns + c] = scale h[i * columns + c] + offset[c]; n numbers in all. */
    void (*real)(size_t n, size_t columns, double scale, const double *offset, const int32_t *h,
                 double *out);
    /* out[i * columns + c] = the sum over a < KB_FORMS of x[c * KB_FORMS + a] k[a][i * columns +
     * c]; n numbers in all.  out may be one of the k. */
    void (*combine)(size_t n, size_t columns, const double *x, const double *const *k, double *out);
    /* f[i * columns + c] += t[c] d[i * columns + c]. */
    void (*advance)(size_t n, size_t columns, const double *t, const double *d, double *f);
    /* The changes of n weights, from the sums S of their samples; sum[c * KB_CHANGE_SUMS + ..] of
     * the weights of column c. */
    void (*changes)(size_t n, size_t columns, const kb_changes *how, double *sum);
    /* d = x_0 g unit + x_1 step[0] + x_2 step[1] + x_3 d, x being x[c * KB_FORMS ..], and then
     * u += t[c] d; without the first where g is NULL. */
    void (*step)(size_t n, size_t columns, const double *x, const double *t, const kb_step *at);

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
