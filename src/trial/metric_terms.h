/*
 * metric_terms.h - what trials are compared by: for each validation row its part of the score.
 *
 * The score of a trial is a sum over its validation rows for every metric, so that the standard
 * error of a difference follows from the differences of the terms.  Where a metric counts wrong
 * rows, the squared error is mixed in: it has less noise.
 */
#ifndef KB_TRIAL_METRIC_TERMS_H
#define KB_TRIAL_METRIC_TERMS_H

#include "model/metric.h"

/* Decisions for validation rows, and their targets. */
typedef struct kb_metric_rows {
    kb_metric_kind metric; /* not auto */
    size_t held, C;
    const uint32_t *row;      /* held: their places in the next three */
    const double *y;          /* x C */
    const uint32_t *class_of; /* NULL: regression */
    const double *weight;     /* NULL: ones */
    double quantile;          /* of the metric pinball */
    const double *f;          /* held x C: decisions, which estimate the targets of -1 and 1 */
} kb_metric_rows;

/* Memory for the terms of some rows; each thread needs its own. */
typedef struct kb_metric_room {
    double *term;     /* rows */
    double *by_class; /* 2 for each class */
    kb_ranked *ranked;
} kb_metric_room;

/* For at most `rows` rows of a metric and C outputs; empty for a metric that is plain.  Call
 * kb_metric_room_release on success and on failure. */
kb_status kb_metric_room_build(kb_context *ctx, kb_metric_kind metric, size_t rows, size_t C,
                               kb_metric_room *out);
void kb_metric_room_release(kb_context *ctx, kb_metric_room *room);
/* Bytes of it for a row. */
double kb_metric_room_bytes(kb_metric_kind metric);

/* Whether the score is the mean squared error or, for classes, that and the share of wrong rows. */
int kb_metric_is_plain(kb_metric_kind metric);

/* Fills room->term, whose sum is the score, lower being better.  For metrics that are not plain. */
double kb_metric_terms(const kb_metric_rows *x, const kb_metric_room *room);

#endif
