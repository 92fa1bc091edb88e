/*
 * trace.h - the trials of the tuner, as text and as JSON.
 */
#ifndef CLI_TRACE_H
#define CLI_TRACE_H

#include "plot.h"

#include <jansson.h>
#include <stdio.h>

/* One line for each kind of widths and loss: its best trial with the most grids. */
void trace_print(FILE *to, const kb_model *model);
/* Whether trial i is the best with its widths and loss, among those with the most grids; of equal
 * ones the last. */
int trace_is_best(const kb_trial_info *tried, size_t count, size_t i);
/* All trials: a list of objects. */
json_t *trace_json(const kb_model *model);

/* The error of the trials, one after the other, with the chosen one marked; NULL where there are
 * none. */
figure *trace_figure(const kb_model *model);

#endif
