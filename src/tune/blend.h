/*
 * blend.h - widths that were not learned, joined to those that were: a precaution against what the
 * validation rows cannot tell.
 */
#ifndef KB_TUNE_BLEND_H
#define KB_TUNE_BLEND_H

#include "tune/tuner.h"

/* Whether there are many columns (KB_RULE_MANY_COLUMNS) and few rows for each: widths by univariate
 * relevance may then be the better ones to join, rather than equal ones. */
int kb_is_wide_table(size_t columns, size_t rows);

/* The candidate KB_CANDIDATE_RELEVANCE; if the table is wide, with a common factor of its own. */
kb_status kb_relevance_candidate(kb_context *ctx, kb_tuner *t);

/* Equal widths as one vector more of learned ones, or in a wide table those by relevance if that
 * has the lower score.  c is replaced, unless the blend is clearly worse on the validation rows. */
kb_status kb_blend(kb_context *ctx, kb_tuner *t, kb_candidate *c);

#endif
