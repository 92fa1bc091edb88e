/*
 * collect.h - rows of all ranks that every rank gets, such as a sample.
 *
 * Which rows depends on their numbers among all rows, so the result does not depend on the number
 * of ranks.
 */
#ifndef KB_DEAL_COLLECT_H
#define KB_DEAL_COLLECT_H

#include "deal/deal.h"

/* The rows that each rank lists, increasing, as one set of data in their order, the same on every
 * rank.  On failure *out is NULL. */
kb_status kb_collect_rows(kb_context *ctx, const kb_data *data, size_t count, const uint32_t *rows,
                          kb_data **out);

/* At most `most` evenly spaced rows: with N rows in all, row i N / most for i < most. */
kb_status kb_collect_evenly(kb_context *ctx, const kb_data *data, size_t most, kb_data **out);

/* *all = `size` bytes for each of this rank's `count` items and those of the other ranks, one after
 * the other; the caller's (kb_release).  NULL where `mine` is NULL. */
kb_status kb_collect_items(kb_context *ctx, const void *mine, size_t size, size_t count, void *all);

#endif
