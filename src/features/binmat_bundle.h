/*
 * binmat_bundle.h - a bundle of grids while it is built from parts of the rows (binpart.h).
 *
 * The parts are merged in the order of their rows, so bins and tuples are numbered in the order in
 * which the rows have them first, however the rows are cut.  A wave of parts goes through three
 * steps: kb_bundle_merge for every group, kb_bundle_settle, and kb_bundle_write for every part.
 * Groups may be merged at the same time, and so may parts be written.
 */
#ifndef KB_FEATURES_BINMAT_BUNDLE_H
#define KB_FEATURES_BINMAT_BUNDLE_H

#include "features/binmat.h"
#include "features/binpart.h"

typedef struct kb_bundle {
    kb_binmat *z;
    size_t bundle, groups;
    int alone;   /* one part has all rows, and its numbers are the final ones */
    int direct;  /* without tuples */
    size_t done; /* rows whose numbers are stored */
    kb_bintable bins[KB_BUNDLE];
    uint32_t *samples[KB_BUNDLE]; /* in each bin */
    size_t samples_room[KB_BUNDLE];
    kb_bintable tuples[KB_GROUP];
    size_t tuples_room[KB_GROUP]; /* in the group of z */
} kb_bundle;

kb_status kb_bundle_begin(kb_context *ctx, kb_binmat *z, size_t bundle, int alone, kb_bundle *b);

/* Numbers the bins and tuples of group g of the next `count` parts. */
kb_status kb_bundle_merge(kb_context *ctx, kb_bundle *b, size_t g, size_t count, kb_binpart *part);

/* The bins of its grid k alone, for a bundle without tuples. */
kb_status kb_bundle_merge_grid(kb_context *ctx, kb_bundle *b, size_t k, size_t count,
                               kb_binpart *part);

/* Gives up the tuples once they are too many, and makes room for the numbers so far. */
kb_status kb_bundle_settle(kb_context *ctx, kb_bundle *b);

/* Stores the numbers of a merged part's rows. */
void kb_bundle_write(kb_bundle *b, const kb_binpart *part);

/* After the last part: moves the rest to z, and kappa of the grids to kappa[0 ..]. */
kb_status kb_bundle_finish(kb_context *ctx, kb_bundle *b, double *kappa);
void kb_bundle_release(kb_context *ctx, kb_bundle *b);

#endif
