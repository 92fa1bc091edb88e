/*
 * subsample.h - rows for trials, some of them validation rows, and scores of decisions for them.
 */
#ifndef KB_TRIAL_SUBSAMPLE_H
#define KB_TRIAL_SUBSAMPLE_H

#include "data/folds.h"
#include "features/binned.h"
#include "fit/map_build.h"
#include "fit/targets.h"
#include "trial/metric_terms.h"

typedef struct kb_subsample {
    kb_data *x;                  /* after the transform */
    const double *shift, *scale; /* of its columns; the map's */
    size_t C;                    /* outputs */
    double *y;                   /* rows x C: targets */
    uint32_t *class_of;          /* rows; NULL: regression */
    uint32_t *group;             /* rows; NULL: none */
    double *weight, *root;       /* rows, and their roots; NULL: ones */
    kb_folds folds;
    double quantile;       /* of the metric pinball */
    kb_metric_kind metric; /* that trials are compared by */
} kb_subsample;

void kb_subsample_release(kb_context *ctx, kb_subsample *s);

/* What a sample is drawn from. */
typedef struct kb_subsample_source {
    const kb_config *config; /* for the weights of the samples */
    const kb_data *data;
    const kb_targets *targets;
    const kb_map *map;     /* with transform and scaling */
    const kb_folds *folds; /* of all rows */
    uint64_t seed;
} kb_subsample_source;

/* Draws at most `most` of the validation rows, or of the others, at random; returns how many. */
size_t kb_subsample_pick(const kb_folds *folds, uint64_t seed, int held, size_t most,
                         uint32_t *rows);

/* Draws at most `held` of the validation rows of the folds, and at most `others` of the other rows,
 * at random and in their order.  O(rows of the source), and a copy of the drawn rows.  Call
 * kb_subsample_release on success and on failure. */
kb_status kb_subsample_draw(kb_context *ctx, const kb_subsample_source *from, size_t held,
                            size_t others, kb_subsample *out);

/* The listed rows of another sample; the caller sets the folds.  Call kb_subsample_release on
 * success and on failure. */
kb_status kb_subsample_take(kb_context *ctx, const kb_subsample *from, size_t count,
                            const uint32_t *rows, kb_subsample *out);

/* Makes `share` of the rows validation rows, or deals them into `folds`.  At random where all rows
 * are of one group, or may all be of different classes. */
kb_status kb_subsample_split(kb_context *ctx, kb_split_kind kind, size_t folds, double share,
                             uint64_t seed, kb_subsample *s);

/* Bins the rows with this many grids.  Call kb_binned_release on success and on failure. */
kb_status kb_subsample_bin(kb_context *ctx, const kb_subsample *s, const kb_widths *widths,
                           size_t grids, uint64_t seed, kb_binned *out);

/* Whether trials are compared by the number of wrong rows. */
static inline int kb_subsample_counts_errors(const kb_subsample *s) {
    return s->class_of && (s->metric == KB_METRIC_ACCURACY || s->metric == KB_METRIC_AUTO);
}

/* Scores decisions for some rows; f is held x C.  *error: the share of wrong rows, or like *square
 * the mean squared error.  The score is that of the metric (metric_terms.h).  By default it is the
 * squared error; for classes a weighted mean of the share of wrong rows, which is what matters, and
 * the squared error, whose standard error is smaller.  each and miss, held or both NULL: the terms
 * of each row, whose means are score and error.  room: for the metric, C and at least `held` rows.
 */
double kb_subsample_score(const kb_subsample *s, const kb_metric_room *room, size_t held,
                          const uint32_t *row, const double *f, double *error, double *square,
                          double *each, double *miss);

#endif
