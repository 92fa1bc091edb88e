/* metric_terms.c - see metric_terms.h. */
#include "trial/metric_terms.h"
#include "core/weights.h"
#include "model/model.h"
#include "trial/rules.h"

#include <math.h>
#include <string.h>

static size_t classes_of(size_t C) {
    return C > 1 ? C : 2;
}

int kb_metric_is_plain(kb_metric_kind metric) {
    return metric == KB_METRIC_AUTO || metric == KB_METRIC_ACCURACY || metric == KB_METRIC_RMSE ||
           metric == KB_METRIC_R2 || metric == KB_METRIC_RELATIVE_ERROR;
}

kb_status kb_metric_room_build(kb_context *ctx, kb_metric_kind metric, size_t rows, size_t C,
                               kb_metric_room *out) {
    kb_status status = KB_OK;
    *out = (kb_metric_room){0};
    if (kb_metric_is_plain(metric))
        return KB_OK;
    TRY(kb_alloc(ctx, rows, sizeof *out->term, &out->term));
    if (metric == KB_METRIC_AUC)
        TRY(kb_alloc(ctx, rows, sizeof *out->ranked, &out->ranked));
    if (metric == KB_METRIC_BALANCED || metric == KB_METRIC_F1 || metric == KB_METRIC_AUC)
        TRY(kb_alloc(ctx, 2 * classes_of(C), sizeof *out->by_class, &out->by_class));
done:
    return status;
}

void kb_metric_room_release(kb_context *ctx, kb_metric_room *room) {
    kb_release(ctx, room->term);
    kb_release(ctx, room->by_class);
    kb_release(ctx, room->ranked);
    *room = (kb_metric_room){0};
}

double kb_metric_room_bytes(kb_metric_kind metric) {
    return kb_metric_is_plain(metric) ? 0
           : metric == KB_METRIC_AUC  ? sizeof(double) + sizeof(kb_ranked)
                                      : sizeof(double);
}

/* ---- parts of a row ---------------------------------------------------- */

static double weight_of(const kb_metric_rows *x, size_t h) {
    return kb_weight_of(x->weight, x->row[h]);
}

static size_t class_of(const kb_metric_rows *x, size_t h) {
    return x->class_of[x->row[h]];
}

static size_t winner_of(const kb_metric_rows *x, size_t h) {
    return kb_winner(x->C, x->f + h * x->C);
}

static double square_of(const kb_metric_rows *x, size_t h) {
    double sum = 0;
    for (size_t c = 0; c < x->C; c++) {
        double e = x->f[h * x->C + c] - x->y[x->row[h] * x->C + c];
        sum += e * e;
    }
    return sum / KB_RULE_SCORE_SQUARE_UNIT(x->C);
}

/* Half of one and half of the other: the share of wrong rows is what matters. */
static double mix(double wrong, double square) {
    return KB_RULE_SCORE_ERROR_WEIGHT * wrong + (1 - KB_RULE_SCORE_ERROR_WEIGHT) * square;
}

/* A decision of -1 means that the class is impossible, and 1 that it is certain; no trial has seen
 * enough rows for either. */
static double chance_of(double f) {
    return fmin(fmax((1 + f) / 2, KB_RULE_LEAST_PROBABILITY), 1 - KB_RULE_LEAST_PROBABILITY);
}

/* The probability of class k, of decisions that need not sum to 1. */
static double probability_of(const kb_metric_rows *x, size_t h, size_t k) {
    const double *f = x->f + h * x->C;
    double sum = 0;
    if (x->C == 1)
        return chance_of(k == 1 ? f[0] : -f[0]);
    for (size_t c = 0; c < x->C; c++)
        sum += chance_of(f[c]);
    return chance_of(f[k]) / sum;
}

static double brier_of(const kb_metric_rows *x, size_t h) {
    double sum = 0;
    for (size_t k = 0; k < classes_of(x->C); k++) {
        double off = probability_of(x, h, k) - (k == class_of(x, h));
        sum += off * off;
    }
    return sum / 2;
}

/* ---- metrics ----------------------------------------------------------- */

static double total_of(const kb_metric_rows *x) {
    double total = 0;
    for (size_t h = 0; h < x->held; h++)
        total += weight_of(x, h);
    return total > 0 ? total : 1;
}

/* The mean over the rows of what each has. */
static void take_means(const kb_metric_rows *x, double *term) {
    double total = total_of(x);
    for (size_t h = 0; h < x->held; h++) {
        double own = x->metric == KB_METRIC_MAE ? fabs(x->f[h] - x->y[x->row[h]])
                     : x->metric == KB_METRIC_PINBALL
                         ? kb_metric_pinball(x->quantile, x->y[x->row[h]], x->f[h])
                     : x->metric == KB_METRIC_POISSON ? kb_metric_deviance(x->y[x->row[h]], x->f[h])
                     : x->metric == KB_METRIC_BRIER   ? brier_of(x, h)
                                                      : -log(probability_of(x, h, class_of(x, h)));
        term[h] = weight_of(x, h) / total * own;
    }
}

/* Sums of weights by the true class and, in the second half, by the predicted one. */
static void sum_by_class(const kb_metric_rows *x, double *sum) {
    size_t K = classes_of(x->C);
    memset(sum, 0, 2 * K * sizeof *sum);
    for (size_t h = 0; h < x->held; h++) {
        sum[class_of(x, h)] += weight_of(x, h);
        sum[K + winner_of(x, h)] += weight_of(x, h);
    }
}

static void take_balanced(const kb_metric_rows *x, double *sum, double *term) {
    size_t K = classes_of(x->C), seen = 0;
    sum_by_class(x, sum);
    for (size_t k = 0; k < K; k++)
        seen += sum[k] > 0;
    for (size_t h = 0; h < x->held; h++) {
        size_t k = class_of(x, h);
        double own = sum[k] > 0 ? weight_of(x, h) / sum[k] / (double)seen : 0;
        term[h] = own * mix(winner_of(x, h) != k, square_of(x, h));
    }
}

/* 1 - f1 = (false positives + false negatives) / (rows of the class + rows said to be). */
static void take_f1(const kb_metric_rows *x, double *sum, double *term) {
    size_t K = classes_of(x->C), first = x->C == 1 ? 1 : 0, seen = 0;
    double total = total_of(x);
    sum_by_class(x, sum);
    for (size_t k = first; k < K; k++)
        seen += sum[k] + sum[K + k] > 0;
    for (size_t h = 0; h < x->held; h++) {
        size_t k = class_of(x, h), said = winner_of(x, h);
        double w = weight_of(x, h), wrong = 0;
        if (k != said && k >= first && w > 0)
            wrong += w / (sum[k] + sum[K + k]);
        if (k != said && said >= first && w > 0)
            wrong += w / (sum[said] + sum[K + said]);
        term[h] = mix(wrong / (double)(seen > 0 ? seen : 1), w / total * square_of(x, h));
    }
}

/* The mean over the classes, each against the rest; with one output, of the second class.  Classes
 * without rows, or with all of them, do not count. */
static void take_auc(const kb_metric_rows *x, const kb_metric_room *room, double *term) {
    size_t K = classes_of(x->C), seen = 0;
    double total = 0;
    sum_by_class(x, room->by_class);
    for (size_t k = 0; k < K; k++)
        total += room->by_class[k];
    for (size_t k = x->C == 1 ? 1 : 0; k < K; k++)
        seen += room->by_class[k] > 0 && room->by_class[k] < total;
    memset(term, 0, x->held * sizeof *term);
    for (size_t c = 0; c < x->C && seen > 0; c++) {
        for (size_t h = 0; h < x->held; h++)
            room->ranked[h] = (kb_ranked){.decision = x->f[h * x->C + c],
                                          .weight = weight_of(x, h),
                                          .row = (uint32_t)h,
                                          .positive = class_of(x, h) == (x->C == 1 ? 1 : c)};
        kb_auc(x->held, room->ranked);
        kb_auc_terms(x->held, room->ranked, 1 / (double)seen, term);
    }
}

double kb_metric_terms(const kb_metric_rows *x, const kb_metric_room *room) {
    double sum = 0, *term = room->term;
    if (x->metric == KB_METRIC_AUC)
        take_auc(x, room, term);
    else if (x->metric == KB_METRIC_BALANCED)
        take_balanced(x, room->by_class, term);
    else if (x->metric == KB_METRIC_F1)
        take_f1(x, room->by_class, term);
    else
        take_means(x, term);
    for (size_t h = 0; h < x->held; h++)
        sum += term[h];
    return sum;
}
