/*
 * coverage.h - intervals and sets of classes on test rows: how many labels are inside, against the
 * share that was asked for, and how large they are.
 */
#ifndef CLI_COVERAGE_H
#define CLI_COVERAGE_H

#include "evaluation.h"

enum { COVERAGES = 6 };

typedef struct coverage {
    double asked, inside; /* shares of the rows with a label */
    double spread;        /* standard error of `inside` */
    double size;          /* mean width of the intervals, or classes in a set */
} coverage;

/* Fills `out`, in increasing order of `asked`; *count is 0 where the model has neither intervals
 * nor sets.  Predicts COVERAGES times. */
kb_status coverages_measure(session *s, const evaluation *e, const kb_data *data,
                            coverage out[COVERAGES], size_t *count);

/* NULL where count is 0 or memory ran out. */
figure *coverage_figure(const coverage *of, size_t count);
figure *coverage_size_figure(const evaluation *e, const coverage *of, size_t count);

#endif
