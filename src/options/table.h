/*
 * table.h - the rows of the options table by their ids, and the words of their choices.
 */
#ifndef KB_OPTIONS_TABLE_H
#define KB_OPTIONS_TABLE_H

#include "core/context.h"
#include "options/choices.h"

/* The position of an option in the table. */
typedef enum kb_option_id {
    KB_OPT_FORMAT,
    KB_OPT_ZERO_BASED,
    KB_OPT_HEADER,
    KB_OPT_LABEL,
    KB_OPT_IGNORE,
    KB_OPT_COLUMNS,
    KB_OPT_TYPES,
    KB_OPT_WEIGHTS,
    KB_OPT_SPLIT,
    KB_OPT_KEEP,
    KB_OPT_MAP,
    KB_OPT_LANDMARKS,
    KB_OPT_KERNEL,
    KB_OPT_SIGMA,
    KB_OPT_WIDTHS,
    KB_OPT_LINEAR,
    KB_OPT_DIRECTIONS,
    KB_OPT_GRIDS,
    KB_OPT_SCALE,
    KB_OPT_TUNE,
    KB_OPT_BUDGET,
    KB_OPT_METRIC,
    KB_OPT_TASK,
    KB_OPT_LAMBDA,
    KB_OPT_LOSS,
    KB_OPT_QUANTILE,
    KB_OPT_MULTICLASS,
    KB_OPT_CLASS_WEIGHT,
    KB_OPT_PROBABILITY,
    KB_OPT_PENALTY,
    KB_OPT_GROUP_GRIDS,
    KB_OPT_LAMBDA_PATH,
    KB_OPT_FOLDS,
    KB_OPT_HOLDOUT,
    KB_OPT_ENSEMBLE,
    KB_OPT_SOLVER,
    KB_OPT_TOL,
    KB_OPT_MAX_ITER,
    KB_OPT_EARLY_STOP,
    KB_OPT_INTERCEPT,
    KB_OPT_IMPORTANCE,
    KB_OPT_DEVICE,
    KB_OPT_SEED,
    KB_OPT_MAX_MEMORY,
    KB_OPT_ROWS,
    KB_OPT_NOISE,
    KB_OPT_COUNT,
} kb_option_id;

/* From the word of a choice to its enum (0 if there is no such word), and back.  The returned word
 * is static. */
int kb_choice_find(kb_option_id id, const char *word, int *value);
const char *kb_choice_word(kb_option_id id, int value);
/* The same for the option split, which may also be group:COLUMN. */
int kb_split_find(const char *word, kb_split_kind *out);

/* The value of auto where nothing is tuned; NULL for an option that tuning does not set. */
const char *kb_option_untuned(kb_option_id id);

#endif
