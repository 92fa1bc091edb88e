/* select_loss.c - see select_loss.h. */
#include "tune/select_loss.h"
#include "core/order.h"
#include "fit/learner.h"
#include "trial/compare_trials.h"
#include "trial/loss_trial.h"
#include "trial/rules.h"
#include "trial/width_vectors.h"

#include <math.h>
#include <string.h>

/* ---- one loss ---------------------------------------------------------- */

static size_t widths_of(const kb_widths *w) {
    return w->vectors * w->features;
}

static kb_candidate *kernel_of(const kb_loss_search *s) {
    return &s->t->candidate[s->t->best];
}

kb_status kb_loss_search_begin(kb_context *ctx, kb_tuner *t, double tol, kb_loss_search *s) {
    kb_status status;
    kb_candidate *c = &t->candidate[t->best];
    *s = (kb_loss_search){.t = t, .tol = tol, .factor = 1};
    s->scaled = (kb_candidate){.what = c->what, .sigma = c->sigma, .drawn = c->drawn};
    c->drawn = (kb_binned){0};
    s->scaled.widths = (kb_widths){c->widths.vectors, c->widths.features, NULL};
    TRY(kb_alloc(ctx, widths_of(&c->widths), sizeof(kb_width), &s->scaled.widths.width));
    memcpy(s->scaled.widths.width, c->widths.width, widths_of(&c->widths) * sizeof(kb_width));
    if (!s->scaled.drawn.op) /* its final trial was left out, or is long over */
        TRY(kb_subsample_bin(ctx, kb_tuner_last_sample(t), &c->widths, kb_tuner_last_grids(t),
                             t->seed + KB_RULE_TRIAL_SEED, &s->scaled.drawn));
done:
    return status;
}

void kb_loss_search_release(kb_context *ctx, kb_loss_search *s) {
    kb_candidate_release(ctx, &s->scaled);
}

void kb_loss_search_take(kb_tuner *t, const kb_loss_found *found) {
    kb_candidate *c = &t->candidate[t->best];
    kb_widths_multiply(&c->widths, found->factor);
    c->sigma *= found->factor;
}

/* The widths are made of the kernel's again, so that there and back is the same widths. */
static kb_status scale_to(kb_context *ctx, kb_loss_search *s, double factor, kb_loss_trial *trial) {
    const kb_candidate *c = kernel_of(s);
    if (factor == s->factor)
        return KB_OK;
    memcpy(s->scaled.widths.width, c->widths.width, widths_of(&c->widths) * sizeof(kb_width));
    kb_widths_multiply(&s->scaled.widths, factor);
    s->scaled.sigma = c->sigma * factor;
    s->factor = factor;
    trial->redrawn = 1;
    kb_binned_release(&s->scaled.drawn);
    return kb_subsample_bin(ctx, trial->sample, &s->scaled.widths, kb_tuner_last_grids(s->t),
                            s->t->seed + KB_RULE_TRIAL_SEED, &s->scaled.drawn);
}

/* A first trial that takes many steps stops early: it is to tell whether others are worth it. */
static size_t steps_of(const kb_loss_search *s, const kb_loss_found *best) {
    size_t most = kb_trial_rows_steps(&s->t->rows);
    if (best->loss->in_units) /* one that is cut off is smoother than its lambda makes it */
        return KB_RULE_LOSS_NUMBERS_STEPS;
    return best->trial.each || !s->rival ? most : kb_least(most, KB_RULE_LOSS_FIRST_STEPS);
}

/* Tries one factor and lambda; *moved: whether they are better than the best so far by `gain`, a
 * share of its score; they are then put in *best. */
static kb_status try_one(kb_context *ctx, kb_loss_search *s, kb_loss_trial *on, double factor,
                         double lambda, double gain, kb_loss_found *best, int *moved) {
    kb_status status;
    kb_trial trial = {
        .grids = kb_tuner_last_grids(s->t), .max_steps = steps_of(s, best), .given_lambda = lambda};
    TRY(scale_to(ctx, s, factor, on));
    TRY(kb_loss_trial_run(ctx, on, &trial));
    TRY(kb_tuner_note(ctx, s->t, &s->scaled, kb_loss_name(on->loss), &trial));
    *moved = !best->trial.each || trial.across < (1 - gain) * best->trial.across;
    if (*moved) {
        kb_trial_move(ctx, &trial, &best->trial);
        best->factor = factor;
    }
    *moved &= !kb_tuning_is_late(s->t->tuning, KB_RULE_BUDGET_LOSS);
done:
    kb_trial_release(ctx, &trial);
    return status;
}

/* Larger lambdas first, and smaller ones if those do not help. */
static kb_status move_lambda(kb_context *ctx, kb_loss_search *s, kb_loss_trial *on,
                             kb_loss_found *best) {
    kb_status status = KB_OK;
    double first = best->trial.lambda;
    for (int down = 0; down < 2 && best->trial.lambda == first; down++) {
        double by = down ? 1 / KB_RULE_LOSS_LAMBDA_FACTOR : KB_RULE_LOSS_LAMBDA_FACTOR;
        for (int k = 0, moves = 1; k < KB_RULE_LOSS_MOVES && moves; k++)
            TRY(try_one(ctx, s, on, best->factor, best->trial.lambda * by, KB_RULE_LEAST_GAIN, best,
                        &moves));
        if (kb_tuning_is_late(s->t->tuning, KB_RULE_BUDGET_LOSS))
            break;
    }
done:
    return status;
}

static kb_status widen(kb_context *ctx, kb_loss_search *s, kb_loss_trial *on, kb_loss_found *best) {
    kb_status status = KB_OK;
    for (int k = 0, moves = 1; k < KB_RULE_LOSS_WIDER_MOVES && moves; k++)
        TRY(try_one(ctx, s, on, best->factor * KB_RULE_SCALE_FACTOR, best->trial.lambda, 0, best,
                    &moves));
done:
    return status;
}

static int may_widen(const kb_loss_search *s, const kb_loss_found *best) {
    const kb_tuner *t = s->t;
    return t->rows.first.class_of && t->given->sigma.kind == KB_SIGMA_AUTO && s->factor == 1 &&
           best->trial.error <= KB_RULE_LOSS_CLEAN_ERROR;
}

/* Errors speak where they are what counts. */
int kb_loss_is_behind(const kb_tuner *t, const kb_trial *other, const kb_trial *rival) {
    kb_gain more = kb_trial_fewer_errors(rival, other), worse = kb_trial_gain_across(rival, other);
    const double by = KB_RULE_LOSS_BEHIND_STANDARD_ERRORS;
    int counts = kb_subsample_counts_errors(&t->rows.first);
    return (counts && more.gain > by * more.standard_error) ||
           worse.gain > by * worse.standard_error;
}

kb_status kb_loss_search_run(kb_context *ctx, kb_loss_search *s, double lambda,
                             kb_loss_found *out) {
    kb_status status;
    const kb_tuner *t = s->t;
    kb_loss loss = kb_loss_with_quantile(out->loss, t->given->quantile);
    kb_loss_trial on = {.sample = kb_tuner_last_sample(t),
                        .drawn = &s->scaled.drawn,
                        .loss = &loss,
                        .metric = kb_metric_of_fit(t->given->metric, 0, out->loss->kind),
                        .tol = s->tol};
    int moved;
    TRY(kb_loss_trial_begin(ctx, &on));
    TRY(try_one(ctx, s, &on, s->factor, lambda, 0, out, &moved));
    if (moved && may_widen(s, out)) {
        TRY(widen(ctx, s, &on, out));
        TRY(scale_to(ctx, s, out->factor, &on));
    }
    if (!moved || (s->rival && kb_loss_is_behind(t, &out->trial, s->rival)))
        goto done;
    if (t->given_lambda <= 0 && !kb_tuning_is_late(t->tuning, KB_RULE_BUDGET_LOSS))
        TRY(move_lambda(ctx, s, &on, out));
    TRY(scale_to(ctx, s, out->factor, &on));
done:
    kb_loss_trial_release(ctx, &on);
    return status;
}

/* ---- all losses --------------------------------------------------------- */

/* Other losses are solved no more closely than KB_RULE_LOSS_TOL where a fit may stop early, unless
 * the user asks for it. */
double kb_loss_tol(const kb_tuner *t) {
    double tol = t->given->tol;
    return kb_tuner_may_stop(t) && tol >= KB_RULE_LOSS_TOL_USUAL ? fmax(tol, KB_RULE_LOSS_TOL)
                                                                 : tol;
}

/* Whether the solver that was asked for, if any, solves it. */
static int may_solve(const kb_config *given, const kb_loss *loss) {
    return given->solver == KB_SOLVER_AUTO || (kb_solver_of(given)->losses & 1u << loss->kind);
}

/* Few validation rows are wrong where there is little noise, and their number is then mostly
 * chance.  The score across losses decides, unless the errors speak against it. */
static int is_better_loss(const kb_tuner *t, const kb_trial *other, const kb_trial *best) {
    if (!kb_subsample_counts_errors(&t->rows.first))
        return kb_is_better(other, best, KB_RULE_LOSS_STANDARD_ERRORS);
    kb_gain fewer = kb_trial_fewer_errors(other, best), across = kb_trial_gain_across(other, best);
    return fewer.gain >= -KB_RULE_LOSS_STANDARD_ERRORS * fewer.standard_error &&
           across.gain > fmax(KB_RULE_LOSS_SCORE_STANDARD_ERRORS * across.standard_error,
                              KB_RULE_LEAST_GAIN * best->across);
}

/* The first lambda of a loss, as a share of that of the square loss. */
double kb_loss_first_lambda(const kb_tuner *t, const kb_loss *loss) {
    const kb_trial *square = &t->candidate[t->best].final;
    double least = t->rows.first.class_of && square->error <= KB_RULE_LOSS_CLEAN_ERROR
                       ? KB_RULE_LOSS_CLEAN_LAMBDA
                       : KB_RULE_LOSS_LAMBDA_LEAST;
    double lambda = fmax(square->lambda, least);
    if (t->given_lambda > 0)
        return t->given_lambda;
    if (loss->in_units)
        return lambda * (loss->kind == KB_LOSS_POISSON ? 1 : KB_RULE_LOSS_QUANTILE_LAMBDA);
    return lambda * (loss->kind == KB_LOSS_LOGISTIC ? KB_RULE_LOSS_LOGISTIC_LAMBDA
                                                    : KB_RULE_LOSS_HINGE_LAMBDA);
}

static void take(kb_tuner *t, const kb_loss_found *found) {
    t->tuning->plan.config.loss = found->loss->kind;
    t->tuning->chosen = found->trial.number;
    if (t->given->lambda == KB_LAMBDA_AUTO)
        t->tuning->plan.config.lambda = found->trial.lambda;
    kb_loss_search_take(t, found);
}

/* The losses to try; how many.  The squared hinge says who wins and little else. */
static size_t losses_of(const kb_tuner *t, kb_loss_found *out) {
    static const kb_loss_kind OPEN[] = {KB_LOSS_LOGISTIC, KB_LOSS_SQUARED_HINGE};
    size_t count = 0;
    int open = t->given->loss == KB_LOSS_AUTO;
    for (size_t k = 0; k < (open ? sizeof OPEN / sizeof *OPEN : 1); k++) {
        const kb_loss *loss = kb_loss_of(open ? OPEN[k] : t->given->loss);
        int counts = kb_subsample_counts_errors(&t->rows.first);
        if (loss->kind != KB_LOSS_SQUARE && may_solve(t->given, loss) && (k == 0 || counts))
            out[count++].loss = loss;
    }
    return count;
}

static int is_too_late(const kb_tuner *t) {
    const kb_trial *square = &t->candidate[t->best].final;
    if (square->each && !kb_tuning_is_late(t->tuning, KB_RULE_BUDGET_LOSS))
        return 0;
    kb_budget_cut(t->tuning->budget, KB_CUT_LOSSES);
    return 1;
}

/* The losses of one kernel, and the best of them that may be taken; NULL: none. */
typedef struct contest {
    kb_loss_found found[2];
    size_t count;
    kb_loss_found *best;
} contest;

static void release(kb_context *ctx, contest *c) {
    for (size_t k = 0; k < sizeof c->found / sizeof *c->found; k++)
        kb_trial_release(ctx, &c->found[k].trial);
}

/* Whether it is the best so far.  A simpler kernel need not be better than the rival. */
static int is_ahead(const kb_tuner *t, const contest *c, const kb_trial *trial,
                    const kb_trial *rival, int simpler) {
    if (simpler)
        return !kb_loss_is_behind(t, trial, rival) &&
               (!c->best || trial->across < c->best->trial.across);
    return is_better_loss(t, trial, c->best ? &c->best->trial : rival);
}

/* Tries the losses with the kernel t->best; one that is clearly behind the rival is given up. */
static kb_status try_losses(kb_context *ctx, kb_tuner *t, const kb_trial *rival, int simpler,
                            contest *c) {
    kb_status status;
    kb_loss_search s;
    int open = t->given->loss == KB_LOSS_AUTO, cut = 0;
    TRY(kb_loss_search_begin(ctx, t, kb_loss_tol(t), &s));
    s.rival = open ? rival : NULL;
    for (size_t k = 0; k < c->count && !cut; k++) {
        kb_loss_found *now = &c->found[k];
        if (k > 0 && (rival->error > KB_RULE_LOSS_CLEAN_ERROR ||
                      kb_tuning_is_late(t->tuning, KB_RULE_BUDGET_LOSS)))
            break;
        double lambda = kb_loss_first_lambda(t, now->loss);
        status = kb_loss_search_run(ctx, &s, lambda, now);
        cut = kb_take_cut(ctx, &status);
        TRY(status);
        if (cut)
            kb_budget_cut(t->tuning->budget, KB_CUT_LOSSES);
        if (cut && !open && !now->trial.each)
            now->trial.lambda = lambda, now->factor = 1;
        if (!open || (now->trial.each && is_ahead(t, c, &now->trial, rival, simpler))) {
            c->best = now;
            s.rival = &now->trial;
        }
    }
done:
    kb_loss_search_release(ctx, &s);
    return status;
}

/* ---- equal widths ------------------------------------------------------- */

/* Where there is little noise, the square loss says little of which kernel suits the others. */
static int may_be_equal(const kb_tuner *t) {
    return t->best != KB_CANDIDATE_EQUAL &&
           t->candidate[t->best].final.error <= KB_RULE_LOSS_CLEAN_ERROR &&
           t->given->loss == KB_LOSS_AUTO && t->given->widths == KB_WIDTHS_AUTO &&
           kb_subsample_counts_errors(&t->rows.first) &&
           !kb_tuning_is_late(t->tuning, KB_RULE_BUDGET_LOSS);
}

/* Tries the losses with equal widths too.  One of them is taken unless that of the other kernel is
 * better by as much as a loss must be; and if that is the square one, where it is better by as
 * much. */
static kb_status try_equal(kb_context *ctx, kb_tuner *t, const contest *other) {
    kb_status status;
    int before = t->best, taken = 0;
    const kb_trial *rival = other->best ? &other->best->trial : &t->candidate[before].final;
    contest c = {.best = NULL};
    c.count = losses_of(t, c.found);
    t->best = KB_CANDIDATE_EQUAL;
    TRY(try_losses(ctx, t, rival, 1, &c));
    if (c.best)
        taken = other->best ? !is_better_loss(t, rival, &c.best->trial)
                            : is_better_loss(t, &c.best->trial, rival);
    if (taken)
        take(t, c.best);
done:
    t->best = taken ? KB_CANDIDATE_EQUAL : before;
    release(ctx, &c);
    return status;
}

kb_status kb_select_loss(kb_context *ctx, kb_tuner *t) {
    kb_status status = KB_OK;
    int first = t->best;
    contest c = {.best = NULL};
    c.count = losses_of(t, c.found);
    if ((!t->rows.first.class_of && !kb_config_is_of_numbers(t->given)) ||
        kb_config_is_l1(t->given) || c.count == 0 || is_too_late(t))
        goto done;
    TRY(try_losses(ctx, t, &t->candidate[t->best].final, 0, &c));
    if (may_be_equal(t))
        TRY(try_equal(ctx, t, &c));
    if (c.best && t->best == first)
        take(t, c.best);
done:
    release(ctx, &c);
    return status;
}
