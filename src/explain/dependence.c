/*
 * dependence.c - partial dependence: the mean prediction over rows if one feature had the same
 * value in all of them (Friedman, Annals of Statistics 29, 2001).
 */
#include "core/order.h"
#include "explain/hybrid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of the sorted x, `most` values: the ends, and those between at equal shares of the rows.  A value
 * that many rows have counts as one share of them at most: it would leave no room for others.
 * Returns how many there are; x is overwritten. */
static size_t spread_values(double *x, size_t known, size_t most, double *out) {
    size_t share = (known + most - 1) / most, left = 0, count = 0, same = 0;
    for (size_t i = 0; i < known; i++) {
        same = i > 0 && x[i] == x[left - 1] ? same + 1 : 1;
        if (same <= share)
            x[left++] = x[i];
    }
    for (size_t k = 0; k < most; k++) {
        double value = x[most > 1 ? k * (left - 1) / (most - 1) : left / 2];
        if (count == 0 || value != out[count - 1])
            out[count++] = value;
    }
    return count;
}

kb_status kb_data_values(kb_context *ctx, const kb_data *data, size_t feature, size_t most,
                         double *out, size_t *count) {
    kb_status status = KB_OK;
    double *x = NULL;
    size_t known = 0, different = 0;
    *count = 0;
    if (feature >= data->features)
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT, "the data have %zu features, no number %zu",
                    data->features, feature));
    TRY(kb_alloc(ctx, data->rows, sizeof *x, &x));
    for (size_t i = 0; i < data->rows; i++) {
        kb_row row = kb_data_row(data, i);
        double value = row.column ? 0 : row.value[feature];
        for (size_t e = 0; row.column && e < row.count; e++)
            value = row.column[e] == feature ? row.value[e] : value;
        if (!isnan(value))
            x[known++] = value;
    }
    qsort(x, known, sizeof *x, kb_compare_doubles);
    for (size_t i = 0; i < known; i++)
        different += i == 0 || x[i] != x[i - 1];
    for (size_t i = 0; i < known && different <= most; i++)
        if (i == 0 || x[i] != x[i - 1])
            out[(*count)++] = x[i];
    if (different > most && most > 0)
        *count = spread_values(x, known, most, out);
done:
    kb_release(ctx, x);
    return status;
}

typedef struct averaging {
    const kb_model *model;
    kb_output what;
    size_t width;         /* numbers of a prediction */
    double *number;       /* width: of one row */
    double *sum, *square; /* points x width */
    size_t done;          /* rows so far, point after point */
} averaging;

/* Adds the decisions of the rows that wait. */
static kb_status flush(kb_context *ctx, averaging *a, size_t rows, kb_hybrids *h) {
    kb_status status;
    size_t C = a->model->info.outputs;
    TRY(kb_hybrids_decide(ctx, h));
    for (size_t k = 0; k < h->rows->rows; k++, a->done++) {
        const double *number = h->decision + k * C;
        if (a->what == KB_OUTPUT_PROBABILITY) {
            TRY(kb_model_probability(ctx, a->model, 1, number, a->number));
            number = a->number;
        } else if (a->what == KB_OUTPUT_LABEL) {
            kb_model_label(a->model, 1, number, a->number);
            number = a->number;
        }
        size_t at = a->done / rows * a->width;
        for (size_t c = 0; c < a->width; c++) {
            a->sum[at + c] += number[c];
            a->square[at + c] += number[c] * number[c];
        }
    }
    kb_hybrids_clear(h);
done:
    return status;
}

static kb_status average(kb_context *ctx, averaging *a, const kb_data *data, size_t feature,
                         size_t points, const double *at, kb_hybrids *h) {
    kb_status status = KB_OK;
    size_t start[] = {0, 1};
    uint32_t column[] = {(uint32_t)feature};
    double value[1];
    kb_data one = {.rows = 1,
                   .features = data->features,
                   .row_start = start,
                   .column = column,
                   .value = value};
    unsigned char *of_one = NULL;
    TRY(kb_zalloc(ctx, data->features, 1, &of_one));
    of_one[feature] = 1;
    for (size_t k = 0; k < points; k++) {
        value[0] = at[k];
        TRY(kb_progress(ctx, "explain", (double)k / (double)points));
        for (size_t i = 0; i < data->rows; i++) {
            kb_hybrids_add(h, data, i, &one, 0, of_one);
            if (kb_hybrids_full(h))
                TRY(flush(ctx, a, data->rows, h));
        }
    }
    if (h->rows->rows > 0)
        TRY(flush(ctx, a, data->rows, h));
done:
    kb_release(ctx, of_one);
    return status;
}

kb_status kb_model_dependence(kb_context *ctx, const kb_model *model, const kb_data *data,
                              size_t feature, size_t points, const double *at, kb_output what,
                              double *mean, double *standard_error) {
    kb_status status;
    kb_hybrids h = {0};
    averaging a = {.model = model, .what = what};
    double N = (double)data->rows;
    TRY(kb_map_check(ctx, model->map, data));
    if (feature >= data->features || data->rows == 0)
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT, "the data have %zu rows and %zu features, no number %zu",
                    data->rows, data->features, feature));
    int numbers = what == KB_OUTPUT_LABEL && model->info.classes == 0;
    if (what != KB_OUTPUT_DECISION && what != KB_OUTPUT_PROBABILITY && !numbers)
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT,
                    "there are means of decisions, of probabilities and of predicted numbers"));
    if (what == KB_OUTPUT_PROBABILITY)
        TRY(kb_model_probability(ctx, model, 0, NULL, NULL)); /* whether there are any */
    a.width = what == KB_OUTPUT_PROBABILITY ? model->info.classes : model->info.outputs;
    size_t cells = points * a.width;
    TRY(kb_alloc(ctx, a.width, sizeof(double), &a.number));
    TRY(kb_zalloc(ctx, cells, sizeof(double), &a.sum));
    TRY(kb_zalloc(ctx, cells, sizeof(double), &a.square));
    TRY(kb_hybrids_create(ctx, model, data, data, data->rows * points, &h));
    for (size_t k = 0; k < points; k++)
        h.rows->missing |= isnan(at[k]) != 0;
    kb_progress_outer(ctx, "explain");
    TRY(average(ctx, &a, data, feature, points, at, &h));
    for (size_t k = 0; k < cells; k++) {
        mean[k] = a.sum[k] / N;
        if (standard_error)
            standard_error[k] = sqrt(fmax(a.square[k] / N - mean[k] * mean[k], 0) / N);
    }
done:
    kb_progress_outer(ctx, NULL);
    kb_hybrids_release(ctx, &h);
    kb_release(ctx, a.number);
    kb_release(ctx, a.sum);
    kb_release(ctx, a.square);
    return status;
}
