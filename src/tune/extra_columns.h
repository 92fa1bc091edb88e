/*
 * extra_columns.h - mixtures of the columns, as columns more, where they help.
 */
#ifndef KB_TUNE_EXTRA_COLUMNS_H
#define KB_TUNE_EXTRA_COLUMNS_H

#include "tune/tuner.h"

/* Predictions of a linear fit (solve/linear.h), as extra columns.  If equal widths are clearly
 * better with them, `learn`, unless it is NULL, learns the candidate KB_CANDIDATE_LEARNED anew for
 * these columns; and if the better of the two kernels is then better than the better one without by
 * enough standard errors, the plan has the mixtures, and the tuner has the rows and the
 * candidates that know them.  Else it is as it was.  O(rows of the first sample) for each output, a
 * scale search, and what `learn` takes. */
kb_status kb_extra_columns_try(kb_context *ctx, kb_tuner *t,
                               kb_status (*learn)(kb_context *ctx, kb_tuner *t));

#endif
