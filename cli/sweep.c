/*
 * sweep.c - kerbin sweep: score and time over sigma, grids, lambda or threads.
 *
 * With -o the points are written as they come, as CSV and as JSON; a sweep that was stopped finds
 * its points there and goes on.
 */
#define _POSIX_C_SOURCE 200809L
#include "command.h"
#include "interrupt.h"
#include "report.h"
#include "session.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_VALUES = 1000 };

/* What was measured for one value and one seed. */
typedef struct point {
    double value;
    long seed;
    double train_score, test_score, test_error; /* accuracy or r2; share wrong or relative error */
    double kappa, objective, bin_seconds, solve_seconds, test_seconds;
    size_t bins, grids, nonzeros, steps, memory;
    int converged;
} point;

typedef struct sweep {
    session *s;
    const cli_args *args;
    const char *vary;
    kb_data *train, *test;
    double value[MOST_VALUES];
    size_t values;
    long seeds, first_seed;
    point *point; /* values x seeds, filled in order */
    size_t count, known;
    int classes;
    char *command; /* what was asked for, but for the values */
    kb_context *ctx;
} sweep;

/* ---- what to do ------------------------------------------------------------ */

static int whole_numbers(const sweep *w) {
    return strcmp(w->vary, "grids") == 0 || strcmp(w->vary, "threads") == 0;
}

static kb_status add_value(sweep *w, double x) {
    if (whole_numbers(w))
        x = round(x);
    if (!(x > 0) || !isfinite(x))
        return session_fail(w->s, KB_ERR_ARGUMENT, "--values: %g: not a %s", x, w->vary);
    if (w->values == MOST_VALUES)
        return session_fail(w->s, KB_ERR_ARGUMENT, "--values: more than %d", MOST_VALUES);
    if (w->values == 0 || w->value[w->values - 1] != x)
        w->value[w->values++] = x;
    return KB_OK;
}

/* "A:B:K", K values in equal ratios. */
static kb_status add_range(sweep *w, const char *text) {
    kb_status status = KB_OK;
    double from, to;
    int count, end = 0;
    if (sscanf(text, "%lf:%lf:%d%n", &from, &to, &count, &end) != 3 || text[end] || !(from > 0) ||
        !(to > 0) || count < 2 || count > MOST_VALUES)
        return session_fail(w->s, KB_ERR_ARGUMENT,
                            "--values %s: should be A:B:K with A, B > 0 and K >= 2", text);
    for (int k = 0; k < count; k++)
        TRY(add_value(w, k + 1 < count ? from * pow(to / from, (double)k / (count - 1)) : to));
done:
    return status;
}

static kb_status parse_values(sweep *w, const char *text) {
    kb_status status = KB_OK;
    if (strchr(text, ':'))
        return add_range(w, text);
    for (const char *at = text; *at;) {
        char *end;
        double x = strtod(at, &end);
        if (end == at || (*end && *end != ','))
            return session_fail(w->s, KB_ERR_ARGUMENT,
                                "--values %s: should be numbers with commas between, or A:B:K",
                                text);
        TRY(add_value(w, x));
        at = *end ? end + 1 : end;
    }
done:
    return status;
}

/* The command line without what a longer or a resumed sweep may change. */
static char *describe(const sweep *w) {
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return NULL;
    fprintf(to, "kerbin sweep --vary %s", w->vary);
    for (int i = 0; i < w->args->settings; i++)
        fprintf(to, " --%s %s", w->args->setting[i].option->name, w->args->setting[i].value);
    if (strcmp(w->vary, "threads") != 0 && args_threads(w->args))
        fprintf(to, " --threads %d", args_threads(w->args));
    fprintf(to, " %s %s", w->args->operand[0], w->args->operand[1]);
    return fclose(to) == 0 ? text : NULL;
}

/* ---- memory of one point --------------------------------------------------- */

/* Linux forgets the peak on request. */
static void forget_peak(void) {
    FILE *to = fopen("/proc/self/clear_refs", "w");
    if (!to)
        return;
    fputs("5", to);
    fclose(to);
}

static size_t peak_since(void) {
    char line[256];
    unsigned long kilobytes = 0;
    FILE *from = fopen("/proc/self/status", "r");
    while (from && fgets(line, sizeof line, from))
        if (sscanf(line, "VmHWM: %lu kB", &kilobytes) == 1)
            break;
    if (from)
        fclose(from);
    return kilobytes ? (size_t)kilobytes * 1024 : peak_memory();
}

/* ---- a point --------------------------------------------------------------- */

static int show_progress(void *user, const char *phase, double done) {
    sweep *w = user;
    double share = strcmp(phase, "bin") == 0       ? 0.3 * fmax(done, 0)
                   : strcmp(phase, "solve") == 0   ? 0.3 + 0.6 * fmax(done, 0)
                   : strcmp(phase, "predict") == 0 ? 0.9 + 0.1 * fmax(done, 0)
                                                   : 0;
    double all = (double)w->values * (double)w->seeds - (double)w->known;
    if (!interrupt_requested())
        progress_update(&w->s->bar, "sweep", ((double)(w->count - w->known) + share) / all);
    return interrupt_requested();
}

static void warn_only(void *user, kb_log_level level, const char *line) {
    if (level == KB_LOG_WARNING)
        session_warn(((sweep *)user)->s, "%s", line);
}

static kb_status set_point(sweep *w, double value, long seed) {
    kb_status status = KB_OK;
    char text[64];
    int threads = strcmp(w->vary, "threads") == 0 ? (int)fmin(value, 1024) : args_threads(w->args);
    kb_context_config config = {
        .user = w, .log = warn_only, .progress = show_progress, .threads = threads};
    TRY(kb_context_create(&config, &w->ctx));
    snprintf(text, sizeof text, "%ld", seed);
    TRY(kb_options_set(w->ctx, w->s->options, "seed", text));
    snprintf(text, sizeof text, whole_numbers(w) ? "%.0f" : "%.17g", value);
    if (strcmp(w->vary, "threads") != 0)
        TRY(kb_options_set(w->ctx, w->s->options, w->vary, text));
done:
    return status;
}

static kb_status test_point(sweep *w, const kb_model *model, point *p) {
    kb_status status;
    kb_score score;
    double *decision = NULL;
    const kb_fit_info *info = kb_model_info(model);
    if (!w->test) /* with the context that lives as long */
        TRY(kb_data_read(w->s->ctx, w->s->options, w->args->operand[1], model, &w->test));
    if (!kb_data_labels(w->test))
        TRY(session_fail(w->s, KB_ERR_DATA, "%s: has no labels to score against",
                         w->args->operand[1]));
    decision = malloc(kb_data_rows(w->test) * info->outputs * sizeof(double));
    if (!decision)
        TRY(session_fail(w->s, KB_ERR_MEMORY, "out of memory for the predictions"));
    double began = seconds_now();
    TRY(kb_model_decide(w->ctx, model, w->test, decision));
    p->test_seconds = seconds_now() - began;
    TRY(kb_model_score(w->ctx, model, w->test, decision, &score));
    w->classes = info->classes > 0;
    p->test_score = w->classes ? score.accuracy : score.r2;
    p->test_error = w->classes ? 1 - score.accuracy : score.relative_error;
done:
    free(decision);
    return status;
}

static kb_status run_point(sweep *w, double value, long seed, point *p) {
    kb_status status;
    kb_model *model = NULL;
    forget_peak();
    TRY(set_point(w, value, seed));
    TRY(kb_model_fit(w->ctx, w->s->options, w->train, &model));
    const kb_fit_info *info = kb_model_info(model);
    *p = (point){.value = value,
                 .seed = seed,
                 .train_score = info->train_score,
                 .kappa = info->kappa,
                 .objective = info->objective,
                 .bin_seconds = info->bin_seconds,
                 .solve_seconds = info->solve_seconds,
                 .bins = info->bins,
                 .grids = info->grids,
                 .nonzeros = info->nonzeros,
                 .steps = info->steps,
                 .converged = info->converged};
    TRY(test_point(w, model, p));
    p->memory = peak_since();
done:
    if (status != KB_OK && status != KB_ERR_CANCELLED && !w->s->message[0] && w->ctx &&
        kb_context_message(w->ctx)[0])
        session_fail(w->s, status, "%s %g: %s", w->vary, value, kb_context_message(w->ctx));
    kb_model_free(model);
    kb_context_free(w->ctx);
    w->ctx = NULL;
    return status;
}

/* ---- threads --------------------------------------------------------------- */

/* The mean over the seeds. */
static double mean_seconds(const sweep *w, double value) {
    double sum = 0, count = 0;
    for (size_t k = 0; k < w->count; k++)
        if (w->point[k].value == value) {
            sum += w->point[k].solve_seconds;
            count++;
        }
    return sum / count;
}

/* Against the fewest threads that there are, which count as that many. */
static double measured_speedup(const sweep *w, double threads) {
    double least = w->value[0];
    for (size_t v = 1; v < w->values; v++)
        least = fmin(least, w->value[v]);
    return least * mean_seconds(w, least) / mean_seconds(w, threads);
}

/* The paper's tau / (1 + (R - 1)(tau - 1) / (D - 1)). */
static double predicted_speedup(const point *p) {
    double D = (double)p->bins, R = (double)p->grids;
    return p->value / (1 + (D > 1 ? (R - 1) * (p->value - 1) / (D - 1) : 0));
}

/* ---- files ----------------------------------------------------------------- */

static json_t *point_json(const sweep *w, const point *p) {
    json_t *object = json_pack(
        "{s:f, s:I, s:o, s:o, s:o, s:I, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:b, s:f, s:I}", "value",
        p->value, "seed", (json_int_t)p->seed, "train_score", report_number(p->train_score),
        "test_score", report_number(p->test_score), "test_error", report_number(p->test_error),
        "bins", (json_int_t)p->bins, "kappa", p->kappa, "bin_seconds", p->bin_seconds,
        "solve_seconds", p->solve_seconds, "test_seconds", p->test_seconds, "memory_bytes",
        (json_int_t)p->memory, "nonzeros", (json_int_t)p->nonzeros, "steps", (json_int_t)p->steps,
        "converged", p->converged, "objective", p->objective, "grids", (json_int_t)p->grids);
    if (strcmp(w->vary, "threads") == 0) {
        report_add(&object, "speedup", report_number(measured_speedup(w, p->value)));
        report_add(&object, "predicted_speedup", report_number(predicted_speedup(p)));
    }
    return object;
}

static json_t *sweep_json(const sweep *w) {
    json_t *points = json_array();
    for (size_t k = 0; k < w->count; k++)
        json_array_append_new(points, point_json(w, &w->point[k]));
    return json_pack("{s:o, s:s, s:b, s:o}", "command", report_text(w->command), "vary", w->vary,
                     "classification", w->classes, "points", points);
}

static void write_csv(const sweep *w, FILE *to) {
    int threads = strcmp(w->vary, "threads") == 0;
    fprintf(to,
            "%s,seed,train_score,test_score,test_error,bins,kappa,bin_seconds,solve_seconds,"
            "test_seconds,memory_bytes,nonzeros,steps,converged,objective%s\n",
            w->vary, threads ? ",speedup,predicted_speedup" : "");
    for (size_t k = 0; k < w->count; k++) {
        const point *p = &w->point[k];
        fprintf(to, "%.10g,%ld,%.10g,%.10g,%.10g,%zu,%.10g,%.6g,%.6g,%.6g,%zu,%zu,%zu,%d,%.15g",
                p->value, p->seed, p->train_score, p->test_score, p->test_error, p->bins, p->kappa,
                p->bin_seconds, p->solve_seconds, p->test_seconds, p->memory, p->nonzeros, p->steps,
                p->converged, p->objective);
        if (threads)
            fprintf(to, ",%.6g,%.6g", measured_speedup(w, p->value), predicted_speedup(p));
        fputc('\n', to);
    }
}

/* "FILE.csv" -> "FILE.json"; to be freed. */
static char *with_suffix(const char *path, const char *suffix) {
    size_t length = strlen(path);
    if (length > 4 && strcmp(path + length - 4, ".csv") == 0)
        length -= 4;
    char *out = malloc(length + strlen(suffix) + 1);
    if (out) {
        memcpy(out, path, length);
        strcpy(out + length, suffix);
    }
    return out;
}

/* Whole at any time: written beside, then renamed. */
static kb_status replace(sweep *w, const char *suffix, json_t *json) {
    const char *path = w->args->own[OWN_FILE];
    char *name = with_suffix(path, suffix), *beside = with_suffix(path, ".part");
    FILE *to = name && beside ? fopen(beside, "w") : NULL;
    int good = to != NULL;
    if (to) {
        if (json)
            good = json_dumpf(json, to, JSON_INDENT(1) | JSON_REAL_PRECISION(15)) == 0;
        else
            write_csv(w, to);
        good &= !ferror(to);
        good &= fclose(to) == 0;
        good = good && rename(beside, name) == 0;
    }
    kb_status status =
        good ? KB_OK : session_fail(w->s, KB_ERR_IO, "%s: cannot write: %s", path, strerror(errno));
    if (!good && beside)
        remove(beside);
    free(name);
    free(beside);
    return status;
}

static kb_status save(sweep *w) {
    kb_status status;
    json_t *json = NULL;
    if (!w->args->own[OWN_FILE])
        return KB_OK;
    json = sweep_json(w);
    if (!json)
        return KB_ERR_MEMORY;
    TRY(replace(w, ".csv", NULL));
    TRY(replace(w, ".json", json));
done:
    json_decref(json);
    return status;
}

static double number_in(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static point point_from(const json_t *o) {
    return (point){.value = number_in(o, "value"),
                   .seed = (long)number_in(o, "seed"),
                   .train_score = number_in(o, "train_score"),
                   .test_score = number_in(o, "test_score"),
                   .test_error = number_in(o, "test_error"),
                   .kappa = number_in(o, "kappa"),
                   .objective = number_in(o, "objective"),
                   .bin_seconds = number_in(o, "bin_seconds"),
                   .solve_seconds = number_in(o, "solve_seconds"),
                   .test_seconds = number_in(o, "test_seconds"),
                   .bins = (size_t)number_in(o, "bins"),
                   .grids = (size_t)number_in(o, "grids"),
                   .nonzeros = (size_t)number_in(o, "nonzeros"),
                   .steps = (size_t)number_in(o, "steps"),
                   .memory = (size_t)number_in(o, "memory_bytes"),
                   .converged = json_is_true(json_object_get(o, "converged"))};
}

/* Points of an earlier run of the same sweep; *old is to be given back. */
static kb_status find_known(sweep *w, json_t **old) {
    kb_status status = KB_OK;
    char *name = NULL;
    *old = NULL;
    if (!w->args->own[OWN_FILE] || !(name = with_suffix(w->args->own[OWN_FILE], ".json")))
        return KB_OK;
    *old = json_load_file(name, 0, NULL);
    const char *command = json_string_value(json_object_get(*old, "command"));
    if (*old && (!command || strcmp(command, w->command) != 0))
        status = session_fail(w->s, KB_ERR_ARGUMENT,
                              "%s: holds something else; remove it, or give -o another name", name);
    else if (*old)
        w->classes = json_is_true(json_object_get(*old, "classification"));
    free(name);
    return status;
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

static void print_table(const sweep *w, FILE *to) {
    int threads = strcmp(w->vary, "threads") == 0;
    fprintf(to, "%9s %9s %9s  %7s %7s  %7s %8s %8s  %9s%s\n", w->vary, "D", "kappa", "train",
            w->seeds > 1 ? "test +-" : "test", "bin s", "solve s", "test s", "memory",
            threads ? "  speed-up predicted" : "");
    for (size_t v = 0; v < w->values; v++) {
        point mean = {.value = w->value[v]};
        double n = 0, squares = 0, bins = 0, memory = 0;
        for (size_t k = 0; k < w->count; k++) {
            const point *p = &w->point[k];
            if (p->value != w->value[v])
                continue;
            n++;
            bins += (double)p->bins;
            mean.grids = p->grids;
            mean.kappa += p->kappa;
            mean.train_score += p->train_score;
            mean.test_score += p->test_score;
            squares += p->test_score * p->test_score;
            mean.bin_seconds += p->bin_seconds;
            mean.solve_seconds += p->solve_seconds;
            mean.test_seconds += p->test_seconds;
            memory = fmax(memory, (double)p->memory);
        }
        mean.bins = (size_t)(bins / n);
        double test = mean.test_score / n, spread = sqrt(fmax(squares / n - test * test, 0));
        fprintf(to, "%9.4g %9zu %9.4g  %7.4f %7.4f", mean.value, mean.bins, mean.kappa / n,
                mean.train_score / n, test);
        if (w->seeds > 1)
            fprintf(to, " +- %.4f", spread);
        fprintf(to, "  %7.3f %8.3f %8.3f  %9s", mean.bin_seconds / n, mean.solve_seconds / n,
                mean.test_seconds / n, size_in_words((size_t)memory).text);
        if (threads)
            fprintf(to, "  %8.2f %9.2f", measured_speedup(w, mean.value), predicted_speedup(&mean));
        fputc('\n', to);
    }
}

/* ---- the command ----------------------------------------------------------- */

static kb_status prepare(sweep *w) {
    kb_status status;
    const char *path = w->args->own[OWN_FILE];
    if (is_stdio(w->args->operand[0]) && is_stdio(w->args->operand[1]))
        TRY(session_fail(w->s, KB_ERR_ARGUMENT,
                         "only one of TRAIN and TEST can be standard input"));
    if (path && is_stdio(path))
        TRY(session_fail(w->s, KB_ERR_ARGUMENT, "-o: needs a file; --json prints the points"));
    if (path)
        TRY(session_check_output(w->s, path, w->args->operand[0]));
    if (!w->args->own[OWN_VALUES])
        TRY(session_fail(w->s, KB_ERR_ARGUMENT, "--values: which? Give a list, or A:B:K"));
    TRY(parse_values(w, w->args->own[OWN_VALUES]));
    w->seeds = strtol(w->args->own[OWN_SEEDS], NULL, 10);
    w->first_seed = strtol(kb_options_get(w->s->options, "seed"), NULL, 10);
    w->point = calloc(w->values * (size_t)w->seeds, sizeof *w->point);
    w->command = describe(w);
    if (!w->point || !w->command)
        TRY(KB_ERR_MEMORY);
done:
    return status;
}

static kb_status run(sweep *w) {
    kb_status status;
    json_t *old = NULL;
    TRY(find_known(w, &old));
    TRY(kb_data_read(w->s->ctx, w->s->options, w->args->operand[0], NULL, &w->train));
    for (size_t v = 0; v < w->values; v++)
        for (long seed = w->first_seed; seed < w->first_seed + w->seeds; seed++) {
            const json_t *known = known_point(old, w->value[v], seed);
            if (known) {
                w->point[w->count] = point_from(known);
                w->point[w->count].value = w->value[v];
                w->known++;
            } else {
                TRY(run_point(w, w->value[v], seed, &w->point[w->count]));
            }
            w->count++;
            if (!known)
                TRY(save(w));
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
    TRY(prepare(&w));
    TRY(run(&w));
    progress_clear(&s.bar);
    if (args_flag(args, OWN_JSON))
        TRY(report_json(sweep_json(&w)));
    else
        print_table(&w, stdout);
done:
    if (status != KB_OK && w.count > w.known && args->own[OWN_FILE])
        session_note(&s, "%zu points are kept; the same command goes on from there", w.count);
    kb_data_free(w.train);
    kb_data_free(w.test);
    free(w.point);
    free(w.command);
    return session_close(&s, status);
}
