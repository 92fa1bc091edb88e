/*
 * sweep.c - kerbin sweep: score and time over sigma, grids, lambda or threads.
 *
 * With -o each point is written once it is done, as CSV and as JSON.  A sweep that was stopped
 * reads its points from there and continues.
 */
#include "command.h"
#include "points.h"
#include "record.h"
#include "report.h"
#include "results.h"
#include "theory.h"
#include "text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The measurements of one value and one seed. */
typedef struct sweep_point {
    double value;
    point p;
} sweep_point;

typedef struct sweep {
    session *s;
    const cli_args *args;
    const char *vary;
    kb_data *train, *test;
    value_list list;
    long seeds, first_seed;
    sweep_point *point; /* values x seeds, filled in order */
    size_t count, known;
    int classes;
    char *command; /* the settings, without the values */
    json_t *runs;  /* that made the points */
    runner runner;
} sweep;

static int varies(const sweep *w, const char *what) {
    return strcmp(w->vary, what) == 0;
}

/* ---- a point --------------------------------------------------------------- */

static kb_status set_point(sweep *w, double value, long seed) {
    kb_status status;
    char text[64];
    kb_context *ctx = w->s->ctx;
    w->runner.threads = varies(w, "threads") ? (int)fmin(value, 1024) : args_threads(w->args);
    snprintf(text, sizeof text, "%ld", seed);
    TRY(kb_options_set(ctx, w->s->options, "seed", text));
    snprintf(text, sizeof text, w->list.whole ? "%.0f" : "%.17g", value);
    if (!varies(w, "threads"))
        TRY(kb_options_set(ctx, w->s->options, w->vary, text));
done:
    return status;
}

static kb_status run_point(sweep *w, double value, long seed, sweep_point *out) {
    kb_status status;
    out->value = value;
    TRY(points_read(w->s, w->args->operand[0], &w->train));
    TRY(set_point(w, value, seed));
    TRY(point_run(&w->runner, w->train, &w->test, w->args->operand[1], &out->p));
    w->classes = w->runner.classes;
done:
    if (status != KB_OK && status != KB_ERR_CANCELLED && w->runner.reason[0])
        session_fail(w->s, status, "%s %g: %s", w->vary, value, w->runner.reason);
    return status;
}

/* ---- threads --------------------------------------------------------------- */

/* The mean over the seeds. */
static double mean_seconds(const sweep *w, double value) {
    double sum = 0, count = 0;
    for (size_t k = 0; k < w->count; k++)
        if (w->point[k].value == value) {
            sum += w->point[k].p.solve_seconds;
            count++;
        }
    return sum / count;
}

/* Relative to the run with the fewest threads, whose speed-up counts as that number. */
static double measured_speedup(const sweep *w, double threads) {
    double least = w->list.value[0];
    for (size_t v = 1; v < w->list.count; v++)
        least = fmin(least, w->list.value[v]);
    return least * mean_seconds(w, least) / mean_seconds(w, threads);
}

/* ---- files ----------------------------------------------------------------- */

static json_t *point_json(const sweep *w, const sweep_point *at) {
    json_t *object = json_pack("{s:f}", "value", at->value);
    point_add_json(&object, &at->p);
    if (varies(w, "threads")) {
        report_add(&object, "speedup", report_number(measured_speedup(w, at->value)));
        report_add(&object, "predicted_speedup",
                   report_number(theory_speedup(at->value, at->p.grids, at->p.bins)));
    }
    return object;
}

static json_t *sweep_json(const sweep *w) {
    json_t *points = json_array();
    for (size_t k = 0; k < w->count; k++)
        json_array_append_new(points, point_json(w, &w->point[k]));
    json_t *object = json_pack("{s:o, s:s, s:b, s:o}", "command", report_text(w->command), "vary",
                               w->vary, "classification", w->classes, "points", points);
    points_add_origin(&object, w->s, w->runs);
    return object;
}

static int write_csv(const void *user, FILE *to) {
    const sweep *w = user;
    int threads = varies(w, "threads");
    const kb_metric_info *metric = points_metric(w->s);
    fprintf(to, "%s," POINT_COLUMNS "%s%s\n", w->vary, metric ? ",test_metric" : "",
            threads ? ",speedup,predicted_speedup" : "");
    for (size_t k = 0; k < w->count; k++) {
        const sweep_point *at = &w->point[k];
        fprintf(to, "%.10g,", at->value);
        point_write_csv(&at->p, metric, to);
        if (threads)
            fprintf(to, ",%.6g,%.6g", measured_speedup(w, at->value),
                    theory_speedup(at->value, at->p.grids, at->p.bins));
        fputc('\n', to);
    }
    return 1;
}

static const json_t *known_point(const json_t *old, double value, long seed) {
    size_t k;
    json_t *o;
    json_array_foreach(json_object_get(old, "points"), k,
                       o) if (fabs(number_in(o, "value") - value) <= 1e-9 * value &&
                              number_in(o, "seed") == seed) return o;
    return NULL;
}

/* ---- the table ------------------------------------------------------------- */

static void print_line(const sweep *w, double value, FILE *to) {
    point_mean m = {0};
    for (size_t k = 0; k < w->count; k++)
        if (w->point[k].value == value)
            mean_add(&m, &w->point[k].p);
    mean_finish(&m);
    const kb_metric_info *metric = points_metric(w->s);
    fprintf(to, "%9s %9zu %9.4g  %7.4f ", number_in_words(value, 4).text, m.mean.bins, m.mean.kappa,
            m.mean.train_score);
    if (metric)
        fprintf(to, metric->in_units ? "%7.6g" : "%7.4f", m.mean.metric);
    else
        fprintf(to, "%7.4f", m.mean.test_score);
    if (w->seeds > 1)
        fprintf(to, metric && metric->in_units ? " +- %.3g" : " +- %.4f",
                metric ? m.metric_spread : m.score_spread);
    fprintf(to, "  %7.3f %8.3f %8.3f  %9s", m.mean.bin_seconds, m.mean.solve_seconds,
            m.mean.test_seconds, size_in_words(m.mean.memory).text);
    if (varies(w, "threads"))
        fprintf(to, "  %8.2f %9.2f", measured_speedup(w, value),
                theory_speedup(value, m.mean.grids, m.mean.bins));
    fputc('\n', to);
}

static void print_table(const sweep *w, FILE *to) {
    const kb_metric_info *metric = points_metric(w->s);
    if (metric)
        fprintf(to, "test: %s; train: %s\n", metric->words, w->classes ? "accuracy" : "r2");
    fprintf(to, "%9s %9s %9s  %7s %7s  %7s %8s %8s  %9s%s\n", w->vary, "D", "kappa", "train",
            w->seeds > 1 ? "test +-" : "test", "bin s", "solve s", "test s", "memory",
            varies(w, "threads") ? "  speed-up predicted" : "");
    for (size_t v = 0; v < w->list.count; v++)
        print_line(w, w->list.value[v], to);
}

/* ---- the command ----------------------------------------------------------- */

static kb_status prepare(sweep *w) {
    kb_status status;
    char head[64];
    TRY(points_check_files(w->s));
    if (!w->args->own[OWN_VALUES])
        TRY(session_fail(w->s, KB_ERR_ARGUMENT, "--values: required; give a list, or A:B:K"));
    w->list.option = "--values";
    w->list.most = strcmp(w->vary, "threads") == 0 ? 1024 : 0;
    w->list.noun = w->vary;
    w->list.whole = varies(w, "grids") || varies(w, "threads");
    TRY(values_parse(w->s, w->args->own[OWN_VALUES], &w->list));
    w->seeds = strtol(w->args->own[OWN_SEEDS], NULL, 10);
    w->first_seed = strtol(kb_options_get(w->s->options, "seed"), NULL, 10);
    w->point = calloc(w->list.count * (size_t)w->seeds, sizeof *w->point);
    snprintf(head, sizeof head, "kerbin sweep --vary %s", w->vary);
    w->command = points_command(w->args, head, varies(w, "threads"));
    if (!w->point || !w->command)
        TRY(KB_ERR_MEMORY);
    w->runner =
        (runner){.s = w->s, .name = "sweep", .all = (double)w->list.count * (double)w->seeds};
done:
    return status;
}

static kb_status run(sweep *w) {
    kb_status status;
    json_t *old = NULL;
    TRY(points_load(w->s, w->command, &old));
    w->classes = json_is_true(json_object_get(old, "classification"));
    w->runs = record_runs(w->args, old);
    if (!w->runs)
        TRY(KB_ERR_MEMORY);
    for (size_t v = 0; v < w->list.count; v++)
        for (long seed = w->first_seed; seed < w->first_seed + w->seeds; seed++) {
            double value = w->list.value[v];
            const json_t *known = known_point(old, value, seed);
            if (known) {
                w->point[w->count++] = (sweep_point){value, point_from_json(known)};
                w->known++;
                w->runner.all--;
                continue;
            }
            TRY(run_point(w, value, seed, &w->point[w->count]));
            w->count++;
            TRY(points_save(w->s, write_csv, w, sweep_json(w)));
        }
    if (w->known)
        session_note(w->s, "%zu of %zu points were there already", w->known, w->count);
done:
    json_decref(old);
    return status;
}

int sweep_run(const cli_args *args) {
    session s;
    kb_status status;
    sweep w = {.s = &s, .args = args, .vary = args->own[OWN_VARY]};

    TRY(session_open(&s, args));
    TRY(session_hold_nothing_out(&s));
    TRY(prepare(&w));
    TRY(run(&w));
    progress_clear(&s.bar);
    if (args_flag(args, OWN_JSON))
        TRY(report_json(sweep_json(&w)));
    else
        print_table(&w, stdout);
    TRY(results_plot(&s, sweep_json(&w)));
done:
    if (status != KB_OK && w.count > w.known && args->own[OWN_FILE])
        session_note(&s, "%zu points are kept; the same command continues from there", w.count);
    kb_data_free(w.train);
    kb_data_free(w.test);
    free(w.point);
    free(w.command);
    json_decref(w.runs);
    return session_close(&s, status);
}
