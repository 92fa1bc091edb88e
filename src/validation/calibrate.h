/*
 * calibrate.h - from decisions to probabilities.
 *
 *   KB_CALIBRATION_SIGMOID   1 / (1 + exp(-slope f)) for the second of two classes; several
 *                            outputs are each taken so and divided by their sum
 *   KB_CALIBRATION_SOFTMAX   proportional to exp(slope f_c)
 *
 * Where there is a curve (curve.h), it takes the place of slope f, and several classes are always
 * proportional to exp of it.
 *
 * A logistic model has slope 1.  For other losses the slope is fitted to decisions for samples that
 * were held out of the fit (Platt's rule); for two classes an offset is fitted as well and moved
 * into the intercept, so that a decision of 0 means even odds.  Probabilities increase with the
 * decision: the most probable class is always the predicted one.
 */
#ifndef KB_VALIDATION_CALIBRATE_H
#define KB_VALIDATION_CALIBRATE_H

#include "validation/curve.h"
#include "validation/validation.h"

typedef enum kb_calibration_rule {
    KB_CALIBRATION_NONE,
    KB_CALIBRATION_SIGMOID,
    KB_CALIBRATION_SOFTMAX,
} kb_calibration_rule;

typedef struct kb_calibration {
    kb_calibration_rule kind;
    double slope;
    double offset;  /* of the decisions, before it is moved into the intercept */
    kb_curve curve; /* of decisions, instead of the slope, where it has knots */
} kb_calibration;

/* "none", "sigmoid" or "softmax", and back (none for an unknown name). */
const char *kb_calibration_name(kb_calibration_rule kind);
kb_calibration_rule kb_calibration_kind(const char *name);

/* Fits the rule to decisions for held-out samples. f: N x C; class_of: N, of 0 .. C - 1, or 0
 * and 1 for C = 1; weight: N, or NULL for ones. */
kb_calibration kb_calibrate(size_t N, size_t C, const double *f, const uint32_t *class_of,
                            const double *weight);

/* The mean of minus the log of the probability of the true class, taken as at least 1e-15.  NAN for
 * more than KB_LOG_LOSS_CLASSES classes. */
enum { KB_LOG_LOSS_CLASSES = 1024 };
double kb_calibration_log_loss(const kb_calibration *c, const kb_validation *v);

/* The decision that has this logit. */
double kb_calibration_inverse(const kb_calibration *c, double logit);

/* probability: one a class (two for C = 1), from the C decisions of one sample. */
void kb_calibration_apply(const kb_calibration *c, size_t C, const double *decision,
                          double *probability);

#endif
