/* sweep_trial.c - see sweep_trial.h. */
#include "trial/sweep_trial.h"
#include "core/weights.h"
#include "sweeps/sweeps.h"
#include "trial/rules.h"

#include <math.h>
#include <string.h>

/* The decisions for the validation rows after every sweep, of one batch of outputs and one fold at
 * a time. */
typedef struct history {
    const kb_subsample *sample;
    size_t held;
    uint32_t *row; /* held */
    double *f;     /* sweeps x held x C */
    size_t most, sweeps;
    /* What is being solved. */
    size_t fold, first, C;
    const double *seen; /* held x C of the batch */
} history;

static kb_status keep(kb_context *ctx, void *arg, size_t sweep, kb_watch_answer *answer) {
    history *a = arg;
    (void)ctx;
    const kb_subsample *s = a->sample;
    double *f = a->f + (sweep - 1) * a->held * s->C + a->first;
    for (size_t h = 0; h < a->held; h++)
        if (kb_folds_holds(&s->folds, a->row[h], a->fold))
            memcpy(f + h * s->C, a->seen + h * a->C, a->C * sizeof *f);
    *answer = KB_WATCH_ON;
    return KB_OK;
}

static kb_status list_held(kb_context *ctx, history *a) {
    kb_status status;
    const kb_folds *folds = &a->sample->folds;
    TRY(kb_alloc(ctx, folds->rows, sizeof *a->row, &a->row));
    for (size_t i = 0; i < folds->rows; i++)
        if (folds->fold[i] < folds->folds)
            a->row[a->held++] = (uint32_t)i;
    TRY(kb_zalloc(ctx, a->most * a->held * a->sample->C, sizeof *a->f, &a->f));
done:
    return status;
}

/* Arrays of a solve. */
typedef struct scratch {
    double *weight;        /* N */
    double *y, *f, *w, *b; /* for KB_PANEL outputs */
    double *seen;          /* held x KB_PANEL */
} scratch;

static kb_status create(kb_context *ctx, const history *a, size_t D, scratch *s) {
    kb_status status;
    size_t N = a->sample->x->rows, C = a->sample->C < KB_PANEL ? a->sample->C : KB_PANEL;
    TRY(kb_alloc(ctx, N, sizeof(double), &s->weight));
    TRY(kb_alloc(ctx, N * C, sizeof(double), &s->y));
    TRY(kb_alloc(ctx, N * C, sizeof(double), &s->f));
    TRY(kb_alloc(ctx, D * C, sizeof(double), &s->w));
    TRY(kb_alloc(ctx, C, sizeof(double), &s->b));
    TRY(kb_alloc(ctx, a->held * C, sizeof(double), &s->seen));
done:
    return status;
}

static void release(kb_context *ctx, scratch *s) {
    double *all[] = {s->weight, s->y, s->f, s->w, s->b, s->seen};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kb_release(ctx, all[i]);
}

/* The targets of a batch, and their means over the fitted rows. */
static void take_targets(const history *a, scratch *s) {
    const kb_subsample *sample = a->sample;
    size_t N = sample->x->rows;
    double total = 0;
    memset(s->b, 0, a->C * sizeof(double));
    for (size_t i = 0; i < N; i++) {
        double weight = s->weight[i];
        total += weight;
        for (size_t c = 0; c < a->C; c++) {
            s->y[i * a->C + c] = sample->y[i * sample->C + a->first + c];
            s->b[c] += weight * s->y[i * a->C + c];
        }
    }
    for (size_t c = 0; c < a->C; c++)
        s->b[c] = total > 0 ? s->b[c] / total : 0;
}

static kb_status solve(kb_context *ctx, history *a, const kb_binned *drawn, double lambda,
                       scratch *s) {
    kb_status status;
    kb_watch watch = {.rows = a->held, .row = a->row, .f = s->seen, .look = keep, .arg = a};
    a->seen = s->seen;
    take_targets(a, s);
    kb_sweeps problem = {.z = drawn->z,
                         .lambda = lambda,
                         .max_sweeps = a->most,
                         .C = a->C,
                         .y = s->y,
                         .s = s->weight,
                         .watch = &watch,
                         .w = s->w,
                         .b = s->b,
                         .f = s->f};
    TRY(kb_sweeps_run(ctx, &problem));
    size_t good = problem.sweeps - (problem.too_wide ? 1 : 0); /* the last one is not */
    good = good > 0 ? good : 1;                                /* with decisions of 0 */
    a->sweeps = good < a->sweeps ? good : a->sweeps;
done:
    return status;
}

/* The fewest sweeps whose score is lowest, but at least KB_RULE_SWEEPS_LEAST. */
static size_t best_sweep(const history *a, const kb_metric_room *room, kb_trial *t) {
    size_t first = a->sweeps < KB_RULE_SWEEPS_LEAST ? 0 : KB_RULE_SWEEPS_LEAST - 1, best = first;
    for (size_t k = first; k < a->sweeps; k++) {
        double error, square;
        double score =
            kb_subsample_score(a->sample, room, a->held, a->row, a->f + k * a->held * a->sample->C,
                               &error, &square, NULL, NULL);
        if (k > first && score >= t->score)
            continue;
        best = k;
        t->score = score;
        t->square = square;
    }
    return best;
}

kb_status kb_sweep_trial_run(kb_context *ctx, const kb_subsample *sample, const kb_binned *drawn,
                             kb_trial *t) {
    kb_status status;
    history a = {.sample = sample, .most = t->max_steps, .sweeps = t->max_steps};
    scratch s = {0};
    kb_metric_room room = {0};
    TRY(list_held(ctx, &a));
    TRY(kb_metric_room_build(ctx, sample->metric, a.held, sample->C, &room));
    TRY(create(ctx, &a, drawn->z->bins, &s));
    for (a.fold = 0; a.fold < sample->folds.folds; a.fold++) {
        for (size_t i = 0; i < sample->x->rows; i++)
            s.weight[i] =
                kb_folds_fits(&sample->folds, i, a.fold) ? kb_weight_of(sample->weight, i) : 0;
        for (a.first = 0; a.first < sample->C; a.first += a.C) {
            size_t rest = sample->C - a.first;
            a.C = rest < KB_PANEL ? rest : KB_PANEL;
            TRY(solve(ctx, &a, drawn, t->given_lambda, &s));
        }
    }
    size_t best = best_sweep(&a, &room, t);
    t->lambda = t->given_lambda;
    t->steps = best + 1;
    t->sweeps = 1;
    TRY(kb_trial_score(ctx, sample, a.held, a.row, a.f + best * a.held * sample->C, t));
done:
    kb_metric_room_release(ctx, &room);
    release(ctx, &s);
    kb_release(ctx, a.row);
    kb_release(ctx, a.f);
    return status;
}
