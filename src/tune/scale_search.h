/*
 * scale_search.h - a common factor for all widths of a kernel, step after step as long as it helps.
 */
#ifndef KB_TUNE_SCALE_SEARCH_H
#define KB_TUNE_SCALE_SEARCH_H

#include "tune/tuner.h"

/* Moves the widths and sigma of c by steps of `by`, wider and, if that does not help, narrower;
 * what it ends with is c->search.  For classes wider bins are taken where they cost no more than a
 * few errors.  t->cut: whether it ended because most of the budget was spent. */
kb_status kb_scale_search(kb_context *ctx, kb_tuner *t, const kb_subsample *sample, kb_candidate *c,
                          size_t grids, size_t steps, double by);

/* The first look at a sigma: by factors of 2, on few rows; where there are no more, in all folds.
 */
kb_status kb_scale_search_first(kb_context *ctx, kb_tuner *t, kb_candidate *c);

#endif
