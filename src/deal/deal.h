/*
 * deal.h - rows dealt out to ranks: consecutive ones, about as many to each.
 *
 * The rows of each rank begin at a multiple of KB_RANK_ROWS among all rows, so few rows may leave
 * ranks without any.
 */
#ifndef KB_DEAL_DEAL_H
#define KB_DEAL_DEAL_H

#include "data/data.h"
#include "ranks/ranks.h"

/* The first row of a rank, of `rows` in all; that of rank `ranks` is `rows`. */
size_t kb_deal_begin(size_t rows, int rank, int ranks);

/* KB_ERR_ARGUMENT where the context has ranks and the data were not dealt out. */
kb_status kb_deal_check(kb_context *ctx, const kb_data *data);

#endif
