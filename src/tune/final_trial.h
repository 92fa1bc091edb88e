/*
 * final_trial.h - the last trials of a kernel: by sweeps or by CG, and on more rows.
 */
#ifndef KB_TUNE_FINAL_TRIAL_H
#define KB_TUNE_FINAL_TRIAL_H

#include "tune/tuner.h"

/* Finds lambda, the solver and its number of steps for c, into c->final; its grids are c->drawn.
 * The lambda of sweeps is searched from that of c->search up and down. */
kb_status kb_final_trial(kb_context *ctx, kb_tuner *t, kb_candidate *c);

/* c->final without such a trial, for want of time: by the final trial of another kernel, or if that
 * is NULL by c->search.  It has no scores of rows. */
void kb_final_by_search(kb_tuner *t, kb_candidate *c, const kb_trial *like);

/* Where there are many more rows than in the trials so far, tries the best kernel and equal widths
 * on two larger samples, with smaller lambdas and narrower bins, which more rows want, and goes on
 * as far as the change between the two says for all rows.  t->best is then the better one.  Does
 * nothing where CG was the better solver. */
kb_status kb_more_rows(kb_context *ctx, kb_tuner *t);

#endif
