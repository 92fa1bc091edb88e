/* select_loss.c - see select_loss.h. */
#include "tune/select_loss.h"
#include "trial/compare_trials.h"
#include "fit/learner.h"
#include "trial/loss_trial.h"
#include "trial/rules.h"

#include <math.h>

/* Other losses are solved no more closely than KB_RULE_LOSS_TOL where a fit may stop early, unless
 * the user asks for it. */
double kb_loss_tol(const kb_tuner *t) {
    double tol = t->given->tol;
    return kb_tuner_may_stop(t) && tol >= KB_RULE_LOSS_TOL_USUAL ? fmax(tol, KB_RULE_LOSS_TOL)
                                                                 : tol;
}

/* Tries one lambda; *moved: whether it is clearly the best so far; it is then copied to *best. */
static kb_status try_one(kb_context *ctx, kb_tuner *t, kb_loss_trial *s, double lambda,
                         kb_trial *best, int *moved) {
    kb_status status;
    kb_trial trial = {.grids = kb_tuner_last_grids(t),
                      .max_steps = kb_trial_rows_steps(&t->rows),
                      .given_lambda = lambda};
    TRY(kb_loss_trial_run(ctx, s, &trial));
    TRY(kb_tuner_note(ctx, t, &t->candidate[t->best], kb_loss_name(s->loss), &trial));
    *moved = !best->each || trial.score < (1 - KB_RULE_LEAST_GAIN) * best->score;
    if (*moved)
        kb_trial_move(ctx, &trial, best);
done:
    kb_trial_release(ctx, &trial);
    return status;
}

/* Tries larger lambdas, and smaller ones if those do not help; `open`: unless it is clearly
 * worse. */
static kb_status search_up_and_down(kb_context *ctx, kb_tuner *t, kb_loss_trial *s, int open,
                                    kb_trial *best) {
    kb_status status = KB_OK;
    for (int down = 0; down < 2; down++) {
        const kb_trial *square = &t->candidate[t->best].final;
        kb_gain more = kb_subsample_counts_errors(&t->rows.first)
                           ? kb_trial_fewer_errors(square, best)
                           : kb_trial_gain(square, best);
        if (open && more.gain > KB_RULE_LOSS_BEHIND_STANDARD_ERRORS * more.standard_error)
            break;
        double before = best->lambda;
        double factor = down ? 1 / KB_RULE_LOSS_LAMBDA_FACTOR : KB_RULE_LOSS_LAMBDA_FACTOR;
        for (int k = 0, moves = 1; k < KB_RULE_LOSS_MOVES && moves; k++) {
            TRY(try_one(ctx, t, s, best->lambda * factor, best, &moves));
            moves &= !kb_tuning_is_late(t->tuning, KB_RULE_BUDGET_LOSS);
        }
        if (best->lambda != before)
            break;
    }
done:
    return status;
}

/* Whether the solver that was asked for, if any, solves it. */
static int may_solve(const kb_config *given, const kb_loss *loss) {
    return given->solver == KB_SOLVER_AUTO || (kb_solver_of(given)->losses & 1u << loss->kind);
}

/* Few validation rows are wrong where there is little noise, and their number is then mostly
 * chance. The score is not: the square loss estimates the mean of targets of -1 and 1, as do the
 * probabilities of the logistic loss. */
static int is_better_loss(const kb_tuner *t, const kb_trial *other, const kb_trial *square) {
    if (!kb_subsample_counts_errors(&t->rows.first))
        return kb_is_better(other, square, KB_RULE_LOSS_STANDARD_ERRORS);
    kb_gain fewer = kb_trial_fewer_errors(other, square);
    double few = fmax(KB_RULE_LEAST_GAIN * square->error, kb_few_errors(square));
    return fewer.gain > fmax(KB_RULE_LOSS_STANDARD_ERRORS * fewer.standard_error, few) ||
           (fewer.gain >= 0 && kb_is_better(other, square, KB_RULE_LOSS_SCORE_STANDARD_ERRORS));
}

/* A tenth of lambda, because the curvature of the logistic loss is at most a quarter, and less for
 * rows that are clearly classified. */
kb_status kb_select_loss(kb_context *ctx, kb_tuner *t) {
    kb_status status = KB_OK;
    kb_candidate *c = &t->candidate[t->best];
    int open = t->given->loss == KB_LOSS_AUTO, moved;
    const kb_loss *loss = kb_loss_of(open ? KB_LOSS_LOGISTIC : t->given->loss);
    kb_loss_trial s = {
        .sample = kb_tuner_last_sample(t), .drawn = &c->drawn, .loss = loss, .tol = kb_loss_tol(t)};
    kb_trial best = {0};
    int given = t->given_lambda > 0;
    if (!t->rows.first.class_of || kb_config_is_l1(t->given) || loss->kind == KB_LOSS_SQUARE ||
        !may_solve(t->given, loss) || kb_tuning_is_late(t->tuning, KB_RULE_BUDGET_LOSS))
        goto done;
    TRY(kb_loss_trial_begin(ctx, &s));
    TRY(try_one(ctx, t, &s,
                given
                    ? t->given_lambda
                    : fmax(c->final.lambda, KB_RULE_LOSS_LAMBDA_LEAST) * KB_RULE_LOSS_FIRST_LAMBDA,
                &best, &moved));
    if (!given)
        TRY(search_up_and_down(ctx, t, &s, open, &best));
    if (!open || is_better_loss(t, &best, &c->final)) {
        t->tuning->plan.config.loss = loss->kind;
        t->tuning->chosen = best.number;
        if (t->given->lambda == KB_LAMBDA_AUTO)
            t->tuning->plan.config.lambda = best.lambda;
    }
done:
    kb_loss_trial_release(ctx, &s);
    kb_trial_release(ctx, &best);
    return status;
}
