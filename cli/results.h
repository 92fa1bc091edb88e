/*
 * results.h - results of a sweep or a comparison, from its JSON: the means over the seeds, line by
 * line, for figures and reports.
 */
#ifndef CLI_RESULTS_H
#define CLI_RESULTS_H

#include "plot.h"
#include "points.h"

/* One value of a sweep, or one map and rank of a comparison. */
typedef struct result {
    const char *map;           /* NULL for a sweep */
    double value;              /* what is varied, or the rank; NAN: none */
    double sigma;              /* compare: as chosen */
    double speedup, predicted; /* sweep of threads */
    point_mean over;
} result;

typedef struct results {
    const json_t *json; /* which lives longer */
    const char *vary;   /* NULL: a comparison */
    const char *train;  /* names of files; never NULL */
    const char *test;
    int classes;
    const kb_metric_info *metric; /* that was asked for, or NULL */
    double seeds;                 /* the most of a line */
    result *line;                 /* maps in the order of the file, values increasing */
    size_t count;
} results;

/* Whether it is the object of a sweep or a comparison. */
int results_are_in(const json_t *json);
/* KB_ERR_MEMORY, or KB_OK.  results_free either way. */
kb_status results_read(const json_t *json, results *out);
void results_free(results *r);

/* The line with the best mean on the test rows; NULL where there is none, or where threads vary,
 * which change no score. */
const result *results_best(const results *r);
/* Seconds to train. */
double result_seconds(const result *line);
/* "accuracy", "r2", ..: what result_score is: the metric that was asked for, else accuracy, r2 or,
 * for a comparison of regressions, the relative error. */
const char *results_score_name(const results *r);
/* Whether a larger score is better. */
int results_larger(const results *r);
/* Whether the score on the training rows is the same measure. */
int results_same_in_training(const results *r);
double result_score(const results *r, const result *line);
double result_spread(const results *r, const result *line);
/* Place of a map in the table of options, which fixes its colour. */
int map_place(const char *map);

/* The paper's figures: for a sweep, scores and times, or speed-ups over threads; for a comparison
 * scores and times over the rank, score over time, and memory over score.  NULL: out of memory. */
figure *results_figure(const results *r);
/* --plot, where it was given; `json` is freed. */
kb_status results_plot(session *s, json_t *json);
/* The mark of their figures in an SVG. */
extern const char results_mark[];

#endif
