/* trial.c - see trial.h. */
#include "model/trial.h"
#include "solve/newton.h"

#include <math.h>
#include <string.h>

/* Lambdas that are tried: in half decades. */
enum { LAMBDAS = 16 };
static const double LAMBDA[LAMBDAS] = {1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2,
                                       0.1,  0.3,  1,    3,    10,   30,   100,  300};

/* Numbers of steps that are tried, up to a trial's most. */
enum { LENGTHS = 6 };
static const size_t LENGTH[LENGTHS] = {15, 25, 40, 60, 100, 150};

/* Fewer steps are taken where they are this close to the best. */
static const double AS_GOOD = 1.002;

/* A trial of another loss is solved no better than it needs to be judged. */
static const double SMOOTH_TOL = 3e-3;

/* ---- rows -------------------------------------------------------------- */

static kb_status take_numbers(kb_context *ctx, const double *from, size_t width, size_t count,
                              const uint32_t *rows, double **out) {
    kb_status status = KB_OK;
    if (!from)
        return KB_OK;
    TRY(kb_alloc(ctx, count * width, sizeof **out, out));
    for (size_t i = 0; i < count; i++)
        memcpy(*out + i * width, from + rows[i] * width, width * sizeof **out);
done:
    return status;
}

static kb_status take_labels(kb_context *ctx, const uint32_t *from, size_t count,
                             const uint32_t *rows, uint32_t **out) {
    kb_status status = KB_OK;
    if (!from)
        return KB_OK;
    TRY(kb_alloc(ctx, count, sizeof **out, out));
    for (size_t i = 0; i < count; i++)
        (*out)[i] = from[rows[i]];
done:
    return status;
}

kb_status kb_sample_take(kb_context *ctx, const kb_sample *from, size_t count, const uint32_t *rows,
                         kb_sample *out) {
    kb_status status;
    *out = (kb_sample){.C = from->C, .shift = from->shift, .scale = from->scale};
    TRY(kb_data_take(ctx, from->x, count, rows, &out->x));
    TRY(take_numbers(ctx, from->y, from->C, count, rows, &out->y));
    TRY(take_numbers(ctx, from->weight, 1, count, rows, &out->weight));
    TRY(take_numbers(ctx, from->root, 1, count, rows, &out->root));
    TRY(take_labels(ctx, from->class_of, count, rows, &out->class_of));
    TRY(take_labels(ctx, from->group, count, rows, &out->group));
done:
    return status;
}

void kb_sample_release(kb_context *ctx, kb_sample *s) {
    kb_data_free(s->x);
    kb_release(ctx, s->y);
    kb_release(ctx, s->class_of);
    kb_release(ctx, s->group);
    kb_release(ctx, s->weight);
    kb_release(ctx, s->root);
    kb_folds_release(ctx, &s->folds);
}

kb_status kb_sample_split(kb_context *ctx, kb_split_kind kind, size_t folds, double share,
                          uint64_t seed, kb_sample *s) {
    size_t N = s->x->rows, other = 1;
    while (kind == KB_SPLIT_GROUP && other < N && s->group[other] == s->group[0])
        other++;
    if ((kind == KB_SPLIT_GROUP && other >= N) ||
        (kind == KB_SPLIT_STRATIFIED && N <= (s->C > 2 ? s->C : 2)))
        kind = KB_SPLIT_RANDOM;
    return kb_folds_build(ctx, kind, folds, share, N, seed, N, s->class_of, s->group, &s->folds);
}

/* ---- grids ------------------------------------------------------------- */

kb_status kb_drawn_build(kb_context *ctx, const kb_sample *s, const kb_widths *widths, size_t grids,
                         uint64_t seed, kb_drawn *out) {
    kb_status status;
    *out = (kb_drawn){0};
    TRY(kb_grids_build(ctx, seed, grids, s->x->features, widths->vectors, widths->width,
                       &out->grids));
    kb_binning binning = {out->grids, s->shift, s->scale, NULL};
    TRY(kb_binmat_build(ctx, &binning, s->x, SIZE_MAX, 0, 0, &out->z));
    TRY(kb_operator_binmat(ctx, out->z, &out->op));
done:
    return status;
}

void kb_drawn_release(kb_drawn *d) {
    kb_operator_free(d->op);
    kb_binmat_free(d->z);
    kb_grids_free(d->grids);
    *d = (kb_drawn){0};
}

/* ---- judging ----------------------------------------------------------- */

static size_t winner(size_t C, const double *f) {
    size_t best = 0;
    if (C == 1)
        return f[0] > 0;
    for (size_t c = 1; c < C; c++)
        if (f[c] > f[best])
            best = c;
    return best;
}

double kb_sample_score(const kb_sample *s, size_t held, const uint32_t *row, const double *f,
                       double *error, double *square) {
    double wrong = 0, squares = 0, total = 0;
    size_t C = s->C;
    for (size_t h = 0; h < held; h++) {
        size_t i = row[h];
        double w = s->weight ? s->weight[i] : 1, sum = 0;
        for (size_t c = 0; c < C; c++) {
            double e = f[h * C + c] - s->y[i * C + c];
            sum += e * e;
        }
        total += w;
        squares += w * sum;
        if (s->class_of)
            wrong += winner(C, f + h * C) == s->class_of[i] ? 0 : w;
    }
    total = total > 0 ? total : 1;
    *square = squares / total;
    *error = (s->class_of ? wrong : squares) / total;
    /* The squared error of +-1 targets is 4 where a decision is as wrong as it can be. */
    return s->class_of ? (wrong + squares / (C > 1 ? 8 : 4)) / (2 * total) : *error;
}

/* The best lambda for the steps taken so far. */
static kb_status try_lambdas(kb_context *ctx, const kb_sample *sample, kb_lanczos *l, double *f,
                             kb_trial *best) {
    kb_status status = KB_OK;
    best->steps = l->steps;
    best->score = best->square = best->error = INFINITY;
    best->lambda = best->given_lambda > 0 ? best->given_lambda : LAMBDA[LAMBDAS - 1];
    for (size_t i = LAMBDAS; i-- > 0;) {
        double error, square, score;
        if (best->given_lambda > 0 && i > 0)
            continue;
        double lambda = best->given_lambda > 0 ? best->given_lambda : LAMBDA[i];
        TRY(kb_lanczos_decide(ctx, l, l->steps, lambda, f));
        score = kb_sample_score(sample, l->held, l->row, f, &error, &square);
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

kb_status kb_trial_judge(kb_context *ctx, const kb_sample *sample, const kb_drawn *drawn,
                         kb_trial *t) {
    kb_status status;
    double *f = NULL;
    kb_lanczos l = {.op = drawn->op,
                    .folds = &sample->folds,
                    .C = sample->C,
                    .y = sample->y,
                    .root = sample->root};
    TRY(kb_lanczos_begin(ctx, &l));
    TRY(kb_alloc(ctx, l.held * l.C, sizeof(double), &f));
    for (size_t k = 0; k < LENGTHS; k++) {
        kb_trial longer = *t;
        TRY(kb_lanczos_extend(ctx, &l, LENGTH[k] < t->max_steps ? LENGTH[k] : t->max_steps));
        TRY(try_lambdas(ctx, sample, &l, f, &longer));
        double square = k == 0 ? longer.square : t->square;
        if (k > 0 && longer.score * AS_GOOD >= t->score)
            break;
        *t = longer;
        t->square = square;
        if (l.steps == t->max_steps)
            break;
    }
done:
    kb_lanczos_release(ctx, &l);
    kb_release(ctx, f);
    return status;
}

kb_status kb_trial_smooth(kb_context *ctx, const kb_sample *sample, const kb_drawn *drawn,
                          const kb_loss *loss, kb_trial *t) {
    kb_status status;
    size_t N = sample->x->rows, C = sample->C, held = 0;
    double *s = NULL, *alpha = NULL, *f = NULL, square;
    uint32_t *row = NULL;
    TRY(kb_alloc(ctx, N, sizeof *s, &s));
    TRY(kb_alloc(ctx, N, sizeof *row, &row));
    TRY(kb_alloc(ctx, N * C, sizeof *alpha, &alpha));
    TRY(kb_alloc(ctx, N * C, sizeof *f, &f));
    for (size_t i = 0; i < N; i++) {
        s[i] = !kb_folds_fits(&sample->folds, i, 0) ? 0 : sample->weight ? sample->weight[i] : 1;
        if (kb_folds_holds(&sample->folds, i, 0))
            row[held++] = (uint32_t)i;
    }
    kb_smooth problem = {.op = drawn->op,
                         .loss = loss,
                         .lambda = t->given_lambda,
                         .tol = SMOOTH_TOL,
                         .max_steps = t->max_steps,
                         .C = C,
                         .y = sample->y,
                         .s = s,
                         .alpha = alpha,
                         .f = f};
    TRY(kb_newton(ctx, &problem));
    for (size_t h = 0; h < held; h++)
        memmove(f + h * C, f + row[h] * C, C * sizeof *f);
    t->score = kb_sample_score(sample, held, row, f, &t->error, &square);
    t->lambda = t->given_lambda;
    t->steps = problem.steps;
done:
    kb_release(ctx, s);
    kb_release(ctx, row);
    kb_release(ctx, alpha);
    kb_release(ctx, f);
    return status;
}

kb_status kb_trial_run(kb_context *ctx, const kb_sample *sample, const kb_widths *widths,
                       kb_trial *t) {
    kb_status status;
    kb_drawn drawn;
    TRY(kb_drawn_build(ctx, sample, widths, t->grids, t->seed, &drawn));
    TRY(kb_trial_judge(ctx, sample, &drawn, t));
done:
    kb_drawn_release(&drawn);
    return status;
}
