/* score.c - how good decisions are; every sum counts a sample by its weight. */
#include "data/number.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double weight_of(const kb_data *data, size_t i) {
    return data->weight ? data->weight[i] : 1;
}

/* The class of the model that each label means, words by their name and numbers by value;
 * the number of classes for a label that it does not know. */
static kb_status find_classes(kb_context *ctx, const kb_model *model, const kb_data *data,
                              size_t **out) {
    size_t classes = model->info.classes;
    kb_status status = kb_alloc(ctx, data->rows, sizeof **out, out);
    for (size_t i = 0; status == KB_OK && i < data->rows; i++) {
        char number[KB_NUMBER_TEXT];
        const char *name = number;
        size_t k = 0;
        if (i > 0 && data->label[i] == data->label[i - 1]) {
            (*out)[i] = (*out)[i - 1];
            continue;
        }
        if (data->class_name)
            name = data->class_name[(size_t)data->label[i]];
        else
            number[kb_number_format(data->label[i], number)] = '\0';
        while (k < classes && (data->class_name || model->class_name
                                   ? strcmp(name, kb_model_class_name(model, k)) != 0
                                   : data->label[i] != model->class_value[k]))
            k++;
        (*out)[i] = k;
    }
    return status;
}

/* A decision, the weight of its sample, and whether it is of the second class. */
typedef struct ranked {
    double decision, weight;
    int positive;
} ranked;

static int by_decision(const void *a, const void *b) {
    double x = ((const ranked *)a)->decision, y = ((const ranked *)b)->decision;
    return (x > y) - (x < y);
}

/* The share of pairs of a positive and a negative sample that are in the right order, ties
 * counting half. */
static kb_status area(kb_context *ctx, const kb_data *data, const size_t *class_of,
                      const double *decision, double *out) {
    ranked *all;
    size_t N = data->rows, count = 0;
    double positive = 0, negative = 0, pairs = 0;
    kb_status status = kb_alloc(ctx, N, sizeof *all, &all);
    if (status != KB_OK)
        return status;
    for (size_t i = 0; i < N; i++)
        if (class_of[i] < 2)
            all[count++] = (ranked){decision[i], weight_of(data, i), class_of[i] == 1};
    qsort(all, count, sizeof *all, by_decision);
    for (size_t i = 0, end; i < count; i = end) {
        double here[2] = {0, 0};
        for (end = i; end < count && all[end].decision == all[i].decision; end++)
            here[all[end].positive] += all[end].weight;
        pairs += here[1] * (negative + here[0] / 2);
        negative += here[0];
        positive += here[1];
    }
    *out = positive > 0 && negative > 0 ? pairs / (positive * negative) : NAN;
    kb_release(ctx, all);
    return KB_OK;
}

/* Minus the mean log of the probability of the true class, which counts as no less than
 * 1e-15; a class that the model does not know counts so. */
static kb_status log_loss(kb_context *ctx, const kb_model *model, const kb_data *data,
                          const size_t *class_of, const double *decision, double *out) {
    size_t classes = model->info.classes;
    double sum = 0, total = 0, *p;
    kb_status status = kb_alloc(ctx, classes, sizeof(double), &p);
    if (status != KB_OK)
        return status;
    for (size_t i = 0; i < data->rows; i++) {
        kb_calibration_apply(&model->calibration, model->info.outputs,
                             decision + i * model->info.outputs, p);
        sum -=
            weight_of(data, i) * log(class_of[i] < classes ? fmax(p[class_of[i]], 1e-15) : 1e-15);
        total += weight_of(data, i);
    }
    *out = sum / total;
    kb_release(ctx, p);
    return KB_OK;
}

static kb_status score_classes(kb_context *ctx, const kb_model *model, const kb_data *data,
                               const double *decision, kb_score *out) {
    kb_status status;
    size_t classes = model->info.classes, *class_of = NULL, seen = 0;
    double *right = NULL, *total = NULL, all = 0, good = 0;
    TRY(find_classes(ctx, model, data, &class_of));
    TRY(kb_zalloc(ctx, classes + 1, sizeof(double), &right));
    TRY(kb_zalloc(ctx, classes + 1, sizeof(double), &total));
    for (size_t i = 0; i < data->rows; i++) {
        double w = weight_of(data, i);
        total[class_of[i]] += w;
        if (kb_model_winner(model, decision + i * model->info.outputs) == class_of[i])
            right[class_of[i]] += w;
    }
    out->balanced_accuracy = 0;
    for (size_t k = 0; k <= classes; k++) {
        all += total[k];
        good += right[k];
        if (total[k] > 0) {
            out->balanced_accuracy += right[k] / total[k];
            seen++;
        }
    }
    out->accuracy = good / all;
    out->balanced_accuracy /= (double)seen;
    out->standard_error = sqrt(out->accuracy * (1 - out->accuracy) / all);
    if (classes == 2)
        TRY(area(ctx, data, class_of, decision, &out->auc));
    if (model->calibration.kind != KB_PROBABILITY_NONE)
        TRY(log_loss(ctx, model, data, class_of, decision, &out->log_loss));
done:
    kb_release(ctx, class_of);
    kb_release(ctx, right);
    kb_release(ctx, total);
    return status;
}

static kb_status score_numbers(kb_context *ctx, const kb_data *data, const double *decision,
                               kb_score *out) {
    double error = 0, size = 0, mean = 0, around = 0, total = 0;
    if (data->class_name)
        return kb_fail(ctx, KB_ERR_DATA, "the labels are words, the model predicts numbers");
    for (size_t i = 0; i < data->rows; i++)
        total += weight_of(data, i);
    for (size_t i = 0; i < data->rows; i++)
        mean += weight_of(data, i) * data->label[i] / total;
    for (size_t i = 0; i < data->rows; i++) {
        double w = weight_of(data, i), y = data->label[i], e = decision[i] - y;
        error += w * e * e;
        size += w * y * y;
        around += w * (y - mean) * (y - mean);
    }
    out->standard_error = 0;
    for (size_t i = 0; i < data->rows; i++) {
        double e = decision[i] - data->label[i], off = e * e - error / total;
        out->standard_error += weight_of(data, i) * off * off;
    }
    out->standard_error = sqrt(out->standard_error) / total;
    out->rmse = sqrt(error / total);
    out->relative_error = size > 0 ? sqrt(error / size) : 0;
    out->r2 = around > 0 ? 1 - error / around : 0;
    return KB_OK;
}

kb_status kb_model_score(kb_context *ctx, const kb_model *model, const kb_data *data,
                         const double *decision, kb_score *out) {
    *out = (kb_score){NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    if (!data->label)
        return kb_fail(ctx, KB_ERR_DATA, "the data have no labels to score against");
    return model->info.classes ? score_classes(ctx, model, data, decision, out)
                               : score_numbers(ctx, data, decision, out);
}
