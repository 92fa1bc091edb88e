/* subsample.c - see subsample.h. */
#include "trial/subsample.h"
#include "core/order.h"
#include "fit/sample_weights.h"
#include "model/model.h"
#include "trial/light_binmat.h"
#include "trial/rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void kb_subsample_release(kb_context *ctx, kb_subsample *s) {
    kb_data_free(s->x);
    kb_release(ctx, s->y);
    kb_release(ctx, s->class_of);
    kb_release(ctx, s->group);
    kb_release(ctx, s->weight);
    kb_release(ctx, s->root);
    kb_folds_release(ctx, &s->folds);
    *s = (kb_subsample){0};
}

/* ---- from all rows ----------------------------------------------------- */

size_t kb_subsample_pick(const kb_folds *folds, uint64_t seed, int held, size_t most,
                         uint32_t *rows) {
    size_t all = 0, taken = 0;
    for (size_t i = 0; i < folds->rows; i++)
        all += (folds->fold[i] != KB_FOLD_NONE) == held;
    for (size_t i = 0; i < folds->rows; i++) {
        if ((folds->fold[i] != KB_FOLD_NONE) != held)
            continue;
        double u = kb_random_uniform(seed, KB_STREAM_TUNE_ROW, UINT64_MAX, (uint32_t)i).u;
        if (u * (double)all < (double)(most - taken))
            rows[taken++] = (uint32_t)i;
        all--;
    }
    return taken;
}

static kb_status take_targets(kb_context *ctx, const kb_subsample_source *from, size_t count,
                              const uint32_t *rows, kb_subsample *s) {
    kb_status status;
    size_t C = from->targets->outputs;
    double *y = NULL;
    s->C = C;
    TRY(kb_alloc(ctx, count * C, sizeof *s->y, &s->y));
    TRY(kb_alloc(ctx, from->data->rows, sizeof *y, &y));
    for (size_t c = 0; c < C; c++) {
        kb_targets_fill(from->targets, from->data->rows, c, 1, y);
        for (size_t i = 0; i < count; i++)
            s->y[i * C + c] = y[rows[i]];
    }
    if (from->targets->classes)
        TRY(kb_take_items(ctx, from->targets->class_of, sizeof(uint32_t), count, rows,
                          &s->class_of));
done:
    kb_release(ctx, y);
    return status;
}

static kb_status take_weights(kb_context *ctx, const kb_subsample_source *from, size_t count,
                              const uint32_t *rows, kb_subsample *s) {
    kb_status status;
    double *weight = NULL;
    TRY(kb_sample_weights_build(ctx, from->config, from->data, from->targets, &weight));
    if (!weight)
        goto done;
    TRY(kb_take_items(ctx, weight, sizeof(double), count, rows, &s->weight));
    TRY(kb_alloc(ctx, count, sizeof *s->root, &s->root));
    for (size_t i = 0; i < count; i++)
        s->root[i] = sqrt(s->weight[i]);
done:
    kb_release(ctx, weight);
    return status;
}

static kb_status take_folds(kb_context *ctx, const kb_folds *from, size_t count,
                            const uint32_t *rows, kb_folds *out) {
    kb_status status;
    *out = (kb_folds){.rows = count, .folds = from->folds, .ordered = from->ordered};
    TRY(kb_alloc(ctx, count, 1, &out->fold));
    for (size_t i = 0; i < count; i++)
        out->fold[i] = from->fold[rows[i]];
done:
    return status;
}

kb_status kb_subsample_draw(kb_context *ctx, const kb_subsample_source *from, size_t held,
                            size_t others, kb_subsample *out) {
    kb_status status;
    uint32_t *rows = NULL;
    kb_data *some = NULL;
    *out = (kb_subsample){.shift = from->map->shift, .scale = from->map->scale};
    TRY(kb_alloc(ctx, from->data->rows, sizeof *rows, &rows));
    size_t count = kb_subsample_pick(from->folds, from->seed, 1, held, rows);
    count += kb_subsample_pick(from->folds, from->seed, 0, others, rows + count);
    qsort(rows, count, sizeof *rows, kb_compare_uint32);
    TRY(kb_data_take(ctx, from->data, count, rows, &some));
    if (from->map->transform) {
        TRY(kb_transform_apply(ctx, from->map->transform, some, &out->x));
    } else {
        out->x = some;
        some = NULL;
    }
    TRY(take_targets(ctx, from, count, rows, out));
    TRY(take_weights(ctx, from, count, rows, out));
    TRY(kb_take_items(ctx, from->data->group, sizeof(uint32_t), count, rows, &out->group));
    TRY(take_folds(ctx, from->folds, count, rows, &out->folds));
    out->metric =
        kb_metric_of_kernel(from->config->metric, from->targets->classes > 0, from->config->loss);
    out->quantile = from->config->quantile;
done:
    kb_data_free(some);
    kb_release(ctx, rows);
    return status;
}

/* ---- from another sample ----------------------------------------------- */

kb_status kb_subsample_take(kb_context *ctx, const kb_subsample *from, size_t count,
                            const uint32_t *rows, kb_subsample *out) {
    kb_status status;
    *out = (kb_subsample){.C = from->C,
                          .shift = from->shift,
                          .scale = from->scale,
                          .metric = from->metric,
                          .quantile = from->quantile};
    TRY(kb_data_take(ctx, from->x, count, rows, &out->x));
    TRY(kb_take_items(ctx, from->y, from->C * sizeof(double), count, rows, &out->y));
    TRY(kb_take_items(ctx, from->weight, sizeof(double), count, rows, &out->weight));
    TRY(kb_take_items(ctx, from->root, sizeof(double), count, rows, &out->root));
    TRY(kb_take_items(ctx, from->class_of, sizeof(uint32_t), count, rows, &out->class_of));
    TRY(kb_take_items(ctx, from->group, sizeof(uint32_t), count, rows, &out->group));
done:
    return status;
}

kb_status kb_subsample_split(kb_context *ctx, kb_split_kind kind, size_t folds, double share,
                             uint64_t seed, kb_subsample *s) {
    size_t N = s->x->rows, other = 1;
    while (kind == KB_SPLIT_GROUP && other < N && s->group[other] == s->group[0])
        other++;
    if ((kind == KB_SPLIT_GROUP && other >= N) ||
        (kind == KB_SPLIT_STRATIFIED && N <= (s->C > 2 ? s->C : 2)))
        kind = KB_SPLIT_RANDOM;
    return kb_folds_build(ctx, kind, folds, share, N, seed, N, s->class_of, s->group, &s->folds);
}

kb_status kb_subsample_bin(kb_context *ctx, const kb_subsample *s, const kb_widths *widths,
                           size_t grids, uint64_t seed, kb_binned *out) {
    kb_binned_spec spec = {.shift = s->shift,
                           .scale = s->scale,
                           .widths = widths,
                           .seed = seed,
                           .count = grids,
                           .R = grids,
                           .bin = s->x->rows >= KB_MANY_ROWS ? kb_binmat_build_ordered : NULL};
    return kb_light_binned_build(ctx, &spec, s->x, out);
}

/* ---- scores ------------------------------------------------------------ */

static double score_by_metric(const kb_subsample *s, const kb_metric_room *room, size_t held,
                              const uint32_t *row, const double *f, double *each) {
    kb_metric_rows x = {s->metric, held, s->C, row, s->y, s->class_of, s->weight, s->quantile, f};
    double score = kb_metric_terms(&x, room);
    for (size_t h = 0; each && h < held; h++)
        each[h] = (double)held * room->term[h];
    return score;
}

double kb_subsample_score(const kb_subsample *s, const kb_metric_room *room, size_t held,
                          const uint32_t *row, const double *f, double *error, double *square,
                          double *each, double *miss) {
    double wrong = 0, squares = 0, total = 0;
    size_t C = s->C;
    double unit = KB_RULE_SCORE_SQUARE_UNIT(C);
    const double errors = KB_RULE_SCORE_ERROR_WEIGHT;
    for (size_t h = 0; h < held; h++) {
        size_t i = row[h];
        double w = kb_weight_of(s->weight, i), sum = 0, bad = 0;
        for (size_t c = 0; c < C; c++) {
            double e = f[h * C + c] - s->y[i * C + c];
            sum += w * e * e;
        }
        if (s->class_of)
            bad = kb_winner(C, f + h * C) == s->class_of[i] ? 0 : w;
        total += w;
        squares += sum;
        wrong += bad;
        if (each) {
            each[h] = s->class_of ? errors * bad + (1 - errors) * sum / unit : sum;
            miss[h] = s->class_of ? bad : sum;
        }
    }
    total = total > 0 ? total : 1;
    for (size_t h = 0; each && h < held; h++) {
        each[h] *= (double)held / total;
        miss[h] *= (double)held / total;
    }
    *square = squares / total;
    *error = (s->class_of ? wrong : squares) / total;
    if (!kb_metric_is_plain(s->metric))
        return score_by_metric(s, room, held, row, f, each);
    return s->class_of ? (errors * wrong + (1 - errors) * squares / unit) / total : *error;
}
