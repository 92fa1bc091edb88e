/*
 * ranks.h - processes that work as one (kb_ranks in kerbin.h).
 *
 * Each has consecutive rows of the data, those of rank 0 first, and all else is the same on every
 * rank: options, grids, bins, weights.  So a result that is computed from the same numbers in the
 * same order needs no exchange, and what depends on rows goes through one of these calls.
 *
 * No result may depend on the number of ranks.  Whole numbers may be added in any order.  Doubles
 * are added by fixed parts of the rows, in order (row_sums.h): therefore the rows of each rank
 * begin at a multiple of KB_RANK_ROWS.
 *
 * Only the caller's thread makes these calls, with a context that is no part of another, and all
 * ranks make them in the same order.  With one rank nothing is exchanged.
 */
#ifndef KB_RANKS_RANKS_H
#define KB_RANKS_RANKS_H

#include "core/sums.h"

enum { KB_RANK_ROWS = KB_SUM_ROWS };

static inline int kb_rank(const kb_context *ctx) {
    return ctx->ranks.rank;
}

static inline int kb_rank_count(const kb_context *ctx) {
    return ctx->ranks.ranks;
}

/* Whether the caller gave ranks, be it one.  Then sums are made in ways that do not depend on their
 * number, even where one process would add in another order. */
static inline int kb_has_ranks(const kb_context *ctx) {
    return ctx->config.ranks != NULL;
}

/* From here to the call with the result, the context works as one process alone: for what all ranks
 * do in the same way with the same numbers.  Then ctx->aside has them, for work that they may
 * divide (trial/jobs.h). */
kb_ranks kb_ranks_leave(kb_context *ctx);
void kb_ranks_return(kb_context *ctx, kb_ranks ranks);

/* x[k] = its sum over the ranks. */
kb_status kb_ranks_sum(kb_context *ctx, int64_t *x, size_t count);
/* The same, where no rank can have failed alone since the last call. */
kb_status kb_ranks_sum_at_once(kb_context *ctx, int64_t *x, size_t count);
/* x[k] = the largest of the ranks. */
kb_status kb_ranks_most(kb_context *ctx, double *x, size_t count);

/* *all = the bytes of the ranks one after the other; it is the caller's (kb_release).  Rank k has
 * (*end)[k] - (*end)[k - 1], from the end of the one before; NULL: not wanted. */
kb_status kb_ranks_gather(kb_context *ctx, const void *mine, size_t bytes, void **all,
                          size_t **end);
/* Likewise what the others have for this rank: rank k gets to_bytes[k] bytes of `to`. */
kb_status kb_ranks_exchange(kb_context *ctx, const void *to, const size_t *to_bytes, void **from,
                            size_t **end);

/* At the beginning of a call of the library: none has failed. */
void kb_ranks_begin(kb_context *ctx);

/* kb_progress, which may stop the work on one rank: then on all. */
kb_status kb_ranks_progress(kb_context *ctx, const char *phase, double done);

/* The same on all ranks: `status`, or that of the first rank where it is not KB_OK, with its
 * message; where that is one of its machine, such as a full disk, it begins with the rank.  To be
 * called where one rank can fail alone, such as after reading its rows.
 *
 * A rank that has failed calls this next, at the end of the whole call at the latest, and the
 * others do so in whatever exchange they come to: all of them begin with this one.  From then on
 * all ranks are on their way out, and this call exchanges nothing until one is made with KB_OK. */
kb_status kb_ranks_agree(kb_context *ctx, kb_status status);

/* Whether it holds on some rank. */
kb_status kb_ranks_any(kb_context *ctx, int *holds);

/* *before = the sum of `count` over the ranks before this one; *all = over all. */
kb_status kb_ranks_place(kb_context *ctx, size_t count, size_t *before, size_t *all);

#endif
