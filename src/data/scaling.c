/*
 * scaling.c - see scaling.h.
 *
 * Nothing here overflows for finite data.  Where max - min is beyond the largest
 * double, halves are used, and the shift is the middle, so that x - shift stays finite
 * for every x of the training data.  Mean and variance are taken of x 2^-e, where 2^e
 * is above the largest absolute value of the column: powers of two scale without
 * rounding.  The variance takes a second pass (sum of (x - mean)^2), because
 * mean(x^2) - mean^2 cancels.
 */
#include "data/scaling.h"

#include <float.h>
#include <math.h>

enum { CELLS_PER_REPORT = 1 << 20 };

/* For the walks over all rows, which find no time to tell how far they are: every million
 * cells or so the user may stop the work. */
static kb_status pause_at(kb_context *ctx, const kb_data *data, size_t i) {
    size_t rows = CELLS_PER_REPORT / data->features + 1;
    return i % rows == 0 ? kb_progress(ctx, "bin", -1) : KB_OK;
}

kb_status kb_scaling_ranges(kb_context *ctx, const kb_data *data, double *low, double *high) {
    kb_status status;
    size_t d = data->features, *stored = NULL;
    TRY(kb_zalloc(ctx, d, sizeof *stored, &stored));
    for (size_t j = 0; j < d; j++) {
        low[j] = INFINITY;
        high[j] = -INFINITY;
    }
    for (size_t i = 0; i < data->rows; i++) {
        TRY(pause_at(ctx, data, i));
        kb_row row = kb_data_row(data, i);
        for (size_t k = 0; k < row.count; k++) {
            size_t j = row.column ? row.column[k] : k;
            double x = row.value[k];
            low[j] = x < low[j] ? x : low[j];
            high[j] = x > high[j] ? x : high[j];
            stored[j]++;
        }
    }
    for (size_t j = 0; j < d; j++)
        if (stored[j] < data->rows) {
            low[j] = low[j] < 0 ? low[j] : 0;
            high[j] = high[j] > 0 ? high[j] : 0;
        }
done:
    kb_release(ctx, stored);
    return status;
}

/* 1/x, but finite. */
static double inverse(double x) {
    double y = 1 / x;
    return isinf(y) ? DBL_MAX : y;
}

void kb_scaling_minmax(size_t d, const double *low, const double *high, double *shift,
                       double *factor) {
    for (size_t j = 0; j < d; j++) {
        double range = high[j] - low[j];
        if (isinf(range)) {
            shift[j] = low[j] / 2 + high[j] / 2;
            factor[j] = 0.5 / (high[j] / 2 - low[j] / 2);
        } else {
            shift[j] = low[j];
            factor[j] = range > 0 ? inverse(range) : 1;
        }
    }
}

static void scale_maxabs(size_t d, const double *low, const double *high, double *shift,
                         double *factor) {
    for (size_t j = 0; j < d; j++) {
        shift[j] = 0;
        factor[j] = low[j] < high[j] ? inverse(fmax(-low[j], high[j])) : 1;
    }
}

/* Adds unit^power (x - center)^power over each column to sum; power is 1 or 2. */
static kb_status add_powers(kb_context *ctx, const kb_data *data, int power, const double *unit,
                            const double *center, double *sum) {
    kb_status status;
    size_t d = data->features, *stored = NULL;
    TRY(kb_zalloc(ctx, d, sizeof *stored, &stored));
    for (size_t i = 0; i < data->rows; i++) {
        TRY(pause_at(ctx, data, i));
        kb_row row = kb_data_row(data, i);
        for (size_t k = 0; k < row.count; k++) {
            size_t j = row.column ? row.column[k] : k;
            double x = row.value[k] * unit[j] - center[j];
            sum[j] += power == 2 ? x * x : x;
            stored[j]++;
        }
    }
    for (size_t j = 0; j < d; j++) {
        double left_out = (double)(data->rows - stored[j]);
        sum[j] += left_out * (power == 2 ? center[j] * center[j] : -center[j]);
    }
done:
    kb_release(ctx, stored);
    return status;
}

static kb_status scale_standard(kb_context *ctx, const kb_data *data, const double *low,
                                const double *high, double *shift, double *factor) {
    kb_status status;
    size_t d = data->features;
    double N = (double)data->rows, *unit = NULL, *mean = NULL, *variance = NULL;
    TRY(kb_alloc(ctx, d, sizeof *unit, &unit));
    TRY(kb_zalloc(ctx, d, sizeof *mean, &mean));
    TRY(kb_zalloc(ctx, d, sizeof *variance, &variance));
    for (size_t j = 0; j < d; j++) {
        int e;
        frexp(fmax(-low[j], high[j]), &e);
        unit[j] = ldexp(1, e > -1000 ? -e : 1000);
        shift[j] = 0;
    }
    TRY(add_powers(ctx, data, 1, unit, shift, mean));
    for (size_t j = 0; j < d; j++)
        mean[j] /= N;
    TRY(add_powers(ctx, data, 2, unit, mean, variance));
    for (size_t j = 0; j < d; j++) {
        int constant = low[j] == high[j];
        double deviation = sqrt(variance[j] / N);
        shift[j] = constant ? low[j] : mean[j] / unit[j];
        factor[j] = constant || deviation == 0 ? 1 : fmin(unit[j] / deviation, DBL_MAX);
    }
done:
    kb_release(ctx, unit);
    kb_release(ctx, mean);
    kb_release(ctx, variance);
    return status;
}

kb_status kb_scaling_learn(kb_context *ctx, kb_scale_kind kind, const kb_data *data, double *shift,
                           double *factor) {
    kb_status status;
    size_t d = data->features;
    double *low = NULL, *high = NULL;
    TRY(kb_alloc(ctx, d, sizeof *low, &low));
    TRY(kb_alloc(ctx, d, sizeof *high, &high));
    if (kind != KB_SCALE_NONE)
        TRY(kb_scaling_ranges(ctx, data, low, high));
    switch (kind) {
    case KB_SCALE_NONE:
        for (size_t j = 0; j < d; j++) {
            shift[j] = 0;
            factor[j] = 1;
        }
        break;
    case KB_SCALE_MINMAX:
        kb_scaling_minmax(d, low, high, shift, factor);
        break;
    case KB_SCALE_MAXABS:
        scale_maxabs(d, low, high, shift, factor);
        break;
    case KB_SCALE_STANDARD:
        TRY(scale_standard(ctx, data, low, high, shift, factor));
        break;
    }
done:
    kb_release(ctx, low);
    kb_release(ctx, high);
    return status;
}

/* ---- mean deviation ---------------------------------------------------- */

enum { DEVIATION_ROWS = 10000 };

/* At most DEVIATION_ROWS rows, and for sparse data their entries column by column:
 * those of column j from start[j] up to start[j+1]. */
typedef struct sample {
    const kb_data *data;
    size_t rows, *start;
    double *value;
} sample;

static kb_row sampled_row(const sample *s, size_t i) {
    return kb_data_row(s->data, i * s->data->rows / s->rows); /* rows < 2^64 / 10,000 */
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
    for (size_t i = 0; i < s->rows; i++) {
        kb_row row = sampled_row(s, i);
        for (size_t k = 0; k < row.count; k++)
            s->value[s->start[row.column[k] + 1]++] = row.value[k];
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

/* The value of rank k (from 0), by Hoare's selection; reorders x. */
static double select_rank(double *x, size_t count, size_t k) {
    size_t low = 0, high = count - 1;
    while (low < high) {
        double pivot = x[low + (high - low) / 2];
        size_t i = low, j = high;
        for (;;) {
            while (x[i] < pivot)
                i++;
            while (x[j] > pivot)
                j--;
            if (i >= j)
                break;
            double swap = x[i];
            x[i++] = x[j];
            x[j--] = swap;
        }
        /* Now x[low..j] <= pivot <= x[j+1..high]. */
        if (k <= j)
            high = j;
        else
            low = j + 1;
    }
    return x[k];
}

/* The median of x[0..count) and `zeros` more values that are all `zero`. */
static double median(double *x, size_t count, size_t zeros, double zero) {
    size_t rank = (count + zeros) / 2, below = 0;
    for (size_t i = 0; i < count; i++)
        below += x[i] < zero;
    if (zeros > 0 && rank >= below && rank < below + zeros)
        return zero;
    return select_rank(x, count, rank < below || zeros == 0 ? rank : rank - zeros);
}

kb_status kb_scaling_deviations(kb_context *ctx, const kb_data *data, const double *shift,
                                const double *factor, double *out) {
    kb_status status;
    sample s = {.data = data};
    double *x = NULL;
    size_t d = data->features;
    s.rows = data->rows < DEVIATION_ROWS ? data->rows : DEVIATION_ROWS;
    TRY(kb_alloc(ctx, s.rows, sizeof *x, &x));
    if (!data->dense)
        TRY(transpose(ctx, &s));
    /* Halves, because the difference of two doubles may be twice the largest. */
    double share = 1 / (double)s.rows;
    for (size_t j = 0; j < d; j++) {
        size_t count = gather(&s, j, shift[j], factor[j], x), zeros = s.rows - count;
        double zero = (0 - shift[j]) * factor[j], m = median(x, count, zeros, zero), sum = 0;
        /* In the order of the rows, and zeros apart: the same bits for both forms. */
        gather(&s, j, shift[j], factor[j], x);
        for (size_t i = 0; i < count; i++)
            if (x[i] == zero)
                zeros++;
            else
                sum += fabs(x[i] / 2 - m / 2) * share;
        sum += fabs(zero / 2 - m / 2) * share * (double)zeros;
        out[j] = fmin(2 * sum, DBL_MAX);
    }
done:
    kb_release(ctx, x);
    kb_release(ctx, s.start);
    kb_release(ctx, s.value);
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
