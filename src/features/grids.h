/*
 * grids.h - random grids over d features: all R of a map, or a range of them.
 *
 * A grid cuts feature j into bins of width delta_rj with a random offset; the bin of
 * a value is floor(x / delta + offset).  A feature that a grid does not cut has an
 * infinite width.  Levels have width 1 and offset 0 where they are cut.  Several width vectors make
 * a mixture of kernels: grid r draws from vector r mod V.
 *
 * A grid does not depend on the others, so a map can be spread out by ranges of grids.
 */
#ifndef KB_FEATURES_GRIDS_H
#define KB_FEATURES_GRIDS_H

#include "features/law.h"
#include "simd/bins.h"

/* How one feature is cut in the grids of one width vector. */
typedef struct kb_width {
    const kb_law *law;
    double sigma;
    double q; /* probability that a grid cuts the feature at all */
} kb_width;

/* One for every feature of every vector. */
typedef struct kb_widths {
    size_t vectors, features;
    kb_width *width; /* vectors x features */
} kb_widths;

/* Whether a vector has other widths for one feature than for another. */
int kb_widths_differ(const kb_widths *widths);

typedef struct kb_grids {
    kb_allocator allocator;
    size_t grids, features;
    /* blocks x features x {1/delta, offset} x lanes; the lanes past the last grid
     * have 1/delta = 0.  Begins at a cache line, somewhere in `memory`. */
    double *parameter, *memory;
    /* blocks x features: scaled values are held within +-bound, so that no bin number
     * of the block leaves 32 bits; further out, values share the outermost bin. */
    double *bound;
    /* Odd factors of the hash: key = sum over the features of bin * factor. */
    uint64_t *factor;
} kb_grids;

static inline size_t kb_grids_blocks(const kb_grids *g) {
    return (g->grids + KB_LANES - 1) / KB_LANES;
}

static inline double *kb_grids_block(const kb_grids *g, size_t block) {
    return g->parameter + block * g->features * 2 * KB_LANES;
}

static inline const double *kb_grids_bound(const kb_grids *g, size_t block) {
    return g->bound + block * g->features;
}

/* 1/delta and offset of grid r and feature j. */
static inline double *kb_grids_at(const kb_grids *g, size_t r, size_t j) {
    return kb_grids_block(g, r / KB_LANES) + j * 2 * KB_LANES + r % KB_LANES;
}

/* Draws the grids first .. first + count.  Every number is a function of (seed, grid, feature):
 * grid r of a range is the grid first + r of the whole, to the bit.  The bounds belong to blocks;
 * they are those of the whole if the range begins at a multiple of KB_LANES and ends at one, or at
 * the last grid.  On success *out belongs to the caller (kb_grids_free); on failure it is NULL. */
kb_status kb_grids_build(kb_context *ctx, uint64_t seed, size_t first, size_t count,
                         const kb_widths *widths, kb_grids **out);
/* Grids to be filled by a reader of model files, which then calls kb_grids_finish. */
kb_status kb_grids_create(kb_context *ctx, size_t grids, size_t features, kb_grids **out);
void kb_grids_finish(kb_grids *grids);
void kb_grids_free(kb_grids *grids);

#endif
