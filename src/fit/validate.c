/* validate.c - see validate.h. */
#include "fit/validate.h"
#include "core/order.h"
#include "core/team.h"
#include "core/weights.h"
#include "core/random.h"
#include "data/folds.h"
#include "deal/collect.h"
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

/* With ranks, so many rows may be dealt into folds by every rank: it needs their classes and
 * groups, 4 bytes a row each.  Beyond, a row is held out by a random number of its own. */
enum { KNOWN_ROWS = 1 << 20 };

/* The folds of all rows; *out gets those of this rank's. */
static kb_status fold_rows_of_all(kb_context *ctx, const kb_validate_spec *s, kb_folds *out) {
    kb_status status;
    const kb_data *data = s->data;
    const kb_config *config = s->learner->config;
    const uint32_t *class_of = s->learner->targets->class_of;
    size_t N = kb_rows_of_all(data), n = data->rows;
    uint32_t *stratum = NULL, *group = NULL;
    kb_folds all = {0};
    TRY(kb_collect_items(ctx, class_of, sizeof *class_of, n, &stratum));
    TRY(kb_collect_items(ctx, data->group, sizeof *data->group, n, &group));
    status = kb_folds_build(ctx, kb_split_resolve(config->split, s->learner->targets->classes, N),
                            s->holding.folds > 1 ? s->holding.folds : 0, SHARE, ENOUGH_ROWS,
                            config->seed, N, stratum, group, &all);
    *out = (kb_folds){.rows = n, .folds = all.folds, .ordered = all.ordered};
    if (status == KB_OK)
        status = kb_alloc(ctx, n, 1, &out->fold);
    if (status == KB_OK)
        memcpy(out->fold, all.fold + data->first_row, n);
    TRY(kb_ranks_agree(ctx, status));
done:
    kb_release(ctx, stratum);
    kb_release(ctx, group);
    kb_folds_release(ctx, &all);
    return status;
}

/* By a number of the row, or of its group; where the order is time, the last ones. */
static kb_status draw_rows(kb_context *ctx, const kb_validate_spec *s, kb_folds *out) {
    kb_status status;
    const kb_data *data = s->data;
    const kb_config *config = s->learner->config;
    size_t N = kb_rows_of_all(data), folds = s->holding.folds;
    double share = folds > 1 ? 1 : fmin(SHARE, ENOUGH_ROWS / (double)N);
    int by_time = config->split == KB_SPLIT_TIME;
    *out = (kb_folds){.rows = data->rows, .folds = folds, .ordered = by_time && folds > 1};
    TRY(kb_ranks_agree(ctx, kb_alloc(ctx, data->rows, 1, &out->fold)));
    for (size_t i = 0; i < data->rows; i++) {
        size_t number = data->first_row + i;
        uint64_t unit = data->group ? data->group[i] : number;
        double late = (double)number / (double)N; /* the first block of time is learned from only */
        double u = !by_time    ? kb_random_uniform(config->seed, KB_STREAM_HELD, unit, 0).u
                   : folds > 1 ? (late * (double)(folds + 1) - 1) / (double)folds
                               : 1 - (double)(number + 1) / (double)N;
        size_t k = (size_t)(u * (double)folds);
        out->fold[i] = u < 0 || u >= share ? KB_FOLD_NONE : (uint8_t)(k < folds ? k : folds - 1);
    }
done:
    return status;
}

static kb_status hold_rows(kb_context *ctx, const kb_validate_spec *s, kb_folds *out) {
    const kb_data *data = s->data;
    const kb_learner *l = s->learner;
    const kb_config *config = l->config;
    size_t N = data->rows, classes = l->targets->classes;
    if (!s->holding.stop && kb_has_ranks(ctx))
        return kb_rows_of_all(data) <= KNOWN_ROWS ? fold_rows_of_all(ctx, s, out)
                                                  : draw_rows(ctx, s, out);
    if (!s->holding.stop)
        return kb_folds_build(ctx, kb_split_resolve(config->split, classes, N),
                              s->holding.folds > 1 ? s->holding.folds : 0, SHARE, ENOUGH_ROWS,
                              config->seed, N, l->targets->class_of, data->group, out);
    *out = (kb_folds){.rows = N, .folds = 1};
    kb_status status = kb_ranks_agree(ctx, kb_alloc(ctx, N, 1, &out->fold));
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
    uint8_t *learned;   /* rows of z */
    atomic_uint *known; /* rows of v: grids with a known bin */
    int64_t *marks;     /* MARKS: some of them, on their way to other ranks */
    size_t fold;
} counting;

/* Bins whose marks are exchanged at a time. */
enum { MARKS = 1 << 16 };

static void mark_grids(void *arg, size_t begin, size_t end) {
    counting *a = arg;
    const kb_binmat *z = a->l->z;
    for (size_t r = begin; r < end; r++) {
        uint8_t *mark = a->mark + z->start[r];
        memset(mark, 0, kb_binmat_bins_of(z, r));
        for (size_t p = 0; p < z->rows; p++)
            if (a->learned[p])
                mark[kb_binmat_id_at(z, p, r)] = 1;
    }
}

/* Which rows the fold learns from, by their places. */
static void mark_rows(counting *a) {
    for (size_t i = 0; i < a->l->z->rows; i++)
        a->learned[kb_binmat_place(a->l->z, i)] =
            kb_folds_fits(a->folds, i, a->fold) && kb_weight_of(a->l->weight, i) > 0;
}

/* A bin is marked if it is on any rank. */
static kb_status join_marks(kb_context *ctx, counting *a) {
    size_t bins = a->l->z->bins;
    if (kb_rank_count(ctx) == 1)
        return KB_OK;
    for (size_t done = 0, n; done < bins; done += n) {
        n = kb_least(bins - done, MARKS);
        for (size_t b = 0; b < n; b++)
            a->marks[b] = a->mark[done + b];
        kb_status status = kb_ranks_sum(ctx, a->marks, n);
        if (status != KB_OK)
            return status;
        for (size_t b = 0; b < n; b++)
            a->mark[done + b] = a->marks[b] > 0;
    }
    return KB_OK;
}

static void count_grids(void *arg, size_t begin, size_t end) {
    counting *a = arg;
    const kb_binmat *z = a->l->z;
    for (size_t r = begin; r < end; r++) {
        uint8_t *mark = a->mark + z->start[r];
        for (size_t h = 0; h < a->v->rows; h++)
            if (kb_folds_holds(a->folds, a->v->row[h], a->fold) &&
                mark[kb_binmat_id(z, a->v->row[h], r)])
                atomic_fetch_add_explicit(&a->known[h], 1, memory_order_relaxed);
    }
}

/* The same where the bin numbers are. */
static kb_status count_elsewhere(kb_context *ctx, const kb_learner *l, const kb_folds *folds,
                                 kb_validation *v, int *done) {
    kb_status status;
    const kb_binmat *z = l->z;
    uint8_t *fits = NULL;
    uint32_t *row = NULL, *place = NULL, *known = NULL;
    TRY(kb_alloc(ctx, z->rows, 1, &fits));
    TRY(kb_alloc(ctx, v->rows, sizeof *row, &row));
    TRY(kb_alloc(ctx, v->rows, sizeof *place, &place));
    TRY(kb_alloc(ctx, v->rows, sizeof *known, &known));
    *done = 1;
    for (size_t fold = 0; *done && fold < folds->folds; fold++) {
        size_t count = 0;
        for (size_t i = 0; i < z->rows; i++)
            fits[kb_binmat_place(z, i)] =
                kb_folds_fits(folds, i, fold) && kb_weight_of(l->weight, i) > 0;
        for (size_t h = 0; h < v->rows; h++)
            if (kb_folds_holds(folds, v->row[h], fold)) {
                place[count] = (uint32_t)h;
                row[count++] = (uint32_t)kb_binmat_place(z, v->row[h]);
            }
        TRY(z->elsewhere->count_known(ctx, z->there, fits, count, row, known, done));
        for (size_t k = 0; *done && k < count; k++)
            v->known[place[k]] = (double)known[k] / (double)z->grids;
    }
done:
    kb_release(ctx, fits);
    kb_release(ctx, row);
    kb_release(ctx, place);
    kb_release(ctx, known);
    return status;
}

static kb_status count_known(kb_context *ctx, const kb_learner *l, const kb_folds *folds,
                             kb_validation *v) {
    kb_status status;
    size_t grids = l->z->grids, least = 1 + KB_WORTH_A_THREAD / (l->z->rows + 1);
    counting a = {.l = l, .folds = folds, .v = v};
    if (l->z->elsewhere) {
        int done = 0;
        status = count_elsewhere(ctx, l, folds, v, &done);
        if (status != KB_OK || done)
            return status;
    }
    TRY(kb_binmat_fetch(ctx, l->z));
    status = kb_alloc(ctx, l->z->bins, 1, &a.mark);
    if (status == KB_OK)
        status = kb_alloc(ctx, l->z->rows, 1, &a.learned);
    if (status == KB_OK)
        status = kb_zalloc(ctx, v->rows, sizeof *a.known, &a.known);
    if (status == KB_OK)
        status = kb_alloc(ctx, MARKS, sizeof *a.marks, &a.marks);
    TRY(kb_ranks_agree(ctx, status));
    for (a.fold = 0; a.fold < folds->folds; a.fold++) {
        mark_rows(&a);
        kb_team_for(ctx, grids, least, mark_grids, &a);
        TRY(join_marks(ctx, &a));
        kb_team_for(ctx, grids, least, count_grids, &a);
    }
    for (size_t h = 0; h < v->rows; h++)
        v->known[h] = (double)a.known[h] / (double)l->z->grids;
done:
    kb_release(ctx, a.mark);
    kb_release(ctx, a.learned);
    kb_release(ctx, a.marks);
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
    TRY(kb_ranks_agree(ctx, kb_alloc(ctx, s->data->rows * C, sizeof *f, &f)));
    TRY(kb_out_of_fold(ctx, &like, folds, f));
    for (size_t h = 0; h < v->rows; h++)
        memcpy(v->decision + h * C, f + v->row[h] * C, C * sizeof *f);
done:
    kb_release(ctx, f);
    return status;
}

/* ---- of all ranks ------------------------------------------------------ */

/* An array of the record becomes that of all ranks. */
static kb_status widen(kb_context *ctx, size_t size, size_t rows, void *inout) {
    void *old, *all;
    memcpy(&old, inout, sizeof old);
    kb_status status = kb_collect_items(ctx, old, size, rows, &all);
    if (status != KB_OK)
        return status;
    kb_release(ctx, old);
    memcpy(inout, &all, sizeof all);
    return KB_OK;
}

/* The rows held out by all ranks, in their order, with their numbers among all. */
static kb_status join_records(kb_context *ctx, const kb_data *data, kb_validation *v) {
    kb_status status;
    int64_t sum[2] = {(int64_t)v->rows, (int64_t)v->learned};
    for (size_t h = 0; h < v->rows; h++)
        v->row[h] += (uint32_t)data->first_row;
    TRY(kb_ranks_sum(ctx, sum, 2));
    TRY(widen(ctx, sizeof *v->row, v->rows, &v->row));
    TRY(widen(ctx, v->outputs * sizeof *v->decision, v->rows, &v->decision));
    TRY(widen(ctx, sizeof *v->label, v->rows, &v->label));
    TRY(widen(ctx, sizeof *v->class_of, v->rows, &v->class_of));
    TRY(widen(ctx, sizeof *v->weight, v->rows, &v->weight));
    TRY(widen(ctx, sizeof *v->known, v->rows, &v->known));
    v->rows = (size_t)sum[0];
    v->learned = (size_t)sum[1];
done:
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
    TRY(kb_ranks_agree(ctx,
                       kb_validation_create(ctx, held, l->targets->outputs, l->targets->classes,
                                            l->weight != NULL, counted, out)));
    take_rows(l, &folds, out);
    TRY(decide(ctx, s, &folds, out));
    if (counted)
        TRY(count_known(ctx, l, &folds, out));
    fill_in(s, out);
    for (size_t h = 0; l->config->loss == KB_LOSS_POISSON && h < held; h++)
        out->decision[h] = kb_exp_bounded(out->decision[h]);
    if (kb_rank_count(ctx) > 1)
        TRY(join_records(ctx, s->data, out));
done:
    kb_folds_release(ctx, &folds);
    return status;
}
