/*
 * extra_columns.h - mixtures of the columns as extra columns, where they help.
 */
#ifndef KB_TUNE_EXTRA_COLUMNS_H
#define KB_TUNE_EXTRA_COLUMNS_H

#include "tune/tuner.h"

/* Predictions of a linear fit (solve/linear.h) as extra columns, after the others.  If equal widths
 * are clearly better with them, `learn`, unless it is NULL, learns the candidate
 * KB_CANDIDATE_LEARNED again for these columns; `found` are the widths of that candidate for the
 * other columns.  If the better of the two kernels is then better by enough standard errors than
 * the better one without extra columns, the plan gets the mixtures, and the tuner the rows and
 * candidates with them.  Else nothing changes.  Costs O(rows of the first sample) per output, a
 * scale search, and `learn`. */
kb_status kb_extra_columns_try(kb_context *ctx, kb_tuner *t,
                               kb_status (*learn)(kb_context *ctx, kb_tuner *t,
                                                  const kb_widths *found));

#endif
