/*
 * binmat.h - the feature matrix Z of random binning, kept as bin numbers.
 *
 * Every row of Z has one nonzero per grid, always 1/sqrt(R), so only the bin numbers are stored:
 * per grid, N ids of 1 to 4 bytes, local to the grid.  Four grids lie side by side as a group
 * (simd/bins.h) and take the bits that the largest of them needs.
 *
 * Rows that agree in all four grids of a group are many.  So four groups make a bundle, and
 * where it pays the bundle is stored in two steps: for each row and group the number of its
 * tuple, and for each tuple of a group its four bins.  That takes less memory, and a
 * product touches each row once a group instead of four times.
 *
 * The matrix may hold a range of the R grids: some columns of Z.  Put one after the other, those of
 * all ranges are Z, and their products Z Z' add up to K.  If the ranges begin at multiples of
 * KB_BUNDLE, Z'V has the bits of the whole: a sum by tuples depends on the grids of the bundle.
 */
#ifndef KB_FEATURES_BINMAT_H
#define KB_FEATURES_BINMAT_H

#include "core/bytes.h"
#include "features/binpart.h"
#include "simd/find_bin.h"
#include "simd/idgroup.h"

/* The same numbers on another device, and what it does with them (device/device_bins.c). */
typedef struct kb_elsewhere {
    void (*release)(void *there);
    /* Copies the numbers into `group` and `bundle`, if they are not there. */
    kb_status (*fetch)(kb_context *ctx, void *there);
    /* out = Z W, N x C from D x C, with the bits of kb_operator_binmat. *done = 0: it cannot. */
    kb_status (*times)(kb_context *ctx, void *there, size_t C, const double *w, double *out,
                       int *done);
    /* known[h] = in how many grids row[h] has a bin that it shares with a row that `fits` marks.
     * *done = 0: it cannot. */
    kb_status (*count_known)(kb_context *ctx, void *there, const uint8_t *fits, size_t count,
                             const uint32_t *row, uint32_t *known, int *done);
} kb_elsewhere;

typedef struct kb_binmat {
    kb_allocator allocator;
    const kb_simd *simd;
    size_t rows, grids, bins; /* N, grids in the range, and their bins */
    size_t R;                 /* grids of all ranges together */
    size_t groups;            /* ceil(grids / KB_GROUP) */
    kb_id_group *group;       /* of tuples if the bundle has them, else of rows */
    size_t *tuples;           /* how many rows `group` has */
    size_t bundles;           /* ceil(groups / KB_GROUP) */
    kb_id_group *bundle;      /* rows x KB_GROUP tuple numbers; ids = NULL: without tuples */
    size_t *start;            /* grids + 1: the first column of each */
    uint64_t **key;           /* per grid, the keys of its bins */
    double kappa;             /* mean over the grids of N / samples in the fullest bin */
    uint32_t *place; /* of each sample: its row of `group` and `bundle`; NULL: its own number */
    size_t id_bytes;
    double forecast;               /* bytes: the forecast */
    const kb_elsewhere *elsewhere; /* NULL: here alone */
    void *there;                   /* of elsewhere */
    int away;                      /* the numbers are elsewhere alone, until kb_binmat_fetch */
} kb_binmat;

/* Puts every sample of x into its bin of every grid of the range; R grids in all.  With G grids in
 * the range, O(N G nnz/row) time, N*G*(1|2|3|4) bytes or less, and kb_binmat_build_bytes() while it
 * works.  Depends on grids and data only, not on the thread count.
 *
 * Once the first grids are binned, what the rest will take is forecast: the ids, and what
 * `memory` says.  More than its limit is KB_ERR_MEMORY, then and when all are binned.  NULL: there
 * is no limit.  On success *out belongs to the caller (kb_binmat_free); on failure it
 * is NULL. */
kb_status kb_binmat_build(kb_context *ctx, const kb_binning *binning, const kb_data *data, size_t R,
                          const kb_memory_plan *memory, kb_binmat **out);
void kb_binmat_free(kb_binmat *z);

/* To be called before the numbers of rows or tuples are read: brings them here, if they are
 * elsewhere alone.  Not by several threads at once. */
static inline kb_status kb_binmat_fetch(kb_context *ctx, const kb_binmat *z) {
    return z->away ? z->elsewhere->fetch(ctx, z->there) : KB_OK;
}

/* The same with close rows side by side (kb_data_order), where the data can be ordered: many rows
 * are then summed and read back faster, and take less memory.  Samples keep their numbers: an
 * operator, a subset and kb_binmat_id know where they stand; who uses `group` and `bundle`, or the
 * slices, sees rows by their places. */
kb_status kb_binmat_build_ordered(kb_context *ctx, const kb_binning *binning, const kb_data *data,
                                  size_t R, const kb_memory_plan *memory, kb_binmat **out);

/* From so many rows on it pays. */
enum { KB_MANY_ROWS = 1 << 17 };

/* What the build takes in addition to the matrix. */
kb_bytes kb_binmat_build_bytes(size_t rows, size_t features, int dense, size_t grids, int threads);

/* For another builder: the memory of the build and its caller, without numbers that are away, once
 * `share` of the grids are binned, each with its number of bins in start[r + 1]; NULL: there is no
 * limit.  And the end: the
 * starts, and kappa from those of the grids. */
kb_status kb_binmat_check_memory(kb_context *ctx, kb_binmat *z, double share,
                                 const kb_memory_plan *memory);
void kb_binmat_sum_up(kb_binmat *z, const double *kappa);
/* Gives the rows of an empty one their places: close rows side by side, by the mean number of cuts
 * of each feature.  (*order)[i] is the row at place i (kb_data_order). */
kb_status kb_binmat_put_in_order(kb_context *ctx, kb_binmat *z, const kb_binning *binning,
                                 const kb_data *data, uint32_t **order);

/* An empty one, to be filled. */
kb_status kb_binmat_create(kb_context *ctx, size_t rows, size_t grids, size_t R, kb_binmat **out);

/* The `count` rows whose numbers are given, with all bins of z but without their keys.  On
 * success *out belongs to the caller (kb_binmat_free). */
kb_status kb_binmat_subset(kb_context *ctx, const kb_binmat *z, size_t count, const uint32_t *rows,
                           kb_binmat **out);

/* Where sample i stands. */
static inline size_t kb_binmat_place(const kb_binmat *z, size_t i) {
    return z->place ? z->place[i] : i;
}

/* The bin in grid r of the sample at place p, and of sample i. */
static inline size_t kb_binmat_id_at(const kb_binmat *z, size_t p, size_t r) {
    size_t q = r / KB_GROUP;
    const kb_id_group *bundle = &z->bundle[q / KB_GROUP];
    return kb_id_at(&z->group[q], bundle->ids ? kb_id_at(bundle, p, q % KB_GROUP) : p,
                    r % KB_GROUP);
}

static inline size_t kb_binmat_id(const kb_binmat *z, size_t i, size_t r) {
    return kb_binmat_id_at(z, kb_binmat_place(z, i), r);
}

/* D_r. */
static inline size_t kb_binmat_bins_of(const kb_binmat *z, size_t r) {
    return z->start[r + 1] - z->start[r];
}

#endif
