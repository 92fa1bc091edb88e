/* tuner.c - see tuner.h. */
#include "tune/tuner.h"
#include "trial/rules.h"

#include <math.h>
#include <string.h>

void kb_candidate_release(kb_context *ctx, kb_candidate *c) {
    kb_release(ctx, c->widths.width);
    kb_trial_release(ctx, &c->search);
    kb_trial_release(ctx, &c->final);
    kb_binned_release(&c->drawn);
}

void kb_candidate_exchange(kb_candidate *a, kb_candidate *b) {
    kb_candidate c = *a;
    *a = *b;
    *b = c;
}

/* Of one row and grid, with these steps: binning is like some steps. */
static double cells_of(size_t rows, size_t grids, size_t steps) {
    return (double)rows * (double)grids * (double)(steps + KB_RULE_BUDGET_BINNING_STEPS);
}

double kb_tuner_trial_seconds(const kb_tuner *t, size_t rows, size_t grids, size_t steps) {
    return t->cell_seconds * cells_of(rows, grids, steps);
}

void kb_tuner_note_seconds(kb_tuner *t, const kb_subsample *sample, const kb_trial *trial,
                           double seconds) {
    t->cell_seconds = seconds / cells_of(sample->x->rows, trial->grids, trial->max_steps);
}

kb_status kb_tuner_within(kb_context *ctx, kb_tuner *t, double share, kb_cutback what,
                          kb_status (*stage)(kb_context *ctx, kb_tuner *t), int *cut) {
    double before = kb_cut_at(ctx, INFINITY);
    kb_cut_at(ctx, fmin(before, kb_tuning_moment(t->tuning, share)));
    kb_status status = stage(ctx, t);
    *cut = kb_take_cut(ctx, &status);
    if (*cut)
        kb_budget_cut(t->tuning->budget, what);
    kb_cut_at(ctx, before);
    return status;
}

kb_status kb_tuner_prepare(kb_context *ctx, kb_tuning *tuning, const kb_data *data, kb_tuner *t) {
    kb_status status;
    const kb_config *given = tuning->given;
    *t = (kb_tuner){.tuning = tuning,
                    .given = given,
                    .seed = given->seed,
                    .given_lambda = given->lambda,
                    .best = KB_CANDIDATE_EQUAL};
    TRY(kb_trial_rows_prepare(ctx, &tuning->plan.config, data, &t->rows));
    TRY(kb_law_build(ctx, &given->kernel, &t->law));
done:
    return status;
}

void kb_tuner_release(kb_context *ctx, kb_tuner *t) {
    kb_trial_rows_release(ctx, &t->rows);
    for (int k = 0; k < KB_CANDIDATES; k++)
        kb_candidate_release(ctx, &t->candidate[k]);
    kb_slopes_release(ctx, &t->slopes);
    kb_law_free(t->law);
}

static kb_learning_rows learning_rows(const kb_tuner *t) {
    return (kb_learning_rows){&t->rows.first, t->rows.pool, t->rows.row};
}

static int has_memory(const kb_tuner *t, double bytes) {
    return t->given->held + 2 * bytes <= (double)kb_config_memory(t->given);
}

int kb_tuner_may_slope(const kb_tuner *t) {
    const kb_config *config = t->given;
    return config->directions != 0 && t->rows.pool >= KB_RULE_DIRECTION_LEAST_ROWS &&
           t->rows.map->columns > 1 && t->rows.map->columns <= KB_RULE_DIRECTION_COLUMNS &&
           has_memory(t, kb_slopes_bytes(learning_rows(t), KB_RULE_DIRECTION_ROWS));
}

static size_t more_rows(const kb_tuner *t) {
    return t->rows.first.class_of ? KB_RULE_DIRECTION_MORE_ROWS_CLASSES
                                  : KB_RULE_DIRECTION_MORE_ROWS;
}

int kb_tuner_may_slope_more(const kb_tuner *t) {
    return t->rows.pool > KB_RULE_DIRECTION_ROWS &&
           !(KB_RULE_BUDGET_MORE_SLOPES * t->slope_seconds >
             kb_tuning_left(t->tuning, KB_RULE_BUDGET_EXTRA)) &&
           has_memory(t, kb_slopes_bytes(learning_rows(t), more_rows(t)));
}

static kb_status slope(kb_context *ctx, kb_tuner *t, size_t rows) {
    double began = kb_clock_now(&t->tuning->clock);
    kb_slopes_release(ctx, &t->slopes);
    kb_status status = kb_slopes_learn(ctx, learning_rows(t), rows, t->seed, &t->slopes);
    if (status != KB_OK)
        kb_slopes_release(ctx, &t->slopes);
    t->slope_seconds = kb_clock_now(&t->tuning->clock) - began;
    return status;
}

kb_status kb_tuner_slope(kb_context *ctx, kb_tuner *t) {
    if (t->slopes.columns == t->rows.first.x->features)
        return KB_OK;
    return slope(ctx, t, KB_RULE_DIRECTION_ROWS);
}

kb_status kb_tuner_slope_more(kb_context *ctx, kb_tuner *t) {
    return slope(ctx, t, more_rows(t));
}

/* The same widths are tried without and with levels and mixtures: they get different names. */
#define NAMES(what)                                                                                \
    {                                                                                              \
        what, what ", linear", what ", directions", what ", levels", what ", levels, linear",      \
            what ", levels, directions"                                                            \
    }
static const char *name_of(const kb_tuner *t, const kb_candidate *c) {
    static const char *const name[][6] = {
        NAMES("equal"),
        NAMES("learned"),
        NAMES("learned and equal"),
        NAMES("learned and screened"),
        NAMES("learned, sparse"),
        NAMES("learned, both"),
        NAMES("screened"),
        NAMES("by slopes"),
        NAMES("learned and by slopes"),
    };
    const kb_map *map = t->rows.map;
    int mixed = kb_map_mixtures(map) > kb_map_linear(map) ? 2 : kb_map_mixtures(map) > 0;
    int extra = mixed + 3 * (kb_map_levels(map) > 0);
    for (size_t i = 0; extra && i < sizeof name / sizeof *name; i++)
        if (strcmp(c->what, name[i][0]) == 0)
            return name[i][extra];
    return c->what;
}

kb_status kb_tuner_note(kb_context *ctx, kb_tuner *t, const kb_candidate *c, const char *loss,
                        kb_trial *trial) {
    kb_trial_info tried = {.widths = name_of(t, c),
                           .loss = loss,
                           .sigma = c->sigma,
                           .lambda = trial->lambda,
                           .grids = trial->grids,
                           .steps = trial->steps,
                           .error = trial->error};
    trial->number = t->tuning->count;
    return kb_tuning_note(ctx, t->tuning, &tried);
}

kb_status kb_tuner_try_on(kb_context *ctx, kb_tuner *t, const kb_subsample *sample, kb_candidate *c,
                          size_t grids, size_t steps, kb_binned *drawn, kb_trial *out) {
    kb_status status;
    kb_trial trial = {.grids = grids,
                      .max_steps = steps,
                      .seed = t->seed + KB_RULE_TRIAL_SEED,
                      .given_lambda = t->given_lambda};
    TRY(kb_subsample_bin(ctx, sample, &c->widths, grids, trial.seed, drawn));
    TRY(kb_trial_run_on(ctx, sample, drawn, &trial));
    TRY(kb_tuner_note(ctx, t, c, "square", &trial));
    kb_trial_move(ctx, &trial, out);
done:
    kb_trial_release(ctx, &trial);
    return status;
}

kb_status kb_tuner_try(kb_context *ctx, kb_tuner *t, const kb_subsample *sample, kb_candidate *c,
                       size_t grids, size_t steps, kb_trial *out) {
    kb_binned drawn = {0};
    kb_status status = kb_tuner_try_on(ctx, t, sample, c, grids, steps, &drawn, out);
    kb_binned_release(&drawn);
    return status;
}

kb_status kb_tuner_carry_record(kb_parcel *parcel, const kb_tuner *t, const kb_candidate *c) {
    kb_status status;
    kb_tuning *record = t->tuning;
    size_t count = record->count;
    TRY(kb_parcel_carry(parcel, &count, sizeof count));
    if (parcel->reads)
        TRY(kb_reserve(parcel->ctx, count, sizeof *record->trial, &record->room, &record->trial));
    record->count = count;
    TRY(kb_parcel_carry(parcel, record->trial, count * sizeof *record->trial));
    for (size_t k = 0; k < count; k++) { /* pointers do not travel */
        record->trial[k].widths = name_of(t, c);
        record->trial[k].loss = "square";
    }
done:
    return status;
}

static kb_status run_probe(kb_context *ctx, void *arg) {
    kb_probe *p = arg;
    double began = kb_now(ctx);
    kb_status status = kb_trial_run(ctx, p->sample, &p->widths, &p->trial);
    p->seconds = kb_now(ctx) - began;
    if (status != KB_OK)
        kb_trial_release(ctx, &p->trial);
    return status;
}

static kb_status carry_probe(kb_parcel *parcel, void *arg) {
    kb_probe *p = arg;
    kb_status status = kb_parcel_carry(parcel, &p->seconds, sizeof p->seconds);
    return status == KB_OK ? kb_trial_carry(parcel, &p->trial) : status;
}

void kb_probe_plan(const kb_tuner *t, const kb_subsample *sample, size_t grids, size_t steps,
                   kb_probe *out) {
    *out = (kb_probe){.job = {.run = run_probe, .arg = out, .carry = carry_probe},
                      .sample = sample,
                      .trial = {.grids = grids,
                                .max_steps = steps,
                                .seed = t->seed + KB_RULE_TRIAL_SEED,
                                .given_lambda = t->given_lambda}};
}

kb_status kb_tuner_take(kb_context *ctx, kb_tuner *t, kb_probe *p, const kb_candidate *c,
                        kb_trial *out) {
    kb_status status;
    TRY(kb_job_take(ctx, &p->job));
    kb_tuner_note_seconds(t, p->sample, &p->trial, p->seconds);
    TRY(kb_tuner_note(ctx, t, c, "square", &p->trial));
    kb_trial_move(ctx, &p->trial, out);
done:
    return status;
}

void kb_probe_release(kb_context *ctx, kb_probe *p) {
    kb_trial_release(ctx, &p->trial);
    kb_release(ctx, p->widths.width);
    p->widths.width = NULL;
}

const kb_subsample *kb_tuner_last_sample(const kb_tuner *t) {
    return t->rows.large.x ? &t->rows.large : &t->rows.first;
}

size_t kb_tuner_last_grids(const kb_tuner *t) {
    return t->rows.large.x ? KB_RULE_LARGE_GRIDS : KB_RULE_FIRST_GRIDS;
}

int kb_tuner_may_stop(const kb_tuner *t) {
    return t->given->lambda == KB_LAMBDA_AUTO ? t->given->early_stop != KB_EARLY_STOP_OFF
                                              : t->given->early_stop == KB_EARLY_STOP_ON;
}
