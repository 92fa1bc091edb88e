/*
 * bench.h - measurements and their table.
 *
 * Made for machines with other load: a time is the best of several runs, alternatives are run in
 * turn, and the ratio is what counts.
 */
#ifndef KB_BENCH_BENCH_H
#define KB_BENCH_BENCH_H

#include "io/reader.h"
#include "kerbin.h"

#include <jansson.h>

typedef struct bench {
    kb_context *one;    /* one thread */
    kb_context *all;    /* all of the machine */
    int threads;        /* of `all` */
    const char *folder; /* of the data sets */
    json_t *rows;
    int failed; /* bars that were missed */
} bench;

/* Creates the contexts, finds the data folder and begins an empty table. */
void bench_open(bench *b);
/* Prints which bars were missed, and writes the JSON if a path is given; returns the exit
 * status. */
int bench_close(bench *b, const char *json);

/* One line of the table.  `rival` and `ratio` say what it was measured against and how many times
 * better kerbin is; a bar is the smallest ratio that passes (0: none). */
void bench_row(bench *b, const char *what, double value, const char *unit, const char *rival,
               double ratio, double bar);
/* The same for a value that must not exceed a bar. */
void bench_row_at_most(bench *b, const char *what, double value, const char *unit, double most);
/* Reports in the table that something could not be measured, and why. */
void bench_skip(bench *b, const char *what, const char *why);

typedef void bench_body(void *arg);
/* The least seconds of each of two functions, run in turn; `second` may be NULL. */
void bench_time(bench_body *first, void *first_arg, bench_body *second, void *second_arg,
                double *first_seconds, double *second_seconds);

/* A data set by its file name without .xz; NULL if it is not in the data folder. */
kb_data *bench_data(bench *b, const char *name);

void bench_readers(bench *b);
void bench_binning(bench *b);
void bench_products(bench *b);
void bench_predict(bench *b);
void bench_latency(bench *b);
void bench_memory(bench *b);
void bench_dense(bench *b);

#endif
