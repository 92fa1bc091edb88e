/* cv.c - kerbin cv: scores by cross-validation, and out-of-fold predictions. */
#include "command.h"
#include "report.h"
#include "session.h"
#include "wholefile.h"
#include "files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_FOLDS = 5, MOST_FOLDS = 100, MOST_METRICS = 32 };

typedef struct fold {
    size_t rows, learned;
    kb_score score;
} fold;

typedef struct cv {
    session *s;
    kb_data *data;
    size_t folds, count; /* so many are done */
    fold fold[MOST_FOLDS];
    int classes;
    double *prediction; /* rows */
    int *in_fold;       /* rows: from 1; 0: never held out */
    /* For --output probability. */
    int probabilities;
    double *label; /* columns: the labels of the classes, increasing */
    size_t columns;
    double *probability; /* rows x columns */
} cv;

/* ---- probabilities -------------------------------------------------------- */

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The different labels of all rows; a model may know fewer. */
static kb_status list_classes(cv *c) {
    size_t rows = kb_data_rows(c->data);
    const double *label = kb_data_labels(c->data);
    c->label = malloc(rows * sizeof *c->label);
    if (!c->label || !label)
        return session_fail(c->s, KB_ERR_MEMORY, "out of memory for the probabilities");
    memcpy(c->label, label, rows * sizeof *c->label);
    qsort(c->label, rows, sizeof *c->label, by_size);
    for (size_t i = 0; i < rows; i++)
        if (i == 0 || c->label[i] != c->label[i - 1])
            c->label[c->columns++] = c->label[i];
    c->probability = calloc(rows * c->columns, sizeof *c->probability);
    return c->probability
               ? KB_OK
               : session_fail(c->s, KB_ERR_MEMORY, "out of memory for the probabilities");
}

static kb_status take_probabilities(cv *c, const kb_fold *f) {
    kb_status status = KB_OK;
    size_t classes = kb_model_info(f->model)->classes;
    double *p = malloc((f->rows * classes + 1) * sizeof *p);
    if (classes == 0)
        TRY(session_fail(c->s, KB_ERR_ARGUMENT,
                         "--output probability: is for classes, and the labels are numbers"));
    if (!c->label)
        TRY(list_classes(c));
    if (!p)
        TRY(session_fail(c->s, KB_ERR_MEMORY, "out of memory for the probabilities"));
    TRY(kb_model_probability(c->s->ctx, f->model, f->rows, f->decision, p));
    for (size_t k = 0; k < classes; k++) {
        double label = kb_model_class(f->model, k);
        const double *at = bsearch(&label, c->label, c->columns, sizeof label, by_size);
        for (size_t i = 0; at && i < f->rows; i++)
            c->probability[f->row[i] * c->columns + (size_t)(at - c->label)] = p[i * classes + k];
    }
done:
    free(p);
    return status;
}

/* ---- folds --------------------------------------------------------------- */

static kb_status take_fold(void *user, const kb_fold *f) {
    cv *c = user;
    const kb_fit_info *info = kb_model_info(f->model);
    double *label = malloc(f->rows * sizeof *label);
    if (!label)
        return session_fail(c->s, KB_ERR_MEMORY, "out of memory for the predictions");
    kb_model_label(f->model, f->rows, f->decision, label);
    for (size_t i = 0; i < f->rows; i++) {
        c->prediction[f->row[i]] = label[i];
        c->in_fold[f->row[i]] = (int)f->number + 1;
    }
    free(label);
    if (c->probabilities) {
        kb_status status = take_probabilities(c, f);
        if (status != KB_OK)
            return status;
    }
    c->classes = info->classes > 0;
    c->fold[c->count++] = (fold){f->rows, f->learned, f->score};
    if (!args_flag(c->s->args, OWN_JSON))
        session_note(c->s, "fold %zu of %zu is done", f->number + 1, f->folds);
    return KB_OK;
}

/* Mean and standard deviation of a metric over the folds; NAN if a fold has none. */
typedef struct summary {
    double mean, deviation;
} summary;

static summary summary_of(const cv *c, const char *metric) {
    double sum = 0, squares = 0, n = (double)c->count;
    for (size_t k = 0; k < c->count; k++)
        sum += kb_score_get(&c->fold[k].score, metric);
    for (size_t k = 0; k < c->count; k++)
        squares += pow(kb_score_get(&c->fold[k].score, metric) - sum / n, 2);
    return (summary){sum / n, sqrt(squares / (n - 1))};
}

/* The metrics to show, the one that was asked for first; how many. */
static size_t list_metrics(const cv *c, const kb_metric_info *out[MOST_METRICS]) {
    size_t count, listed = 0;
    const kb_metric_info *m = kb_metric_table(&count);
    const char *asked = kb_options_get(c->s->options, "metric");
    for (int first = 1; first >= 0; first--)
        for (size_t k = 0; k < count && listed < MOST_METRICS; k++)
            if (m[k].classes == c->classes && (strcmp(m[k].name, asked) == 0) == first &&
                isfinite(summary_of(c, m[k].name).mean))
                out[listed++] = &m[k];
    return listed;
}

/* ---- for people ---------------------------------------------------------- */

static void put_cell(const kb_metric_info *m, double value) {
    int width = (int)strlen(m->words) > 9 ? (int)strlen(m->words) : 9;
    if (m->percent)
        printf("  %*.2f %%", width - 2, 100 * value);
    else
        printf("  %*.*g", width, m->in_units ? 6 : 4, value);
}

static void print_table(const cv *c) {
    const kb_metric_info *m[MOST_METRICS];
    size_t count = list_metrics(c, m);
    printf("%9s %9s", "fold", "rows");
    for (size_t j = 0; j < count; j++)
        printf("  %9s", m[j]->words);
    for (size_t k = 0; k < c->count; k++) {
        printf("\n%9zu %9zu", k + 1, c->fold[k].rows);
        for (size_t j = 0; j < count; j++)
            put_cell(m[j], kb_score_get(&c->fold[k].score, m[j]->name));
    }
    printf("\n%9s %9s", "mean", "");
    for (size_t j = 0; j < count; j++)
        put_cell(m[j], summary_of(c, m[j]->name).mean);
    printf("\n%9s %9s", "deviation", "");
    for (size_t j = 0; j < count; j++)
        put_cell(m[j], summary_of(c, m[j]->name).deviation);
    putchar('\n');
}

/* ---- for programs -------------------------------------------------------- */

static json_t *scores_json(const cv *c, const fold *f, int deviation) {
    const kb_metric_info *m[MOST_METRICS];
    size_t count = list_metrics(c, m);
    json_t *object = json_object();
    for (size_t j = 0; j < count && object; j++) {
        summary all = summary_of(c, m[j]->name);
        report_add(&object, m[j]->key,
                   report_number(f           ? kb_score_get(&f->score, m[j]->name)
                                 : deviation ? all.deviation
                                             : all.mean));
    }
    return object;
}

static kb_status print_json(const cv *c) {
    json_t *object =
        json_pack("{s:s, s:I, s:I}", "task", c->classes ? "classification" : "regression", "rows",
                  (json_int_t)kb_data_rows(c->data), "folds", (json_int_t)c->folds);
    json_t *list = json_array();
    for (size_t k = 0; k < c->count; k++) {
        json_t *one =
            json_pack("{s:I, s:I, s:o}", "rows", (json_int_t)c->fold[k].rows, "learned",
                      (json_int_t)c->fold[k].learned, "metrics", scores_json(c, &c->fold[k], 0));
        json_array_append_new(list, one);
    }
    report_add(&object, "mean", scores_json(c, NULL, 0));
    report_add(&object, "deviation", scores_json(c, NULL, 1));
    report_add(&object, "scores", list);
    report_add(&object, "seconds", json_pack("{s:f}", "total", seconds_now() - c->s->started));
    report_add(&object, "peak_memory_bytes", json_integer((json_int_t)peak_memory()));
    return report_json(object);
}

/* ---- predictions --------------------------------------------------------- */

/* A word in quotes where CSV needs them, or a number. */
static void put_label(FILE *to, const kb_data *data, double label) {
    const char *word = label >= 0 ? kb_data_class_name(data, (size_t)label) : NULL;
    if (!word) {
        fprintf(to, "%.17g", label);
        return;
    }
    int quoted = strpbrk(word, ",\"\r\n") != NULL;
    fputs(quoted ? "\"" : "", to);
    for (; *word; word++)
        fprintf(to, *word == '"' ? "\"\"" : "%c", *word);
    fputs(quoted ? "\"" : "", to);
}

/* A class with the name of a column before it is another. */
static void put_class(const cv *c, size_t k, FILE *to) {
    static const char *const taken[] = {"row", "fold", "label"};
    const char *word = kb_data_class_name(c->data, (size_t)c->label[k]);
    put_label(to, c->data, c->label[k]);
    for (size_t i = 0; word && i < sizeof taken / sizeof *taken; i++)
        fputs(strcmp(word, taken[i]) == 0 ? ".1" : "", to);
}

static void put_header(const cv *c, FILE *to) {
    fprintf(to, "row,fold,label%s", c->probabilities ? "" : ",prediction");
    for (size_t k = 0; k < c->columns; k++) {
        fputc(',', to);
        put_class(c, k, to);
    }
    fputc('\n', to);
}

static int write_predictions(const void *user, FILE *to) {
    const cv *c = user;
    const double *label = kb_data_labels(c->data);
    put_header(c, to);
    for (size_t i = 0; i < kb_data_rows(c->data); i++) {
        if (c->in_fold[i] == 0)
            continue;
        fprintf(to, "%zu,%d,", i + 1, c->in_fold[i]);
        put_label(to, c->data, label[i]);
        if (!c->probabilities) {
            fputc(',', to);
            put_label(to, c->data, c->prediction[i]);
        }
        for (size_t k = 0; k < c->columns; k++)
            fprintf(to, ",%.17g", c->probability[i * c->columns + k]);
        fputc('\n', to);
    }
    return !ferror(to);
}

/* ---- the command --------------------------------------------------------- */

static kb_status prepare(cv *c, const char *source, const char *path) {
    kb_status status;
    const char *output = c->s->args->own[OWN_OUTPUT];
    c->probabilities = strcmp(output, "probability") == 0;
    if (!c->probabilities && strcmp(output, "label") != 0)
        TRY(session_fail(c->s, KB_ERR_ARGUMENT, "--output %s: cv writes label or probability",
                         output));
    if (c->probabilities && !path)
        TRY(session_fail(c->s, KB_ERR_ARGUMENT, "--output probability: give -o a file for them"));
    const char *folds = kb_options_get(c->s->options, "folds");
    c->folds = strcmp(folds, "auto") == 0 ? USUAL_FOLDS : (size_t)strtol(folds, NULL, 10);
    if (c->folds < 2)
        TRY(session_fail(c->s, KB_ERR_ARGUMENT, "--folds %s: must be 2 or more", folds));
    if (path && is_stdio(path) && args_flag(c->s->args, OWN_JSON))
        TRY(session_fail(c->s, KB_ERR_ARGUMENT,
                         "--json and the predictions would both go to standard output; give -o a "
                         "file"));
    TRY(files_check_output(c->s, path));
    TRY(kb_data_read(c->s->ctx, c->s->options, source, NULL, &c->data));
    c->prediction = calloc(kb_data_rows(c->data), sizeof *c->prediction);
    c->in_fold = calloc(kb_data_rows(c->data), sizeof *c->in_fold);
    if (!c->prediction || !c->in_fold)
        TRY(session_fail(c->s, KB_ERR_MEMORY, "out of memory for the predictions"));
done:
    return status;
}

int cv_run(const cli_args *args) {
    session s;
    kb_status status;
    cv c = {.s = &s};
    const char *source = args->operand[0], *path = args->own[OWN_FILE];

    TRY(session_open(&s, args));
    TRY(prepare(&c, source, path));
    TRY(kb_cross_validate(s.ctx, s.options, c.data, c.folds, take_fold, &c));
    if (path)
        TRY(write_whole(&s, path, write_predictions, &c));
    if (args_flag(args, OWN_JSON))
        TRY(print_json(&c));
    else if (!(path && is_stdio(path)))
        print_table(&c);
done:
    kb_data_free(c.data);
    free(c.prediction);
    free(c.in_fold);
    free(c.label);
    free(c.probability);
    return session_close(&s, status);
}
