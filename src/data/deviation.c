/*
 * deviation.c - how far the values of a feature lie apart; see scaling.h.
 */
#include "data/scaling.h"
#include "core/order.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* At most KB_DEVIATION_ROWS rows, and for sparse data their entries column by column:
 * those of column j from start[j] up to start[j+1]. */
typedef struct sample {
    const kb_data *data;
    size_t rows, *start;
    double *value;
    double *weight; /* of the value's row; NULL where all are 1 */
} sample;

static size_t place_of(const sample *s, size_t i) {
    return i * s->data->rows / s->rows; /* rows < 2^64 / 10,000 */
}

static kb_row sampled_row(const sample *s, size_t i) {
    return kb_data_row(s->data, place_of(s, i));
}

/* A counting sort by column. */
static kb_status transpose(kb_context *ctx, sample *s) {
    kb_status status;
    size_t d = s->data->features, entries = 0;
    TRY(kb_zalloc(ctx, d + 2, sizeof *s->start, &s->start));
    for (size_t i = 0; i < s->rows; i++) {
        kb_row row = sampled_row(s, i);
        entries += row.count;
        for (size_t k = 0; k < row.count; k++)
            s->start[row.column[k] + 2]++;
    }
    for (size_t j = 2; j < d + 2; j++)
        s->start[j] += s->start[j - 1];
    TRY(kb_alloc(ctx, entries, sizeof *s->value, &s->value));
    if (s->data->weight)
        TRY(kb_alloc(ctx, entries, sizeof *s->weight, &s->weight));
    for (size_t i = 0; i < s->rows; i++) {
        kb_row row = sampled_row(s, i);
        for (size_t k = 0; k < row.count; k++) {
            size_t at = s->start[row.column[k] + 1]++;
            s->value[at] = row.value[k];
            if (s->weight)
                s->weight[at] = s->data->weight[place_of(s, i)];
        }
    }
done:
    return status;
}

/* The stored values of column j, scaled, into x; returns how many. */
static size_t gather(const sample *s, size_t j, double shift, double factor, double *x) {
    size_t count = s->start ? s->start[j + 1] - s->start[j] : s->rows;
    for (size_t i = 0; i < count; i++) {
        double value = s->start ? s->value[s->start[j] + i] : sampled_row(s, i).value[j];
        x[i] = (value - shift) * factor;
    }
    return count;
}

/* The median of x[0..count) and `zeros` more values that are all `zero`. */
static double median(double *x, size_t count, size_t zeros, double zero) {
    size_t rank = (count + zeros) / 2, below = 0;
    for (size_t i = 0; i < count; i++)
        below += x[i] < zero;
    if (zeros > 0 && rank >= below && rank < below + zeros)
        return zero;
    return kb_select_rank(x, count, rank < below || zeros == 0 ? rank : rank - zeros);
}

/* Half the mean over a column of |x - median|, all weights being 1.  Halves, because the difference
 * of two doubles may be twice the largest. */
static double half_deviation(const sample *s, size_t j, double shift, double factor, double *x) {
    size_t count = gather(s, j, shift, factor, x), zeros = s->rows - count;
    double zero = (0 - shift) * factor, m = median(x, count, zeros, zero);
    double sum = 0, share = 1 / (double)s->rows;
    /* In the order of the rows, and zeros apart: the same bits for both forms. */
    gather(s, j, shift, factor, x);
    for (size_t i = 0; i < count; i++)
        if (x[i] == zero)
            zeros++;
        else
            sum += fabs(x[i] / 2 - m / 2) * share;
    return sum + fabs(zero / 2 - m / 2) * share * (double)zeros;
}

/* ---- with weights ------------------------------------------------------ */

typedef struct weighed {
    double x, weight;
} weighed;

static int by_value(const void *a, const void *b) {
    const weighed *x = a, *y = b;
    return x->x != y->x ? (x->x > y->x) - (x->x < y->x)
                        : (x->weight > y->weight) - (x->weight < y->weight);
}

/* The same with weights: a row of weight 2 counts as two rows.  `all` is the total weight of the
 * sampled rows, x is scratch, w has room for each row and one more. */
static double half_weighed_deviation(const sample *s, size_t j, double shift, double factor,
                                     double all, double *x, weighed *w) {
    size_t count = gather(s, j, shift, factor, x), used = 0, at = 0;
    double zero = (0 - shift) * factor, stored = 0, below = 0, sum = 0;
    for (size_t i = 0; i < count; i++) {
        double weight = s->weight ? s->weight[s->start[j] + i] : s->data->weight[place_of(s, i)];
        if (x[i] == zero) /* stored or not: the same bits for both forms */
            continue;
        w[used++] = (weighed){x[i], weight};
        stored += weight;
    }
    if (used < s->rows)
        w[used++] = (weighed){zero, fmax(all - stored, 0)};
    qsort(w, used, sizeof *w, by_value);
    while (at + 1 < used && below + w[at].weight <= all / 2)
        below += w[at++].weight;
    for (size_t i = 0; i < used; i++)
        sum += fabs(w[i].x / 2 - w[at].x / 2) * (w[i].weight / all);
    return sum;
}

/* The chance that two rows have different levels, by their weights; w has room for each row. */
static double chance_to_differ(const sample *s, size_t j, weighed *w) {
    double all = 0, same = 0;
    for (size_t i = 0; i < s->rows; i++) {
        w[i] = (weighed){sampled_row(s, i).value[j], kb_weight_of(s->data->weight, place_of(s, i))};
        all += w[i].weight;
    }
    qsort(w, s->rows, sizeof *w, by_value);
    for (size_t i = 0; i < s->rows;) {
        double level = w[i].x, sum = 0;
        for (; i < s->rows && w[i].x == level; i++)
            sum += w[i].weight;
        same += sum / all * (sum / all);
    }
    return all > 0 ? fmax(1 - same, 0) : 0;
}

kb_status kb_scaling_deviations(kb_context *ctx, const kb_data *data, const double *shift,
                                const double *factor, double *out) {
    kb_status status;
    sample s = {.data = data};
    double *x = NULL, all = 0;
    weighed *w = NULL;
    s.rows = data->rows < KB_DEVIATION_ROWS ? data->rows : KB_DEVIATION_ROWS;
    TRY(kb_alloc(ctx, s.rows, sizeof *x, &x));
    if (!data->dense)
        TRY(transpose(ctx, &s));
    for (size_t i = 0; data->weight && i < s.rows; i++)
        all += data->weight[place_of(&s, i)];
    if (all > 0 || data->level)
        TRY(kb_alloc(ctx, s.rows + 1, sizeof *w, &w));
    for (size_t j = 0; j < data->features; j++)
        if (data->level && data->level[j])
            out[j] = chance_to_differ(&s, j, w);
        else
            out[j] =
                fmin(2 * (all > 0 ? half_weighed_deviation(&s, j, shift[j], factor[j], all, x, w)
                                  : half_deviation(&s, j, shift[j], factor[j], x)),
                     DBL_MAX);
done:
    kb_release(ctx, x);
    kb_release(ctx, w);
    kb_release(ctx, s.start);
    kb_release(ctx, s.value);
    kb_release(ctx, s.weight);
    return status;
}

double kb_scaling_mean(const double *deviation, size_t features) {
    double mean = 0;
    for (size_t j = 0; j < features; j++)
        mean += deviation[j] / (double)features;
    return mean;
}

kb_status kb_scaling_mean_deviation(kb_context *ctx, const kb_data *data, const double *shift,
                                    const double *factor, double *out) {
    kb_status status;
    double *deviation = NULL;
    TRY(kb_alloc(ctx, data->features, sizeof *deviation, &deviation));
    TRY(kb_scaling_deviations(ctx, data, shift, factor, deviation));
    *out = kb_scaling_mean(deviation, data->features);
done:
    kb_release(ctx, deviation);
    return status;
}
