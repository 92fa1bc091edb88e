/* loss_trial.c - see loss_trial.h. */
#include "trial/loss_trial.h"
#include "core/fixed_math.h"
#include "solve/newton.h"
#include "solve/unit_fit.h"

#include <math.h>
#include <string.h>

/* The training rows of a fold, and the solver's memory for them. */
typedef struct part {
    size_t rows;
    uint32_t *row;
    kb_operator *op;
    double *y, *weight;
} part;

kb_status kb_loss_trial_begin(kb_context *ctx, kb_loss_trial *s) {
    kb_status status;
    TRY(kb_zalloc(ctx, s->sample->folds.folds, sizeof *s->alpha, &s->alpha));
    TRY(kb_zalloc(ctx, s->sample->folds.folds, sizeof *s->f, &s->f));
done:
    return status;
}

void kb_loss_trial_release(kb_context *ctx, kb_loss_trial *s) {
    for (size_t k = 0; s->alpha && s->f && k < s->sample->folds.folds; k++) {
        kb_release(ctx, s->alpha[k]);
        kb_release(ctx, s->f[k]);
    }
    kb_release(ctx, s->alpha);
    kb_release(ctx, s->f);
    s->alpha = s->f = NULL;
}

static void release_part(kb_context *ctx, part *p) {
    kb_operator_free(p->op);
    kb_release(ctx, p->row);
    kb_release(ctx, p->y);
    kb_release(ctx, p->weight);
}

static kb_status take_part(kb_context *ctx, const kb_loss_trial *s, size_t k, part *p) {
    kb_status status;
    const kb_subsample *sample = s->sample;
    size_t N = sample->x->rows, C = sample->C;
    TRY(kb_alloc(ctx, N, sizeof *p->row, &p->row));
    for (size_t i = 0; i < N; i++)
        if (kb_folds_fits(&sample->folds, i, k))
            p->row[p->rows++] = (uint32_t)i;
    TRY(kb_alloc(ctx, p->rows * C, sizeof *p->y, &p->y));
    for (size_t i = 0; i < p->rows; i++)
        memcpy(p->y + i * C, sample->y + p->row[i] * C, C * sizeof *p->y);
    if (sample->weight) {
        TRY(kb_alloc(ctx, p->rows, sizeof *p->weight, &p->weight));
        for (size_t i = 0; i < p->rows; i++)
            p->weight[i] = sample->weight[p->row[i]];
    }
    if (!s->drawn->op->subset)
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT, "the operator cannot be taken for some of its rows"));
    TRY(s->drawn->op->subset(s->drawn->op, ctx, p->rows, p->row, &p->op));
done:
    return status;
}

/* offset: C; of a loss of numbers, with an intercept beside it. */
static kb_status solve(kb_context *ctx, kb_loss_trial *s, size_t k, const part *p, kb_trial *t,
                       double *offset) {
    kb_status status = KB_OK;
    size_t n = p->rows * s->sample->C;
    int warm = s->f[k] != NULL;
    if (!warm) {
        TRY(kb_alloc(ctx, n, sizeof(double), &s->alpha[k]));
        TRY(kb_alloc(ctx, n, sizeof(double), &s->f[k]));
    } else if (s->redrawn) {
        TRY(p->op->apply_k(p->op, ctx, s->sample->C, s->alpha[k], s->f[k], NULL));
    }
    kb_smooth problem = {.op = p->op,
                         .loss = s->loss,
                         .lambda = t->given_lambda,
                         .tol = s->tol,
                         .max_steps = t->max_steps,
                         .warm = warm,
                         .C = s->sample->C,
                         .y = p->y,
                         .s = p->weight,
                         .alpha = s->alpha[k],
                         .f = s->f[k]};
    if (s->loss->in_units)
        problem.offset = offset;
    TRY(s->loss->in_units ? kb_unit_fit(ctx, &problem) : kb_newton(ctx, &problem));
    t->steps = problem.steps > t->steps ? problem.steps : t->steps;
done:
    return status;
}

/* Decisions for the validation rows of fold k, written to their places in `out`; alpha and f: N x
 * C, scratch. */
static kb_status decide(kb_context *ctx, const kb_loss_trial *s, size_t k, const part *p,
                        double *alpha, double *f, const double *offset, double *out) {
    kb_status status;
    const kb_subsample *sample = s->sample;
    size_t N = sample->x->rows, C = sample->C;
    memset(alpha, 0, N * C * sizeof *alpha);
    for (size_t i = 0; i < p->rows; i++)
        memcpy(alpha + p->row[i] * C, s->alpha[k] + i * C, C * sizeof *alpha);
    TRY(s->drawn->op->apply_k(s->drawn->op, ctx, C, alpha, f, NULL));
    for (size_t i = 0; i < N; i++)
        if (kb_folds_holds(&sample->folds, i, k))
            for (size_t c = 0; c < C; c++)
                out[i * C + c] = f[i * C + c] + offset[c];
done:
    return status;
}

/* 2 p - 1 of the logistic loss. */
static void to_probabilities(size_t n, double *f) {
    for (size_t i = 0; i < n; i++) {
        double e = kb_exp_minus_fixed(fabs(f[i]));
        f[i] = copysign((1 - e) / (1 + e), f[i]);
    }
}

kb_status kb_loss_trial_run(kb_context *ctx, kb_loss_trial *s, kb_trial *t) {
    kb_status status;
    const kb_subsample *sample = s->sample;
    size_t N = sample->x->rows, C = sample->C, held = 0;
    double *alpha = NULL, *f = NULL, *all = NULL;
    uint32_t *row = NULL;
    part p = {0};
    double *offset = NULL;
    kb_subsample scored = *sample;
    TRY(kb_zalloc(ctx, C, sizeof *offset, &offset));
    TRY(kb_alloc(ctx, N, sizeof *row, &row));
    TRY(kb_alloc(ctx, N * C, sizeof *alpha, &alpha));
    TRY(kb_alloc(ctx, N * C, sizeof *f, &f));
    TRY(kb_alloc(ctx, N * C, sizeof *all, &all));
    t->lambda = t->given_lambda;
    t->steps = 0;
    for (size_t k = 0; k < sample->folds.folds; k++) {
        TRY(take_part(ctx, s, k, &p));
        TRY(solve(ctx, s, k, &p, t, offset));
        TRY(decide(ctx, s, k, &p, alpha, f, offset, all));
        release_part(ctx, &p);
        p = (part){0};
    }
    for (size_t i = 0; i < N; i++) /* in the order of the rows, as in other trials */
        if (sample->folds.fold[i] < sample->folds.folds) {
            memmove(all + held * C, all + i * C, C * sizeof *f);
            row[held++] = (uint32_t)i;
        }
    s->redrawn = 0;
    if (s->loss->kind == KB_LOSS_LOGISTIC && !kb_subsample_counts_errors(sample))
        to_probabilities(held * C, all);
    if (s->loss->in_units)
        scored.metric = s->metric;
    for (size_t e = 0; s->loss->kind == KB_LOSS_POISSON && e < held * C; e++)
        all[e] = kb_exp_bounded(all[e]);
    TRY(kb_trial_score(ctx, &scored, held, row, all, t));
    t->score = t->across;
    memcpy(t->each, t->each_across, held * sizeof *t->each);
done:
    release_part(ctx, &p);
    kb_release(ctx, offset);
    kb_release(ctx, row);
    kb_release(ctx, alpha);
    kb_release(ctx, f);
    kb_release(ctx, all);
    return status;
}
