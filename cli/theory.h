/*
 * theory.h - the paper's two theorems applied to a fit: the bound on the objective's distance from
 * that of the exact kernel machine, and the speed-up of parallel coordinate descent
 * (docs/theory.md, equations 9, 9a and 24).
 */
#ifndef CLI_THEORY_H
#define CLI_THEORY_H

#include "kerbin.h"

#include <jansson.h>
#include <stdio.h>

/* tau / (1 + (R - 1)(tau - 1) / (D - 1)) for tau threads. */
double theory_speedup(double threads, size_t grids, size_t bins);

/* A line of text, and the object "theory".  Both are for the binning map only, and leave out what
 * needs kappa where a model file does not have it. */
void theory_print(FILE *to, const kb_fit_info *info, int threads);
void theory_add_json(json_t **object, const kb_fit_info *info, int threads);

#endif
