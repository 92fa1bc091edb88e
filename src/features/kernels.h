/*
 * kernels.h - the inner loops where kerbin spends its time.
 *
 * kernels.c is C with vectors and, for AVX-512, one instruction of its own.  It is compiled once
 * for each level of CPU and picked from a table at run time.  All entries give the same bits: no
 * operation is fused, and every sum has its order written down.
 */
#ifndef KB_FEATURES_KERNELS_H
#define KB_FEATURES_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "features/dense.h"
#include "features/grids.h"
#include "features/octets.h"

/* One block of KB_LANES grids with what is needed to bin a row in it. */
typedef struct kb_bin_block {
    size_t features;
    const double *shift, *scale; /* of the features: scaled = (x - shift) * scale */
    const double *parameter;     /* kb_grids_block */
    const double *bound;         /* kb_grids_bound */
    const uint64_t *factor;      /* of the hash */
} kb_bin_block;

/* Four grids whose bin numbers lie side by side, row after row: one load of ids, one
 * of the vector, and four independent sums under way.  A last group that has fewer
 * grids is filled up with grids of a single bin. */
enum { KB_GROUP = 4 };

/* Columns of a product that are worked on together. */
enum { KB_PANEL = 8 };

/* So many factors of at most 2 do not overflow. */
enum { KB_LOGISTIC_MOST = 512 };

/* The most vectors of a model of few dimensions. */
enum { KB_FORMS = 4 };

typedef struct kb_id_group {
    void *ids; /* rows x KB_GROUP */
    int width; /* bytes of a bin number: 1, 2 or 4 */
} kb_id_group;

typedef struct kb_kernels {
    const char *name;

    /* keys[lane * stride + i] = the key of row i, of `rows` dense rows at x. */
    void (*keys_dense)(const kb_bin_block *block, size_t rows, const double *x, size_t stride,
                       uint64_t *keys);

    /* What the feature j adds to the sum of each lane where it is zero: zero[j * lanes +
     * lane], and the whole sum of an empty row in total[lane]. */
    void (*keys_zero)(const kb_bin_block *block, uint64_t *zero, uint64_t *total);

    /* As keys_dense, for rows of which only the entries row_start[i] .. are given. */
    void (*keys_sparse)(const kb_bin_block *block, size_t rows, const size_t *row_start,
                        const uint32_t *column, const double *value, const uint64_t *zero,
                        const uint64_t *total, size_t stride, uint64_t *keys);

    /* sums[g][bin * columns + c] += v[i * ld + c] for the rows begin up to end and every
     * grid g of the group; columns is 1, 2, 4 or KB_PANEL. */
    void (*scatter)(const kb_id_group *group, size_t begin, size_t end, size_t columns,
                    const double *v, size_t ld, double *const *sums);

    /* out[i * ld + c] += the sum over the grids of sums[g][bin * columns + c],
     * likewise; with `first` it is set instead of added to. */
    void (*gather)(const kb_id_group *group, size_t begin, size_t end, size_t columns,
                   const double *const *sums, int first, double *out, size_t ld);

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

    const kb_dense *dense; /* of the same level */
    const kb_octets *octets;
} kb_kernels;

/* The keys are mixed so that their high bits choose a place in a table; the mixing
 * can be undone, so different sums keep different keys. */
#define KB_KEY_FACTOR UINT64_C(0x9E3779B97F4A7C15)

static inline uint64_t kb_key_mix(uint64_t sum) {
    return (sum ^ sum >> 32) * KB_KEY_FACTOR;
}

/* All entries that this machine can run, the plainest first. */
size_t kb_kernels_list(const kb_kernels **out, size_t room);
const kb_kernels *kb_kernels_best(void);

#endif
