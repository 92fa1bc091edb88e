/*
 * world.h - small problems for the tests of features and solvers: synthetic samples, the grids over
 * them, Z as bin numbers and Z as a dense matrix.
 */
#ifndef KB_TESTS_WORLD_H
#define KB_TESTS_WORLD_H

#include "samples.h"

#include "features/binmat.h"
#include "features/products.h"

#include <math.h>

/* Number k of a random sequence in (0, 1); another seed gives another sequence. */
static inline double test_uniform(uint64_t seed, uint64_t k) {
    return kb_random_uniform(seed, KB_STREAM_SYNTHETIC, k, 77).u;
}

static inline double *test_numbers(uint64_t seed, size_t count) {
    double *x = malloc((count ? count : 1) * sizeof *x);
    assert_non_null(x);
    for (size_t k = 0; k < count; k++)
        x[k] = 2 * test_uniform(seed, k) - 1;
    return x;
}

/* A sparse form of dense rows, zeros left out. */
static inline kb_data *test_sparse(kb_context *ctx, size_t N, size_t d, const double *x,
                                   const double *labels) {
    return compressed(ctx, N, d, x, labels, 0);
}

/* N samples in [-1, 1)^d, a third of the values zero. */
static inline double *test_values(size_t N, size_t d, uint64_t seed) {
    double *x = test_numbers(seed, N * d);
    for (size_t k = 0; k < N * d; k++)
        if (test_uniform(seed + 1000, k) < 0.33)
            x[k] = 0;
    return x;
}

typedef struct world {
    size_t N, d, R;
    double *x; /* N x d */
    kb_data *data;
    kb_law *law;
    kb_grids *grids;
    double *shift, *scale;
    kb_binmat *z;
} world;

static inline kb_grids *test_grids(kb_context *ctx, const kb_law *law, double sigma, size_t R,
                                   size_t d, uint64_t seed) {
    kb_grids *grids;
    kb_width *widths = malloc(d * sizeof *widths);
    assert_non_null(widths);
    for (size_t j = 0; j < d; j++)
        widths[j] = (kb_width){law, sigma, 1};
    assert_ok(ctx, kb_grids_build(ctx, seed, 0, R, &(kb_widths){1, d, widths}, &grids));
    free(widths);
    return grids;
}

static inline kb_binning world_binning(const world *w) {
    return (kb_binning){.grids = w->grids, .shift = w->shift, .scale = w->scale};
}

static inline kb_binmat *world_bin(kb_context *ctx, const world *w, const kb_simd *simd) {
    kb_binmat *z;
    kb_binning binning = world_binning(w);
    binning.simd = simd;
    assert_ok(ctx, kb_binmat_build(ctx, &binning, w->data, w->R, NULL, &z));
    return z;
}

/* A problem of N samples with d features under R Laplacian grids, binned. */
static inline world world_build(kb_context *ctx, size_t N, size_t d, size_t R, double sigma) {
    world w = {.N = N, .d = d, .R = R, .x = test_values(N, d, 5)};
    w.shift = calloc(d, sizeof(double));
    w.scale = malloc(d * sizeof(double));
    assert_non_null(w.shift);
    assert_non_null(w.scale);
    for (size_t j = 0; j < d; j++)
        w.scale[j] = 1;
    assert_ok(ctx, data_from_dense(ctx, N, d, w.x, NULL, &w.data));
    assert_ok(ctx, kb_law_parse(ctx, "laplace", &w.law));
    w.grids = test_grids(ctx, w.law, sigma, R, d, 11);
    w.z = world_bin(ctx, &w, NULL);
    return w;
}

static inline void world_free(world *w) {
    kb_binmat_free(w->z);
    kb_grids_free(w->grids);
    kb_law_free(w->law);
    kb_data_free(w->data);
    free(w->x);
    free(w->shift);
    free(w->scale);
}

/* The bin number of row i in grid r. */
static inline size_t test_id(const kb_binmat *z, size_t r, size_t i) {
    return kb_binmat_id(z, i, r);
}

/* Z itself, N x D. */
static inline double *test_matrix(const kb_binmat *z) {
    double *Z = calloc(z->rows * z->bins, sizeof *Z);
    assert_non_null(Z);
    for (size_t i = 0; i < z->rows; i++)
        for (size_t r = 0; r < z->grids; r++)
            Z[i * z->bins + z->start[r] + test_id(z, r, i)] = 1 / sqrt((double)z->R);
    return Z;
}

/* |a - b| <= tolerance * (1 + largest |b|), entry by entry. */
static inline void assert_close(const double *a, const double *b, size_t count, double tolerance) {
    double largest = 0;
    for (size_t k = 0; k < count; k++)
        largest = fmax(largest, fabs(b[k]));
    for (size_t k = 0; k < count; k++)
        if (!(fabs(a[k] - b[k]) <= tolerance * (1 + largest)))
            fail_msg("entry %zu is %.17g, not %.17g", k, a[k], b[k]);
}

#define assert_same_bits(a, b, count) assert_memory_equal(a, b, (count) * sizeof *(a))

#endif
