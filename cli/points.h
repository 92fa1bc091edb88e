/*
 * points.h - what sweep and compare share: models fitted and scored one after another, each a
 * point of a table that is kept in files as it grows, and found there by a later run.
 */
#ifndef CLI_POINTS_H
#define CLI_POINTS_H

#include "session.h"
#include "wholefile.h"

#include <jansson.h>
#include <stdio.h>

/* ---- what to do ------------------------------------------------------------ */

enum { MOST_VALUES = 1000 };

typedef struct value_list {
    const char *option; /* "--values", for messages */
    const char *noun;   /* what one of them is */
    int whole;          /* numbers are rounded */
    double most;        /* 0: no bound */
    size_t count;
    double value[MOST_VALUES];
} value_list;

/* Fills the list from "X,Y,.." or "A:B:K", which are K values in equal ratios; all positive. */
kb_status values_parse(session *s, const char *text, value_list *list);

/* `head`, the user's options, the threads unless they are varied, and the operands: what two runs
 * must have in common to share points.  Freed by the caller; NULL: out of memory. */
char *points_command(const cli_args *args, const char *head, int threads_vary);
/* Checks that TRAIN, TEST, -o FILE and --plot FILE fit together. */
kb_status points_check_files(session *s);

/* ---- one point ------------------------------------------------------------- */

typedef struct point {
    long seed;
    double train_score, test_score, test_error; /* accuracy or r2; share wrong or relative error */
    double kappa, objective, bin_seconds, solve_seconds, test_seconds;
    size_t bins, grids, nonzeros, steps, memory; /* memory: the peak of the process */
    int converged;
    double metric; /* on the test rows, where a metric was asked for; else NAN */
} point;

/* What --metric asks for; NULL: nothing. */
const kb_metric_info *points_metric(session *s);

/* Fits one model after the other, each with a context of its own. */
typedef struct runner {
    session *s;
    const char *name; /* text next to the progress bar */
    double done, all; /* fits so far and in total, for the bar */
    int threads;
    int classes;      /* whether the last model is a classifier */
    char reason[512]; /* why the last point failed; "" if all others would fail too */
    kb_context *ctx;
} runner;

/* *data, read from `path` where it is NULL: a complete table needs none. */
kb_status points_read(session *s, const char *path, kb_data **data);
/* Fits with the session's options and scores on *test, which is read from `path` like the model
 * where it is NULL. */
kb_status point_run(runner *r, const kb_data *train, kb_data **test, const char *path, point *out);

/* Means over seeds: add up, then divide. */
typedef struct point_mean {
    point mean; /* memory is the most */
    /* Standard deviations over the seeds. */
    double score_spread, error_spread, metric_spread;
    double count, bins, score_squares, error_squares, metric_squares;
} point_mean;

void mean_add(point_mean *m, const point *p);
void mean_finish(point_mean *m);

/* ---- files ----------------------------------------------------------------- */

/* The columns before and after these belong to the command. */
#define POINT_COLUMNS                                                                              \
    "seed,train_score,test_score,test_error,bins,kappa,bin_seconds,solve_seconds,test_seconds,"    \
    "memory_bytes,nonzeros,steps,converged,objective"
/* With `metric` one more column comes at the end: test_metric. */
void point_write_csv(const point *p, const kb_metric_info *metric, FILE *to);
/* Adds the members to *object, like report_add. */
void point_add_json(json_t **object, const point *p);
point point_from_json(const json_t *object);
/* NAN where there is none. */
double number_in(const json_t *object, const char *key);

/* Adds the metric, where one was asked for, and where the points come from: names of files, and the
 * runs. */
void points_add_origin(json_t **object, session *s, const json_t *runs);
/* Writes FILE.csv with `write_csv` and FILE.json, each replaced as a whole, and frees `json`
 * (KB_ERR_MEMORY for NULL).  Does nothing without -o. */
kb_status points_save(session *s, file_writer write_csv, const void *user, json_t *json);
/* *old = the object in FILE.json, or NULL where there is none.  Fails if its "command" differs. */
kb_status points_load(session *s, const char *command, json_t **old);

#endif
