/* evaluation.c - see evaluation.h. */
#include "evaluation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers ------------------------------------------------------------- */

static size_t predicted_class(const evaluation *e, size_t row) {
    size_t C = e->info->outputs, best = 0;
    const double *f = e->decision + row * C;
    if (C == 1)
        return f[0] > 0;
    for (size_t c = 1; c < C; c++)
        best = f[c] > f[best] ? c : best;
    return best;
}

static kb_status fill_classes(session *s, const kb_data *data, evaluation *e) {
    kb_status status;
    size_t classes = e->info->classes;
    e->class_of = malloc((e->rows + 1) * sizeof *e->class_of);
    e->confusion = calloc(classes * classes, sizeof *e->confusion);
    if (!e->class_of || !e->confusion)
        return KB_ERR_MEMORY;
    TRY(kb_model_classes_of(s->ctx, e->model, data, e->class_of));
    for (size_t i = 0; i < e->rows; i++)
        if (e->class_of[i] >= 0)
            e->confusion[(size_t)e->class_of[i] * classes + predicted_class(e, i)]++;
    if (strcmp(e->info->probability, "none") == 0)
        return KB_OK;
    e->probability = malloc((e->rows * classes + 1) * sizeof(double));
    if (!e->probability)
        return KB_ERR_MEMORY;
    TRY(kb_model_probability(s->ctx, e->model, e->rows, e->decision, e->probability));
done:
    return status;
}

kb_status evaluation_make(session *s, const kb_model *model, const kb_data *data, evaluation *e) {
    kb_status status;
    *e = (evaluation){.model = model,
                      .info = kb_model_info(model),
                      .label = kb_data_labels(data),
                      .rows = kb_data_rows(data),
                      .score = KB_SCORE_INIT};
    if (!e->label)
        TRY(session_fail(s, KB_ERR_DATA, "%s: has no labels to score against",
                         s->args->operand[1]));
    for (size_t i = 0; i < e->rows; i++)
        e->labelled += !isnan(e->label[i]);
    e->decision = malloc((e->rows * e->info->outputs + 1) * sizeof(double));
    if (!e->decision)
        TRY(KB_ERR_MEMORY);
    TRY(kb_model_decide(s->ctx, model, data, e->decision));
    TRY(kb_model_score(s->ctx, model, data, e->decision, &e->score));
    if (e->info->classes) {
        TRY(fill_classes(s, data, e));
        return KB_OK;
    }
    e->number = malloc((e->rows + 1) * sizeof *e->number);
    TRY(e->number ? KB_OK : KB_ERR_MEMORY);
    TRY(kb_model_predict(s->ctx, model, data, KB_OUTPUT_LABEL, e->number));
done:
    return status;
}

void evaluation_free(evaluation *e) {
    free(e->decision);
    free(e->number);
    free(e->probability);
    free(e->class_of);
    free(e->confusion);
}

/* ---- curves -------------------------------------------------------------- */

/* A number of a row, and whether it is of the class. */
typedef struct ranked {
    double by;
    int is;
} ranked;

static int larger_first(const void *a, const void *b) {
    double x = ((const ranked *)a)->by, y = ((const ranked *)b)->by;
    return (x < y) - (x > y);
}

/* The rows with a known class by their decision for a class, the largest first. */
static ranked *rank_by_decision(const evaluation *e, size_t c, size_t *count) {
    ranked *all = malloc((e->rows + 1) * sizeof *all);
    size_t C = e->info->outputs;
    *count = 0;
    for (size_t i = 0; all && i < e->rows; i++)
        if (e->class_of[i] >= 0)
            all[(*count)++] =
                (ranked){e->decision[i * C + (C == 1 ? 0 : c)], (size_t)e->class_of[i] == c};
    if (all)
        qsort(all, *count, sizeof *all, larger_first);
    return all;
}

/* The same by the probability of the second of two classes, or of the class predicted. */
static ranked *rank_by_probability(const evaluation *e, size_t *count) {
    ranked *all = malloc((e->rows + 1) * sizeof *all);
    size_t classes = e->info->classes;
    *count = 0;
    for (size_t i = 0; all && i < e->rows; i++) {
        size_t c = classes == 2 ? 1 : predicted_class(e, i);
        if (e->class_of[i] >= 0)
            all[(*count)++] =
                (ranked){e->probability[i * classes + c], (size_t)e->class_of[i] == c};
    }
    if (all)
        qsort(all, *count, sizeof *all, larger_first);
    return all;
}

size_t evaluation_calibration(const evaluation *e, calibration_bin *bins, double *error) {
    size_t count, made = 0;
    ranked *all = e->probability ? rank_by_probability(e, &count) : NULL;
    *error = 0;
    for (size_t b = 0; all && b < CALIBRATION_BINS; b++) {
        size_t from = b * count / CALIBRATION_BINS, to = (b + 1) * count / CALIBRATION_BINS;
        double n = (double)(to - from), sum = 0, is = 0;
        for (size_t i = from; i < to; i++) {
            sum += all[i].by;
            is += all[i].is;
        }
        if (to == from)
            continue;
        double share = is / n;
        bins[made++] = (calibration_bin){sum / n, share, sqrt(share * (1 - share) / n)};
        *error += fabs(share - sum / n) * n / (double)count;
    }
    free(all);
    return made;
}

/* Curves have at most so many points; more classes than colours have no curves. */
enum { MOST_POINTS = 300, MOST_DOTS = 1500, MOST_CURVES = PLOT_COLOURS - 1 };

/* The curve of a class against the others, at its ends and where the decision changes.  Returns
 * the share of the rows that are of the class. */
static double add_ranked(figure *f, const evaluation *e, size_t c, int roc) {
    size_t count, positive = 0, true_ones = 0, shown = 0;
    ranked *all = rank_by_decision(e, c, &count);
    for (size_t i = 0; all && i < count; i++)
        positive += (size_t)all[i].is;
    if (roc)
        figure_point(f, 0, 0, 0);
    for (size_t i = 0; all && i < count; i++) {
        true_ones += (size_t)all[i].is;
        int ends = i + 1 == count || all[i + 1].by != all[i].by;
        if (!ends || ((i + 1) * MOST_POINTS / count == shown && i + 1 < count))
            continue;
        shown = (i + 1) * MOST_POINTS / count;
        double recall = (double)true_ones / (double)(positive ? positive : 1);
        double alarms =
            (double)(i + 1 - true_ones) / (double)(count - positive ? count - positive : 1);
        if (roc)
            figure_point(f, alarms, recall, 0);
        else
            figure_point(f, recall, (double)true_ones / (double)(i + 1), 0);
    }
    free(all);
    return count ? (double)positive / (double)count : 0;
}

/* That of the second of two classes, which the title names, or one for each of several. */
static figure *ranked_figure(const evaluation *e, panel p, int roc) {
    char title[120];
    size_t classes = e->info->classes;
    if (!e->class_of || classes > MOST_CURVES)
        return NULL;
    figure *f = figure_create(NULL, 1);
    snprintf(title, sizeof title, classes == 2 ? "%s of %.60s" : "%s", p.title,
             kb_model_class_name(e->model, 1));
    p.title = title;
    figure_panel(f, p);
    double share = 0;
    for (size_t c = classes == 2 ? 1 : 0; c < classes; c++) {
        figure_series(f, classes == 2 ? NULL : kb_model_class_name(e->model, c), PLOT_PATH,
                      classes == 2 ? 0 : (int)c);
        share = add_ranked(f, e, c, roc);
    }
    if (classes > 2 && !roc) /* chance differs from class to class */
        return f;
    figure_series(f, "by chance", PLOT_LINE, 6);
    figure_point(f, 0, roc ? 0 : share, 0);
    figure_point(f, 1, roc ? 1 : share, 0);
    return f;
}

figure *roc_figure(const evaluation *e) {
    return ranked_figure(
        e, (panel){.x = "false positive rate", .y = "true positive rate", .title = "ROC curve"}, 1);
}

figure *precision_recall_figure(const evaluation *e) {
    return ranked_figure(
        e, (panel){.x = "recall", .y = "precision", .title = "Precision and recall"}, 0);
}

figure *calibration_figure(const evaluation *e) {
    calibration_bin bins[CALIBRATION_BINS];
    double error, least = 1, most = 0;
    if (!e->probability)
        return NULL;
    size_t count = evaluation_calibration(e, bins, &error);
    figure *f = figure_create(NULL, 1);
    figure_panel(f, (panel){.x = "mean probability", .y = "share of rows", .title = "Calibration"});
    figure_series(f, "a tenth of the rows each", PLOT_POINTS, 0);
    for (size_t b = 0; b < count; b++) {
        figure_point(f, bins[b].probability, bins[b].share, bins[b].spread);
        least = fmin(least, fmin(bins[b].probability, bins[b].share));
        most = fmax(most, fmax(bins[b].probability, bins[b].share));
    }
    figure_series(f, "perfect", PLOT_LINE, 6);
    figure_point(f, least, least, 0);
    figure_point(f, most, most, 0);
    return f;
}

/* Some of the rows: prediction against label, or against label - prediction. */
static figure *dots(const evaluation *e, panel p, int residual) {
    double least = INFINITY, most = -INFINITY;
    if (!e->number)
        return NULL;
    figure *f = figure_create(NULL, 1);
    size_t step = e->rows / MOST_DOTS + 1;
    figure_panel(f, p);
    figure_series(f, NULL, PLOT_DOTS, 0);
    for (size_t i = 0; i < e->rows; i += step) {
        figure_point(f, e->number[i], residual ? e->label[i] - e->number[i] : e->label[i], 0);
        least = fmin(least, e->number[i]);
        most = fmax(most, e->number[i]);
    }
    figure_series(f, "perfect", PLOT_LINE, 6);
    figure_point(f, least, residual ? 0 : least, 0);
    figure_point(f, most, residual ? 0 : most, 0);
    return f;
}

figure *prediction_figure(const evaluation *e) {
    return dots(e, (panel){.x = "prediction", .y = "label", .title = "Labels over predictions"}, 0);
}

figure *residual_figure(const evaluation *e) {
    return dots(e,
                (panel){.x = "prediction",
                        .y = "label - prediction",
                        .title = "Residuals over predictions"},
                1);
}
