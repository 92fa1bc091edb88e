/*
 * conformal.h - intervals, sets of classes and novelty, by what was seen on rows held out.
 *
 * An interval that held the labels of 90 % of the rows held out holds about 90 % of those of new
 * rows that are drawn like them, whatever the model is: split conformal prediction (Vovk, Gammerman
 * and Shafer 2005; Lei et al. 2018).  Residuals are divided by a local spread before their
 * quantiles are taken, so that the width follows the difficulty: mean residuals by the size of the
 * prediction and by the share of known bins.
 */
#ifndef KB_VALIDATION_CONFORMAL_H
#define KB_VALIDATION_CONFORMAL_H

#include "validation/calibrate.h"
#include "validation/validation.h"

enum { KB_QUANTILES = 401, KB_SPREAD_KNOTS = 9 };

/* Values of levels 0, 1/(count-1), .., 1. */
typedef struct kb_quantiles {
    size_t count;
    double at[KB_QUANTILES];
} kb_quantiles;

/* A function of straight pieces, constant beyond its ends. */
typedef struct kb_spread {
    size_t knots; /* 0: 1 everywhere */
    double x[KB_SPREAD_KNOTS], y[KB_SPREAD_KNOTS];
} kb_spread;

typedef struct kb_conformal {
    size_t rows;                     /* 0: nothing is known */
    kb_quantiles residual;           /* regression: (label - decision) / spread */
    kb_spread by_decision, by_known; /* of which the spread is the product */
    kb_quantiles truth;              /* classes: the probability of the true class */
    kb_quantiles known;              /* the share of known bins; count 0: not known */
} kb_conformal;

/* Fills all that the record allows; calibration: of classes, kind none where there are no
 * probabilities. */
kb_status kb_conformal_build(kb_context *ctx, const kb_validation *v, const kb_calibration *c,
                             kb_conformal *out);

/* The label of a new row lies between low and high with probability `coverage`. */
void kb_conformal_interval(const kb_conformal *c, double decision, double known, double coverage,
                           double *low, double *high);
/* Classes with at least this probability are in the set; the most probable one is always. */
double kb_conformal_threshold(const kb_conformal *c, double coverage);
/* The share of the rows held out that meet more known bins than a row with this share, those that
 * meet as many counted by half. */
double kb_conformal_novelty(const kb_conformal *c, double known);

int kb_conformal_is_sound(const kb_conformal *c, int classes);

#endif
