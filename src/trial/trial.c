/* trial.c - see trial.h. */
#include "trial/trial.h"
#include "trial/rules.h"
#include "trial/smooth_error.h"

#include <math.h>

enum {
    LAMBDAS = sizeof KB_RULE_LAMBDAS / sizeof *KB_RULE_LAMBDAS,
    LENGTHS = sizeof KB_RULE_STEPS / sizeof *KB_RULE_STEPS
};

/* ---- scores ------------------------------------------------------------ */

void kb_trial_release(kb_context *ctx, kb_trial *t) {
    kb_release(ctx, t->each);
    t->each = t->miss = t->each_across = NULL;
}

void kb_trial_move(kb_context *ctx, kb_trial *from, kb_trial *to) {
    kb_trial_release(ctx, to);
    *to = *from;
    from->each = from->miss = from->each_across = NULL;
}

kb_status kb_trial_carry(kb_parcel *p, kb_trial *t) {
    kb_status status;
    int scored = t->each != NULL;
    kb_trial numbers = *t;
    numbers.each = numbers.miss = numbers.each_across = NULL;
    TRY(kb_parcel_carry(p, &numbers, sizeof numbers));
    TRY(kb_parcel_carry(p, &scored, sizeof scored));
    if (p->reads) {
        kb_trial_release(p->ctx, t);
        *t = numbers;
        if (!scored)
            goto done;
        TRY(kb_alloc(p->ctx, 3 * t->held, sizeof *t->each, &t->each)); /* as kb_trial_score does */
        t->miss = t->each + t->held;
        t->each_across = t->miss + t->held;
    }
    if (scored)
        TRY(kb_parcel_carry(p, t->each, 3 * t->held * sizeof *t->each));
done:
    return status;
}

static kb_gain gain_of(size_t held, const double *a, const double *b) {
    double sum = 0, squares = 0, n = (double)held;
    for (size_t h = 0; h < held; h++) {
        double less = b[h] - a[h];
        sum += less;
        squares += less * less;
    }
    return (kb_gain){sum / n, sqrt(fmax(squares - sum * sum / n, 0)) / n};
}

kb_gain kb_trial_gain(const kb_trial *a, const kb_trial *b) {
    return gain_of(a->held, a->each, b->each);
}

kb_gain kb_trial_fewer_errors(const kb_trial *a, const kb_trial *b) {
    return gain_of(a->held, a->miss, b->miss);
}

kb_gain kb_trial_gain_across(const kb_trial *a, const kb_trial *b) {
    return gain_of(a->held, a->each_across, b->each_across);
}

static size_t fitted_rows(const kb_subsample *s) {
    size_t count = 0;
    for (size_t i = 0; i < s->x->rows; i++)
        count += (size_t)kb_folds_fits(&s->folds, i, 0);
    return count;
}

static void score_across(const kb_subsample *sample, const uint32_t *row, const double *f,
                         kb_trial *t) {
    const double errors = KB_RULE_SCORE_ERROR_WEIGHT;
    int smooth = kb_subsample_counts_errors(sample);
    double sum = 0;
    if (smooth)
        kb_smooth_errors(sample, t->held, row, f, t->each_across);
    for (size_t h = 0; h < t->held; h++) {
        t->each_across[h] =
            smooth ? errors * t->miss[h] + (1 - errors) * t->each_across[h] : t->each[h];
        sum += t->each_across[h];
    }
    t->across = sum / (double)t->held;
}

kb_status kb_trial_score(kb_context *ctx, const kb_subsample *sample, size_t held,
                         const uint32_t *row, const double *f, kb_trial *t) {
    kb_status status;
    double square;
    kb_metric_room room;
    TRY(kb_metric_room_build(ctx, sample->metric, held, sample->C, &room));
    TRY(kb_alloc(ctx, 3 * held, sizeof *t->each, &t->each)); /* all parts in one array */
    t->miss = t->each + held;
    t->each_across = t->miss + held;
    t->held = held;
    t->fitted = fitted_rows(sample);
    t->score =
        kb_subsample_score(sample, &room, held, row, f, &t->error, &square, t->each, t->miss);
    score_across(sample, row, f, t);
done:
    kb_metric_room_release(ctx, &room);
    return status;
}

/* The best lambda for the steps taken so far. */
static kb_status try_lambdas(kb_context *ctx, const kb_subsample *sample,
                             const kb_metric_room *room, kb_lanczos *l, double *f, kb_trial *best) {
    kb_status status = KB_OK;
    best->steps = l->steps;
    best->score = best->square = best->error = INFINITY;
    best->lambda = best->given_lambda > 0 ? best->given_lambda : KB_RULE_LAMBDAS[LAMBDAS - 1];
    for (size_t i = LAMBDAS; i-- > 0;) {
        double error, square, score;
        if (best->given_lambda > 0 && i > 0)
            continue;
        double lambda = best->given_lambda > 0 ? best->given_lambda : KB_RULE_LAMBDAS[i];
        TRY(kb_lanczos_decide(ctx, l, l->steps, lambda, f));
        score = kb_subsample_score(sample, room, l->held, l->row, f, &error, &square, NULL, NULL);
        best->square = fmin(best->square, square);
        if (score < best->score) {
            best->score = score;
            best->error = error;
            best->lambda = lambda;
        }
    }
done:
    return status;
}

static double score_of_means(const kb_subsample *sample, const kb_metric_room *room,
                             const kb_lanczos *l, double *f) {
    double error, square;
    for (size_t h = 0; h < l->held; h++)
        for (size_t c = 0; c < l->C; c++)
            f[h * l->C + c] = l->mean[sample->folds.fold[l->row[h]] * l->C + c];
    return kb_subsample_score(sample, room, l->held, l->row, f, &error, &square, NULL, NULL);
}

kb_status kb_trial_run_on(kb_context *ctx, const kb_subsample *sample, const kb_binned *drawn,
                          kb_trial *t) {
    kb_status status;
    double *f = NULL, square;
    kb_lanczos l = {.op = drawn->op,
                    .folds = &sample->folds,
                    .C = sample->C,
                    .y = sample->y,
                    .root = sample->root};
    kb_metric_room room = {0};
    TRY(kb_lanczos_begin(ctx, &l));
    TRY(kb_metric_room_build(ctx, sample->metric, l.held, l.C, &room));
    TRY(kb_alloc(ctx, l.held * l.C, sizeof(double), &f));
    t->nothing = score_of_means(sample, &room, &l, f);
    for (size_t k = 0; k < LENGTHS; k++) {
        kb_trial longer = *t;
        size_t steps = KB_RULE_STEPS[k];
        TRY(kb_lanczos_extend(ctx, &l, steps < t->max_steps ? steps : t->max_steps));
        TRY(try_lambdas(ctx, sample, &room, &l, f, &longer));
        double gain = k == 0 ? INFINITY : 1 - longer.score / t->score;
        square = k == 0 ? longer.square : t->square;
        if (!(gain > KB_RULE_STEPS_GAIN))
            break;
        *t = longer;
        t->square = square;
        if (l.steps == t->max_steps || gain < KB_RULE_STEPS_NEXT_GAIN)
            break;
    }
    TRY(kb_lanczos_decide(ctx, &l, t->steps, t->lambda, f));
    TRY(kb_trial_score(ctx, sample, l.held, l.row, f, t));
done:
    kb_metric_room_release(ctx, &room);
    kb_lanczos_release(ctx, &l);
    kb_release(ctx, f);
    return status;
}

kb_status kb_trial_run(kb_context *ctx, const kb_subsample *sample, const kb_widths *widths,
                       kb_trial *t) {
    kb_status status;
    kb_binned drawn;
    TRY(kb_subsample_bin(ctx, sample, widths, t->grids, t->seed, &drawn));
    TRY(kb_trial_run_on(ctx, sample, &drawn, t));
done:
    kb_binned_release(&drawn);
    return status;
}
