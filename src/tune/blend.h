/*
 * blend.h - blends learned widths with others, as a precaution against what the validation rows do
 * not show.
 */
#ifndef KB_TUNE_BLEND_H
#define KB_TUNE_BLEND_H

#include "tune/tuner.h"

/* Whether a table is wide: many columns (KB_RULE_MANY_COLUMNS) and few rows for each.  Widths by
 * univariate relevance may then be better to blend with than equal ones. */
int kb_is_wide_table(size_t columns, size_t rows);

/* The candidate KB_CANDIDATE_RELEVANCE; in a wide table with a scale search of its own. */
kb_status kb_relevance_candidate(kb_context *ctx, kb_tuner *t);

/* Adds equal widths to the learned ones as an extra vector, or in a wide table those by relevance
 * if that has the lower score.  c is replaced, unless the blend is clearly worse on the validation
 * rows. */
kb_status kb_blend(kb_context *ctx, kb_tuner *t, kb_candidate *c);

#endif
