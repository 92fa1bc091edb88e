/* score.c - see score.h; every sum counts a sample by its weight.  Rows without a label do not
 * count.
 */
#include "model/score.h"
#include "core/number.h"
#include "model/metric.h"
#include "ranks/ranks.h"

#include <math.h>
#include <string.h>

kb_status kb_find_classes(kb_context *ctx, const kb_model *model, const kb_data *data,
                          size_t **out) {
    size_t classes = model->info.classes;
    kb_status status = kb_alloc(ctx, data->rows, sizeof **out, out);
    for (size_t i = 0; status == KB_OK && i < data->rows; i++) {
        char number[KB_NUMBER_TEXT];
        const char *name = number;
        size_t k = 0;
        if (isnan(data->label[i])) {
            (*out)[i] = classes + 1;
            continue;
        }
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

/* Of class k against the rest, by the decisions of output c.  Labels that the model does not know
 * are of the rest, but with two classes of neither. */
static double area_of(const kb_scorer *s, size_t k, size_t c, kb_ranked *room) {
    size_t C = s->model->info.outputs, count = 0, last = s->model->info.classes - (C == 1);
    for (size_t i = 0; i < s->data->rows; i++)
        if (s->class_of[i] <= last)
            room[count++] = (kb_ranked){.decision = s->kept[i * C + c],
                                        .weight = kb_weight_of(s->data->weight, i),
                                        .positive = s->class_of[i] == k};
    return kb_auc(count, room);
}

static kb_status area(kb_context *ctx, const kb_scorer *s, double *out) {
    kb_ranked *room = NULL;
    size_t C = s->model->info.outputs, seen = 0;
    double sum = 0;
    kb_status status = kb_alloc(ctx, s->data->rows, sizeof *room, &room);
    if (status != KB_OK)
        return status;
    for (size_t c = 0; c < C; c++) {
        double one = area_of(s, C == 1 ? 1 : c, c, room);
        sum += isnan(one) ? 0 : one;
        seen += !isnan(one);
    }
    *out = seen > 0 ? sum / (double)seen : NAN;
    kb_release(ctx, room);
    return KB_OK;
}

/* Adds minus the log of the probability of the true class, taken as at least 1e-15, and as 1e-15
 * for a class that the model does not know; and half the squared error. */
static void add_probabilities(kb_scorer *s, size_t class_of, double weight,
                              const double *decision) {
    const kb_model *model = s->model;
    size_t classes = model->info.classes;
    double squares = class_of < classes ? 0 : 1;
    kb_calibration_apply(&model->calibration, model->info.outputs, decision, s->probability);
    for (size_t k = 0; k < classes; k++) {
        double off = s->probability[k] - (k == class_of);
        squares += off * off;
    }
    s->brier += weight * squares / 2;
    s->log_loss -= weight * log(class_of < classes ? fmax(s->probability[class_of], 1e-15) : 1e-15);
}

kb_status kb_scorer_begin(kb_context *ctx, const kb_model *model, const kb_data *data,
                          kb_scorer *s) {
    kb_status status = KB_OK;
    size_t classes = model->info.classes;
    *s = (kb_scorer){.model = model, .data = data};
    if (!data->label)
        TRY(kb_fail(ctx, KB_ERR_DATA, "the data have no labels to score against"));
    if (!classes && data->class_name)
        TRY(kb_fail(ctx, KB_ERR_DATA, "the labels are words, the model predicts numbers"));
    if (model->info.outputs == 1 || data->rows <= KB_SCORE_KEPT / model->info.outputs)
        TRY(kb_alloc(ctx, data->rows * model->info.outputs, sizeof(double), &s->kept));
    if (classes) {
        TRY(kb_find_classes(ctx, model, data, &s->class_of));
        TRY(kb_zalloc(ctx, classes + 1, sizeof(double), &s->right));
        TRY(kb_zalloc(ctx, classes + 1, sizeof(double), &s->total));
        TRY(kb_zalloc(ctx, classes + 1, sizeof(double), &s->said));
        TRY(kb_alloc(ctx, classes, sizeof(double), &s->probability));
    }
done:
    return status;
}

void kb_scorer_add(kb_scorer *s, size_t begin, size_t rows, const double *decision) {
    size_t C = s->model->info.outputs;
    int calibrated = s->model->calibration.kind != KB_CALIBRATION_NONE;
    if (s->kept)
        memcpy(s->kept + begin * C, decision, rows * C * sizeof *decision);
    for (size_t i = 0; s->class_of && i < rows; i++, decision += C) {
        size_t class_of = s->class_of[begin + i];
        double w = kb_weight_of(s->data->weight, begin + i);
        if (class_of > s->model->info.classes)
            continue;
        size_t winner = kb_model_winner(s->model, decision);
        s->total[class_of] += w;
        s->said[winner] += w;
        if (winner == class_of)
            s->right[class_of] += w;
        if (calibrated)
            add_probabilities(s, class_of, w, decision);
    }
}

/* 2 precision recall / (precision + recall); classes that are neither there nor predicted do not
 * count. */
static double f1_of(const kb_scorer *s) {
    size_t classes = s->model->info.classes, seen = 0;
    double sum = 0;
    for (size_t k = classes == 2 ? 1 : 0; k <= (classes == 2 ? 1 : classes); k++)
        if (s->total[k] + s->said[k] > 0) {
            sum += 2 * s->right[k] / (s->total[k] + s->said[k]);
            seen++;
        }
    return seen > 0 ? sum / (double)seen : NAN;
}

static kb_status score_classes(kb_context *ctx, const kb_scorer *s, kb_score *out) {
    size_t classes = s->model->info.classes, seen = 0;
    double all = 0, good = 0;
    out->balanced_accuracy = 0;
    for (size_t k = 0; k <= classes; k++) {
        all += s->total[k];
        good += s->right[k];
        if (s->total[k] > 0) {
            out->balanced_accuracy += s->right[k] / s->total[k];
            seen++;
        }
    }
    out->accuracy = good / all;
    out->balanced_accuracy /= (double)seen;
    out->standard_error = sqrt(out->accuracy * (1 - out->accuracy) / all);
    out->f1 = f1_of(s);
    if (s->model->calibration.kind != KB_CALIBRATION_NONE) {
        out->log_loss = s->log_loss / all;
        out->brier = s->brier / all;
    }
    return s->kept ? area(ctx, s, &out->auc) : KB_OK;
}

static void score_numbers(const kb_model *model, const kb_data *data, const double *decision,
                          kb_score *out) {
    double pinball = 0, deviance = 0, error = 0, size = 0, mean = 0, around = 0, total = 0,
           absolute = 0;
    for (size_t i = 0; i < data->rows; i++)
        total += isnan(data->label[i]) ? 0 : kb_weight_of(data->weight, i);
    for (size_t i = 0; i < data->rows; i++)
        mean += isnan(data->label[i]) ? 0 : kb_weight_of(data->weight, i) * data->label[i] / total;
    for (size_t i = 0; i < data->rows; i++) {
        double w = kb_weight_of(data->weight, i), y = data->label[i];
        double f = kb_model_mean(model, decision[i]), e = f - y;
        if (isnan(y))
            continue;
        error += w * e * e;
        absolute += w * fabs(e);
        size += w * y * y;
        around += w * (y - mean) * (y - mean);
        pinball += w * kb_metric_pinball(model->info.quantile, y, f);
        deviance += w * kb_metric_deviance(y, f);
    }
    out->standard_error = 0;
    for (size_t i = 0; i < data->rows; i++) {
        double e = kb_model_mean(model, decision[i]) - data->label[i], off = e * e - error / total;
        if (isnan(e))
            continue;
        out->standard_error += kb_weight_of(data->weight, i) * off * off;
    }
    out->standard_error = sqrt(out->standard_error) / total;
    out->rmse = sqrt(error / total);
    out->mae = absolute / total;
    if (model->info.quantile > 0)
        out->pinball = pinball / total;
    if (model->log_link)
        out->poisson_deviance = deviance / total;
    out->relative_error = size > 0 ? sqrt(error / size) : 0;
    out->r2 = around > 0 ? 1 - error / around : 0;
}

kb_status kb_score_fill(kb_context *ctx, const kb_score *from, kb_score *out) {
    kb_score before;
    kb_status status = kb_take_struct(ctx, "kb_score", out, &before, sizeof before);
    if (status != KB_OK)
        return status;
    memcpy(out, from, before.size);
    out->size = before.size;
    return KB_OK;
}

kb_status kb_scorer_end(kb_context *ctx, const kb_scorer *s, kb_score *out) {
    kb_score found = KB_SCORE_NONE;
    kb_status status = KB_OK;
    if (s->class_of)
        TRY(score_classes(ctx, s, &found));
    else
        score_numbers(s->model, s->data, s->kept, &found);
    TRY(kb_score_fill(ctx, &found, out));
done:
    return status;
}

void kb_scorer_release(kb_context *ctx, kb_scorer *s) {
    void *all[] = {s->class_of, s->right, s->total, s->said, s->probability, s->kept};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kb_release(ctx, all[i]);
}

/* ---- of all ranks ------------------------------------------------------ */

/* *all = the items of all ranks, on rank 0; elsewhere nothing.  NULL stays NULL. */
static kb_status to_first(kb_context *ctx, const double *mine, size_t count, double **all) {
    kb_status status;
    size_t *to_bytes = NULL, *end = NULL;
    void *from = NULL;
    *all = NULL;
    if (!mine)
        return KB_OK;
    TRY(kb_zalloc(ctx, (size_t)kb_rank_count(ctx), sizeof *to_bytes, &to_bytes));
    to_bytes[0] = count * sizeof *mine;
    TRY(kb_ranks_exchange(ctx, mine, to_bytes, &from, &end));
    *all = from;
done:
    kb_release(ctx, to_bytes);
    kb_release(ctx, end);
    return status;
}

/* As one process would, from the decisions of all rows. */
static kb_status score_whole(kb_context *ctx, const kb_scorer *s, size_t rows, const kb_data *whole,
                             const double *decision, kb_score *out) {
    kb_status status = KB_OK;
    kb_scorer all = {0};
    if (kb_rank(ctx) == 0) {
        TRY(kb_scorer_begin(ctx, s->model, whole, &all));
        kb_scorer_add(&all, 0, rows, decision);
        TRY(kb_scorer_end(ctx, &all, out));
    }
done:
    kb_scorer_release(ctx, &all);
    return status;
}

static kb_status join_rows(kb_context *ctx, const kb_scorer *s, size_t rows, kb_score *out) {
    kb_status status;
    kb_data whole = *s->data;
    size_t N = s->data->rows;
    double *decision = NULL;
    whole.label = whole.weight = NULL;
    TRY(to_first(ctx, s->kept, N * s->model->info.outputs, &decision));
    TRY(to_first(ctx, s->data->label, N, &whole.label));
    TRY(to_first(ctx, s->data->weight, N, &whole.weight));
    whole.rows = rows;
    TRY(kb_ranks_agree(ctx, score_whole(ctx, s, rows, &whole, decision, out)));
done:
    kb_release(ctx, decision);
    kb_release(ctx, whole.label);
    kb_release(ctx, whole.weight);
    return status;
}

/* x[k] = its sum over the ranks, added in their order. */
static kb_status add_up(kb_context *ctx, double *x, size_t count) {
    kb_status status;
    void *all = NULL;
    TRY(kb_ranks_gather(ctx, x, count * sizeof *x, &all, NULL));
    memset(x, 0, count * sizeof *x);
    for (size_t e = 0; e < (size_t)kb_rank_count(ctx) * count; e++)
        x[e % count] += ((double *)all)[e];
done:
    kb_release(ctx, all);
    return status;
}

static kb_status join_sums(kb_context *ctx, kb_scorer *s, kb_score *out) {
    kb_status status;
    size_t count = s->model->info.classes + 1;
    TRY(add_up(ctx, s->right, count));
    TRY(add_up(ctx, s->total, count));
    TRY(add_up(ctx, s->said, count));
    TRY(add_up(ctx, &s->log_loss, 1));
    TRY(add_up(ctx, &s->brier, 1));
    kb_release(ctx, s->kept);
    s->kept = NULL;
    TRY(kb_scorer_end(ctx, s, out));
done:
    return status;
}

/* What rank 0 has found. */
static kb_status take_score(kb_context *ctx, kb_score *out) {
    kb_status status;
    void *found = NULL;
    TRY(kb_ranks_gather(ctx, out, kb_rank(ctx) == 0 ? out->size : 0, &found, NULL));
    memcpy(out, found, out->size);
done:
    kb_release(ctx, found);
    return status;
}

kb_status kb_scorer_end_of_all(kb_context *ctx, kb_scorer *s, kb_score *out) {
    kb_status status;
    size_t before, rows, outputs = s->model->info.outputs;
    if (kb_rank_count(ctx) == 1)
        return kb_scorer_end(ctx, s, out);
    TRY(kb_ranks_place(ctx, s->data->rows, &before, &rows));
    if (outputs == 1 || rows <= KB_SCORE_KEPT / outputs)
        TRY(join_rows(ctx, s, rows, out));
    else
        TRY(join_sums(ctx, s, out));
    TRY(take_score(ctx, out));
done:
    return status;
}

kb_status kb_model_score(kb_context *ctx, const kb_model *model, const kb_data *data,
                         const double *decision, kb_score *out) {
    kb_status status;
    kb_scorer s = {0};
    TRY(kb_score_fill(ctx, &KB_SCORE_NONE, out));
    TRY(kb_scorer_begin(ctx, model, data, &s));
    kb_scorer_add(&s, 0, data->rows, decision);
    TRY(kb_scorer_end(ctx, &s, out));
done:
    kb_scorer_release(ctx, &s);
    return status;
}

kb_status kb_model_classes_of(kb_context *ctx, const kb_model *model, const kb_data *data,
                              int64_t *class_of) {
    kb_status status = KB_OK;
    size_t *found = NULL;
    if (!model->info.classes)
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT, "the model predicts numbers, not classes"));
    if (!data->label)
        TRY(kb_fail(ctx, KB_ERR_DATA, "the data have no labels to score against"));
    TRY(kb_find_classes(ctx, model, data, &found));
    for (size_t i = 0; i < data->rows; i++)
        class_of[i] = found[i] < model->info.classes ? (int64_t)found[i] : -1;
done:
    kb_release(ctx, found);
    return status;
}
