/*
 * scale_search.h - tunes a common factor of all widths of a kernel, step by step as long as it
 * helps.
 */
#ifndef KB_TUNE_SCALE_SEARCH_H
#define KB_TUNE_SCALE_SEARCH_H

#include "tune/tuner.h"

/* Moves the widths and sigma of c by steps of `by`, wider and, if that does not help, narrower; the
 * result is c->search.  For classes wider bins are taken where they cost no more than a few
 * errors.  t->cut: whether it ended because most of the budget was spent. */
kb_status kb_scale_search(kb_context *ctx, kb_tuner *t, const kb_subsample *sample, kb_candidate *c,
                          size_t grids, size_t steps, double by);

/* The same after a trial of c as it is, whose result is c->search. */
kb_status kb_scale_moves(kb_context *ctx, kb_tuner *t, const kb_subsample *sample, kb_candidate *c,
                         size_t grids, size_t steps, double by);

/* A coarse first search for sigma, by factors of 2 and on few rows; where folds have no more rows
 * than that, in all folds. */
kb_status kb_scale_search_first(kb_context *ctx, kb_tuner *t, kb_candidate *c);

#endif
