/* select_loss.c - see select_loss.h. */
#include "tune/select_loss.h"
#include "trial/compare_trials.h"
#include "fit/learner.h"
#include "trial/loss_trial.h"

#include <math.h>

/* Standard errors: by which another loss must be better, and by which it may be behind with its
 * first lambda. */
static const double LUCK = 0.5, BEHIND = 2;
/* The trials begin at a share of the lambda of the square loss, or of this if it is below. */
static const double LEAST_LAMBDA = 0.01, FIRST = 0.1;
enum { MOST = 5 };
/* Other losses are solved no closer than this where a fit may stop early: beyond it their held-out
 * errors move by no more than luck, and the steps double. */
static const double TOL = 3e-3;

/* Whoever asks for more than the usual tolerance gets it. */
double kb_loss_tol(const kb_tuner *t) {
    static const double usual = 1e-3;
    double tol = t->given->tol;
    return kb_tuner_may_stop(t) && tol >= usual ? fmax(tol, TOL) : tol;
}

/* One lambda; *moved: whether it is clearly the best so far, and then *best. */
static kb_status try_one(kb_context *ctx, kb_tuner *t, kb_loss_trial *s, double lambda,
                         kb_trial *best, int *moved) {
    kb_status status;
    kb_trial trial = {.grids = kb_tuner_last_grids(t),
                      .max_steps = kb_trial_rows_steps(&t->rows),
                      .given_lambda = lambda};
    TRY(kb_loss_trial_run(ctx, s, &trial));
    TRY(kb_tuner_note(ctx, t, &t->candidate[t->best], kb_loss_name(s->loss), &trial));
    *moved = !best->each || trial.score < (1 - KB_LEAST_GAIN) * best->score;
    if (*moved)
        kb_trial_move(ctx, &trial, best);
done:
    kb_trial_release(ctx, &trial);
    return status;
}

/* Larger lambdas, and if they do not help smaller ones; `open`: unless it is clearly behind. */
static kb_status climb(kb_context *ctx, kb_tuner *t, kb_loss_trial *s, int open, kb_trial *best) {
    kb_status status = KB_OK;
    for (int down = 0; down < 2; down++) {
        kb_gain more = kb_trial_fewer_errors(&t->candidate[t->best].judge, best);
        if (open && more.gain > BEHIND * more.luck)
            break;
        double before = best->lambda, factor = down ? 1.0 / 3 : 3;
        for (int k = 0, moves = 1; k < MOST && moves; k++) {
            TRY(try_one(ctx, t, s, best->lambda * factor, best, &moves));
            moves &= !kb_tuning_is_late(t->tuning, 0.8);
        }
        if (best->lambda != before)
            break;
    }
done:
    return status;
}

/* A tenth of lambda, because the curvature of the logistic loss is at most a quarter, and less
 * where it is sure of a row. */
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
        kb_tuning_is_late(t->tuning, 0.8))
        goto done;
    TRY(kb_loss_trial_begin(ctx, &s));
    TRY(try_one(ctx, t, &s, given ? t->given_lambda : fmax(c->judge.lambda, LEAST_LAMBDA) * FIRST,
                &best, &moved));
    if (!given)
        TRY(climb(ctx, t, &s, open, &best));
    kb_gain fewer = kb_trial_fewer_errors(&best, &c->judge);
    double few = fmax(KB_LEAST_GAIN * c->judge.error, kb_few_errors(&c->judge));
    if (!open || fewer.gain > fmax(LUCK * fewer.luck, few)) {
        t->tuning->plan.config.loss = loss->kind;
        if (t->given->lambda == KB_LAMBDA_AUTO)
            t->tuning->plan.config.lambda = best.lambda;
    }
done:
    kb_loss_trial_release(ctx, &s);
    kb_trial_release(ctx, &best);
    return status;
}
