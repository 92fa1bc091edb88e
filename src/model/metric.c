/* metric.c - see metric.h. */
#include "model/metric.h"
#include "options/say.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const kb_metric_info TABLE[] = {
    {"accuracy", "accuracy", "accuracy",
     "the share of rows whose class is right", 1, 1, 0, 1, 0},
    {"balanced", "balanced_accuracy", "balanced",
     "the mean over the classes of the share of their rows that are right", 1, 1, 0, 1, 0},
    {"auc", "auc", "auc",
     "the area under the ROC curve; with several classes the mean over each against the rest", 1, 1, 0, 0, 0},
    {"log-loss", "log_loss", "log loss",
     "the mean of -log of the true class's probability", 1, 0, 1, 0, 0},
    {"brier", "brier", "brier",
     "the mean squared error of the probabilities, summed over the classes and halved", 1, 0, 1, 0, 0},
    {"f1", "f1", "f1",
     "the harmonic mean of precision and recall of the second of two classes; with several the mean "
     "over the classes", 1, 1, 0, 0, 0},
    {"rmse", "rmse", "rmse",
     "the root of the mean squared error", 0, 0, 0, 0, 1},
    {"mae", "mae", "mae",
     "the mean absolute error", 0, 0, 0, 0, 1},
    {"r2", "r2", "r2",
     "the share of the variance that is explained", 0, 1, 0, 0, 0},
    {"relative-error", "relative_error", "relative error",
     "the length of the errors over that of the labels", 0, 0, 0, 0, 0},
    {"pinball", "pinball", "pinball",
     "of the loss quantile: the mean of q times the error above, 1 - q times that below", 0, 0, 0, 0, 1},
    {"poisson-deviance", "poisson_deviance", "poisson deviance",
     "of the loss poisson: twice the mean of y log(y/m) - y + m, m being the prediction", 0, 0, 0, 0, 0},
};
/* clang-format on */
enum { METRICS = sizeof TABLE / sizeof *TABLE };

/* The member of kb_score of each row. */
static const size_t MEMBER[METRICS] = {
    offsetof(kb_score, accuracy), offsetof(kb_score, balanced_accuracy),
    offsetof(kb_score, auc),      offsetof(kb_score, log_loss),
    offsetof(kb_score, brier),    offsetof(kb_score, f1),
    offsetof(kb_score, rmse),     offsetof(kb_score, mae),
    offsetof(kb_score, r2),       offsetof(kb_score, relative_error),
    offsetof(kb_score, pinball),  offsetof(kb_score, poisson_deviance),
};

const kb_metric_info *kb_metric_table(size_t *count) {
    *count = METRICS;
    return TABLE;
}

/* Rows stand in the order of the option's words, which begin with auto. */
const kb_metric_info *kb_metric_of(kb_metric_kind kind) {
    return &TABLE[kind - 1];
}

double kb_score_get(const kb_score *score, const char *metric) {
    double value;
    for (size_t k = 0; k < METRICS; k++)
        if (strcmp(TABLE[k].name, metric) == 0 && MEMBER[k] + sizeof value <= score->size) {
            memcpy(&value, (const char *)score + MEMBER[k], sizeof value);
            return value;
        }
    return NAN;
}

kb_metric_kind kb_metric_resolve(kb_metric_kind asked, int classes) {
    return asked != KB_METRIC_AUTO ? asked : classes ? KB_METRIC_ACCURACY : KB_METRIC_RMSE;
}

kb_metric_kind kb_metric_of_fit(kb_metric_kind asked, int classes, kb_loss_kind loss) {
    if (asked == KB_METRIC_AUTO && !classes)
        return loss == KB_LOSS_QUANTILE   ? KB_METRIC_PINBALL
               : loss == KB_LOSS_ABSOLUTE ? KB_METRIC_MAE
               : loss == KB_LOSS_POISSON  ? KB_METRIC_POISSON
                                          : KB_METRIC_RMSE;
    return kb_metric_resolve(asked, classes);
}

kb_metric_kind kb_metric_of_kernel(kb_metric_kind asked, int classes, kb_loss_kind loss) {
    kb_metric_kind metric = kb_metric_of_fit(asked, classes, loss);
    return metric == KB_METRIC_PINBALL   ? KB_METRIC_MAE
           : metric == KB_METRIC_POISSON ? KB_METRIC_RMSE
                                         : metric;
}

double kb_metric_pinball(double q, double y, double f) {
    return y > f ? q * (y - f) : (1 - q) * (f - y);
}

double kb_metric_deviance(double y, double mean) {
    double least = 1e-300;
    return 2 * ((y > 0 ? y * log(y / fmax(mean, least)) : 0) - y + mean);
}

double kb_metric_loss(kb_metric_kind kind, const kb_score *score) {
    const kb_metric_info *m = kb_metric_of(kind);
    double value = kb_score_get(score, m->name);
    if (isnan(value))
        return INFINITY;
    return kind == KB_METRIC_RMSE ? value * value : m->larger ? 1 - value : value;
}

kb_status kb_metric_check(kb_context *ctx, kb_metric_kind kind, kb_loss_kind loss, size_t classes) {
    if (kind == KB_METRIC_PINBALL && loss != KB_LOSS_QUANTILE)
        return kb_fail(ctx, KB_ERR_ARGUMENT, "%s: needs %s",
                       kb_say_value(ctx, KB_OPT_METRIC, "pinball").text,
                       kb_say_value(ctx, KB_OPT_LOSS, "quantile").text);
    if (kind == KB_METRIC_POISSON && loss != KB_LOSS_POISSON)
        return kb_fail(ctx, KB_ERR_ARGUMENT, "%s: needs %s",
                       kb_say_value(ctx, KB_OPT_METRIC, "poisson-deviance").text,
                       kb_say_value(ctx, KB_OPT_LOSS, "poisson").text);
    if (kind == KB_METRIC_AUTO || kb_metric_of(kind)->classes == (classes > 0))
        return KB_OK;
    return kb_fail(ctx, KB_ERR_ARGUMENT, "%s: is for %s",
                   kb_say_value(ctx, KB_OPT_METRIC, kb_metric_of(kind)->name).text,
                   classes ? "regression, and the labels are classes"
                           : "classification, and the labels are numbers");
}

/* ---- the area under the ROC curve -------------------------------------- */

static int by_decision(const void *a, const void *b) {
    double x = ((const kb_ranked *)a)->decision, y = ((const kb_ranked *)b)->decision;
    return (x > y) - (x < y);
}

/* The sums of the weights of equal decisions, from `begin` on; the end of them. */
static size_t tie(size_t count, const kb_ranked *rows, size_t begin, double here[2]) {
    size_t end = begin;
    here[0] = here[1] = 0;
    for (; end < count && rows[end].decision == rows[begin].decision; end++)
        here[rows[end].positive] += rows[end].weight;
    return end;
}

double kb_auc(size_t count, kb_ranked *rows) {
    double positive = 0, negative = 0, pairs = 0, here[2];
    qsort(rows, count, sizeof *rows, by_decision);
    for (size_t i = 0, end; i < count; i = end) {
        end = tie(count, rows, i, here);
        pairs += here[1] * (negative + here[0] / 2);
        negative += here[0];
        positive += here[1];
    }
    return positive > 0 && negative > 0 ? pairs / (positive * negative) : NAN;
}

void kb_auc_terms(size_t count, const kb_ranked *rows, double share, double *each) {
    double all[2] = {0, 0}, below[2] = {0, 0}, here[2];
    for (size_t i = 0; i < count; i++)
        all[rows[i].positive] += rows[i].weight;
    if (!(all[0] > 0 && all[1] > 0))
        return;
    for (size_t i = 0, end; i < count; i = end) {
        end = tie(count, rows, i, here);
        /* A positive one is wrong with the negatives above it, a negative with the positives below.
         */
        double wrong[2] = {below[1] + here[1] / 2, all[0] - below[0] - here[0] / 2};
        for (size_t k = i; k < end; k++)
            each[rows[k].row] +=
                share / 2 * rows[k].weight * wrong[rows[k].positive] / (all[0] * all[1]);
        below[0] += here[0];
        below[1] += here[1];
    }
}
