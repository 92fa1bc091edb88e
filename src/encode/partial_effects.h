/*
 * partial_effects.h - what each level of each category adds to the targets, all else equal.
 *
 * One linear model of all columns at once, by ridge regression:
 *
 *     y ~ mean + sum over categories of a[its level] + sum over numbers of b r(x) + c z(x)
 *
 * with an indicator for every level, and for each number its rank r and its z-score z, clipped.
 * The coefficient a of a level is its partial effect.  Means of the targets by level would mix the
 * effect of a category with those of the columns that go with it: in a table of diamonds the best
 * cuts are the smallest stones, and have the lowest mean price.
 *
 * A row's own target pulls the coefficient of its level.  Where levels have few rows this leaks
 * what is to be predicted, so there are also coefficients from all rows but those of a fold.
 */
#ifndef KB_ENCODE_PARTIAL_EFFECTS_H
#define KB_ENCODE_PARTIAL_EFFECTS_H

#include "core/memory.h"

enum { KB_EFFECT_FOLDS = 5 };

typedef struct kb_effects_problem {
    size_t rows, C;
    const double *y;      /* rows x C: targets */
    const double *weight; /* rows, or NULL */
    size_t numbers, all;  /* numeric columns; doubles from a row of `number` to the next */
    const double *number; /* rows x all */
    const size_t *which;  /* numbers: their places in a row */
    size_t categories;
    const size_t *levels;   /* categories: how many, a missing one counted */
    const uint32_t *level;  /* rows x categories */
    const uint8_t *fold;    /* rows: 0 to KB_EFFECT_FOLDS - 1 */
    const int *needs_folds; /* categories: whether coefficients without each fold are wanted */
} kb_effects_problem;

/* The coefficients: that of level m of category k for output c is at (start[k] + m) * C + c. */
typedef struct kb_effects {
    size_t C, D;     /* D: levels of all categories */
    size_t *start;   /* categories + 1 */
    double *all;     /* D x C: from all rows */
    double *without; /* KB_EFFECT_FOLDS x D x C: from all rows but those of a fold;
                        NULL if no category needs them */
} kb_effects;

/* O(rows (numbers + categories) C) for each of at most 60 steps of conjugate gradients.  The
 * bits do not depend on the threads.  Release it also after a failure. */
kb_status kb_effects_build(kb_context *ctx, const kb_effects_problem *problem, kb_effects *out);
void kb_effects_release(kb_context *ctx, kb_effects *effects);

/* Bytes that it takes, at most. */
typedef struct kb_effects_size {
    size_t rows, C, numbers;
    size_t levels; /* of all categories */
} kb_effects_size;
double kb_effects_bytes(const kb_effects_size *size, int threads);

#endif
