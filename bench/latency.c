/* latency.c - how long one row takes: kb_predictor_row, call by call. */
#include "bench.h"
#include "core/memory.h"
#include "core/team.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS = 20000, MOST_FEATURES = 64 };

/* A set and its kernel, without tuning. */
typedef struct task {
    const char *name, *train, *test, *sigma;
} task;

static kb_status fit(kb_context *ctx, const task *t, const kb_data *data, const char *grids,
                     kb_model **out) {
    kb_status status;
    kb_options *options = NULL;
    *out = NULL;
    TRY(kb_options_create(ctx, &options));
    TRY(kb_options_set(ctx, options, "tune", "off"));
    TRY(kb_options_set(ctx, options, "sigma", t->sigma));
    TRY(kb_options_set(ctx, options, "grids", grids));
    TRY(kb_model_fit(ctx, options, data, out));
done:
    kb_options_free(options);
    return status;
}

static void to_dense(const kb_data *data, size_t i, double *x) {
    size_t d = data->features;
    if (data->dense) {
        memcpy(x, data->dense + i * d, d * sizeof *x);
        return;
    }
    memset(x, 0, d * sizeof *x);
    for (size_t k = data->row_start[i]; k < data->row_start[i + 1]; k++)
        x[data->column[k]] = data->value[k];
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The times of CALLS rows, one after the other, sorted. */
static void time_rows(kb_predictor *p, const kb_data *data, double *seconds) {
    double x[MOST_FEATURES], decision;
    for (size_t k = 0; k < CALLS; k++) {
        to_dense(data, k % data->rows, x);
        double start = kb_seconds();
        kb_predictor_row(p, x, &decision);
        seconds[k] = kb_seconds() - start;
    }
    qsort(seconds, CALLS, sizeof *seconds, by_size);
}

/* Median and slowest calls of one model; most: the bar of the median, in microseconds. */
static void measure_model(bench *b, const char *what, const kb_model *model, const kb_data *test,
                          double most) {
    static double seconds[CALLS];
    kb_predictor *p = NULL;
    if (kb_predictor_create(b->one, model, &p) != KB_OK)
        exit(1);
    time_rows(p, test, seconds);
    bench_row_at_most(b, what, seconds[CALLS / 2] * 1e6, "us", most);
    bench_row(b, "  99 of 100 within", seconds[CALLS / 100 * 99] * 1e6, "us", NULL, 0, 0);
    kb_predictor_free(p);
}

static void measure(bench *b, const task *t, const kb_data *train, const kb_data *test,
                    const char *grids, double most) {
    char what[80];
    kb_model *model = NULL;
    if (fit(b->all, t, train, grids, &model) != KB_OK)
        exit(1);
    snprintf(what, sizeof what, "one row, %s R=%s, median", t->name, grids);
    measure_model(b, what, model, test, most);
    if (kb_model_compact(b->all, model, 0) != KB_OK)
        exit(1);
    snprintf(what, sizeof what, "  compact model, median");
    measure_model(b, what, model, test, most);
    kb_model_free(model);
}

void bench_latency(bench *b) {
    static const task tasks[] = {{"ijcnn1", "ijcnn1.train", "ijcnn1.test", "0.75"},
                                 {"cod-rna", "cod-rna.train", "cod-rna.test", "0.25"}};
    for (size_t k = 0; k < sizeof tasks / sizeof *tasks; k++) {
        kb_data *train = bench_data(b, tasks[k].train), *test = bench_data(b, tasks[k].test);
        if (!train || !test) {
            bench_skip(b, "one row", "no ijcnn1 or cod-rna in the data folder");
        } else {
            measure(b, &tasks[k], train, test, "256", 3);
            measure(b, &tasks[k], train, test, "1024", 8);
        }
        kb_data_free(train);
        kb_data_free(test);
    }
}
