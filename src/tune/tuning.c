/* tuning.c - see tuning.h. */
#include "tune/tuning.h"
#include "budget/pilot.h"
#include "core/order.h"
#include "trial/rules.h"

#include <math.h>

kb_tuning kb_tuning_begin(const kb_config *given) {
    return (kb_tuning){
        .given = given, .plan = {.config = *given}, .began = kb_seconds(), .seconds = INFINITY};
}

void kb_tuning_release(kb_context *ctx, kb_tuning *tuning) {
    kb_plan_release(ctx, &tuning->plan);
    kb_release(ctx, tuning->trial);
    *tuning = (kb_tuning){0};
}

kb_status kb_tuning_note(kb_context *ctx, kb_tuning *tuning, const kb_trial_info *trial) {
    kb_status status;
    TRY(kb_reserve(ctx, tuning->count + 1, sizeof *trial, &tuning->room, &tuning->trial));
    tuning->trial[tuning->count] = *trial;
    tuning->trial[tuning->count++].seconds = kb_clock_now(&tuning->clock) - tuning->began;
done:
    return status;
}

int kb_tuning_is_late(const kb_tuning *tuning, double share) {
    double seconds = fmin(tuning->seconds, tuning->given->budget);
    return isfinite(seconds) && kb_clock_now(&tuning->clock) - tuning->began > share * seconds;
}

double kb_tuning_moment(const kb_tuning *tuning, double share) {
    return tuning->began + share * tuning->seconds;
}

double kb_tuning_left(const kb_tuning *tuning, double share) {
    return isfinite(tuning->seconds)
               ? kb_tuning_moment(tuning, share) - kb_clock_now(&tuning->clock)
               : INFINITY;
}

void kb_tuning_reserve(kb_tuning *tuning, const kb_plan *like, const kb_targets *targets,
                       size_t rows) {
    const kb_config *given = tuning->given;
    kb_plan plan = *like;
    kb_config *c = &plan.config;
    size_t grids = given->grids != KB_GRIDS_AUTO    ? given->grids
                   : kb_config_is_l1(c)             ? KB_RULE_GRIDS_L1
                   : rows > KB_RULE_GRIDS_MANY_ROWS ? KB_RULE_GRIDS_ENOUGH
                                                    : KB_RULE_GRIDS_LEAST;
    plan.early = 1;
    c->max_iter = kb_least(c->max_iter, KB_RULE_BUDGET_CG_STEPS);
    if (c->loss == KB_LOSS_SQUARE && c->solver == KB_SOLVER_AUTO && !kb_config_is_l1(c))
        c->solver = KB_SOLVER_SWEEPS;
    double passes = kb_plan_passes(&plan), left = kb_budget_left(tuning->budget);
    double fits = 1 + kb_plan_held_fits(&plan, targets, rows);
    if (kb_budget_fit(tuning->budget, grids, passes, fits) > KB_RULE_BUDGET_HELD * left)
        fits = 1;
    double reserve = kb_budget_reserve(tuning->budget, grids, passes, fits);
    tuning->seconds = fmax(kb_budget_end(tuning->budget) - reserve - tuning->began, 0);
}
