/*
 * slices.h - Z in slices of consecutive grids: the sums over the bins of a slice, and the way back.
 *
 * A solver by sweeps sees no more of Z than this.  Values are whole numbers, so no result depends
 * on the order of additions: threads may share the rows of a grid, and so may machines, if each
 * adds up what the others have for a slice (the sums, and nothing of the length of the rows).
 */
#ifndef KB_FEATURES_SLICES_H
#define KB_FEATURES_SLICES_H

#include "features/binmat.h"

typedef struct kb_slices kb_slices;

/* Slices of at most `grids` grids, which is KB_GROUP or a multiple of KB_BUNDLE, for arrays of
 * `columns` columns, which is 1, 2, 4 or KB_PANEL; z must outlive them.  They take the sums of
 * the largest slice, 8 bytes a bin and column, and the same for its tuples or bins, once for each
 * part of the rows that threads share.
 * On success *out belongs to the caller (kb_slices_free); on failure it is NULL. */
kb_status kb_slices_create(kb_context *ctx, const kb_binmat *z, size_t grids, size_t columns,
                           kb_slices **out);
void kb_slices_free(kb_slices *slices);

size_t kb_slices_count(const kb_slices *slices);
/* The columns of Z that slice k begins with, and how many it has. */
size_t kb_slice_first(const kb_slices *slices, size_t k);
size_t kb_slice_bins(const kb_slices *slices, size_t k);
/* The most bins of a slice. */
size_t kb_slices_most_bins(const kb_slices *slices);

/* Whether the exchanges with other ranks went well so far.  To be asked after a run of the team. */
kb_status kb_slices_status(const kb_slices *slices);

/* Both of these are called by all threads of a team run, and have meetings inside.
 *
 * The sums of v, rows x columns, over each bin of slice k: bins x columns.  With ranks,
 * over the rows of all: each sends 8 bytes a bin and column.  They stay until the next call, and
 * all threads may read them on return. */
const int64_t *kb_slice_sum(kb_slices *slices, size_t k, const int32_t *v, int me, int threads);

/* out, rows x columns: for each row the sum of `step`, bins x columns, over its bins of slice k.  A
 * thread writes the rows of its share (kb_share) and no others.  `step` must be whole when the
 * first thread calls. */
void kb_slice_spread(kb_slices *slices, size_t k, const int32_t *step, int32_t *out, int me,
                     int threads);

#endif
