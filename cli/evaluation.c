/* evaluation.c - see evaluation.h. */
#include "evaluation.h"

#include <math.h>
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
    if (e->info->classes)
        TRY(fill_classes(s, data, e));
done:
    return status;
}

void evaluation_free(evaluation *e) {
    free(e->decision);
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

/* The rows with a known class by their decision for the second of two classes, or by the
 * probability of the second, or of the class predicted; the largest first. */
static ranked *rank_rows(const evaluation *e, int by_probability, size_t *count) {
    ranked *all = malloc((e->rows + 1) * sizeof *all);
    size_t classes = e->info->classes;
    *count = 0;
    for (size_t i = 0; all && i < e->rows; i++) {
        size_t c = classes == 2 ? 1 : predicted_class(e, i);
        if (e->class_of[i] >= 0)
            all[(*count)++] =
                (ranked){by_probability ? e->probability[i * classes + c] : e->decision[i],
                         (size_t)e->class_of[i] == c};
    }
    if (all)
        qsort(all, *count, sizeof *all, larger_first);
    return all;
}

size_t evaluation_calibration(const evaluation *e, calibration_bin *bins, double *error) {
    size_t count, made = 0;
    ranked *all = e->probability ? rank_rows(e, 1, &count) : NULL;
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

/* Two curves of the ranked rows, at their ends and where the decision changes; at most so many
 * points. */
enum { MOST_POINTS = 300, MOST_DOTS = 1500 };

static figure *ranked_figure(const evaluation *e, panel p, int roc) {
    size_t count, positive = 0, true_ones = 0, shown = 0;
    if (!e->class_of || e->info->classes != 2)
        return NULL;
    ranked *all = rank_rows(e, 0, &count);
    figure *f = all ? figure_create(NULL, 1) : NULL;
    for (size_t i = 0; all && i < count; i++)
        positive += (size_t)all[i].is;
    figure_panel(f, p);
    figure_series(f, NULL, PLOT_PATH, 0);
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
    double share = count ? (double)positive / (double)count : 0;
    figure_series(f, "by chance", PLOT_LINE, 6);
    figure_point(f, 0, roc ? 0 : share, 0);
    figure_point(f, 1, roc ? 1 : share, 0);
    free(all);
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
    if (e->info->classes)
        return NULL;
    figure *f = figure_create(NULL, 1);
    size_t step = e->rows / MOST_DOTS + 1;
    figure_panel(f, p);
    figure_series(f, NULL, PLOT_DOTS, 0);
    for (size_t i = 0; i < e->rows; i += step) {
        figure_point(f, e->decision[i], residual ? e->label[i] - e->decision[i] : e->label[i], 0);
        least = fmin(least, e->decision[i]);
        most = fmax(most, e->decision[i]);
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
