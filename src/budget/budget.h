/*
 * budget.h - what the option budget leaves time for.
 *
 * The budget is for a whole run: reading, tuning, the fit, what is measured beside it, and writing.
 * A small fit at the beginning (pilot.h) says what the parts of the final one cost, so that the
 * tuner ends in time for it.  What there is no time for is left out or made smaller, and named.
 *
 * All decisions depend on the clock and the costs alone.  Without a budget there is no such object,
 * and nothing reads the clock.
 */
#ifndef KB_BUDGET_BUDGET_H
#define KB_BUDGET_BUDGET_H

#include "core/context.h"

#include <stddef.h>

/* What may be left out or made smaller. */
typedef enum kb_cutback {
    KB_CUT_TUNING,
    KB_CUT_TRIAL_ROWS,
    KB_CUT_SIGMA,
    KB_CUT_SLOPES,
    KB_CUT_LEARNED,
    KB_CUT_LEARNING_STEPS,
    KB_CUT_LEVELS,
    KB_CUT_MIXTURES,
    KB_CUT_SPARSE,
    KB_CUT_FINAL,
    KB_CUT_MORE_ROWS,
    KB_CUT_LOSSES,
    KB_CUT_IMPORTANCE,
    KB_CUT_HOLDOUT,
    KB_CUT_GRIDS,
    KB_CUT_STEPS,
    KB_CUTBACKS
} kb_cutback;

/* The name that users see; static. */
const char *kb_cutback_name(kb_cutback what);

/* Seconds of a fit on all rows, for all outputs. */
typedef struct kb_costs {
    double fixed;     /* scaling, targets, .. */
    double grid;      /* binning, and writing later, of a grid */
    double pass;      /* a sweep or a step of the solver, whatever the grids */
    double grid_pass; /* and of a grid */
} kb_costs;

/* The same of two fits with different numbers of grids, each with its cost of a pass. */
typedef struct kb_sample_cost {
    double grids;
    double before, grid; /* scaling and targets; binning all of its grids */
    double pass;
    double write; /* of a grid */
} kb_sample_cost;

/* What two such fits say about others; without a second one (0 grids), by the first alone. */
kb_costs kb_costs_of(const kb_sample_cost *few, const kb_sample_cost *many);

typedef struct kb_budget {
    kb_clock clock;
    double began, seconds;
    kb_costs costs;
    unsigned cut; /* a bit for each kb_cutback */
} kb_budget;

/* It begins where kb_context_start_clock was called, else now. */
kb_budget kb_budget_begin(kb_context *ctx, double seconds);
double kb_budget_end(const kb_budget *budget);
double kb_budget_left(const kb_budget *budget);

/* Both ignore NULL, which is no budget. */
void kb_budget_cut(kb_budget *budget, kb_cutback what);
int kb_budget_has_cut(const kb_budget *budget, kb_cutback what);

/* The forecast of a fit; `fits`: 1, and one for each that holds rows out. */
double kb_budget_fit(const kb_budget *budget, size_t grids, double passes, double fits);

/* What the tuner leaves for the rest: that fit, but no more than a share of what is left, and at
 * least a small fit. */
double kb_budget_reserve(const kb_budget *budget, size_t grids, double passes, double fits);

/* The most grids, at most `most`, with which a fit ends within these seconds.  Rather than few
 * grids it takes fewer passes. */
size_t kb_budget_grids(const kb_budget *budget, size_t most, double passes, double seconds);

#endif
