/*
 * theory.h - what the paper's two theorems say of a fit: how far the objective still is from
 * the exact kernel machine's, and what parallel coordinate descent gains (docs/theory.md,
 * equations 9, 9a and 24).
 */
#ifndef CLI_THEORY_H
#define CLI_THEORY_H

#include "kerbin.h"

#include <jansson.h>
#include <stdio.h>

/* tau / (1 + (R - 1)(tau - 1) / (D - 1)) for tau threads. */
double theory_speedup(double threads, size_t grids, size_t bins);

/* A line for people, and the object "theory".  Both are for the binning map alone, and leave out
 * what needs kappa where a model file does not tell it. */
void theory_print(FILE *to, const kb_fit_info *info, int threads);
void theory_add_json(json_t **object, const kb_fit_info *info, int threads);

#endif
