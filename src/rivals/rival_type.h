/*
 * rival_type.h - what a rival map is: its kinds, what it is made by, and what it holds; see
 * rival.h.
 */
#ifndef KB_RIVALS_RIVAL_TYPE_H
#define KB_RIVALS_RIVAL_TYPE_H

#include "simd/cholesky.h"
#include "rivals/kernel.h"
#include "features/operator.h"
#include "options/choices.h"

typedef enum kb_rival_kind {
    KB_RIVAL_FOURIER,
    KB_RIVAL_NYSTROM,
    KB_RIVAL_BLOCKS,
    KB_RIVAL_EXACT,
} kb_rival_kind;

/* Whether kb_rival_solve (solve/direct.h) solves it by Cholesky. */
static inline int kb_rival_is_direct(kb_rival_kind kind) {
    return kind == KB_RIVAL_BLOCKS || kind == KB_RIVAL_EXACT;
}

/* Of a map other than binning. */
static inline kb_rival_kind kb_rival_kind_of(kb_map_kind map) {
    return map == KB_MAP_FOURIER   ? KB_RIVAL_FOURIER
           : map == KB_MAP_NYSTROM ? KB_RIVAL_NYSTROM
           : map == KB_MAP_BLOCKS  ? KB_RIVAL_BLOCKS
                                   : KB_RIVAL_EXACT;
}

typedef struct kb_rival_spec {
    kb_rival_kind kind;
    const char *kernel;                  /* its name: kernel.h */
    const double *shift, *scale, *sigma; /* one each for every feature */
    size_t rank;                         /* R: cosines, landmarks, or samples of a block */
    uint64_t seed;
    kb_landmarks landmarks;
} kb_rival_spec;

/* A split of `blocks`: to child[0] if direction'x < threshold, else to child[1].  A child is a
 * split, or the block ~child. */
typedef struct kb_block_tree {
    size_t count;
    double *direction; /* count x features */
    double *threshold; /* count */
    int32_t *child;    /* count x 2 */
} kb_block_tree;

typedef struct kb_rival {
    kb_allocator allocator;
    kb_rival_kind kind;
    const kb_tiles *tiles; /* inner loops */
    size_t features;
    size_t columns;         /* D: rows of w */
    double *shift, *factor; /* points.h */
    kb_kernel *kernel;      /* NULL for fourier */

    /* fourier, in turns.  The frequencies lie as an operand of tiles (dense.h): for each group of
     * KB_TILE_COLUMNS cosines and each feature those of the group, zeros past the last; they begin
     * at a cache line, somewhere in `memory`. */
    double *frequency, *memory;
    double *phase; /* R, and zeros to the end of the group */

    kb_points *points;    /* landmarks, or all samples, block after block */
    kb_triangle triangle; /* nystrom */

    size_t blocks;
    size_t *start; /* blocks + 1: the first point of each */
    kb_block_tree splits;
    uint32_t *order; /* the sample behind each point; NULL: as they are, or a rival from a file */
} kb_rival;

#endif
