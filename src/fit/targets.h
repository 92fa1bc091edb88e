/*
 * targets.h - targets from labels: numbers, or one of several classes.
 */
#ifndef KB_FIT_TARGETS_H
#define KB_FIT_TARGETS_H

#include "data/data.h"
#include "options/config.h"

typedef struct kb_targets {
    size_t classes; /* 0: regression */
    size_t rows;
    size_t outputs;      /* 1, or one per class when there are more than two */
    double *class_value; /* increasing */
    uint32_t *class_of;  /* rows; classification */
    const double *label; /* rows; regression */
} kb_targets;

/* Decides the task where it is left open: words, and at most KB_AUTO_CLASSES different whole
 * numbers, are classes; anything else is a number. */
enum { KB_AUTO_CLASSES = 32 };
/* Regression labels are at most KB_LABEL_MOST in size, and their spread is 0 or at least
 * KB_SPREAD_LEAST: KB_ERR_DATA otherwise. */
#define KB_LABEL_MOST   1e30
#define KB_SPREAD_LEAST 1e-25
kb_status kb_targets_build(kb_context *ctx, kb_task task, const kb_data *data, kb_targets *out);
void kb_targets_release(kb_context *ctx, kb_targets *targets);

/* y (rows x columns): the targets of the outputs first .. first + columns.  A class is
 * +1 in its own column and -1 in the others; of two classes the second is +1. */
void kb_targets_fill(const kb_targets *targets, size_t rows, size_t first, size_t columns,
                     double *y);

#endif
