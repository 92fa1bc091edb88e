/* final_trial.c - see final_trial.h. */
#include "tune/final_trial.h"
#include "core/order.h"
#include "trial/rules.h"
#include "trial/sweep_trial.h"
#include "trial/width_vectors.h"

#include <math.h>

/* The rows and grids of some trials. */
typedef struct stage {
    const kb_subsample *sample;
    size_t grids, sweeps;
} stage;

/* A trial by sweeps that may be made ahead of its turn. */
typedef struct probe {
    kb_job job;
    const stage *s;
    const kb_binned *drawn;
    kb_trial trial; /* its given_lambda is 0: not planned */
} probe;

static kb_status run_probe(kb_context *ctx, void *arg) {
    probe *p = arg;
    kb_status status = kb_sweep_trial_run(ctx, p->s->sample, p->drawn, &p->trial);
    if (status != KB_OK)
        kb_trial_release(ctx, &p->trial);
    return status;
}

static kb_status carry_probe(kb_parcel *parcel, void *arg) {
    return kb_trial_carry(parcel, &((probe *)arg)->trial);
}

static void plan(probe *p, const stage *s, const kb_binned *drawn, double lambda) {
    if (p->trial.given_lambda > 0)
        return;
    *p = (probe){
        .job = {.run = run_probe, .arg = p, .carry = carry_probe},
        .s = s,
        .drawn = drawn,
        .trial = {.grids = s->grids, .max_steps = s->sweeps, .given_lambda = lambda},
    };
}

/* *moved: whether it is the best so far; it is then moved to *best. */
static kb_status take(kb_context *ctx, kb_tuner *t, const kb_candidate *c, probe *p, kb_trial *best,
                      int *moved) {
    kb_status status;
    TRY(kb_job_take(ctx, &p->job));
    TRY(kb_tuner_note(ctx, t, c, "square", &p->trial));
    *moved = !best->each || p->trial.score < (1 - KB_RULE_SWEEPS_LAMBDA_GAIN) * best->score;
    if (*moved)
        kb_trial_move(ctx, &p->trial, best);
done:
    return status;
}

/* One lambda by sweeps. */
static kb_status try_lambda(kb_context *ctx, kb_tuner *t, const stage *s, kb_candidate *c,
                            double lambda, kb_trial *best, int *moved) {
    probe p = {0};
    plan(&p, s, &c->drawn, lambda);
    kb_status status = take(ctx, t, c, &p, best, moved);
    kb_trial_release(ctx, &p.trial);
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
           kb_rows_of_all(t->rows.data) <= KB_RULE_SWEEPS_CG_ROWS;
}

/* Lambdas are KB_RULE_LAMBDAS: the place of the one that is nearest to x. */
static size_t place_of(double x) {
    size_t best = 0;
    for (size_t k = 0; k < sizeof KB_RULE_LAMBDAS / sizeof *KB_RULE_LAMBDAS; k++)
        if (fabs(log(KB_RULE_LAMBDAS[k] / x)) < fabs(log(KB_RULE_LAMBDAS[best] / x)))
            best = k;
    return best;
}

enum { LAMBDAS = sizeof KB_RULE_LAMBDAS / sizeof *KB_RULE_LAMBDAS };

/* The trials of a search for lambda, by their place in KB_RULE_LAMBDAS. */
typedef struct lambdas {
    const stage *s;
    const kb_candidate *c;
    size_t least, abreast;
    probe at[LAMBDAS];
} lambdas;

/* Makes the trials of these places ahead, where there are such. */
static kb_status go_ahead(kb_context *ctx, lambdas *l, size_t first, size_t second, size_t third) {
    size_t place[] = {first, second, third};
    kb_job *job[3] = {NULL};
    for (size_t k = 0; k < 3 && k < l->abreast; k++)
        if (place[k] >= l->least && place[k] < LAMBDAS) {
            probe *p = &l->at[place[k]];
            plan(p, l->s, &l->c->drawn, KB_RULE_LAMBDAS[place[k]]);
            job[k] = &p->job;
        }
    return kb_jobs_ahead(ctx, KB_RULE_THREADS_A_TRIAL, 3, job);
}

/* Larger lambdas first, and smaller ones if those do not help. */
static kb_status search_places(kb_context *ctx, kb_tuner *t, lambdas *l, size_t first,
                               kb_trial *best) {
    kb_status status;
    int moved;
    TRY(go_ahead(ctx, l, first, first + 1, first - 1));
    plan(&l->at[first], l->s, &l->c->drawn, KB_RULE_LAMBDAS[first]);
    TRY(take(ctx, t, l->c, &l->at[first], best, &moved));
    for (int down = 0; down < 2; down++) {
        size_t at = first;
        moved = 1;
        for (int k = 0; k < KB_RULE_SWEEPS_MOVES && moved && at != (down ? l->least : LAMBDAS - 1);
             k++) {
            at = down ? at - 1 : at + 1;
            plan(&l->at[at], l->s, &l->c->drawn, KB_RULE_LAMBDAS[at]);
            if (!l->at[at].job.done)
                TRY(go_ahead(ctx, l, at, down ? at - 1 : at + 1, LAMBDAS));
            TRY(take(ctx, t, l->c, &l->at[at], best, &moved));
        }
        if (best->lambda != KB_RULE_LAMBDAS[first])
            break;
    }
done:
    return status;
}

static kb_status search_lambda(kb_context *ctx, kb_tuner *t, const stage *s, kb_candidate *c,
                               kb_trial *best) {
    int moved;
    if (t->given_lambda > 0)
        return try_lambda(ctx, t, s, c, t->given_lambda, best, &moved);
    lambdas l = {.s = s,
                 .c = c,
                 .least = place_of(KB_RULE_SWEEPS_LAMBDA_LEAST),
                 .abreast = kb_trial_rows_abreast(&t->rows, s->sample, s->grids)};
    size_t first = place_of(c->search.lambda > 0 ? c->search.lambda : 0.1);
    kb_status status = search_places(ctx, t, &l, first < l.least ? l.least : first, best);
    for (size_t k = 0; k < LAMBDAS; k++)
        kb_trial_release(ctx, &l.at[k].trial);
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

void kb_final_by_search(kb_tuner *t, kb_candidate *c, const kb_trial *like) {
    kb_trial out = {.lambda = c->search.lambda,
                    .steps = kb_trial_rows_steps(&t->rows),
                    .sweeps = may_sweep(t, c),
                    .fitted = c->search.fitted,
                    .error = c->search.error,
                    .number = c->search.number};
    if (like) {
        out.lambda = like->lambda;
        out.steps = like->steps;
        out.sweeps = like->sweeps;
        out.fitted = like->fitted;
    } else if (out.sweeps && !(t->given_lambda > 0)) {
        out.lambda = fmax(out.lambda, KB_RULE_SWEEPS_LAMBDA_LEAST);
    }
    c->final = out;
}

/* ---- more rows --------------------------------------------------------- */

static void multiply(kb_candidate *c, double by) {
    kb_widths_multiply(&c->widths, by);
    c->sigma *= by;
}

/* Logarithms of the scores of a kernel on one sample: as it is, with a smaller lambda, and with
 * narrower bins; NAN: not tried. */
typedef struct outlook {
    double as_is, smaller, narrower;
} outlook;

/* Smaller lambdas while they help, then narrower bins with the best lambda so far. */
static kb_status descend(kb_context *ctx, kb_tuner *t, const stage *s, kb_candidate *c,
                         outlook *out) {
    kb_status status;
    const double by = KB_RULE_SCALE_FACTOR;
    kb_trial best = {0};
    int moved, narrower = t->given->sigma.kind == KB_SIGMA_AUTO;
    *out = (outlook){NAN, NAN, NAN};
    TRY(bin(ctx, t, s, c));
    TRY(try_lambda(ctx, t, s, c, c->search.lambda, &best, &moved));
    while (moved && t->given_lambda <= 0 && best.lambda > KB_RULE_SWEEPS_LAMBDA_LEAST)
        TRY(try_lambda(ctx, t, s, c, best.lambda / KB_RULE_MORE_ROWS_LAMBDA_FACTOR, &best, &moved));
    while (narrower) {
        probe p = {0};
        multiply(c, 1 / by);
        TRY(bin(ctx, t, s, c));
        plan(&p, s, &c->drawn, best.lambda);
        status = take(ctx, t, c, &p, &best, &narrower);
        out->narrower = log(p.trial.score);
        kb_trial_release(ctx, &p.trial);
        TRY(status);
        if (!narrower)
            multiply(c, by);
    }
    out->as_is = log(best.score);
    kb_trial_move(ctx, &best, &c->final);
done:
    kb_binned_release(&c->drawn);
    kb_trial_release(ctx, &best);
    return status;
}

/* Two lambdas of a kernel on one sample, or the first alone if the second is 0. */
typedef struct look {
    kb_job job;
    kb_tuner side; /* with a record of its own */
    kb_tuning record;
    const stage *s;
    kb_candidate c; /* a copy of the kernel */
    double lambda, second;
    double score, second_score;
} look;

static kb_status run_look(kb_context *ctx, void *arg) {
    kb_status status;
    look *l = arg;
    kb_trial trial[2] = {{0}};
    int moved;
    l->record.count = 0;
    TRY(bin(ctx, &l->side, l->s, &l->c));
    TRY(try_lambda(ctx, &l->side, l->s, &l->c, l->lambda, &trial[0], &moved));
    l->score = log(trial[0].score);
    if (l->second > 0)
        TRY(try_lambda(ctx, &l->side, l->s, &l->c, l->second, &trial[1], &moved));
    l->second_score = l->second > 0 ? log(trial[1].score) : 0;
done:
    kb_binned_release(&l->c.drawn);
    kb_trial_release(ctx, &trial[0]);
    kb_trial_release(ctx, &trial[1]);
    return status;
}

static kb_status carry_look(kb_parcel *parcel, void *arg) {
    kb_status status;
    look *l = arg;
    TRY(kb_parcel_carry(parcel, &l->score, sizeof l->score));
    TRY(kb_parcel_carry(parcel, &l->second_score, sizeof l->second_score));
    TRY(kb_tuner_carry_record(parcel, &l->side, &l->c));
done:
    return status;
}

/* A tuner for a job, whose trials are recorded when it is taken. */
static void step_aside(const kb_tuner *t, kb_tuning *record, kb_tuner *side) {
    *record = (kb_tuning){.given = t->tuning->given, .began = t->tuning->began};
    *side = *t;
    side->tuning = record;
}

static kb_status record_trials(kb_context *ctx, kb_tuner *t, const kb_tuning *record) {
    kb_status status = KB_OK;
    for (size_t k = 0; k < record->count; k++)
        TRY(kb_tuning_note(ctx, t->tuning, &record->trial[k]));
done:
    return status;
}

static kb_status plan_look(kb_context *ctx, const kb_tuner *t, const stage *s,
                           const kb_candidate *c, double by, double lambda, double second,
                           look *l) {
    *l = (look){.job = {.run = run_look, .arg = l, .carry = carry_look},
                .s = s,
                .c = {.what = c->what, .sigma = c->sigma},
                .lambda = lambda,
                .second = second};
    step_aside(t, &l->record, &l->side);
    kb_status status = kb_widths_copy(ctx, &c->widths, &l->c.widths);
    if (status == KB_OK && by != 1)
        multiply(&l->c, by);
    return status;
}

/* What is not known yet for few rows, on[0], and all for many, side by side; the larger sample
 * first, as it takes longest. */
static kb_status look_at(kb_context *ctx, kb_tuner *t, const stage *const *s, const kb_candidate *c,
                         outlook *on) {
    kb_status status = KB_OK;
    const double lambda = c->final.lambda, smaller = lambda / KB_RULE_MORE_ROWS_LAMBDA_FACTOR;
    const double by = 1 / KB_RULE_SCALE_FACTOR;
    size_t count = isnan(on[0].narrower) ? 4 : 3;
    size_t abreast = kb_trial_rows_abreast(&t->rows, s[1]->sample, s[1]->grids);
    look all[4] = {{.job = {0}}};
    kb_job *job[] = {&all[0].job, &all[1].job, &all[2].job, &all[3].job};
    TRY(plan_look(ctx, t, s[1], c, 1, lambda, smaller, &all[0]));
    TRY(plan_look(ctx, t, s[1], c, by, lambda, 0, &all[1]));
    TRY(plan_look(ctx, t, s[0], c, 1, smaller, 0, &all[2]));
    TRY(plan_look(ctx, t, s[0], c, by, lambda, 0, &all[3]));
    TRY(kb_jobs_ahead(ctx, 1, kb_least(count, abreast), job));
    for (size_t k = 0; k < count; k++) {
        TRY(kb_job_take(ctx, job[k]));
        TRY(record_trials(ctx, t, &all[k].record));
    }
    on[1] = (outlook){all[0].score, all[0].second_score, all[1].score};
    on[0].smaller = all[2].score;
    on[0].narrower = count == 4 ? all[3].score : on[0].narrower;
done:
    for (int k = 0; k < 4; k++) {
        kb_candidate_release(ctx, &all[k].c);
        kb_release(ctx, all[k].record.trial);
    }
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

/* A kernel as all rows want it, and the logarithm of its score for them. */
typedef struct contender {
    kb_job job;
    kb_tuner side;
    kb_tuning record;
    const stage *s[2]; /* few rows and many */
    double further;
    kb_candidate *c;
    double score;
} contender;

/* Works on a copy, so that it can be done again after a failure. */
static kb_status run_contender(kb_context *ctx, void *arg) {
    kb_status status;
    contender *a = arg;
    const kb_tuner *t = &a->side;
    const kb_trial *before = a->c->final.each ? &a->c->final : &a->c->search;
    kb_candidate c = {
        .what = a->c->what, .sigma = a->c->sigma, .search = {.lambda = before->lambda}};
    outlook on[2];
    a->record.count = 0;
    TRY(kb_widths_copy(ctx, &a->c->widths, &c.widths));
    TRY(descend(ctx, &a->side, a->s[0], &c, &on[0]));
    TRY(look_at(ctx, &a->side, a->s, &c, on));
    outlook all = extrapolate(&on[0], &on[1], a->further);
    if (all.smaller < -KB_RULE_SWEEPS_LAMBDA_GAIN && t->given_lambda <= 0)
        c.final.lambda /= KB_RULE_MORE_ROWS_LAMBDA_FACTOR;
    if (all.narrower < -KB_RULE_SWEEPS_LAMBDA_GAIN && t->given->sigma.kind == KB_SIGMA_AUTO)
        multiply(&c, 1 / KB_RULE_SCALE_FACTOR);
    a->score = all.as_is + fmin(all.smaller, 0) + fmin(all.narrower, 0);
    kb_trial_move(ctx, &a->c->search, &c.search);
    kb_candidate_exchange(a->c, &c);
done:
    kb_candidate_release(ctx, &c);
    return status;
}

/* Laws of widths are those that each rank has. */
static kb_status carry_contender(kb_parcel *parcel, void *arg) {
    kb_status status;
    contender *a = arg;
    kb_candidate *c = a->c;
    TRY(kb_parcel_carry(parcel, &a->score, sizeof a->score));
    TRY(kb_parcel_carry(parcel, &c->sigma, sizeof c->sigma));
    for (size_t k = 0; k < c->widths.vectors * c->widths.features; k++)
        TRY(kb_parcel_carry(parcel, &c->widths.width[k].sigma, sizeof(double)));
    TRY(kb_trial_carry(parcel, &c->search));
    TRY(kb_trial_carry(parcel, &c->final));
    TRY(kb_tuner_carry_record(parcel, &a->side, c));
    if (parcel->reads)
        kb_binned_release(&c->drawn);
done:
    return status;
}

/* The best kernel and equal widths; the better one is t->best. */
static kb_status contend(kb_context *ctx, kb_tuner *t, const stage *few, const stage *many,
                         double further) {
    kb_status status = KB_OK;
    int which[] = {t->best, t->given->widths == KB_WIDTHS_LEARNED ? t->best : KB_CANDIDATE_EQUAL};
    size_t count = which[0] == which[1] ? 1 : 2;
    double lowest = INFINITY;
    contender a[2] = {{.job = {0}}};
    kb_job *job[2] = {NULL};
    for (size_t k = 0; k < count; k++) {
        a[k] = (contender){.job = {.run = run_contender, .arg = &a[k], .carry = carry_contender},
                           .s = {few, many},
                           .further = further,
                           .c = &t->candidate[which[k]]};
        step_aside(t, &a[k].record, &a[k].side);
        job[k] = &a[k].job;
    }
    TRY(kb_jobs_ahead(
        ctx, 1, kb_least(count, kb_trial_rows_abreast(&t->rows, many->sample, many->grids) / 2),
        job));
    for (size_t k = 0; k < count; k++) {
        TRY(kb_job_take(ctx, job[k]));
        TRY(record_trials(ctx, t, &a[k].record));
        t->best = a[k].score < lowest ? which[k] : t->best;
        lowest = fmin(lowest, a[k].score);
    }
done:
    kb_release(ctx, a[0].record.trial);
    kb_release(ctx, a[1].record.trial);
    return status;
}

kb_status kb_more_rows(kb_context *ctx, kb_tuner *t) {
    kb_status status = KB_OK;
    kb_subsample few = {0}, many = {0};
    size_t N = kb_rows_of_all(t->rows.data),
           rows = N / 2 < KB_RULE_MOST_ROWS ? N / 2 : KB_RULE_MOST_ROWS;
    if (!t->candidate[t->best].final.sweeps || N < KB_RULE_MORE_ROWS ||
        (t->given_lambda > 0 && t->given->sigma.kind != KB_SIGMA_AUTO) ||
        !t->candidate[t->best].final.each)
        return KB_OK;
    if (kb_tuning_is_late(t->tuning, KB_RULE_BUDGET_SCALE) ||
        KB_RULE_BUDGET_MORE_TRIALS *
                kb_tuner_trial_seconds(t, rows, KB_RULE_MORE_ROWS_GRIDS, KB_RULE_MORE_ROWS_SWEEPS) >
            kb_tuning_left(t->tuning, 1)) {
        kb_budget_cut(t->tuning->budget, KB_CUT_MORE_ROWS);
        return KB_OK;
    }
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
