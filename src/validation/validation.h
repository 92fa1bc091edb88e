/*
 * validation.h - decisions for rows that the fit which made them has not seen, and what they say
 * about new rows.
 *
 * Kept with a model that was just fitted; a model file keeps only what is derived from it.
 */
#ifndef KB_VALIDATION_VALIDATION_H
#define KB_VALIDATION_VALIDATION_H

#include "core/memory.h"

#include <math.h>

typedef struct kb_validation {
    size_t rows; /* 0: there are none */
    size_t outputs, classes;
    size_t folds;       /* fits that made the decisions */
    size_t learned;     /* rows that the first of them learned from */
    uint32_t *row;      /* rows: their numbers in the training data, increasing */
    double *decision;   /* rows x outputs */
    double *label;      /* rows: the number of the class, or the value */
    uint32_t *class_of; /* rows: the same number; NULL for regression */
    double *weight;     /* rows; NULL: ones */
    double *known; /* rows: share of grids whose bin a row that was learned from has too; NULL: for
                      a rival map */
} kb_validation;

#define KB_EXPECTED_NONE                                                                           \
    ((kb_expected){.size = sizeof(kb_expected),                                                    \
                   .error = NAN,                                                                   \
                   .error_low = NAN,                                                               \
                   .error_high = NAN,                                                              \
                   .log_loss = NAN,                                                                \
                   .rmse = NAN,                                                                    \
                   .rmse_low = NAN,                                                                \
                   .rmse_high = NAN,                                                               \
                   .r2 = NAN})

/* Arrays for so many rows; call kb_validation_release on success and on failure. */
kb_status kb_validation_create(kb_context *ctx, size_t rows, size_t outputs, size_t classes,
                               int weighted, int known, kb_validation *out);
void kb_validation_release(kb_allocator allocator, kb_validation *v);

/* The class that C decisions of a row name: the largest, or for C = 1 its sign. */
static inline size_t kb_winner(size_t C, const double *decision) {
    size_t best = 0;
    if (C == 1)
        return decision[0] > 0;
    for (size_t c = 1; c < C; c++)
        if (decision[c] > decision[best])
            best = c;
    return best;
}

/* The class that the decisions of row h name is not its own. */
int kb_validation_is_wrong(const kb_validation *v, size_t h);

/* Error and interval, from the decisions: share of wrong rows by Wilson's interval, or the root of
 * the mean squared error by the normal interval of its logarithm.  Weights make a row count for
 * less: the interval is that of (sum w)^2 / sum w^2 rows. */
kb_expected kb_validation_expect(const kb_validation *v);

#endif
