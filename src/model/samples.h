/*
 * samples.h - the rows that the trials of tune.c work with, within the memory they may take.
 *
 * A fifth of all rows, or folds of them, are held out.  The first trials are many and take some
 * rows; the last ones are few and take more, because what suits some rows need not suit all: with
 * more rows the best lambda is another, and the solver takes more steps to get as far.
 */
#ifndef KB_MODEL_SAMPLES_H
#define KB_MODEL_SAMPLES_H

#include "model/choose.h"
#include "model/sample.h"

/* The most grids of a trial with the first and with the large sample. */
enum { KB_FIRST_GRIDS = 256, KB_LARGE_GRIDS = 128 };

typedef struct kb_samples {
    const kb_options *options;
    const kb_data *data;
    kb_targets targets;
    kb_map *map; /* for its scaling */
    kb_split_kind split;
    size_t folds; /* 0: one validation part */
    uint64_t seed;
    kb_folds held; /* of all rows */
    kb_sample first;
    kb_sample large; /* without x: the first is about as large */
    double spread;   /* mean absolute deviation of the columns */
    size_t pool;
    uint32_t *row; /* pool: those of the first sample that the first fold does not hold out */
} kb_samples;

/* Scaling, learnt on all rows, and the first sample.  KB_ERR_MEMORY where even a small one may take
 * more than --max-memory.  kb_samples_release either way. */
kb_status kb_samples_prepare(kb_context *ctx, const kb_choice *choice, const kb_data *data,
                             kb_samples *out);
/* The first sample behind another map of the same data: the same rows; empty where its columns
 * leave too little memory for them.  kb_sample_release either way.  kb_samples_exchange puts both
 * in the place of the old ones, and gives the caller these. */
kb_status kb_samples_redraw(kb_context *ctx, const kb_samples *s, kb_map *map, kb_sample *first);
void kb_samples_exchange(kb_samples *s, kb_map **map, kb_sample *first);

kb_status kb_samples_draw_large(kb_context *ctx, kb_samples *s);
void kb_samples_release(kb_context *ctx, kb_samples *s);

/* The most steps that a trial takes: fewer for many outputs. */
size_t kb_samples_steps(const kb_samples *s);

#endif
