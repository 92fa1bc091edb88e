/*
 * pilot.h - a small fit that says what a large one will cost.
 *
 * It takes all rows, but few grids, one batch of outputs and two passes of a solver; time and
 * memory are a small share of those of the fit.
 */
#ifndef KB_BUDGET_PILOT_H
#define KB_BUDGET_PILOT_H

#include "budget/budget.h"
#include "fit/fit.h"

/* budget->costs, as far as they are known before tuning: as they were for a rival map, and where
 * there is too little memory.  Fails where the fit would. */
kb_status kb_pilot_run(kb_context *ctx, const kb_config *given, const kb_data *data,
                       kb_budget *budget);
/* The same by the plan, with its widths and solver, if that takes a small share of the time. */
kb_status kb_pilot_again(kb_context *ctx, const kb_plan *plan, const kb_data *data,
                         kb_budget *budget);

/* Passes of the solver that a fit by a plan takes, and the fits that hold rows out of it. */
double kb_plan_passes(const kb_plan *plan);
double kb_plan_held_fits(const kb_plan *plan, const kb_targets *targets, size_t rows);

#endif
