/*
 * rival_parts.h - what the files behind rival.h share.
 *
 * fourier and nystrom are row maps: a row of numbers for each sample, which dense_map.c multiplies.
 * blocks and exact are the kernel within blocks of points; exact has one block.
 */
#ifndef KB_RIVALS_RIVAL_PARTS_H
#define KB_RIVALS_RIVAL_PARTS_H

#include "core/team.h"
#include "rivals/rival_type.h"

/* Rows that are computed at a time, for a tile of the work; and rows of data that become points
 * at a time, where not all are needed at once. */
enum { KB_TILE = 96, KB_SPAN = 64 * KB_TILE };

static inline kb_metric kb_rival_metric(const kb_rival *r) {
    return (kb_metric){r->features, r->shift, r->factor};
}

static inline int kb_is_dense_map(kb_rival_kind kind) {
    return kind == KB_RIVAL_FOURIER || kind == KB_RIVAL_NYSTROM;
}

/* Without its arrays. */
kb_status kb_rival_create(kb_context *ctx, kb_rival_kind kind, size_t features, kb_rival **out);

/* Learning, for a rival that has metric and kernel. */
kb_status kb_fourier_build(kb_context *ctx, const kb_rival_spec *spec, const kb_kernel *kernel,
                           kb_rival *r);
kb_status kb_nystrom_build(kb_context *ctx, const kb_rival_spec *spec, const kb_data *data,
                           kb_rival *r);
kb_status kb_blocks_build(kb_context *ctx, const kb_rival_spec *spec, const kb_data *data,
                          kb_rival *r);

/* Where the frequency of cosine c and feature j is, and how many numbers all of them are. */
static inline size_t kb_fourier_padded(size_t cosines) {
    return (cosines + KB_TILE_COLUMNS - 1) / KB_TILE_COLUMNS * KB_TILE_COLUMNS;
}
static inline double *kb_fourier_at(const kb_rival *r, size_t c, size_t j) {
    return r->frequency + (c / KB_TILE_COLUMNS * r->features + j) * KB_TILE_COLUMNS +
           c % KB_TILE_COLUMNS;
}
/* Memory for r->columns cosines, zeroed. */
kb_status kb_fourier_allocate(kb_context *ctx, kb_rival *r);

/* z of rows <= KB_TILE rows of p: out is rows x R.  `scratch` has kb_fourier_scratch()
 * numbers. */
size_t kb_fourier_scratch(const kb_rival *r);
void kb_fourier_rows(const kb_rival *r, const kb_points *p, size_t first, size_t rows,
                     double *scratch, float *out);

/* Rows first .. first + rows <= KB_TILE of p: of fourier floats to f, of nystrom (before L^-1)
 * doubles to d.  `scratch` has kb_dense_map_fill_scratch() numbers. */
size_t kb_dense_map_fill_scratch(const kb_rival *r);
void kb_dense_map_rows(const kb_rival *r, const kb_points *p, size_t first, size_t rows,
                       double *scratch, float *f, double *d);

kb_status kb_dense_map_operator(kb_context *ctx, const kb_rival *r, const kb_data *data,
                                size_t room, kb_operator **out);
kb_status kb_dense_map_decide(kb_context *ctx, const kb_rival *r, const kb_data *data, size_t C,
                              const double *w, double *out);
kb_status kb_dense_map_features(kb_context *ctx, const kb_rival *r, const kb_data *data,
                                double *out);

kb_status kb_blocks_operator(kb_context *ctx, const kb_rival *r, size_t room, kb_operator **out);
kb_status kb_blocks_decide(kb_context *ctx, const kb_rival *r, const kb_data *data, size_t C,
                           const double *w, double *out);
/* The decision of the one row of p, w being C x D.  `scratch` has kb_blocks_row_scratch() numbers.
 */
size_t kb_blocks_row_scratch(void);
void kb_blocks_decide_row(const kb_rival *r, const kb_points *p, size_t C, const double *w,
                          double *scratch, double *out);

static inline size_t kb_block_size(const kb_rival *r, size_t block) {
    return r->start[block + 1] - r->start[block];
}

static inline size_t kb_sample_of(const kb_rival *r, size_t point) {
    return r->order ? r->order[point] : point;
}

/* Some rows that belong to one block. */
typedef struct kb_block_tile {
    size_t block, first, rows;
} kb_block_tile;

/* Tiles of rows that lie block after block; start[b] is the first row of block b. */
kb_status kb_block_tiles(kb_context *ctx, size_t blocks, const size_t *start, kb_block_tile **tiles,
                         size_t *count);

/* Blocks of the kernel: of each tile's rows the columns up to its end. */
typedef struct kb_filling {
    const kb_rival *r;
    const kb_block_tile *tiles;
    size_t count;
    const size_t *place; /* where each block begins; NULL: all at 0 */
    double *out, *scratch;
    kb_interrupt interrupt;
} kb_filling;
kb_status kb_fill_tiles(kb_context *ctx, kb_filling *filling);

/* Scratch of blocks for all threads. */
kb_status kb_blocks_scratch_for(kb_context *ctx, double **out);

/* Scratch for products, in numbers, for each thread. */
size_t kb_dense_map_scratch(const kb_rival *r);
size_t kb_blocks_scratch(void);

/* Blocks of at most `most` rows of `all`, more only where samples are equal.  Fills splits,
 * blocks, start and order of r. */
kb_status kb_block_tree_build(kb_context *ctx, uint64_t seed, size_t most, const kb_points *all,
                              kb_rival *r);
size_t kb_block_tree_find(const kb_rival *r, const kb_points *p, size_t i);

#endif
