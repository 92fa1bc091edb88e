/* final_trial.c - see final_trial.h. */
#include "tune/final_trial.h"
#include "trial/rules.h"
#include "trial/sweep_trial.h"
#include "trial/width_vectors.h"

#include <math.h>

/* The rows and grids of some trials. */
typedef struct stage {
    const kb_subsample *sample;
    size_t grids, sweeps;
} stage;

/* One lambda by sweeps; *moved: whether it is the best so far; it is then moved to *best. */
static kb_status try_lambda(kb_context *ctx, kb_tuner *t, const stage *s, kb_candidate *c,
                            double lambda, kb_trial *best, int *moved) {
    kb_status status;
    kb_trial trial = {.grids = s->grids, .max_steps = s->sweeps, .given_lambda = lambda};
    TRY(kb_sweep_trial_run(ctx, s->sample, &c->drawn, &trial));
    TRY(kb_tuner_note(ctx, t, c, "square", &trial));
    *moved = !best->each || trial.score < (1 - KB_RULE_SWEEPS_LAMBDA_GAIN) * best->score;
    if (*moved)
        kb_trial_move(ctx, &trial, best);
done:
    kb_trial_release(ctx, &trial);
    return status;
}

static kb_status bin(kb_context *ctx, const kb_tuner *t, const stage *s, kb_candidate *c) {
    kb_binned_release(&c->drawn);
    return kb_subsample_bin(ctx, s->sample, &c->widths, s->grids, t->seed + KB_RULE_TRIAL_SEED,
                            &c->drawn);
}

/* ---- the final trial --------------------------------------------------- */

/* Little noise, by the lambda that the search took, or because CG is the best so far: it is then
 * the best for this kernel too. */
static int is_clean(const kb_tuner *t, const kb_candidate *c) {
    const kb_candidate *best = &t->candidate[t->best];
    return (c->search.lambda > 0 && c->search.lambda <= KB_RULE_SWEEPS_CLEAN_LAMBDA) ||
           (best != c && best->final.each && !best->final.sweeps);
}

static int may_sweep(const kb_tuner *t, const kb_candidate *c) {
    kb_solver_kind solver = t->given->solver;
    return solver == KB_SOLVER_SWEEPS || (solver == KB_SOLVER_AUTO && !is_clean(t, c));
}

static int may_need_cg(const kb_tuner *t, const kb_trial *sweeps) {
    return sweeps->lambda <= KB_RULE_SWEEPS_CG_LAMBDA ||
           t->rows.data->rows <= KB_RULE_SWEEPS_CG_ROWS;
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
static kb_status search_lambda(kb_context *ctx, kb_tuner *t, const stage *s, kb_candidate *c,
                               kb_trial *best) {
    kb_status status;
    const size_t least = place_of(KB_RULE_SWEEPS_LAMBDA_LEAST);
    const size_t most = sizeof KB_RULE_LAMBDAS / sizeof *KB_RULE_LAMBDAS - 1;
    size_t first = place_of(c->search.lambda > 0 ? c->search.lambda : 0.1);
    int moved;
    first = first < least ? least : first;
    TRY(try_lambda(ctx, t, s, c, t->given_lambda > 0 ? t->given_lambda : KB_RULE_LAMBDAS[first],
                   best, &moved));
    for (int down = 0; down < 2 && t->given_lambda <= 0; down++) {
        size_t at = first;
        moved = 1;
        for (int k = 0; k < KB_RULE_SWEEPS_MOVES && moved && at != (down ? least : most); k++) {
            at = down ? at - 1 : at + 1;
            TRY(try_lambda(ctx, t, s, c, KB_RULE_LAMBDAS[at], best, &moved));
        }
        if (best->lambda != KB_RULE_LAMBDAS[first])
            break;
    }
done:
    return status;
}

kb_status kb_final_trial(kb_context *ctx, kb_tuner *t, kb_candidate *c) {
    kb_status status;
    stage s = {kb_tuner_last_sample(t), kb_tuner_last_grids(t),
               t->rows.targets.outputs > KB_PANEL ? KB_RULE_SWEEPS_MANY_OUTPUTS : KB_RULE_SWEEPS};
    kb_trial cg = {.grids = s.grids,
                   .max_steps = kb_trial_rows_steps(&t->rows),
                   .given_lambda = t->given_lambda};
    kb_trial sweeps = {.score = INFINITY};
    TRY(bin(ctx, t, &s, c));
    if (may_sweep(t, c))
        TRY(search_lambda(ctx, t, &s, c, &sweeps));
    if (!may_sweep(t, c) || (t->given->solver == KB_SOLVER_AUTO && may_need_cg(t, &sweeps))) {
        TRY(kb_trial_run_on(ctx, s.sample, &c->drawn, &cg));
        TRY(kb_tuner_note(ctx, t, c, "square", &cg));
    }
    int take_cg = cg.each && !(sweeps.score < (1 - KB_RULE_SWEEPS_CG_GAIN) * cg.score);
    kb_trial_move(ctx, take_cg ? &cg : &sweeps, &c->final);
done:
    kb_trial_release(ctx, &cg);
    kb_trial_release(ctx, &sweeps);
    return status;
}

/* ---- more rows --------------------------------------------------------- */

static void multiply(kb_candidate *c, double by) {
    kb_widths_multiply(&c->widths, by);
    c->sigma *= by;
}

/* Smaller lambdas while they help, then narrower bins with the best lambda so far. */
static kb_status descend(kb_context *ctx, kb_tuner *t, const stage *s, kb_candidate *c) {
    kb_status status;
    const double by = KB_RULE_SCALE_FACTOR;
    kb_trial best = {0};
    double lambda = c->final.each ? c->final.lambda : c->search.lambda;
    int moved, narrower = t->given->sigma.kind == KB_SIGMA_AUTO;
    TRY(bin(ctx, t, s, c));
    TRY(try_lambda(ctx, t, s, c, lambda, &best, &moved));
    while (moved && t->given_lambda <= 0 && best.lambda > KB_RULE_SWEEPS_LAMBDA_LEAST)
        TRY(try_lambda(ctx, t, s, c, best.lambda / KB_RULE_MORE_ROWS_LAMBDA_FACTOR, &best, &moved));
    while (narrower) {
        multiply(c, 1 / by);
        TRY(bin(ctx, t, s, c));
        TRY(try_lambda(ctx, t, s, c, best.lambda, &best, &narrower));
        if (!narrower)
            multiply(c, by);
    }
    kb_trial_move(ctx, &best, &c->final);
done:
    kb_binned_release(&c->drawn);
    kb_trial_release(ctx, &best);
    return status;
}

/* Logarithms of the scores of a kernel on one sample: as it is, with a smaller lambda, and with
 * narrower bins. */
typedef struct outlook {
    double as_is, smaller, narrower;
} outlook;

static kb_status look_at(kb_context *ctx, kb_tuner *t, const stage *s, kb_candidate *c,
                         outlook *out) {
    kb_status status;
    const double by = KB_RULE_SCALE_FACTOR, lambda = c->final.lambda;
    kb_trial trial[3] = {{0}};
    int moved;
    TRY(bin(ctx, t, s, c));
    TRY(try_lambda(ctx, t, s, c, lambda, &trial[0], &moved));
    TRY(try_lambda(ctx, t, s, c, lambda / KB_RULE_MORE_ROWS_LAMBDA_FACTOR, &trial[1], &moved));
    multiply(c, 1 / by);
    status = bin(ctx, t, s, c);
    if (status == KB_OK)
        status = try_lambda(ctx, t, s, c, lambda, &trial[2], &moved);
    multiply(c, by);
    TRY(status);
    *out = (outlook){log(trial[0].score), log(trial[1].score), log(trial[2].score)};
done:
    kb_binned_release(&c->drawn);
    for (int k = 0; k < 3; k++)
        kb_trial_release(ctx, &trial[k]);
    return status;
}

/* What the scores of two samples say for all rows, `further` times as far as from one to the
 * other. */
static outlook extrapolate(const outlook *few, const outlook *many, double further) {
    outlook all = {many->as_is + further * (many->as_is - few->as_is),
                   many->smaller + further * (many->smaller - few->smaller),
                   many->narrower + further * (many->narrower - few->narrower)};
    all.smaller -= all.as_is;
    all.narrower -= all.as_is;
    return all;
}

/* The best kernel and equal widths, each as all rows want it; the better one is t->best. */
static kb_status contend(kb_context *ctx, kb_tuner *t, const stage *few, const stage *many,
                         double further) {
    kb_status status = KB_OK;
    int which[] = {t->best, t->given->widths == KB_WIDTHS_LEARNED ? t->best : KB_CANDIDATE_EQUAL};
    double lowest = INFINITY;
    for (int k = 0; k < (which[0] == which[1] ? 1 : 2); k++) {
        kb_candidate *c = &t->candidate[which[k]];
        outlook on_few, on_many;
        TRY(descend(ctx, t, few, c));
        TRY(look_at(ctx, t, few, c, &on_few));
        TRY(look_at(ctx, t, many, c, &on_many));
        outlook all = extrapolate(&on_few, &on_many, further);
        if (all.smaller < -KB_RULE_SWEEPS_LAMBDA_GAIN && t->given_lambda <= 0)
            c->final.lambda /= KB_RULE_MORE_ROWS_LAMBDA_FACTOR;
        if (all.narrower < -KB_RULE_SWEEPS_LAMBDA_GAIN && t->given->sigma.kind == KB_SIGMA_AUTO)
            multiply(c, 1 / KB_RULE_SCALE_FACTOR);
        double score = all.as_is + fmin(all.smaller, 0) + fmin(all.narrower, 0);
        t->best = score < lowest ? which[k] : t->best;
        lowest = fmin(lowest, score);
    }
done:
    return status;
}

kb_status kb_more_rows(kb_context *ctx, kb_tuner *t) {
    kb_status status = KB_OK;
    kb_subsample few = {0}, many = {0};
    size_t N = t->rows.data->rows, rows = N / 2 < KB_RULE_MOST_ROWS ? N / 2 : KB_RULE_MOST_ROWS;
    if (!t->candidate[t->best].final.sweeps || N < KB_RULE_MORE_ROWS ||
        (t->given_lambda > 0 && t->given->sigma.kind != KB_SIGMA_AUTO) ||
        kb_tuning_is_late(t->tuning, KB_RULE_BUDGET_SCALE))
        return KB_OK;
    TRY(kb_trial_rows_draw_more(ctx, &t->rows, rows / KB_RULE_MORE_ROWS_FACTOR, &few));
    TRY(kb_trial_rows_draw_more(ctx, &t->rows, rows, &many));
    if (many.x->rows < 2 * few.x->rows) /* for want of memory */
        goto done;
    stage on_few = {&few, KB_RULE_MORE_ROWS_GRIDS, KB_RULE_MORE_ROWS_SWEEPS};
    stage on_many = {&many, KB_RULE_MORE_ROWS_GRIDS, KB_RULE_MORE_ROWS_SWEEPS};
    TRY(contend(ctx, t, &on_few, &on_many,
                log((double)N / (double)rows) / log((double)KB_RULE_MORE_ROWS_FACTOR)));
    if (t->rows.first.class_of) { /* another loss is tried with these grids */
        double lambda = t->candidate[t->best].final.lambda;
        TRY(kb_final_trial(ctx, t, &t->candidate[t->best]));
        t->candidate[t->best].final.lambda = lambda;
    }
done:
    kb_subsample_release(ctx, &few);
    kb_subsample_release(ctx, &many);
    return status;
}
