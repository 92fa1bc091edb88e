/*
 * trial_rows.h - the rows that the trials of the tuner work with, within the memory they may take.
 *
 * A fifth of all rows, or folds of them, are validation rows.  The many first trials take some of
 * the rows.  The few final ones take more, because the best lambda changes with the number of rows,
 * and the solver needs more steps.
 */
#ifndef KB_TRIAL_TRIAL_ROWS_H
#define KB_TRIAL_TRIAL_ROWS_H

#include "trial/subsample.h"

typedef struct kb_trial_rows {
    const kb_config *config;
    const kb_data *data;
    kb_targets targets;
    kb_map *map; /* for its scaling */
    kb_split_kind split;
    size_t folds; /* 0: one validation part */
    uint64_t seed;
    size_t most;   /* training rows of a sample */
    kb_folds held; /* of all rows */
    kb_subsample first;
    kb_subsample large; /* without x: the first is about as large */
    double spread;      /* mean absolute deviation of the columns */
    size_t pool;
    uint32_t *row; /* pool: rows of the first sample that the first fold may learn from */
} kb_trial_rows;

/* Scaling, learned on all rows, and the first sample.  KB_ERR_MEMORY where even a small sample may
 * exceed the option max-memory.  Call kb_trial_rows_release on success and on failure. */
kb_status kb_trial_rows_prepare(kb_context *ctx, const kb_config *config, const kb_data *data,
                                kb_trial_rows *out);
/* Draws the first sample again with at most so many training rows, and no large one later. */
kb_status kb_trial_rows_shrink(kb_context *ctx, kb_trial_rows *s, size_t most);
/* The rows of the first sample with another map of the same data; empty where its columns leave too
 * little memory.  Call kb_subsample_release on success and on failure.  kb_trial_rows_exchange
 * swaps both with the current ones. */
kb_status kb_trial_rows_redraw(kb_context *ctx, const kb_trial_rows *s, kb_map *map,
                               kb_subsample *first);
void kb_trial_rows_exchange(kb_trial_rows *s, kb_map **map, kb_subsample *first);

kb_status kb_trial_rows_draw_large(kb_context *ctx, kb_trial_rows *s);
void kb_trial_rows_release(kb_context *ctx, kb_trial_rows *s);

/* How many trials of a sample may be made side by side within the memory allowed; at least 1. */
size_t kb_trial_rows_abreast(const kb_trial_rows *rows, const kb_subsample *sample, size_t grids);

/* The most steps that a trial takes: fewer for many outputs. */
size_t kb_trial_rows_steps(const kb_trial_rows *s);

/* A sample of its own with so many training rows, or fewer where there is little memory.  Call
 * kb_subsample_release on success and on failure. */
kb_status kb_trial_rows_draw_more(kb_context *ctx, const kb_trial_rows *rows, size_t pool,
                                  kb_subsample *out);

#endif
