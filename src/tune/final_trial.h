/*
 * final_trial.h - the last trial of a kernel: on the largest sample, by sweeps or by CG.
 */
#ifndef KB_TUNE_FINAL_TRIAL_H
#define KB_TUNE_FINAL_TRIAL_H

#include "tune/tuner.h"

/* Finds lambda, the solver and its number of steps for c, into c->final; its grids are c->drawn.
 * The lambda of sweeps is searched from that of c->search up and down. */
kb_status kb_final_trial(kb_context *ctx, kb_tuner *t, kb_candidate *c);

#endif
