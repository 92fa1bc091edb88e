/* train.c - kerbin train: fit and save a model. */
#include "command.h"
#include "compaction.h"
#include "dictionary.h"
#include "ranks.h"
#include "report.h"
#include "session.h"
#include "text.h"
#include "trace.h"
#include "theory.h"
#include "files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct times {
    double read, solve, write, total; /* solve: of all lambdas */
} times;

static void drop_suffix(char *name, const char *const *suffixes) {
    for (; *suffixes; suffixes++) {
        size_t length = strlen(name), tail = strlen(*suffixes);
        if (length > tail && strcmp(name + length - tail, *suffixes) == 0) {
            name[length - tail] = '\0';
            return;
        }
    }
}

/* "data-*" -> "data". */
static void drop_wildcards(char *name) {
    char *to = name;
    for (const char *from = name; *from; from++)
        if (*from != '*' && *from != '?')
            *to++ = *from;
    while (to > name && strchr("-_.", to[-1]))
        to--;
    strcpy(to, "");
    if (to == name)
        strcpy(name, "model");
}

/* "../data/ijcnn1.train.xz" -> "ijcnn1.train.kerbin".  To be freed; NULL: no memory. */
static char *default_model_path(const char *data) {
    static const char *const packed[] = {".gz", ".bz2", ".xz", ".zst", NULL};
    static const char *const plain[] = {".libsvm", ".svmlight", ".svm",  ".csv", ".tsv",
                                        ".txt",    ".dat",      ".data", NULL};
    const char *slash = strrchr(data, '/');
    const char *name = is_stdio(data) ? "model" : slash ? slash + 1 : data;
    char *path = malloc(strlen(name) + sizeof "model.kerbin");
    if (!path)
        return NULL;
    strcpy(path, name);
    drop_suffix(path, packed);
    drop_suffix(path, plain);
    if (path[strcspn(path, "*?")] != '\0')
        drop_wildcards(path);
    return strcat(path, ".kerbin");
}

/* Rows to score on, read once there is a model with the columns and classes. */
typedef struct validation {
    session *s;
    const char *path; /* NULL: none */
    kb_data *data;
    double *decision;
    size_t rows, points; /* lambdas scored */
    kb_score *score;     /* of each */
} validation;

static kb_status read_validation(validation *v, const kb_model *model) {
    kb_status status;
    kb_options *options = NULL;
    TRY(session_options_to_read(v->s, &options));
    TRY(kb_data_read(v->s->ctx, options, v->path, model, &v->data));
    if (!kb_data_labels(v->data) && kb_data_rows(v->data) > 0)
        TRY(session_fail(v->s, KB_ERR_DATA, "%s: has no labels to score against", v->path));
    v->rows = kb_data_rows(v->data);
    v->decision = malloc(v->rows * kb_model_info(model)->outputs * sizeof(double));
    if (!v->decision)
        TRY(session_fail(v->s, KB_ERR_MEMORY, "%s: out of memory for its decisions", v->path));
done:
    status = session_agree(v->s, status);
    ranks_add_up(&v->rows);
    kb_options_free(options);
    return status;
}

/* A metric of probabilities needs a model that has them. */
static kb_status check_metric(validation *v, const kb_score *score) {
    const kb_metric_info *m = report_metric(kb_options_get(v->s->options, "metric"));
    if (!m || !m->probabilities || isfinite(kb_score_get(score, m->name)))
        return KB_OK;
    return session_fail(v->s, KB_ERR_ARGUMENT,
                        "--metric %s: the model has no probabilities; use --loss logistic",
                        m->name);
}

/* Each rank has some of the rows, and all get the score. */
static kb_status score(validation *v, const kb_model *model, kb_score *out) {
    kb_status status;
    kb_context *ctx = v->s->ctx;
    if (ranks_count() > 1)
        return kb_model_predict_file(ctx, model, v->data, KB_OUTPUT_DECISION, NULL, out);
    TRY(kb_model_decide(ctx, model, v->data, v->decision));
    TRY(kb_model_score(ctx, model, v->data, v->decision, out));
done:
    return status;
}

static kb_status validate(void *user, const kb_model *model) {
    validation *v = user;
    kb_status status = KB_OK;
    kb_score *more = realloc(v->score, (v->points + 1) * sizeof *more);
    if (!more)
        return KB_ERR_MEMORY;
    v->score = more;
    more[v->points] = (kb_score){.size = sizeof *more, .accuracy = NAN, .rmse = NAN};
    if (v->path) {
        if (!v->data)
            TRY(read_validation(v, model));
        TRY(score(v, model, &more[v->points]));
        TRY(check_metric(v, &more[v->points]));
    }
    v->points++;
done:
    return status;
}

static void validation_free(validation *v) {
    kb_data_free(v->data);
    free(v->decision);
    free(v->score);
}

/* What --metric asks for; NULL where that is the accuracy, or another measure of the squared error.
 */
static const kb_metric_info *other_metric(const validation *v, int classes) {
    static const char *const usual[] = {"accuracy", "rmse", "r2", "relative-error"};
    const kb_metric_info *m = report_metric(kb_options_get(v->s->options, "metric"));
    for (size_t k = 0; m && k < sizeof usual / sizeof *usual; k++)
        if (strcmp(m->name, usual[k]) == 0)
            return NULL;
    return m && m->classes == classes ? m : NULL;
}

/* Lower is better: the metric that was asked for, else the share of wrong rows, or the mean squared
 * error. */
static double badness(const validation *v, const kb_score *score, int classes) {
    const kb_metric_info *m = other_metric(v, classes);
    if (m)
        return (m->larger ? -1 : 1) * kb_score_get(score, m->name);
    return classes ? 1 - score->accuracy : score->rmse * score->rmse;
}

/* The largest lambda within one standard error of the best, or the best one of a metric whose error
 * is not known; without a score, the last. */
static size_t choose(const validation *v, int classes, size_t *best) {
    size_t k = 0;
    *best = v->points - 1;
    if (!v->path)
        return *best;
    for (size_t i = 0; i < v->points; i++)
        if (badness(v, &v->score[i], classes) < badness(v, &v->score[*best], classes))
            *best = i;
    double most = badness(v, &v->score[*best], classes);
    most += other_metric(v, classes) ? 0 : v->score[*best].standard_error;
    while (k < *best && !(badness(v, &v->score[k], classes) <= most))
        k++;
    return k;
}

static void print_path(FILE *to, const kb_path *path, const validation *v, size_t chosen,
                       size_t best) {
    int classes = kb_path_info(path, 0)->classes > 0;
    const kb_metric_info *m = v->path ? other_metric(v, classes) : NULL;
    fprintf(to, "    lambda  nonzeros  train %s%s%s\n", classes ? "accuracy" : "r2      ",
            !v->path  ? ""
            : m       ? "  valid "
            : classes ? "  valid accuracy"
                      : "  valid rmse",
            m ? m->words : "");
    for (size_t k = 0; k < kb_path_count(path); k++) {
        const kb_fit_info *info = kb_path_info(path, k);
        fprintf(to, "%10.4g  %8zu  ", info->lambda, info->nonzeros);
        if (classes)
            fprintf(to, "      %6.2f %%", 100 * info->train_score);
        else
            fprintf(to, "        %6.4f", info->train_score);
        if (m)
            fprintf(to, "  %*.6g", 6 + (int)strlen(m->words), kb_score_get(&v->score[k], m->name));
        else if (v->path && classes)
            fprintf(to, "        %6.2f %%", 100 * v->score[k].accuracy);
        else if (v->path)
            fprintf(to, "  %10.6g", v->score[k].rmse);
        fprintf(to, "%s%s\n", k == best && v->path ? "  best" : "", k == chosen ? "  kept" : "");
    }
}

static double path_seconds(const kb_path *path) {
    double sum = 0;
    for (size_t k = 0; k < kb_path_count(path); k++)
        sum += kb_path_cost(path, k)->solve_seconds;
    return sum;
}

static json_t *path_json(const kb_path *path, const validation *v) {
    json_t *list = json_array();
    for (size_t k = 0; k < kb_path_count(path); k++) {
        const kb_fit_info *info = kb_path_info(path, k);
        json_t *point = json_pack(
            "{s:f, s:I, s:f, s:f, s:I, s:b, s:f, s:f}", "lambda", info->lambda, "nonzeros",
            (json_int_t)info->nonzeros, "objective", info->objective, "gap", info->gap, "steps",
            (json_int_t)info->steps, "converged", info->converged, "train_score", info->train_score,
            "seconds", kb_path_cost(path, k)->solve_seconds);
        if (v->path)
            report_add(&point, "valid", report_score_json(info, &v->score[k]));
        json_array_append_new(list, point);
    }
    return list;
}

/* What the option budget left out or made smaller. */
static json_t *shortened_json(const kb_model *model) {
    size_t count;
    const char *const *word = kb_model_shortened(model, &count);
    json_t *list = json_array();
    for (size_t k = 0; k < count; k++)
        json_array_append_new(list, json_string(word[k]));
    return list;
}

/* What rank 0 gave to the others. */
static json_t *ranks_json(const session *s, const kb_fit_info *info) {
    double all, pass, foreseen;
    int sweeps = strcmp(info->solver, "sweeps") == 0;
    kb_context_sent(s->ctx, &all, &pass, &foreseen);
    json_t *object = json_pack("{s:i, s:f}", "count", ranks_count(), "sent_bytes", all);
    if (pass > 0) {
        json_object_set_new(object, sweeps ? "sent_bytes_a_sweep" : "sent_bytes_a_step",
                            json_real(pass));
        json_object_set_new(object, sweeps ? "foreseen_bytes_a_sweep" : "foreseen_bytes_a_step",
                            json_real(foreseen));
    }
    return object;
}

static kb_status print_json(const kb_model *model, const times *t, const char *path,
                            const validation *v, const compaction *smaller, size_t chosen,
                            json_t *points) {
    const kb_fit_info *info = kb_model_info(model);
    const kb_fit_cost *cost = kb_model_cost(model);
    json_t *object = report_fit_json(info);
    report_add(&object, "expected", report_expected_json(model));
    report_add(&object, "tried", trace_json(model));
    report_add(&object, "shortened", shortened_json(model));
    dictionary_add_json(&object, model);
    theory_add_json(&object, info, kb_context_threads(v->s->ctx));
    report_add(&object, "seconds",
               json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "read", t->read, "encode",
                         cost->encode_seconds, "tune", cost->tune_seconds, "importance",
                         cost->importance_seconds, "bin", cost->bin_seconds, "solve", t->solve,
                         "write", t->write, "total", t->total));
    report_add(&object, "peak_memory_bytes", json_integer((json_int_t)peak_memory()));
    report_add(&object, "forecast_bytes", json_integer((json_int_t)cost->forecast_bytes));
    report_add(&object, "id_bytes", json_integer((json_int_t)cost->id_bytes));
    if (ranks_count() > 1)
        report_add(&object, "ranks", ranks_json(v->s, info));
    report_add(&object, "model", report_text(path));
    if (v->path)
        report_add(&object, "valid", report_score_json(info, &v->score[chosen]));
    if (smaller->bound.compact)
        report_add(&object, "compact", compaction_json(info, smaller));
    if (points)
        report_add(&object, "path", points);
    return report_json(object);
}

static void print_summary(FILE *to, const kb_model *model, const times *t, const char *path,
                          const validation *v, const compaction *smaller, size_t chosen) {
    const kb_fit_info *info = kb_model_info(model);
    const kb_fit_cost *cost = kb_model_cost(model);
    trace_print(to, model);
    if (kb_model_label_name(model))
        fprintf(to, "label     %s\n", kb_model_label_name(model));
    report_fit(to, info);
    if (v->path) {
        fprintf(to, "valid     ");
        report_score(to, info, &v->score[chosen], v->rows,
                     report_metric(kb_options_get(v->s->options, "metric")));
    }
    fprintf(to,
            "time      read %.2f s, encode %.2f s, tune %.2f s, bin %.2f s, solve %.2f s, write "
            "%.2f s; %.2f s in all\n",
            t->read, cost->encode_seconds, cost->tune_seconds, cost->bin_seconds, t->solve,
            t->write, t->total);
    fprintf(to, "memory    %s at the peak, of which %s for the bin numbers\n",
            size_in_words(peak_memory()).text, size_in_words(cost->id_bytes).text);
    if (!is_stdio(path))
        fprintf(to, "model     %s, %s\n", path_in_words(path).text,
                size_in_words(file_size(path)).text);
    if (smaller->bound.compact)
        compaction_print(to, info, smaller);
    report_expected(to, model);
    report_fit_score(to, info);
}

/* "60s", "5m", "1h", or a number of seconds; -1: something else. */
static double seconds_of(const char *text) {
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"", 1}, {"s", 1}, {"m", 60}, {"h", 3600}};
    char *end;
    double number = strtod(text, &end);
    for (size_t k = 0; end > text && number >= 0 && k < sizeof units / sizeof *units; k++)
        if (strcmp(end, units[k].unit) == 0)
            return number * units[k].seconds;
    return -1;
}

static kb_status set_checkpoint(session *s) {
    const char *file = s->args->own[OWN_CHECKPOINT], *every = s->args->own[OWN_EVERY];
    double seconds = seconds_of(every);
    if (!file && args_was_given(s->args, OWN_EVERY))
        return session_fail(s, KB_ERR_ARGUMENT,
                            "--every: needs --checkpoint FILE, which is what it writes");
    if (!file)
        return KB_OK;
    if (seconds < 0)
        return session_fail(s, KB_ERR_ARGUMENT, "--every %s: must be a time, such as 60s, 5m or 1h",
                            every);
    kb_status status = ranks_me() == 0 ? files_check_output(s, file) : KB_OK;
    return status == KB_OK ? kb_context_set_checkpoint(s->ctx, file, seconds) : status;
}

static kb_status check(session *s, const char *path) {
    if (!path)
        return KB_ERR_MEMORY;
    if (is_stdio(path) && args_flag(s->args, OWN_JSON))
        return session_fail(s, KB_ERR_ARGUMENT,
                            "--json and the model would both go to standard output; "
                            "give --model a file");
    if (args_flag(s->args, OWN_COMPACT) &&
        strcmp(kb_options_get(s->options, "map"), "binning") != 0)
        return session_fail(s, KB_ERR_ARGUMENT, "a compact model needs --map binning");
    return files_check_output(s, path);
}

/* One model, or the one of a path that the validation rows select. */
static kb_status fit(session *s, const kb_data *data, validation *v, kb_path **path, size_t *chosen,
                     size_t *best, kb_model **model) {
    kb_status status;
    if (strcmp(kb_options_get(s->options, "lambda-path"), "0") == 0) {
        TRY(kb_model_fit(s->ctx, s->options, data, model));
        TRY(validate(v, *model));
        goto done;
    }
    TRY(kb_path_fit(s->ctx, s->options, data, validate, v, path));
    *chosen = choose(v, kb_path_info(*path, 0)->classes > 0, best);
done:
    return status;
}

int train_run(const cli_args *args) {
    session s;
    kb_status status;
    kb_data *data = NULL;
    kb_model *model = NULL;
    kb_path *points = NULL;
    json_t *points_json = NULL;
    size_t chosen = 0, best = 0;
    times t;
    compaction smaller = {0};
    const char *source = args->operand[0];
    char *derived = args->own[OWN_MODEL] ? NULL : default_model_path(source);
    const char *path = derived ? derived : args->own[OWN_MODEL];
    validation valid = {.s = &s, .path = args->own[OWN_VALID]};
    FILE *to = path && is_stdio(path) ? stderr : stdout;

    TRY(session_open(&s, args));
    kb_context_start_clock(s.ctx);
    TRY(session_agree(&s, ranks_me() == 0 ? check(&s, path) : KB_OK));
    TRY(session_agree(&s, set_checkpoint(&s)));
    TRY(kb_data_read(s.ctx, s.options, source, NULL, &data));
    if (ranks_of_context())
        TRY(kb_data_deal(s.ctx, data));
    t.read = seconds_now() - s.started;
    session_note(&s, "%s", dictionary_of_data(data).text);
    TRY(fit(&s, data, &valid, &points, &chosen, &best, &model));
    if (points && args_flag(args, OWN_JSON))
        points_json = path_json(points, &valid);
    else if (points && !args_flag(args, OWN_QUIET) && ranks_me() == 0)
        print_path(to, points, &valid, chosen, best);
    if (points)
        TRY(kb_path_take(points, chosen, &model));
    double fitted = seconds_now();
    if (args_flag(args, OWN_COMPACT))
        TRY(compaction_apply(&s, model, 0, data, &smaller));
    TRY(session_agree(&s, ranks_me() == 0 ? kb_model_write(s.ctx, model, path) : KB_OK));
    if (args->own[OWN_CHECKPOINT] && ranks_me() == 0)
        remove(args->own[OWN_CHECKPOINT]);
    t.write = seconds_now() - fitted;
    t.total = seconds_now() - s.started;

    const kb_fit_info *info = kb_model_info(model);
    t.solve = points ? path_seconds(points) : kb_model_cost(model)->solve_seconds;
    if (!info->converged)
        session_warn(&s, "not converged after %zu step%s; raise --max-iter, --tol or --lambda",
                     info->steps, plural(info->steps));
    if (args_flag(args, OWN_JSON)) {
        status = print_json(model, &t, path, &valid, &smaller, chosen, points_json);
        points_json = NULL;
        TRY(status);
    } else if (!args_flag(args, OWN_QUIET) && ranks_me() == 0)
        print_summary(to, model, &t, path, &valid, &smaller, chosen);
done:
    json_decref(points_json);
    kb_model_free(model);
    kb_path_free(points);
    kb_data_free(data);
    validation_free(&valid);
    free(derived);
    return session_close(&s, status);
}
