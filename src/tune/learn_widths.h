/*
 * learn_widths.h - widths per feature, learned from the data.
 *
 * The kernel is a mean over random grids, so what one grid does to the error on validation rows
 * tells in which direction its widths should go: with the square loss and
 * alpha = (K + lambda I)^-1 y, the error e on the validation rows changes with grid r's share by
 *
 *     B_r = e' K_held,r alpha - g' K_r alpha,        g = (K + lambda I)^-1 K_held' e
 *
 * and the gradient of its mean in log sigma_j is that of an expectation: B_r regressed on the
 * score of the law of the widths, delta_rj / sigma_j - 2 for the laplace kernel.  The direction
 * is noisy, so many small steps with fresh grids and fresh rows are averaged (Adam).
 */
#ifndef KB_TUNE_LEARN_WIDTHS_H
#define KB_TUNE_LEARN_WIDTHS_H

#include "trial/trial.h"

typedef struct kb_width_learning {
    const kb_subsample *sample;
    kb_split_kind split; /* how a step draws its validation rows */
    size_t pool;
    const uint32_t *row;    /* rows of the sample that may be used */
    const kb_law *law;      /* laplace */
    double sigma;           /* where to begin */
    const kb_width *start;  /* per feature: the start of the last vector; or NULL */
    const kb_widths *found; /* or NULL: widths of the first features, with as many vectors or more,
                               of which the learning goes on */
    size_t steps;           /* at most KB_RULE_LEARN_STEPS: the last ones */
    size_t vectors;
    int selective; /* whether a grid may leave a feature uncut, with a probability that is learned
                    */
    uint64_t seed;
    double from, to; /* its part of the phase "tune", for progress */
    /* Steps are left out so that it ends by then; INFINITY: no limit. */
    kb_clock clock;
    double until;
    int *hurried; /* or NULL; set to 1 if any were */
} kb_width_learning;

/* *out belongs to the caller (kb_release out->width); without widths where there was no time. */
kb_status kb_learn_widths(kb_context *ctx, const kb_width_learning *given, kb_widths *out);

/* The start values, and the mean of the gradients of `steps` steps if none of them moves: of log
 * sigma, then if selective of the logits of q, vector after vector.  For tests of the gradient. */
kb_status kb_learn_widths_gradient(kb_context *ctx, const kb_width_learning *given, size_t steps,
                                   kb_widths *out, double *gradient);

#endif
