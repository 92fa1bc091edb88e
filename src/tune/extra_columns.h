/*
 * extra_columns.h - extra columns, where they help: levels of categories, and mixtures of the
 * columns.
 *
 * Either is tried with equal widths first.  If these are good enough, widths are learned again with
 * the extra columns.  If the better of the two kernels is then better by enough standard errors,
 * and by KB_RULE_LEAST_GAIN, than the better one without extra columns, the plan gets them, and the
 * tuner the rows and candidates with them.  Else nothing changes.
 */
#ifndef KB_TUNE_EXTRA_COLUMNS_H
#define KB_TUNE_EXTRA_COLUMNS_H

#include "tune/tuner.h"

/* Learns the candidate KB_CANDIDATE_LEARNED for columns that have others before them; `found` are
 * its widths for those. */
typedef kb_status kb_learn_again(kb_context *ctx, kb_tuner *t, const kb_widths *found);

/* The levels of categories beside their codes (t->rows.data->level).  Costs a transform of all
 * rows, a scale search, and `learn`, unless it is NULL. */
kb_status kb_level_columns_try(kb_context *ctx, kb_tuner *t, kb_learn_again *learn);

/* Predictions of a linear fit (solve/linear.h), after the other columns.  Costs O(rows of the first
 * sample) per output, a scale search, and `learn`, unless it is NULL. */
kb_status kb_mixtures_try(kb_context *ctx, kb_tuner *t, kb_learn_again *learn);

#endif
