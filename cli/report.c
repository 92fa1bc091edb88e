/* report.c - see report.h. */
#define _POSIX_C_SOURCE 200809L
#include "report.h"
#include "text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

size_t peak_memory(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
#ifdef __APPLE__
    return (size_t)usage.ru_maxrss;
#else
    return (size_t)usage.ru_maxrss * 1024;
#endif
}

size_t file_size(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 ? (size_t)info.st_size : 0;
}

size_words size_in_words(size_t bytes) {
    static const char *const unit[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    size_words words;
    double size = (double)bytes;
    int u = 0;
    for (; size >= 1024 && u < 4; u++)
        size /= 1024;
    snprintf(words.text, sizeof words.text, u > 0 && size < 10 ? "%.1f %s" : "%.0f %s", size,
             unit[u]);
    return words;
}

const char *plural(size_t count) {
    return count == 1 ? "" : "s";
}

/* ---- for people ---------------------------------------------------------- */

static int is_classification(const kb_fit_info *info) {
    return strcmp(info->task, "classification") == 0;
}

static int is_sparse(const kb_fit_info *info) {
    return strcmp(info->penalty, "l1") == 0;
}

void report_fit(FILE *to, const kb_fit_info *info) {
    fprintf(to, "task      %s", info->task);
    if (is_classification(info))
        fprintf(to, ", %zu classes", info->classes);
    fprintf(to, "\ndata      %zu row%s x %zu feature%s, scaled by %s\n", info->rows,
            plural(info->rows), info->features, plural(info->features), info->scale);
    fprintf(to, "kernel    %s, sigma %s\n", info->kernel, report_sigma(info).text);
    if (info->linear_columns > 0)
        fprintf(to, "linear    %zu extra column%s: predictions of a linear fit\n",
                info->linear_columns, plural(info->linear_columns));
    if (info->directions > 0)
        fprintf(to, "direction %zu extra column%s along which the targets change\n",
                info->directions, plural(info->directions));
    if (info->models > 1)
        fprintf(to, "ensemble  the mean of %zu models\n", info->models);
    if (strcmp(info->map, "binning") == 0)
        fprintf(to, "map       %s, R = %zu grid%s, D = %zu bin%s, kappa = %.4g\n", info->map,
                info->grids, plural(info->grids), info->bins, plural(info->bins), info->kappa);
    else
        fprintf(to, "map       %s, rank R = %zu, D = %zu weight%s\n", info->map, info->grids,
                info->bins, plural(info->bins));
    char quantile[40] = "";
    if (info->quantile > 0)
        snprintf(quantile, sizeof quantile, " (%g)", info->quantile);
    fprintf(to, "solver    %s, %s%s loss, %s penalty, lambda %g, intercept %s\n", info->solver,
            info->loss, quantile, info->penalty, info->lambda, info->intercept ? "on" : "off");
    fprintf(to, "solved    in %zu step%s, %s", info->steps, plural(info->steps),
            info->converged ? "converged" : "not converged");
    if (is_sparse(info) && strcmp(info->map, "binning") != 0)
        fprintf(to, ", duality gap %.2g of the objective, %zu weights are not zero\n",
                info->objective > 0 ? info->gap / info->objective : 0, info->nonzeros);
    else if (is_sparse(info))
        fprintf(to,
                ", duality gap %.2g of the objective\nkept      %zu of %zu bins and %zu of %zu "
                "grids: %.1f times fewer bins\n",
                info->objective > 0 ? info->gap / info->objective : 0, info->kept_bins, info->bins,
                info->kept_grids, info->grids, (double)info->bins / (double)info->kept_bins);
    else
        fputc('\n', to);
}

sigma_words report_sigma(const kb_fit_info *info) {
    sigma_words words;
    int one = strcmp(info->sigma_rule, "equal") == 0 && info->sigma > 0;
    snprintf(words.text, sizeof words.text, "%.60s",
             one ? number_in_words(info->sigma, 5).text : info->sigma_text);
    return words;
}

void report_fit_score(FILE *to, const kb_fit_info *info) {
    if (is_classification(info))
        fprintf(to, "fit       %.2f %% of the training rows right\n", 100 * info->train_score);
    else
        fprintf(to, "fit       r2 %.4f on the training rows\n", info->train_score);
}

int report_digits(double width) {
    int digits = width > 0 ? (int)ceil(1 - log10(width)) : 2;
    return digits < 0 ? 0 : digits > 9 ? 9 : digits;
}

void report_expected(FILE *to, const kb_model *model) {
    kb_expected e = KB_EXPECTED_INIT;
    kb_model_expected(model, &e);
    if (e.rows == 0)
        return;
    if (is_classification(kb_model_info(model))) {
        int digits = report_digits(100 * (e.error_high - e.error_low));
        fprintf(to, "expect    about %.*f %% wrong on new rows (95 %%: %.*f to %.*f)", digits,
                100 * e.error, digits, 100 * e.error_low, digits, 100 * e.error_high);
    } else {
        int digits = report_digits(e.rmse_high - e.rmse_low);
        fprintf(to, "expect    an rmse of about %.*f on new rows (95 %%: %.*f to %.*f)", digits,
                e.rmse, digits, e.rmse_low, digits, e.rmse_high);
    }
    fprintf(to, ", by %zu row%s held out\n", e.rows, plural(e.rows));
}

json_t *report_expected_json(const kb_model *model) {
    kb_expected e = KB_EXPECTED_INIT;
    kb_model_expected(model, &e);
    if (e.rows == 0)
        return json_null();
    json_t *object = json_pack("{s:I, s:I, s:I}", "held_out", (json_int_t)e.rows, "learned",
                               (json_int_t)e.learned, "folds", (json_int_t)e.folds);
    int classes = is_classification(kb_model_info(model));
    report_add(&object, "measure", json_string(classes ? "error" : "rmse"));
    report_add(&object, "value", report_number(classes ? e.error : e.rmse));
    report_add(&object, "low", report_number(classes ? e.error_low : e.rmse_low));
    report_add(&object, "high", report_number(classes ? e.error_high : e.rmse_high));
    return object;
}

static void put_metric(FILE *to, const kb_metric_info *m, double value) {
    if (m->percent)
        fprintf(to, "%s %.2f %%", m->words, 100 * value);
    else
        fprintf(to, m->in_units ? "%s %.6g" : "%s %.4f", m->words, value);
}

const kb_metric_info *report_metric(const char *name) {
    size_t count;
    const kb_metric_info *m = kb_metric_table(&count);
    for (size_t k = 0; k < count; k++)
        if (name && strcmp(m[k].name, name) == 0)
            return &m[k];
    return NULL;
}

const kb_metric_info *report_metric_of_loss(const kb_fit_info *info) {
    const char *loss = info->loss;
    return report_metric(is_classification(info)         ? "accuracy"
                         : strcmp(loss, "quantile") == 0 ? "pinball"
                         : strcmp(loss, "absolute") == 0 ? "mae"
                         : strcmp(loss, "poisson") == 0  ? "poisson-deviance"
                                                         : "rmse");
}

/* All that are available, the first with the number of rows. */
void report_score(FILE *to, const kb_fit_info *info, const kb_score *score, size_t rows,
                  const kb_metric_info *first) {
    size_t count, put = 0;
    const kb_metric_info *m = kb_metric_table(&count);
    first = first ? first : report_metric_of_loss(info);
    for (int turn = 0; turn < 2; turn++)
        for (size_t k = 0; k < count; k++) {
            double value = kb_score_get(score, m[k].name);
            if (m[k].classes != is_classification(info) || !isfinite(value) ||
                (&m[k] == first) == turn)
                continue;
            fputs(put ? ", " : "", to);
            put_metric(to, &m[k], value);
            if (put++ == 0)
                fprintf(to, " %s %zu row%s", m[k].percent ? "of" : "on", rows, plural(rows));
        }
    fputc('\n', to);
}

/* ---- for programs -------------------------------------------------------- */

json_t *report_number(double x) {
    return isfinite(x) ? json_real(x) : json_null();
}

/* File names and class names may be any bytes; JSON must be UTF-8. */
json_t *report_text(const char *text) {
    json_t *value = json_string(text);
    char *copy = value ? NULL : strdup(text);
    if (value || !copy)
        return value;
    for (char *at = copy; *at; at++)
        if ((unsigned char)*at > 127)
            *at = '?';
    value = json_string(copy);
    free(copy);
    return value;
}

void report_add(json_t **object, const char *key, json_t *value) {
    if (json_object_set_new(*object, key, value) == 0)
        return;
    json_decref(*object);
    *object = NULL;
}

/* One width is a number, several or a file are text. */
static json_t *sigma_value(const kb_fit_info *info) {
    return strcmp(info->sigma_rule, "equal") == 0 ? report_number(info->sigma)
                                                  : report_text(info->sigma_text);
}

static json_t *count(size_t n) {
    return json_integer((json_int_t)n);
}

json_t *report_fit_json(const kb_fit_info *info) {
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, "
        "s:o, s:o, s:o}",
        "task", info->task, "loss", info->loss, "penalty", info->penalty, "map", info->map,
        "kernel", report_text(info->kernel), "sigma", sigma_value(info), "lambda",
        report_number(info->lambda), "grids", count(info->grids), "rows", count(info->rows),
        "features", count(info->features), "classes", count(info->classes), "bins",
        count(info->bins), "kappa", report_number(info->kappa), "steps", count(info->steps),
        "converged", info->converged, "objective", report_number(info->objective), "train_score",
        report_number(info->train_score), "nonzeros", count(info->nonzeros));
    report_add(&object, "solver", json_string(info->solver));
    report_add(&object, "linear_columns", count(info->linear_columns));
    report_add(&object, "directions", count(info->directions));
    if (info->models > 1)
        report_add(&object, "models", count(info->models));
    if (info->quantile > 0)
        report_add(&object, "quantile", report_number(info->quantile));
    if (is_sparse(info)) {
        report_add(&object, "gap", report_number(info->gap));
        report_add(&object, "kept_bins", count(info->kept_bins));
        report_add(&object, "kept_grids", count(info->kept_grids));
    }
    return object;
}

/* A key for each metric of the task; those of probabilities, auc, and those of a loss, where they
 * are available. */
json_t *report_score_json(const kb_fit_info *info, const kb_score *score) {
    size_t count;
    const kb_metric_info *m = kb_metric_table(&count);
    json_t *metrics = json_object();
    for (size_t k = 0; k < count && metrics; k++) {
        double value = kb_score_get(score, m[k].name);
        int optional = m[k].probabilities || strcmp(m[k].name, "auc") == 0 ||
                       strcmp(m[k].name, "pinball") == 0 ||
                       strcmp(m[k].name, "poisson-deviance") == 0;
        if (m[k].classes == is_classification(info) && (isfinite(value) || !optional))
            report_add(&metrics, m[k].key, report_number(value));
    }
    return metrics;
}

kb_status report_json(json_t *object) {
    if (!object)
        return KB_ERR_MEMORY;
    int failed = json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    json_decref(object);
    putchar('\n');
    /* A failed write is reported when the program closes standard output. */
    return failed && !ferror(stdout) ? KB_ERR_MEMORY : KB_OK;
}
