/* final_trial.c - see final_trial.h. */
#include "tune/final_trial.h"
#include "trial/rules.h"
#include "trial/sweep_trial.h"

#include <math.h>

/* Little noise, by the lambda that the search took: the best is then CG. */
static int is_clean(const kb_candidate *c) {
    return c->search.lambda > 0 && c->search.lambda <= KB_RULE_SWEEPS_CLEAN_LAMBDA;
}

static int may_sweep(const kb_tuner *t, const kb_candidate *c) {
    kb_solver_kind solver = t->given->solver;
    return solver == KB_SOLVER_SWEEPS || (solver == KB_SOLVER_AUTO && !is_clean(c));
}

static int may_need_cg(const kb_tuner *t, const kb_trial *sweeps) {
    return sweeps->lambda <= KB_RULE_SWEEPS_CG_LAMBDA ||
           t->rows.data->rows <= KB_RULE_SWEEPS_CG_ROWS;
}

/* One lambda by sweeps; *moved: whether it is the best so far; it is then moved to *best. */
static kb_status try_lambda(kb_context *ctx, kb_tuner *t, kb_candidate *c, double lambda,
                            kb_trial *best, int *moved) {
    kb_status status;
    kb_trial trial = {
        .grids = kb_tuner_last_grids(t), .max_steps = KB_RULE_SWEEPS, .given_lambda = lambda};
    TRY(kb_sweep_trial_run(ctx, kb_tuner_last_sample(t), &c->drawn, &trial));
    TRY(kb_tuner_note(ctx, t, c, "square", &trial));
    *moved = !best->each || trial.score < (1 - KB_RULE_SWEEPS_LAMBDA_GAIN) * best->score;
    if (*moved)
        kb_trial_move(ctx, &trial, best);
done:
    kb_trial_release(ctx, &trial);
    return status;
}

/* Lambdas are KB_RULE_LAMBDAS: the place of the one that is nearest to x. */
static size_t place_of(double x) {
    size_t best = 0;
    for (size_t k = 0; k < sizeof KB_RULE_LAMBDAS / sizeof *KB_RULE_LAMBDAS; k++)
        if (fabs(log(KB_RULE_LAMBDAS[k] / x)) < fabs(log(KB_RULE_LAMBDAS[best] / x)))
            best = k;
    return best;
}

/* Larger lambdas first, and smaller ones if those do not help. */
static kb_status search_lambda(kb_context *ctx, kb_tuner *t, kb_candidate *c, kb_trial *best) {
    kb_status status;
    const size_t least = place_of(KB_RULE_SWEEPS_LAMBDA_LEAST);
    const size_t most = sizeof KB_RULE_LAMBDAS / sizeof *KB_RULE_LAMBDAS - 1;
    size_t first = place_of(c->search.lambda > 0 ? c->search.lambda : 0.1);
    int moved;
    first = first < least ? least : first;
    TRY(try_lambda(ctx, t, c, t->given_lambda > 0 ? t->given_lambda : KB_RULE_LAMBDAS[first], best,
                   &moved));
    for (int down = 0; down < 2 && t->given_lambda <= 0; down++) {
        size_t at = first;
        moved = 1;
        for (int k = 0; k < KB_RULE_SWEEPS_MOVES && moved; k++) {
            if (at == (down ? least : most))
                break;
            at = down ? at - 1 : at + 1;
            TRY(try_lambda(ctx, t, c, KB_RULE_LAMBDAS[at], best, &moved));
        }
        if (best->lambda != KB_RULE_LAMBDAS[first])
            break;
    }
done:
    return status;
}

kb_status kb_final_trial(kb_context *ctx, kb_tuner *t, kb_candidate *c) {
    kb_status status;
    const kb_subsample *sample = kb_tuner_last_sample(t);
    size_t grids = kb_tuner_last_grids(t);
    kb_trial cg = {.grids = grids,
                   .max_steps = kb_trial_rows_steps(&t->rows),
                   .given_lambda = t->given_lambda};
    kb_trial sweeps = {.score = INFINITY};
    TRY(kb_subsample_bin(ctx, sample, &c->widths, grids, t->seed + KB_RULE_TRIAL_SEED, &c->drawn));
    if (may_sweep(t, c))
        TRY(search_lambda(ctx, t, c, &sweeps));
    if (!may_sweep(t, c) || (t->given->solver == KB_SOLVER_AUTO && may_need_cg(t, &sweeps))) {
        TRY(kb_trial_run_on(ctx, sample, &c->drawn, &cg));
        TRY(kb_tuner_note(ctx, t, c, "square", &cg));
    }
    int take_cg =
        cg.each && (!sweeps.each || cg.score < (1 - KB_RULE_SWEEPS_CG_GAIN) * sweeps.score);
    kb_trial_move(ctx, take_cg ? &cg : &sweeps, &c->final);
done:
    kb_trial_release(ctx, &cg);
    kb_trial_release(ctx, &sweeps);
    return status;
}
