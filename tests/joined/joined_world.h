/*
 * joined_world.h - a small world whose rows are dealt out to ranks.
 */
#ifndef KB_TESTS_JOINED_WORLD_H
#define KB_TESTS_JOINED_WORLD_H

#include "features/world.h"
#include "ranked.h"

#include "deal/deal.h"
#include "joined/join_bins.h"

/* This rank's rows of the world, binned with the others. */
static inline kb_binned joined_rows(kb_context *ctx, const world *w, kb_data *view) {
    size_t begin = kb_deal_begin(w->N, kb_rank(ctx), kb_rank_count(ctx));
    size_t end = kb_deal_begin(w->N, kb_rank(ctx) + 1, kb_rank_count(ctx));
    kb_binning binning = world_binning(w);
    kb_binned out = {0};
    *view = kb_data_view(w->data, begin, end - begin);
    view->first_row = begin;
    view->all_rows = w->N;
    assert_ok(ctx, kb_joined_binmat(ctx, &binning, view, w->R, NULL, &out));
    return out;
}

#endif
