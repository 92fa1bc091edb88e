/*
 * mixing.h - mixtures of the columns, as columns more, where they help.
 */
#ifndef KB_MODEL_MIXING_H
#define KB_MODEL_MIXING_H

#include "model/tuner.h"

/* A linear fit is tried for so many rows a column, so that it tells of the targets rather than of
 * their noise, and for no more columns and outputs: each output adds a column. */
enum { KB_LINEAR_ROWS = 20, KB_LINEAR_COLUMNS = 300, KB_LINEAR_OUTPUTS = 10 };

/* What a linear fit says (linear.h), if equal widths are clearly better with it: the mixtures are
 * then the choice's, and the rows and the equal widths those with them.  After sigma is found,
 * before any width is learnt.  O(rows of the first sample) for each output, and a climb. */
kb_status kb_mixing_try(kb_context *ctx, kb_tuner *t);

#endif
