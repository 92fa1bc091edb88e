/*
 * evaluation.h - a model on test rows: its score, and the curves and tables that tell where it is
 * wrong.  Rows without a label do not count; weights do not either.
 */
#ifndef CLI_EVALUATION_H
#define CLI_EVALUATION_H

#include "plot.h"
#include "session.h"

enum { CALIBRATION_BINS = 10 };

typedef struct evaluation {
    const kb_model *model;
    const kb_fit_info *info;
    const double *label; /* rows: the data's */
    size_t rows, labelled;
    kb_score score;
    double *decision;    /* rows x outputs */
    double *number;      /* rows: what is predicted, or NULL for classes */
    double *probability; /* rows x classes, or NULL */
    int64_t *class_of;   /* rows, or NULL for numbers: -1 where it is not known */
    size_t *confusion;   /* classes x classes: true, predicted */
} evaluation;

/* KB_ERR_DATA if the data have no labels.  The data must outlive it; call evaluation_free on
 * success and on failure. */
kb_status evaluation_make(session *s, const kb_model *model, const kb_data *data, evaluation *out);
void evaluation_free(evaluation *e);

/* The share of rows of the class that the probability of a class says, in bins of equally many
 * rows: mean probability and share.  For more than two classes: of the class predicted.  Returns
 * the number of bins; *error is the mean distance of the two over the rows. */
typedef struct calibration_bin {
    double probability, share, spread;
} calibration_bin;
size_t evaluation_calibration(const evaluation *e, calibration_bin *bins, double *error);

/* Figures; NULL where they do not apply or memory ran out. */
figure *roc_figure(const evaluation *e);
figure *precision_recall_figure(const evaluation *e);
figure *calibration_figure(const evaluation *e);
figure *prediction_figure(const evaluation *e);
figure *residual_figure(const evaluation *e);

#endif
