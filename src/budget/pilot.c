/* pilot.c - see pilot.h. */
#include "budget/pilot.h"
#include "core/order.h"

#include <math.h>
#include <string.h>

/* Grids of a pilot: one bundle, and more where there is time; its passes. */
enum { FEW_GRIDS = 16, MANY_GRIDS = 64, PASSES = 3 };
/* What comes beside the passes, in passes: of solvers that give weights, and of others. */
enum { BESIDE_WEIGHTS = 1, BESIDE_OTHERS = 3 };
/* The share of the time that the larger one may take. */
static const double SHARE = 0.08;
/* And all of a later pilot, by the one before. */
static const double SHARE_AGAIN = 0.12;
static const double TOL = 1e-12;
/* Seconds for a byte of the model file: written, synced, and put together before. */
static const double WRITE = 8e-9;
/* Bytes of a bin beside its weights. */
static const double BIN = 8;

/* Passes, where they are not known: sweeps that stop by rows held out, and those over all rows
 * after them; sweeps to a tolerance; Newton's method; the L1 penalty. */
enum { SWEEPS_TWICE = 12, SWEEPS = 40, NEWTON = 30, L1 = 100 };

/* The rows that tell sweeps when to stop are this share. */
enum { ROWS_PER_STOP_ROW = 10 };

double kb_plan_passes(const kb_plan *plan) {
    const kb_config *c = &plan->config;
    const kb_solver *solver = kb_solver_of(c);
    double most = solver->l1                     ? L1
                  : solver->sweeps               ? plan->early ? SWEEPS_TWICE : SWEEPS
                  : solver->ridge && plan->early ? (double)c->max_iter
                                                 : NEWTON;
    return fmin(most, (double)c->max_iter);
}

double kb_plan_held_fits(const kb_plan *plan, const kb_targets *targets, size_t rows) {
    int stops = plan->early && kb_solver_of(&plan->config)->sweeps;
    size_t stop_rows = stops ? rows / ROWS_PER_STOP_ROW : 0;
    return (double)kb_holding_of(&plan->config, targets, rows, stop_rows, plan->validation != NULL)
        .folds;
}

/* As far as it is known before tuning. */
static kb_plan plan_of(const kb_config *given) {
    kb_plan plan = {.config = *given};
    kb_config *c = &plan.config;
    if (c->scale == KB_SCALE_AUTO && c->sigma.kind == KB_SIGMA_AUTO)
        c->scale = KB_SCALE_RANKS;
    kb_config_set_untuned(c);
    if (c->loss == KB_LOSS_SQUARE && !kb_config_is_l1(c) && c->solver == KB_SOLVER_AUTO)
        c->solver = KB_SOLVER_SWEEPS;
    return plan;
}

static kb_sample_cost cost_of(const kb_fit *s, double before, double solve, size_t C) {
    double grids = (double)s->plan->config.grids, outputs = (double)s->targets.outputs;
    double beside = kb_solver_of(&s->plan->config)->weights ? BESIDE_WEIGHTS : BESIDE_OTHERS;
    double bins = (double)s->columns_of_z / grids, steps = (double)s->learner.steps;
    return (kb_sample_cost){
        .grids = grids,
        .before = fmax(before - s->grid_seconds, 0),
        .grid = s->grid_seconds,
        .pass = solve / (fmax(steps, 1) + beside) * ceil(outputs / (double)C),
        .write = WRITE * bins * (4 * outputs + BIN),
    };
}

/* A fit by the plan with so many grids, of one batch of outputs. */
static kb_status fit_some(kb_context *ctx, const kb_plan *like, const kb_data *data, size_t grids,
                          kb_sample_cost *out) {
    kb_status status;
    kb_plan plan = *like;
    kb_fit s = {.plan = &plan, .data = data};
    kb_model *model = NULL;
    double began = kb_now(ctx), prepared;
    *out = (kb_sample_cost){0};
    plan.config.grids = kb_least(plan.config.grids, grids);
    plan.config.tol = TOL;
    plan.config.max_iter = PASSES;
    plan.config.holdout = 0;
    plan.config.probability = KB_PROBABILITY_OFF;
    plan.early = 0;
    plan.validation = NULL;
    TRY(kb_model_create(ctx, &model));
    TRY(kb_fit_prepare(ctx, &s, model));
    prepared = kb_now(ctx);
    size_t C = kb_least(s.batch, s.targets.outputs);
    TRY(kb_fit_outputs(ctx, &s, model, 0, C, s.w));
    *out = cost_of(&s, prepared - began, kb_now(ctx) - prepared, C);
done:
    kb_fit_release(ctx, &s);
    kb_model_free(model);
    return status;
}

/* Few grids, and more of them if these are next to nothing beside the time that is left. */
static kb_status measure(kb_context *ctx, const kb_plan *plan, const kb_data *data,
                         kb_budget *budget) {
    kb_status status;
    kb_sample_cost few, many = {0};
    double began = kb_now(ctx);
    int alone = !ctx->outer;
    if (alone) /* its lines are not those of the fit */
        kb_progress_outer(ctx, "tune");
    ctx->checkpoint_paused++;
    TRY(fit_some(ctx, plan, data, FEW_GRIDS, &few));
    double took = kb_now(ctx) - began;
    if (few.grids < (double)plan->config.grids &&
        few.before + (took - few.before) * MANY_GRIDS / FEW_GRIDS < SHARE * kb_budget_left(budget))
        TRY(fit_some(ctx, plan, data, MANY_GRIDS, &many));
    budget->costs = kb_costs_of(&few, &many);
done:
    ctx->checkpoint_paused--;
    if (alone)
        kb_progress_outer(ctx, NULL);
    return status == KB_ERR_MEMORY ? KB_OK : status;
}

kb_status kb_pilot_run(kb_context *ctx, const kb_config *given, const kb_data *data,
                       kb_budget *budget) {
    kb_plan plan = plan_of(given);
    return kb_config_is_rival(given) ? KB_OK : measure(ctx, &plan, data, budget);
}

kb_status kb_pilot_again(kb_context *ctx, const kb_plan *plan, const kb_data *data,
                         kb_budget *budget) {
    double again = kb_budget_fit(budget, FEW_GRIDS, PASSES + BESIDE_OTHERS, 1);
    if (kb_config_is_rival(&plan->config) || again > SHARE_AGAIN * kb_budget_left(budget))
        return KB_OK;
    return measure(ctx, plan, data, budget);
}
