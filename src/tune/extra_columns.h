/*
 * extra_columns.h - mixtures of the columns, as columns more, where they help.
 */
#ifndef KB_TUNE_EXTRA_COLUMNS_H
#define KB_TUNE_EXTRA_COLUMNS_H

#include "tune/tuner.h"

/* A linear fit is tried for so many rows a column, so that it tells of the targets rather than of
 * their noise, and for no more outputs: each adds a column.  Nor for so many columns
 * that some are to be left uncut (KB_MANY_COLUMNS): a sum of them all is the opposite of that. */
enum { KB_LINEAR_ROWS = 20, KB_LINEAR_OUTPUTS = 10 };

/* What a linear fit says (linear.h), as columns more.  If equal widths are clearly better with
 * them, `learn`, unless it is NULL, learns the candidate KB_CANDIDATE_LEARNED anew for these
 * columns; and if the better of the two kernels is then better than the better one without by more
 * than luck, the mixtures are the choice's, and the tuner has the rows and the candidates that know
 * them.  Else it is as it was.  O(rows of the first sample) for each output, a climb, and what
 * `learn` takes. */
kb_status kb_extra_columns_try(kb_context *ctx, kb_tuner *t,
                               kb_status (*learn)(kb_context *ctx, kb_tuner *t));

#endif
