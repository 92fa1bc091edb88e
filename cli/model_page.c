/*
 * model_page.c - see model_page.h.
 *
 * All numbers and figures are made before anything is written: if one fails, no half page is left.
 */
#include "model_page.h"
#include "column_table.h"
#include "coverage.h"
#include "dependence.h"
#include "evaluation.h"
#include "html.h"
#include "importance.h"
#include "record.h"
#include "report.h"
#include "text.h"
#include "trace.h"
#include "wholefile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CLASSES = 15, DEPENDENCES = 6 };
enum { SCORES, COVERAGE, IMPORTANCE, DEPENDENCE, TRIED, SECTIONS, MOST_FIGURES = 16 };

typedef struct picture_text {
    int section;
    char *svg;
} picture_text;

typedef struct model_page {
    session *s;
    const char *path, *test;
    kb_model *model;
    const kb_fit_info *info;
    kb_data *data;
    evaluation e;
    coverage coverage[COVERAGES];
    size_t coverages;
    dependences d;
    column_table columns;
    picture_text figure[MOST_FIGURES];
    size_t figures;
    char *typed;
} model_page;

/* ---- figures ------------------------------------------------------------- */

static kb_status add_figure(model_page *p, int section, figure *f) {
    if (!f || p->figures == MOST_FIGURES) {
        figure_free(f);
        return KB_OK;
    }
    p->figure[p->figures].section = section;
    kb_status status = figure_svg(p->s, f, &p->figure[p->figures].svg);
    p->figures += status == KB_OK;
    figure_free(f);
    return status;
}

static kb_status draw_figures(model_page *p) {
    kb_status status = KB_OK;
    if (!plot_possible()) {
        session_warn(p->s, "the page has no figures: %s", plot_advice);
        return KB_OK;
    }
    TRY(add_figure(p, SCORES, roc_figure(&p->e)));
    TRY(add_figure(p, SCORES, precision_recall_figure(&p->e)));
    TRY(add_figure(p, SCORES, calibration_figure(&p->e)));
    TRY(add_figure(p, SCORES, prediction_figure(&p->e)));
    TRY(add_figure(p, SCORES, residual_figure(&p->e)));
    TRY(add_figure(p, COVERAGE, coverage_figure(p->coverage, p->coverages)));
    TRY(add_figure(p, COVERAGE, coverage_size_figure(&p->e, p->coverage, p->coverages)));
    TRY(add_figure(p, IMPORTANCE, importance_figure(p->s->ctx, p->model, "")));
    for (size_t k = 0; k < p->d.count; k++)
        TRY(add_figure(p, DEPENDENCE, dependence_figure(&p->d, k)));
    TRY(add_figure(p, TRIED, trace_figure(p->model)));
done:
    return status;
}

static void put_figures(FILE *to, const model_page *p, int section, const char *label) {
    fputs("<div class=\"figures\">\n", to);
    for (size_t k = 0; k < p->figures; k++)
        if (p->figure[k].section == section) {
            fputs("<figure>\n", to);
            html_gnuplot(to, p->figure[k].svg, (int)k, label);
            fputs("</figure>\n", to);
        }
    fputs("</div>\n", to);
}

static int has_figures(const model_page *p, int section) {
    for (size_t k = 0; k < p->figures; k++)
        if (p->figure[k].section == section)
            return 1;
    return 0;
}

/* ---- scores -------------------------------------------------------------- */

static void put_card(FILE *to, const char *title, const char *value, const char *unit,
                     const char *note) {
    fprintf(to,
            "<section class=\"card\"><h3>%s</h3><span class=\"score\">%s <small>%s</small></span>"
            "<br><span class=\"soft\">%s</span></section>\n",
            title, value, unit, note);
}

static void put_expected(FILE *to, const model_page *p) {
    kb_expected e = KB_EXPECTED_INIT;
    char value[48], note[160];
    kb_model_expected(p->model, &e);
    if (e.rows == 0) {
        put_card(to, "Expected on new rows", "&ndash;", "",
                 p->info->quantile > 0 ? "a quantile has no expected error"
                                       : "no rows were held out of the fit");
        return;
    }
    int classes = p->info->classes > 0;
    double unit = classes ? 100 : 1;
    double low = unit * (classes ? e.error_low : e.rmse_low);
    double high = unit * (classes ? e.error_high : e.rmse_high);
    int digits = report_digits(high - low);
    snprintf(value, sizeof value, "%.*f%s", digits, unit * (classes ? e.error : e.rmse),
             classes ? " %" : "");
    snprintf(note, sizeof note, "95 %%: %.*f to %.*f, by %zu training rows held out", digits, low,
             digits, high, e.rows);
    put_card(to, "Expected on new rows", value, classes ? "wrong" : "rmse", note);
}

/* The measure of the error to expect, beside what the loss aims at, and the explained variance.  A
 * quantile has another measure: its loss, and the share of the labels below it. */
static void put_number_measured(FILE *to, const model_page *p) {
    const kb_metric_info *aim = report_metric_of_loss(p->info), *m = aim;
    char value[48], note[200];
    size_t below = 0;
    int used = snprintf(note, sizeof note, "on %zu rows", p->e.labelled);
    if (p->info->quantile <= 0 && aim != report_metric("rmse")) {
        m = report_metric("rmse");
        snprintf(note + used, sizeof note - (size_t)used, "; %s %s", aim->words,
                 number_in_words(kb_score_get(&p->e.score, aim->name), 4).text);
    }
    put_card(to, "Measured on the test rows",
             number_in_words(kb_score_get(&p->e.score, m->name), 4).text, m->words, note);
    if (p->info->quantile > 0) {
        for (size_t i = 0; i < p->e.rows; i++)
            below += p->e.label[i] <= p->e.number[i];
        snprintf(value, sizeof value, "%.1f %%", 100 * (double)below / (double)p->e.labelled);
        snprintf(note, sizeof note, "of the labels; %s %% were asked for",
                 number_in_words(100 * p->info->quantile, 4).text);
        put_card(to, "Not above the prediction", value, "", note);
        return;
    }
    snprintf(value, sizeof value, "%.4f", p->e.score.r2);
    put_card(to, "Explained variance", value, "r2", "1 is perfect, 0 is the mean of the labels");
}

static void put_measured(FILE *to, const model_page *p) {
    const kb_score *score = &p->e.score;
    char value[48], note[200];
    double n = (double)p->e.labelled;
    if (p->info->classes) {
        double error = 1 - score->accuracy, spread = 196 * sqrt(error * (1 - error) / n);
        int digits = report_digits(2 * spread);
        snprintf(value, sizeof value, "%.*f %%", digits, 100 * error);
        snprintf(note, sizeof note, "95 %%: &plusmn; %.*f, on %zu rows", digits, spread,
                 p->e.labelled);
        put_card(to, "Measured on the test rows", value, "wrong", note);
        snprintf(value, sizeof value, "%s",
                 number_in_words(100 * score->balanced_accuracy, 4).text);
        note[0] = '\0';
        if (isfinite(score->auc))
            snprintf(note, sizeof note, "area under the ROC curve %.4f", score->auc);
        if (isfinite(score->log_loss))
            snprintf(note + strlen(note), sizeof note - strlen(note), "%slog loss %.4f",
                     *note ? "; " : "", score->log_loss);
        put_card(to, "Balanced accuracy", value, "%", note);
        return;
    }
    put_number_measured(to, p);
}

static void put_confusion(FILE *to, const model_page *p) {
    size_t classes = p->info->classes;
    if (!classes)
        return;
    fputs("<h3>Confusion matrix</h3>\n", to);
    if (classes > MOST_CLASSES) {
        fprintf(to, "<p>There are %zu classes; the matrix is shown for %d at most.</p>\n", classes,
                MOST_CLASSES);
        return;
    }
    fputs("<div class=\"wide\"><table class=\"matrix\">\n<thead><tr><th>true \\ predicted</th>",
          to);
    for (size_t c = 0; c < classes; c++) {
        fputs("<th>", to);
        html_text(to, kb_model_class_name(p->model, c));
        fputs("</th>", to);
    }
    fputs("<th>right</th></tr></thead>\n<tbody>\n", to);
    for (size_t t = 0; t < classes; t++) {
        const size_t *line = p->e.confusion + t * classes;
        size_t all = 0;
        for (size_t c = 0; c < classes; c++)
            all += line[c];
        fputs("<tr><td>", to);
        html_text(to, kb_model_class_name(p->model, t));
        fputs("</td>", to);
        for (size_t c = 0; c < classes; c++)
            fprintf(to, "<td style=\"--share:%.3f\">%zu</td>",
                    all ? (double)line[c] / (double)all : 0.0, line[c]);
        fprintf(to, "<td>%.1f %%</td></tr>\n", all ? 100 * (double)line[t] / (double)all : 0.0);
    }
    fputs("</tbody></table></div>\n", to);
}

static void put_scores(FILE *to, const model_page *p) {
    calibration_bin bins[CALIBRATION_BINS];
    double error;
    fputs("<div class=\"cards\">\n", to);
    put_expected(to, p);
    put_measured(to, p);
    fputs("</div>\n<h2>On the test rows</h2>\n", to);
    put_confusion(to, p);
    if (has_figures(p, SCORES))
        put_figures(to, p, SCORES, "a curve of the scores on the test rows");
    if (p->e.probability && evaluation_calibration(&p->e, bins, &error) > 0)
        fprintf(to,
                "<p>Calibration error %.4f: the mean distance of the probabilities from the shares "
                "of rows, in ten groups of rows.</p>\n",
                error);
}

static void put_coverage(FILE *to, const model_page *p) {
    int classes = p->info->classes > 0;
    if (p->coverages == 0)
        return;
    fprintf(to,
            "<h2>%s</h2>\n<p>%s are to contain the label of the share of rows that is asked for. "
            "%s</p>\n",
            classes ? "Sets of classes" : "Prediction intervals",
            classes ? "The sets" : "The intervals",
            classes ? "The predicted class is always in the set, so more may be inside."
                    : "If fewer are inside, the test rows are not like the training rows.");
    put_figures(to, p, COVERAGE, "shares of labels inside, and sizes");
    fprintf(to,
            "<div class=\"wide\"><table>\n<thead><tr><th>asked for</th><th>inside</th><th>%s</th>"
            "</tr></thead>\n<tbody>\n",
            classes ? "classes in a set" : "mean width");
    for (size_t k = 0; k < p->coverages; k++)
        fprintf(to, "<tr><td>%.0f %%</td><td>%.1f %% &plusmn; %.1f</td><td>%s</td></tr>\n",
                100 * p->coverage[k].asked, 100 * p->coverage[k].inside,
                100 * p->coverage[k].spread, number_in_words(p->coverage[k].size, 4).text);
    fputs("</tbody></table></div>\n", to);
}

/* ---- reasons ------------------------------------------------------------- */

static void put_reasons(FILE *to, const model_page *p) {
    kb_importance measured = KB_IMPORTANCE_INIT;
    int known = kb_model_importance(p->model, &measured) == KB_OK;
    if (importance_is_known(p->model)) {
        fprintf(to, "<h2>%s</h2>\n",
                known ? "Which columns matter" : "How finely the grids split the columns");
        if (known)
            fprintf(to,
                    "<p>How much the score drops on %zu validation rows when a column is shuffled, "
                    "with standard errors.</p>\n",
                    measured.rows);
        put_figures(to, p, IMPORTANCE, "bars of the columns");
    }
    if (!has_figures(p, DEPENDENCE))
        return;
    fprintf(to,
            "<h2>How predictions move</h2>\n<p>The prediction over %zu test rows, on average, if a "
            "column had the same value in all of them.</p>\n",
            p->d.rows);
    put_figures(to, p, DEPENDENCE, "partial dependence on a column");
}

/* The best of each kind of widths and loss. */
static void put_trials(FILE *to, const model_page *p) {
    size_t count, chosen = kb_model_chosen_trial(p->model);
    const kb_trial_info *tried = kb_model_trials(p->model, &count);
    fprintf(to,
            "<div class=\"wide\"><table>\n<thead><tr><th>widths</th><th>loss</th><th>lambda</th>"
            "<th>grids</th><th>%s</th></tr></thead>\n<tbody>\n",
            p->info->classes ? "% wrong" : "rmse");
    for (size_t i = 0; i < count; i++) {
        if (i != chosen && !trace_is_best(tried, count, i))
            continue;
        fprintf(to, "<tr%s><td>", i == chosen ? " class=\"best\"" : "");
        html_text(to, tried[i].widths);
        fputs("</td><td>", to);
        html_text(to, tried[i].loss);
        fprintf(to, "</td><td>%s</td><td>%zu</td><td>%s</td></tr>\n",
                number_in_words(tried[i].lambda, 3).text, tried[i].grids,
                number_in_words(p->info->classes ? 100 * tried[i].error : sqrt(tried[i].error), 4)
                    .text);
    }
    fputs("</tbody></table></div>\n", to);
}

static void put_tried(FILE *to, const model_page *p) {
    size_t count;
    kb_model_trials(p->model, &count);
    if (count == 0)
        return;
    fprintf(
        to,
        "<h2>What was tried</h2>\n<p>%zu trials on validation rows, one after the other; the "
        "marked one was chosen. Early trials take fewer rows and grids. The choice goes by a score "
        "that is less noisy than this error, and prefers wide bins that cost little, so another "
        "may have a lower error here.</p>\n",
        count);
    put_figures(to, p, TRIED, "errors of the trials, one after the other");
    put_trials(to, p);
}

/* ---- data and use -------------------------------------------------------- */

static void put_fact(FILE *to, const char *name, const char *text) {
    fprintf(to, "<dt>%s</dt><dd>", name);
    html_text(to, text);
    fputs("</dd>\n", to);
}

static void put_fit(FILE *to, const model_page *p) {
    const kb_fit_info *i = p->info;
    char text[200];
    fputs("<h2>The model</h2>\n<dl>\n", to);
    snprintf(text, sizeof text, "%zu rows x %zu columns, scaled by %s", i->rows, i->features,
             i->scale);
    put_fact(to, "trained on", text);
    snprintf(text, sizeof text, "%.60s, sigma %s", i->kernel, report_sigma(i).text);
    put_fact(to, "kernel", text);
    snprintf(text, sizeof text, "%s, R = %zu, D = %zu", i->map, i->grids, i->bins);
    put_fact(to, "map", text);
    snprintf(text, sizeof text, "%s loss, %s penalty, lambda %s, by %s", i->loss, i->penalty,
             number_in_words(i->lambda, 4).text, i->solver);
    put_fact(to, "fit", text);
    snprintf(text, sizeof text, "%.4f on the training rows, which says little about new ones",
             i->train_score);
    put_fact(to, i->classes ? "accuracy" : "r2", text);
    put_fact(to, "file", size_in_words(file_size(p->path)).text);
    fputs("</dl>\n", to);
}

static void put_use(FILE *to, const model_page *p) {
    const char *name = file_part(p->path);
    fputs("<h2>How to use it</h2>\n<pre>kerbin predict ", to);
    html_text(to, name);
    fputs(" new.csv &gt; predictions.txt\nkerbin explain -o why.csv ", to);
    html_text(to, name);
    fputs(" new.csv</pre>\n<pre>import kerbin\nmodel = kerbin.", to);
    fprintf(to, "%s.load(\"", p->info->classes ? "BinningClassifier" : "BinningRegressor");
    html_text(to, name);
    fputs("\")\nmodel.predict(X)</pre>\n<p class=\"soft\">This page was made by</p>\n<pre>", to);
    html_text(to, p->typed);
    fputs("</pre>\n", to);
}

/* ---- the page ------------------------------------------------------------ */

static int write_page(const void *user, FILE *to) {
    const model_page *p = user;
    const char *label = kb_model_label_name(p->model);
    html_begin(to, file_part(p->path));
    fputs("<header><p class=\"soft\">kerbin report</p>\n<h1>", to);
    html_text(to, file_part(p->path));
    fprintf(to, "</h1><p>%s", p->info->task);
    if (p->info->classes)
        fprintf(to, " into %zu classes", p->info->classes);
    if (label) {
        fputs(" of ", to);
        html_text(to, label);
    }
    fputs(", tested on ", to);
    html_text(to, file_part(p->test));
    fputs("</p></header>\n", to);
    put_scores(to, p);
    put_coverage(to, p);
    put_reasons(to, p);
    put_tried(to, p);
    column_table_put(to, p->model, &p->columns);
    put_fit(to, p);
    put_use(to, p);
    html_end(to);
    return 1;
}

kb_status model_page_make(session *s, const char *model, const char *test, const char *path) {
    kb_status status;
    model_page p = {.s = s, .path = model, .test = test, .typed = typed_command(s->args)};
    if (!p.typed)
        return KB_ERR_MEMORY;
    TRY(kb_model_read(s->ctx, model, &p.model));
    p.info = kb_model_info(p.model);
    TRY(kb_data_read(s->ctx, s->options, test, p.model, &p.data));
    TRY(evaluation_make(s, p.model, p.data, &p.e));
    TRY(coverages_measure(s, &p.e, p.data, p.coverage, &p.coverages));
    TRY(dependences_find(s, p.model, p.data, DEPENDENCES, &p.d));
    TRY(column_table_make(s, p.model, p.data, &p.columns));
    TRY(draw_figures(&p));
    TRY(write_whole(s, path, write_page, &p));
done:
    for (size_t k = 0; k < p.figures; k++)
        free(p.figure[k].svg);
    dependences_free(&p.d);
    evaluation_free(&p.e);
    kb_data_free(p.data);
    kb_model_free(p.model);
    free(p.typed);
    return status;
}
