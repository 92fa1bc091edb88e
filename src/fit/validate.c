/* validate.c - see validate.h. */
#include "fit/validate.h"
#include "core/order.h"
#include "core/team.h"
#include "core/weights.h"
#include "data/folds.h"
#include "fit/out_of_fold.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

/* Fewer rows say nothing about new ones. */
enum { LEAST_ROWS = 10 };
/* Up to so many rows, and so many rows times outputs, five more fits take no time. */
enum { FEW_ROWS = 1000, FEW_CELLS = 50000, FOLDS = 5 };
/* One part: its share, and how many rows are enough. */
enum { ENOUGH_ROWS = 20000 };
static const double SHARE = 0.2;
/* So many stop rows are enough. */
enum { ENOUGH_STOP_ROWS = 2000 };

kb_holding kb_holding_of(const kb_config *config, const kb_targets *targets, size_t rows,
                         size_t stop_rows, int given) {
    int in_order = config->split == KB_SPLIT_GROUP || config->split == KB_SPLIT_TIME;
    if (given)
        return (kb_holding){0};
    if (targets->classes && config->probability == KB_PROBABILITY_ON)
        return (kb_holding){.folds = kb_least(FOLDS, rows)};
    if (config->holdout == 0 || rows < LEAST_ROWS)
        return (kb_holding){0};
    if (!in_order && rows <= FEW_ROWS && rows * targets->outputs <= FEW_CELLS)
        return (kb_holding){.folds = FOLDS};
    return stop_rows >= ENOUGH_STOP_ROWS ? (kb_holding){.stop = 1} : (kb_holding){.folds = 1};
}

kb_bytes kb_validate_bytes(size_t folds, size_t batch, size_t outputs) {
    kb_bytes sum = {.fixed = ENOUGH_ROWS * 8 * (double)(outputs + 4), .row = 1};
    if (folds > 0)
        kb_bytes_add(&sum, kb_out_of_fold_bytes(batch, outputs));
    return sum;
}

/* ---- which rows -------------------------------------------------------- */

static kb_status hold_rows(kb_context *ctx, const kb_validate_spec *s, kb_folds *out) {
    const kb_data *data = s->data;
    const kb_learner *l = s->learner;
    const kb_config *config = l->config;
    size_t N = data->rows, classes = l->targets->classes;
    if (!s->holding.stop)
        return kb_folds_build(ctx, kb_split_resolve(config->split, classes, N),
                              s->holding.folds > 1 ? s->holding.folds : 0, SHARE, ENOUGH_ROWS,
                              config->seed, N, l->targets->class_of, data->group, out);
    *out = (kb_folds){.rows = N, .folds = 1};
    kb_status status = kb_alloc(ctx, N, 1, &out->fold);
    if (status == KB_OK) {
        memset(out->fold, KB_FOLD_NONE, N);
        for (size_t h = 0; h < l->stop_rows; h++)
            out->fold[l->stop_row[h]] = 0;
    }
    return status;
}

/* Numbers, labels and weights. */
static void take_rows(const kb_learner *l, const kb_folds *folds, kb_validation *v) {
    size_t h = 0;
    for (size_t i = 0; i < folds->rows; i++) {
        v->learned += (size_t)kb_folds_fits(folds, i, 0);
        if (folds->fold[i] == KB_FOLD_NONE)
            continue;
        v->row[h] = (uint32_t)i;
        v->label[h] = v->classes ? l->targets->class_of[i] : l->targets->label[i];
        if (v->class_of)
            v->class_of[h] = l->targets->class_of[i];
        if (v->weight)
            v->weight[h] = l->weight[i];
        h++;
    }
    v->folds = folds->folds;
}

/* ---- their known bins -------------------------------------------------- */

/* Grids are shared out to the threads; counts are whole numbers, so that their order does not
 * matter. */
typedef struct counting {
    const kb_learner *l;
    const kb_folds *folds;
    const kb_validation *v;
    uint8_t *mark;      /* bins: whether a row that is learned from falls into it */
    atomic_uint *known; /* rows of v: grids with a known bin */
    size_t fold;
} counting;

static void count_grids(void *arg, size_t begin, size_t end) {
    counting *a = arg;
    const kb_binmat *z = a->l->z;
    for (size_t r = begin; r < end; r++) {
        uint8_t *mark = a->mark + z->start[r];
        memset(mark, 0, kb_binmat_bins_of(z, r));
        for (size_t i = 0; i < z->rows; i++)
            if (kb_folds_fits(a->folds, i, a->fold) && kb_weight_of(a->l->weight, i) > 0)
                mark[kb_binmat_id(z, i, r)] = 1;
        for (size_t h = 0; h < a->v->rows; h++)
            if (kb_folds_holds(a->folds, a->v->row[h], a->fold) &&
                mark[kb_binmat_id(z, a->v->row[h], r)])
                atomic_fetch_add_explicit(&a->known[h], 1, memory_order_relaxed);
    }
}

static kb_status count_known(kb_context *ctx, const kb_learner *l, const kb_folds *folds,
                             kb_validation *v) {
    kb_status status;
    counting a = {.l = l, .folds = folds, .v = v};
    TRY(kb_alloc(ctx, l->z->bins, 1, &a.mark));
    TRY(kb_zalloc(ctx, v->rows, sizeof *a.known, &a.known));
    for (a.fold = 0; a.fold < folds->folds; a.fold++)
        kb_team_for(ctx, l->z->grids, 1 + KB_WORTH_A_THREAD / l->z->rows, count_grids, &a);
    for (size_t h = 0; h < v->rows; h++)
        v->known[h] = (double)a.known[h] / (double)l->z->grids;
done:
    kb_release(ctx, a.mark);
    kb_release(ctx, (void *)a.known);
    return status;
}

/* As predict.c does for a row that misses bins. */
static void fill_in(const kb_validate_spec *s, kb_validation *v) {
    for (size_t h = 0; s->fill && v->known && h < v->rows; h++)
        for (size_t c = 0; v->known[h] > 0 && c < v->outputs; c++) {
            double *f = &v->decision[h * v->outputs + c], b = s->intercept[c];
            *f = b + (*f - b) / sqrt(v->known[h]);
        }
}

/* ---- their decisions --------------------------------------------------- */

static kb_status decide(kb_context *ctx, const kb_validate_spec *s, const kb_folds *folds,
                        kb_validation *v) {
    kb_status status;
    size_t C = v->outputs;
    double *f = NULL;
    kb_learner like = *s->learner;
    if (s->holding.stop) {
        memcpy(v->decision, like.stop_f, v->rows * C * sizeof *f);
        return KB_OK;
    }
    like.from = s->learner->to;
    like.to = 1;
    like.root = NULL;
    like.weighed = like.used = NULL;
    like.stop_f = like.stop_batch = NULL;
    TRY(kb_alloc(ctx, s->data->rows * C, sizeof *f, &f));
    TRY(kb_out_of_fold(ctx, &like, folds, f));
    for (size_t h = 0; h < v->rows; h++)
        memcpy(v->decision + h * C, f + v->row[h] * C, C * sizeof *f);
done:
    kb_release(ctx, f);
    return status;
}

kb_status kb_validate(kb_context *ctx, const kb_validate_spec *s, kb_validation *out) {
    kb_status status;
    const kb_learner *l = s->learner;
    kb_folds folds = {0};
    size_t held = 0;
    *out = (kb_validation){0};
    if (s->holding.folds == 0 && !(s->holding.stop && l->stopped))
        return KB_OK;
    status = hold_rows(ctx, s, &folds);
    if (status == KB_ERR_DATA) { /* too few rows or groups */
        status = KB_OK;
        goto done;
    }
    TRY(status);
    for (size_t i = 0; i < folds.rows; i++)
        held += folds.fold[i] != KB_FOLD_NONE;
    /* With the L1 penalty a model does not know the bins without a weight. */
    int counted = l->z && !kb_config_is_l1(l->config);
    TRY(kb_validation_create(ctx, held, l->targets->outputs, l->targets->classes, l->weight != NULL,
                             counted, out));
    take_rows(l, &folds, out);
    TRY(decide(ctx, s, &folds, out));
    if (counted)
        TRY(count_known(ctx, l, &folds, out));
    fill_in(s, out);
    for (size_t h = 0; l->config->loss == KB_LOSS_POISSON && h < held; h++)
        out->decision[h] = kb_exp_bounded(out->decision[h]);
done:
    kb_folds_release(ctx, &folds);
    return status;
}
