/*
 * eigenvectors.c - see eigenvectors.h.
 *
 * Orthogonal iteration: V <- orthonormalise(M V), with some vectors more than are asked for, so
 * that the last of these converge too.
 */
#include "slopes/eigenvectors.h"
#include "core/random.h"

#include <math.h>
#include <string.h>

/* Vectors more than asked for; iterations, at most; how little the eigenvalues change in the last
 * one; what counts as rounding. */
enum { MORE = 8, ITERATIONS = 100, SEED = 1 };
static const double TOL = 1e-7, ROUNDING = 1e-12;

static double dot(size_t n, const double *a, const double *b) {
    double sum = 0;
    for (size_t j = 0; j < n; j++)
        sum += a[j] * b[j];
    return sum;
}

static void scale(size_t n, double by, double *v) {
    for (size_t j = 0; j < n; j++)
        v[j] *= by;
}

/* Gram-Schmidt, twice, since once leaves a part of what was there in nearly parallel vectors.
 * length: what is left of each. */
static void orthonormalise(size_t n, size_t count, double *V, double *length) {
    double most = 0;
    for (size_t k = 0; k < count; k++) {
        double *v = V + k * n;
        for (int again = 0; again < 2; again++)
            for (size_t m = 0; m < k; m++) {
                double along = dot(n, V + m * n, v);
                for (size_t j = 0; j < n; j++)
                    v[j] -= along * V[m * n + j];
            }
        length[k] = sqrt(dot(n, v, v));
        most = fmax(most, length[k]);
        length[k] = length[k] > ROUNDING * most ? length[k] : 0;
        scale(n, length[k] > 0 ? 1 / length[k] : 0, v);
    }
}

static void multiply(size_t n, const double *M, size_t count, const double *V, double *out) {
    for (size_t k = 0; k < count; k++)
        for (size_t i = 0; i < n; i++)
            out[k * n + i] = dot(n, M + i * n, V + k * n);
}

static void orient(size_t n, double *v) {
    size_t largest = 0;
    for (size_t j = 1; j < n; j++)
        largest = fabs(v[j]) > fabs(v[largest]) ? j : largest;
    if (v[largest] < 0)
        scale(n, -1, v);
}

/* By how much the first eigenvalues differ from those before, as a share of the first. */
static double change(size_t count, const double *value, const double *before) {
    double most = 0;
    for (size_t k = 0; k < count; k++)
        most = fmax(most, fabs(value[k] - before[k]));
    return value[0] > 0 ? most / value[0] : 0;
}

kb_status kb_eigenvectors(kb_context *ctx, size_t n, const double *M, size_t count, double *vector,
                          double *value) {
    kb_status status;
    size_t all = count + MORE < n ? count + MORE : n, given = count < all ? count : all;
    double *V = NULL, *W = NULL, *length = NULL;
    TRY(kb_alloc(ctx, all * n, sizeof *V, &V));
    TRY(kb_alloc(ctx, all * n, sizeof *W, &W));
    TRY(kb_zalloc(ctx, 2 * all, sizeof *length, &length));
    for (size_t i = 0; i < all * n; i++)
        V[i] = kb_random_uniform(SEED, KB_STREAM_EFFECT, i, 3).u - 0.5;
    orthonormalise(n, all, V, length);
    for (int k = 0; k < ITERATIONS; k++) {
        memcpy(length + all, length, all * sizeof *length);
        multiply(n, M, all, V, W);
        orthonormalise(n, all, W, length);
        double *other = V;
        V = W;
        W = other;
        if (change(given, length, length + all) < TOL)
            break;
    }
    memset(vector, 0, count * n * sizeof *vector);
    memset(value, 0, count * sizeof *value);
    for (size_t k = 0; k < given; k++) {
        memcpy(vector + k * n, V + k * n, n * sizeof *vector);
        orient(n, vector + k * n);
        value[k] = length[k];
    }
done:
    kb_release(ctx, V);
    kb_release(ctx, W);
    kb_release(ctx, length);
    return status;
}
