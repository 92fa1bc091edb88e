/*
 * options.h - the options table seen from inside the library.
 *
 * A row of the table has an id here, and each kind of value a typed getter, so that
 * the code asks for KB_OPT_GRIDS and never for a name or a text to be parsed again.
 * A value was checked when it was set: the getters cannot fail.
 */
#ifndef KB_OPTIONS_OPTIONS_H
#define KB_OPTIONS_OPTIONS_H

#include "core/context.h"

/* The place of an option in the table. */
typedef enum kb_option_id {
    KB_OPT_FORMAT,
    KB_OPT_ZERO_BASED,
    KB_OPT_HEADER,
    KB_OPT_LABEL,
    KB_OPT_WEIGHTS,
    KB_OPT_SPLIT,
    KB_OPT_MAP,
    KB_OPT_LANDMARKS,
    KB_OPT_KERNEL,
    KB_OPT_SIGMA,
    KB_OPT_WIDTHS,
    KB_OPT_LINEAR,
    KB_OPT_GRIDS,
    KB_OPT_SCALE,
    KB_OPT_TUNE,
    KB_OPT_BUDGET,
    KB_OPT_TASK,
    KB_OPT_LAMBDA,
    KB_OPT_LOSS,
    KB_OPT_MULTICLASS,
    KB_OPT_CLASS_WEIGHT,
    KB_OPT_PROBABILITY,
    KB_OPT_PENALTY,
    KB_OPT_GROUP_GRIDS,
    KB_OPT_LAMBDA_PATH,
    KB_OPT_FOLDS,
    KB_OPT_SOLVER,
    KB_OPT_TOL,
    KB_OPT_MAX_ITER,
    KB_OPT_EARLY_STOP,
    KB_OPT_INTERCEPT,
    KB_OPT_SEED,
    KB_OPT_MAX_MEMORY,
    KB_OPT_ROWS,
    KB_OPT_NOISE,
    KB_OPT_COUNT,
} kb_option_id;

int64_t kb_options_integer(const kb_options *options, kb_option_id id);
double kb_options_real(const kb_options *options, kb_option_id id);
/* The place of the value in the row's list of choices, from 0. */
int kb_options_choice(const kb_options *options, kb_option_id id);
/* 1 for on, 0 for off. */
int kb_options_flag(const kb_options *options, kb_option_id id);
/* The COLUMN of --split group:COLUMN; NULL for another split. */
const char *kb_options_group(const kb_options *options);
/* Whether the value is the word auto. */
int kb_options_is_auto(const kb_options *options, kb_option_id id);
/* The value as it was set, whatever its type. */
const char *kb_options_text(const kb_options *options, kb_option_id id);
/* A size in bytes; `auto` is what the machine can still give, SIZE_MAX if that is
 * not known. */
size_t kb_options_bytes(const kb_options *options, kb_option_id id);

/* A time in seconds; INFINITY for none. */
double kb_options_seconds(const kb_options *options, kb_option_id id);

kb_status kb_options_copy(kb_context *ctx, const kb_options *options, kb_options **out);

#endif
