/*
 * select_widths.h - learned widths against equal ones.
 */
#ifndef KB_TUNE_SELECT_WIDTHS_H
#define KB_TUNE_SELECT_WIDTHS_H

#include "tune/tuner.h"

/* Widths for every feature, beside the candidate KB_CANDIDATE_EQUAL that there is: with many
 * columns also some that leave features uncut; and the same for mixtures of the columns, if these
 * help. Nothing where options, kernel, rows or budget forbid it. */
kb_status kb_learn_candidates(kb_context *ctx, kb_tuner *t);

/* The final trials: the candidates with more grids and as many steps as help; t->best is who wins,
 * the simplest being the one to beat.  Of it alone the grids are kept. */
kb_status kb_select_widths(kb_context *ctx, kb_tuner *t);

#endif
