/*
 * metric.h - the table of metrics, and those of their parts that trials and models share.
 *
 * A metric is a row of the table in metric.c and a member of kb_score.  From the row come the words
 * of the option metric, what programs print, and what the tuner aims at.
 */
#ifndef KB_MODEL_METRIC_H
#define KB_MODEL_METRIC_H

#include "options/config.h"

/* The row of a metric other than auto. */
const kb_metric_info *kb_metric_of(kb_metric_kind kind);
/* What auto means: accuracy, or rmse. */
kb_metric_kind kb_metric_resolve(kb_metric_kind asked, int classes);
/* The same, where auto suits the loss; and what the kernel is chosen by with the square loss, whose
 * decisions are neither quantiles nor above 0. */
kb_metric_kind kb_metric_of_fit(kb_metric_kind asked, int classes, kb_loss_kind loss);
kb_metric_kind kb_metric_of_kernel(kb_metric_kind asked, int classes, kb_loss_kind loss);
/* Of one row with the label y: of a quantile f, and of a mean. */
double kb_metric_pinball(double quantile, double y, double f);
double kb_metric_deviance(double y, double mean);
/* A number that is lower where the score is better; for rmse its square.  INFINITY if it is not
 * available. */
double kb_metric_loss(kb_metric_kind kind, const kb_score *score);
/* KB_ERR_ARGUMENT if the metric is of another task, or of another loss. */
kb_status kb_metric_check(kb_context *ctx, kb_metric_kind kind, kb_loss_kind loss, size_t classes);

/* ---- the area under the ROC curve -------------------------------------- */

/* A decision, the weight of its sample, and whether it is of the class in question. */
typedef struct kb_ranked {
    double decision, weight;
    uint32_t row;
    int positive;
} kb_ranked;

/* The share of pairs of a positive and a negative sample that are in the right order, ties counting
 * half; NAN if there are none of either.  Sorts the rows. */
double kb_auc(size_t count, kb_ranked *rows);
/* Adds `share` of 1 - AUC to each[row], in terms whose sum over the rows it is: for a sample the
 * pairs that it is part of in the wrong order (DeLong, DeLong and Clarke-Pearson, Biometrics 1988).
 * The rows are sorted. */
void kb_auc_terms(size_t count, const kb_ranked *rows, double share, double *each);

#endif
