/*
 * select_widths.h - selects between learned and equal widths.
 */
#ifndef KB_TUNE_SELECT_WIDTHS_H
#define KB_TUNE_SELECT_WIDTHS_H

#include "tune/tuner.h"

/* Learns widths for every feature, in addition to the candidate KB_CANDIDATE_EQUAL: with enough
 * columns also sparse ones; and the same with extra columns, if these help.  Does nothing where
 * options, kernel, rows or budget do not allow it. */
kb_status kb_learn_candidates(kb_context *ctx, kb_tuner *t);

/* The final trials: the candidates with more grids and as many steps as help.  t->best is the best
 * one; a candidate must be clearly better than the simpler ones.  Only its grids are kept. */
kb_status kb_select_widths(kb_context *ctx, kb_tuner *t);

/* After kb_select_widths was cut short: t->best by the final trials that there are and else by the
 * searches; its final trial is filled in. */
void kb_settle_widths(kb_tuner *t);

#endif
