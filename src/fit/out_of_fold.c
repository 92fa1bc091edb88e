/*
 * out_of_fold.c - see out_of_fold.h.
 *
 * A bin that only samples of the left-out fold fall into has weight 0, like a bin that is unknown
 * to a model, so the decisions are those that new samples would get.
 */
#include "fit/out_of_fold.h"

#include "ranks/ranks.h"

#include <math.h>
#include <string.h>

/* What a fit needs in addition to the learner. */
typedef struct scratch {
    size_t batch;
    double *weight; /* N */
    double *y, *f;  /* N x batch */
    double *alpha;  /* kb_learner_length() x batch */
    double *b;      /* batch */
} scratch;

static kb_status learn_fold(kb_context *ctx, kb_learner *l, const scratch *t, const kb_folds *folds,
                            size_t fold, double *f) {
    kb_status status = KB_OK;
    size_t N = l->op->rows, outputs = l->targets->outputs;
    double until = kb_stop_at(ctx, INFINITY);
    for (size_t first = 0, C; first < outputs; first += C) {
        C = outputs - first < t->batch ? outputs - first : t->batch;
        if (isfinite(until))
            kb_stop_at(ctx,
                       kb_share_of_time(ctx, until, (double)C, (double)outputs - (double)first));
        kb_targets_fill(l->targets, N, first, C, t->y);
        memset(t->alpha, 0, kb_learner_length(l) * C * sizeof(double));
        memset(t->b, 0, C * sizeof(double));
        TRY(kb_learn(ctx, l, first, C, t->y, t->alpha, t->f, t->b));
        for (size_t i = 0; i < N; i++)
            if (kb_folds_holds(folds, i, fold))
                memcpy(f + i * outputs + first, t->f + i * C, C * sizeof(double));
    }
done:
    kb_stop_at(ctx, until);
    return status;
}

kb_bytes kb_out_of_fold_bytes(size_t batch, size_t outputs) {
    return (kb_bytes){.row = 8 * (double)(3 * batch + outputs + 1)};
}

static kb_status create(kb_context *ctx, const kb_learner *like, scratch *t) {
    kb_status status;
    size_t N = like->op->rows;
    TRY(kb_alloc(ctx, N, sizeof(double), &t->weight));
    TRY(kb_alloc(ctx, N * t->batch, sizeof(double), &t->y));
    TRY(kb_alloc(ctx, kb_learner_length(like) * t->batch, sizeof(double), &t->alpha));
    TRY(kb_alloc(ctx, N * t->batch, sizeof(double), &t->f));
    TRY(kb_alloc(ctx, t->batch, sizeof(double), &t->b));
done:
    return status;
}

kb_status kb_out_of_fold(kb_context *ctx, const kb_learner *like, const kb_folds *folds,
                         double *f) {
    kb_status status;
    size_t N = like->op->rows;
    scratch t = {.batch = kb_learner_batch(like->config, like->targets->outputs)};
    kb_learner l = {0};
    double until = kb_stop_at(ctx, INFINITY);
    TRY(kb_ranks_agree(ctx, create(ctx, like, &t)));
    for (size_t fold = 0; fold < folds->folds; fold++) {
        for (size_t i = 0; i < N; i++)
            t.weight[i] = kb_folds_fits(folds, i, fold) ? kb_weight_of(like->weight, i) : 0;
        l = *like;
        l.weight = t.weight;
        l.from = like->from + (like->to - like->from) * (double)fold / (double)folds->folds;
        l.to = like->from + (like->to - like->from) * (double)(fold + 1) / (double)folds->folds;
        TRY(kb_learner_prepare(ctx, &l));
        if (isfinite(until))
            kb_stop_at(ctx, kb_share_of_time(ctx, until, 1, (double)folds->folds - (double)fold));
        TRY(learn_fold(ctx, &l, &t, folds, fold, f));
        kb_learner_release(ctx, &l);
    }
done:
    kb_stop_at(ctx, until);
    kb_learner_release(ctx, &l);
    kb_release(ctx, t.weight);
    kb_release(ctx, t.y);
    kb_release(ctx, t.alpha);
    kb_release(ctx, t.f);
    kb_release(ctx, t.b);
    return status;
}
