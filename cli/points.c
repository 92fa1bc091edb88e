/* points.c - see points.h. */
#define _POSIX_C_SOURCE 200809L
#include "points.h"
#include "interrupt.h"
#include "plot.h"
#include "report.h"
#include "files.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what to do ------------------------------------------------------------ */

static kb_status add_value(session *s, value_list *list, double x) {
    if (list->whole)
        x = round(x);
    if (!(x > 0) || !isfinite(x))
        return session_fail(s, KB_ERR_ARGUMENT, "%s: %g: not a %s", list->option, x, list->noun);
    if (list->count == MOST_VALUES)
        return session_fail(s, KB_ERR_ARGUMENT, "%s: more than %d", list->option, MOST_VALUES);
    if (list->most > 0 && x > list->most)
        return session_fail(s, KB_ERR_ARGUMENT, "%s: %g: at most %g", list->option, x, list->most);
    for (size_t k = 0; k < list->count; k++)
        if (list->value[k] == x)
            return KB_OK;
    list->value[list->count++] = x;
    return KB_OK;
}

static kb_status add_range(session *s, value_list *list, const char *text) {
    kb_status status = KB_OK;
    double from, to;
    int count, end = 0;
    if (sscanf(text, "%lf:%lf:%d%n", &from, &to, &count, &end) != 3 || text[end] || !(from > 0) ||
        !(to > 0) || count < 2 || count > MOST_VALUES)
        return session_fail(s, KB_ERR_ARGUMENT, "%s %s: should be A:B:K with A, B > 0 and K >= 2",
                            list->option, text);
    for (int k = 0; k < count; k++)
        TRY(add_value(s, list,
                      k + 1 < count ? from * pow(to / from, (double)k / (count - 1)) : to));
done:
    return status;
}

kb_status values_parse(session *s, const char *text, value_list *list) {
    kb_status status = KB_OK;
    list->count = 0;
    if (strchr(text, ':'))
        return add_range(s, list, text);
    for (const char *at = text; *at || at == text;) {
        char *end;
        double x = strtod(at, &end);
        if (end == at || (*end && *end != ','))
            return session_fail(s, KB_ERR_ARGUMENT,
                                "%s %s: should be numbers separated by commas, or A:B:K",
                                list->option, *text ? text : "''");
        TRY(add_value(s, list, x));
        at = *end ? end + 1 : end;
    }
done:
    return status;
}

char *points_command(const cli_args *args, const char *head, int threads_vary) {
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return NULL;
    fputs(head, to);
    for (int i = 0; i < args->settings; i++)
        fprintf(to, " --%s %s", args->setting[i].option->name, args->setting[i].value);
    if (!threads_vary && args_threads(args))
        fprintf(to, " --threads %d", args_threads(args));
    fprintf(to, " %s %s", args->operand[0], args->operand[1]);
    if (fclose(to) == 0)
        return text;
    free(text);
    return NULL;
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

/* Creates the folders of a file that do not exist. */
static kb_status make_folders(session *s, const char *path) {
    kb_status status = KB_OK;
    char *folder = strdup(path);
    if (!folder)
        return KB_ERR_MEMORY;
    for (char *slash = strchr(folder + 1, '/'); *folder && slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(folder, 0777) != 0 && errno != EEXIST)
            TRY(session_fail(s, KB_ERR_IO, "%s: cannot create the folder: %s", folder,
                             strerror(errno)));
        *slash = '/';
    }
done:
    free(folder);
    return status;
}

kb_status points_check_files(session *s) {
    kb_status status = KB_OK;
    const char *const *operand = s->args->operand, *path = s->args->own[OWN_FILE];
    if (is_stdio(operand[0]) && is_stdio(operand[1]))
        TRY(session_fail(s, KB_ERR_ARGUMENT, "only one of TRAIN and TEST can be standard input"));
    if (path && is_stdio(path))
        TRY(session_fail(s, KB_ERR_ARGUMENT, "-o: needs a file; --json prints the points"));
    static const char *const suffix[] = {".csv", ".json"};
    if (strcmp(kb_options_get(s->options, "lambda-path"), "0") != 0)
        TRY(session_fail(s, KB_ERR_ARGUMENT, "--lambda-path: is for train"));
    TRY(plot_check(s, s->args->own[OWN_PLOT]));
    if (path)
        TRY(make_folders(s, path));
    for (size_t k = 0; path && k < sizeof suffix / sizeof *suffix; k++) {
        char *name = with_suffix(path, suffix[k]);
        status = name ? files_check_output(s, name) : KB_ERR_MEMORY;
        free(name);
        TRY(status);
    }
done:
    return status;
}

/* ---- memory of one point --------------------------------------------------- */

/* Linux resets the peak on request. */
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

/* ---- one point ------------------------------------------------------------- */

static int show_progress(void *user, const char *phase, double done) {
    runner *r = user;
    double share = strcmp(phase, "bin") == 0       ? 0.3 * fmax(done, 0)
                   : strcmp(phase, "solve") == 0   ? 0.3 + 0.6 * fmax(done, 0)
                   : strcmp(phase, "predict") == 0 ? 0.9 + 0.1 * fmax(done, 0)
                                                   : 0;
    if (!interrupt_requested())
        progress_update(&r->s->bar, r->name, (r->done + share) / r->all);
    return interrupt_requested();
}

static void warn_only(void *user, kb_log_level level, const char *line) {
    if (level == KB_LOG_WARNING)
        session_warn(((runner *)user)->s, "%s", line);
}

/* With the session's context, which lives as long as the data. */
static kb_status read_test(runner *r, const kb_model *model, const char *path, kb_data **test) {
    kb_status status;
    kb_options *options = NULL;
    TRY(session_options_to_read(r->s, &options));
    TRY(kb_data_read(r->s->ctx, options, path, model, test));
    if (!kb_data_labels(*test))
        TRY(session_fail(r->s, KB_ERR_DATA, "%s: has no labels to score against", path));
done:
    kb_options_free(options);
    return status;
}

const kb_metric_info *points_metric(session *s) {
    return report_metric(kb_options_get(s->options, "metric"));
}

/* The metric that was asked for, or why there is none. */
static kb_status take_metric(runner *r, const kb_score *score, point *p) {
    const kb_metric_info *m = points_metric(r->s);
    p->metric = m && m->classes == r->classes ? kb_score_get(score, m->name) : NAN;
    if (!m || isfinite(p->metric))
        return KB_OK;
    if (m->classes != r->classes)
        snprintf(r->reason, sizeof r->reason, "--metric %s: is for %s, and the labels are %s",
                 m->name, m->classes ? "classification" : "regression",
                 r->classes ? "classes" : "numbers");
    else if (m->probabilities)
        snprintf(r->reason, sizeof r->reason,
                 "--metric %s: the model has no probabilities; use --holdout 0.2 or --loss "
                 "logistic",
                 m->name);
    else
        snprintf(r->reason, sizeof r->reason, "--metric %s: is not defined for these test rows",
                 m->name);
    return KB_ERR_ARGUMENT;
}

static kb_status test_point(runner *r, const kb_model *model, const kb_data *test, point *p) {
    kb_status status;
    kb_score score = KB_SCORE_INIT;
    const kb_fit_info *info = kb_model_info(model);
    double *decision = malloc(kb_data_rows(test) * info->outputs * sizeof(double));
    if (!decision) {
        snprintf(r->reason, sizeof r->reason, "out of memory for the predictions");
        return KB_ERR_MEMORY;
    }
    double began = seconds_now();
    TRY(kb_model_decide(r->ctx, model, test, decision));
    p->test_seconds = seconds_now() - began;
    TRY(kb_model_score(r->ctx, model, test, decision, &score));
    r->classes = info->classes > 0;
    p->test_score = r->classes ? score.accuracy : score.r2;
    p->test_error = r->classes ? 1 - score.accuracy : score.relative_error;
    TRY(take_metric(r, &score, p));
done:
    free(decision);
    return status;
}

kb_status points_read(session *s, const char *path, kb_data **data) {
    return *data ? KB_OK : kb_data_read(s->ctx, s->options, path, NULL, data);
}

kb_status point_run(runner *r, const kb_data *train, kb_data **test, const char *path, point *out) {
    kb_status status;
    kb_model *model = NULL;
    kb_context_config config = {.size = sizeof config,
                                .user = r,
                                .log = warn_only,
                                .progress = show_progress,
                                .threads = r->threads,
                                .option_style = KB_STYLE_FLAG};
    int common = 0; /* an error that all other points would have too */
    r->reason[0] = '\0';
    if (interrupt_requested())
        return KB_ERR_CANCELLED;
    forget_peak();
    TRY(kb_context_create(&config, &r->ctx));
    TRY(kb_model_fit(r->ctx, r->s->options, train, &model));
    const kb_fit_info *info = kb_model_info(model);
    const kb_fit_cost *cost = kb_model_cost(model);
    *out = (point){.seed = strtol(kb_options_get(r->s->options, "seed"), NULL, 10),
                   .train_score = info->train_score,
                   .kappa = info->kappa,
                   .objective = info->objective,
                   .bin_seconds = cost->bin_seconds,
                   .solve_seconds = cost->solve_seconds,
                   .bins = info->bins,
                   .grids = info->grids,
                   .nonzeros = info->nonzeros,
                   .steps = info->steps,
                   .converged = info->converged};
    common = 1;
    if (!*test)
        TRY(read_test(r, model, path, test));
    common = 0;
    TRY(test_point(r, model, *test, out));
    out->memory = peak_since();
    r->done++;
done:
    if (status != KB_OK && !common && !r->reason[0])
        snprintf(r->reason, sizeof r->reason, "%s",
                 r->ctx && kb_context_message(r->ctx)[0] ? kb_context_message(r->ctx)
                                                         : "out of memory");
    kb_model_free(model);
    kb_context_free(r->ctx);
    r->ctx = NULL;
    return status;
}

/* ---- means ----------------------------------------------------------------- */

void mean_add(point_mean *m, const point *p) {
    point *sum = &m->mean;
    m->count++;
    m->bins += (double)p->bins;
    m->score_squares += p->test_score * p->test_score;
    m->error_squares += p->test_error * p->test_error;
    m->metric_squares += p->metric * p->metric;
    sum->metric += p->metric;
    sum->grids = p->grids;
    sum->kappa += p->kappa;
    sum->train_score += p->train_score;
    sum->test_score += p->test_score;
    sum->test_error += p->test_error;
    sum->bin_seconds += p->bin_seconds;
    sum->solve_seconds += p->solve_seconds;
    sum->test_seconds += p->test_seconds;
    sum->memory = p->memory > sum->memory ? p->memory : sum->memory;
}

static double deviation(double mean, double mean_square) {
    return sqrt(fmax(mean_square - mean * mean, 0));
}

void mean_finish(point_mean *m) {
    point *mean = &m->mean;
    double n = m->count;
    mean->bins = (size_t)(m->bins / n);
    mean->kappa /= n;
    mean->train_score /= n;
    mean->test_score /= n;
    mean->test_error /= n;
    mean->metric /= n;
    mean->bin_seconds /= n;
    mean->solve_seconds /= n;
    mean->test_seconds /= n;
    m->score_spread = deviation(mean->test_score, m->score_squares / n);
    m->error_spread = deviation(mean->test_error, m->error_squares / n);
    m->metric_spread = deviation(mean->metric, m->metric_squares / n);
}

/* ---- points as text -------------------------------------------------------- */

void point_write_csv(const point *p, const kb_metric_info *metric, FILE *to) {
    fprintf(to, "%ld,%.10g,%.10g,%.10g,%zu,%.10g,%.6g,%.6g,%.6g,%zu,%zu,%zu,%d,%.15g", p->seed,
            p->train_score, p->test_score, p->test_error, p->bins, p->kappa, p->bin_seconds,
            p->solve_seconds, p->test_seconds, p->memory, p->nonzeros, p->steps, p->converged,
            p->objective);
    if (metric)
        fprintf(to, ",%.10g", p->metric);
}

static void add_count(json_t **object, const char *key, size_t count) {
    report_add(object, key, json_integer((json_int_t)count));
}

void point_add_json(json_t **object, const point *p) {
    report_add(object, "seed", json_integer((json_int_t)p->seed));
    report_add(object, "train_score", report_number(p->train_score));
    report_add(object, "test_score", report_number(p->test_score));
    report_add(object, "test_error", report_number(p->test_error));
    add_count(object, "bins", p->bins);
    report_add(object, "kappa", report_number(p->kappa));
    report_add(object, "bin_seconds", report_number(p->bin_seconds));
    report_add(object, "solve_seconds", report_number(p->solve_seconds));
    report_add(object, "test_seconds", report_number(p->test_seconds));
    add_count(object, "memory_bytes", p->memory);
    add_count(object, "nonzeros", p->nonzeros);
    add_count(object, "steps", p->steps);
    report_add(object, "converged", json_boolean(p->converged));
    report_add(object, "objective", report_number(p->objective));
    add_count(object, "grids", p->grids);
    if (isfinite(p->metric))
        report_add(object, "test_metric", report_number(p->metric));
}

double number_in(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static size_t count_in(const json_t *object, const char *key) {
    double number = number_in(object, key);
    return number >= 0 && number < 1e18 ? (size_t)number : 0;
}

point point_from_json(const json_t *o) {
    return (point){.seed = (long)count_in(o, "seed"),
                   .train_score = number_in(o, "train_score"),
                   .test_score = number_in(o, "test_score"),
                   .test_error = number_in(o, "test_error"),
                   .kappa = number_in(o, "kappa"),
                   .objective = number_in(o, "objective"),
                   .bin_seconds = number_in(o, "bin_seconds"),
                   .solve_seconds = number_in(o, "solve_seconds"),
                   .test_seconds = number_in(o, "test_seconds"),
                   .bins = count_in(o, "bins"),
                   .grids = count_in(o, "grids"),
                   .nonzeros = count_in(o, "nonzeros"),
                   .steps = count_in(o, "steps"),
                   .memory = count_in(o, "memory_bytes"),
                   .converged = json_is_true(json_object_get(o, "converged")),
                   .metric = number_in(o, "test_metric")};
}

void points_add_origin(json_t **object, session *s, const json_t *runs) {
    const kb_metric_info *metric = points_metric(s);
    if (metric)
        report_add(object, "metric", json_string(metric->name));
    report_add(object, "train", report_text(s->args->operand[0]));
    report_add(object, "test", report_text(s->args->operand[1]));
    report_add(object, "runs", json_deep_copy(runs));
}

/* ---- files ----------------------------------------------------------------- */

static int write_json(const void *json, FILE *to) {
    return json_dumpf(json, to, JSON_INDENT(1) | JSON_REAL_PRECISION(15)) == 0;
}

static kb_status replace(session *s, const char *suffix, file_writer write, const void *user) {
    char *name = with_suffix(s->args->own[OWN_FILE], suffix);
    kb_status status = name ? write_whole(s, name, write, user) : KB_ERR_MEMORY;
    free(name);
    return status;
}

kb_status points_save(session *s, file_writer write_csv, const void *user, json_t *json) {
    kb_status status = KB_OK;
    if (!json)
        return KB_ERR_MEMORY;
    if (!s->args->own[OWN_FILE])
        goto done;
    /* First the one that points_load goes on from: a run may be killed between the two. */
    TRY(replace(s, ".json", write_json, json));
    TRY(replace(s, ".csv", write_csv, user));
done:
    json_decref(json);
    return status;
}

kb_status points_load(session *s, const char *command, json_t **old) {
    const char *path = s->args->own[OWN_FILE];
    char *name = path ? with_suffix(path, ".json") : NULL;
    char *table = path ? with_suffix(path, ".csv") : NULL;
    kb_status status = KB_OK;
    *old = name ? json_load_file(name, 0, NULL) : NULL;
    const char *known = json_string_value(json_object_get(*old, "command"));
    int there = name && table && (access(name, F_OK) == 0 || access(table, F_OK) == 0);
    if (there && (!known || strcmp(known, command) != 0))
        status = session_fail(s, KB_ERR_ARGUMENT,
                              "%s: holds something else; remove it, or give -o another name",
                              access(name, F_OK) == 0 ? name : table);
    free(name);
    free(table);
    return status;
}
