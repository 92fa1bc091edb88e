/*
 * ranked.h - fits whose rows are dealt out to ranks: what they can do, and what is learned from a
 * sample of the rows of all.
 */
#ifndef KB_API_RANKED_H
#define KB_API_RANKED_H

#include "data/data.h"
#include "tune/tune.h"

/* With several ranks, KB_ERR_ARGUMENT for options that need one process, and where the rows were
 * not dealt out.  The task is settled, from the labels of all.  A device is not used, with a
 * warning. */
kb_status kb_ranked_check(kb_context *ctx, kb_config *config, const kb_data *data);

/* KB_ERR_ARGUMENT with several ranks: `what` works in one process alone. */
kb_status kb_ranked_refuse(kb_context *ctx, const char *what);

/* At most `most` evenly spaced rows of all, and fewer where rows have many features; NULL without
 * ranks. */
kb_status kb_ranked_sample(kb_context *ctx, const kb_data *data, size_t most, kb_data **out);

/* Rows that a tuner draws its own from. */
enum { KB_RANKED_TUNED_ROWS = 1 << 19 };

/* kb_tune, of all rows: the same trials on every rank, with a sample of at most `most` of the rows
 * of all.  The rules by the number of rows take that of all, and the memory is the least that a
 * rank has, which `given` keeps. */
kb_status kb_ranked_tune(kb_context *ctx, kb_config *given, const kb_data *data, kb_budget *budget,
                         size_t most, kb_tuning *tuning);

/* Of the tuned plan, with such a sample of the rows as they go into the fit: the importance of the
 * features, if it is wanted, and the transform where that of the fit would differ from the
 * tuner's. */
kb_status kb_ranked_importance(kb_context *ctx, int wanted, kb_plan *plan, const kb_data *data,
                               size_t most, kb_importance *out);

#endif
