/*
 * blend.h - widths that were not learnt, joined to those that were: a bet against what the held-out
 * rows cannot tell.
 */
#ifndef KB_TUNE_BLEND_H
#define KB_TUNE_BLEND_H

#include "tune/tuner.h"

/* With so many columns learning begins with what each of them tells for itself: from equal widths
 * it does not find few of many. */
enum { KB_MANY_COLUMNS = 40 };

/* Whether there are many columns and few rows for each: what a column tells for itself is then
 * worth more than nothing, as equal widths are, for a hedge. */
int kb_is_wide_table(size_t columns, size_t rows);

/* The candidate KB_CANDIDATE_RELEVANCE; if the table is wide, with a common factor of its own. */
kb_status kb_relevance_candidate(kb_context *ctx, kb_tuner *t);

/* Equal widths as one vector more of learnt ones, or in a wide table the screened ones if that has
 * the lower score.  c is replaced, unless the held-out rows clearly speak against it. */
kb_status kb_blend(kb_context *ctx, kb_tuner *t, kb_candidate *c);

#endif
