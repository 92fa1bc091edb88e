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
#include "ranks/row_sums.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { CELLS_PER_REPORT = 1 << 20 };

/* For passes over all rows that do not report progress: about every million cells the user may
 * stop the work. */
static kb_status pause_at(kb_context *ctx, const kb_data *data, size_t i) {
    size_t rows = CELLS_PER_REPORT / data->features + 1;
    return i % rows == 0 ? kb_progress(ctx, "bin", -1) : KB_OK;
}

/* The smallest and largest of all ranks, and how many rows and entries there are. */
static kb_status join_ranges(kb_context *ctx, size_t d, double *low, double *high, size_t *rows,
                             size_t *stored) {
    kb_status status;
    int64_t *count = NULL;
    double *ends = NULL;
    status = kb_alloc(ctx, d + 1, sizeof *count, &count);
    if (status == KB_OK)
        status = kb_alloc(ctx, d, 2 * sizeof *ends, &ends);
    TRY(kb_ranks_agree(ctx, status));
    count[d] = (int64_t)*rows;
    for (size_t j = 0; j < d; j++) {
        count[j] = (int64_t)stored[j];
        ends[j] = -low[j];
        ends[d + j] = high[j];
    }
    TRY(kb_ranks_sum(ctx, count, d + 1));
    TRY(kb_ranks_most(ctx, ends, 2 * d));
    *rows = (size_t)count[d];
    for (size_t j = 0; j < d; j++) {
        stored[j] = (size_t)count[j];
        low[j] = -ends[j];
        high[j] = ends[d + j];
    }
done:
    kb_release(ctx, count);
    kb_release(ctx, ends);
    return status;
}

kb_status kb_scaling_ranges(kb_context *ctx, const kb_data *data, double *low, double *high) {
    kb_status status;
    size_t d = data->features, rows = 0, *stored = NULL;
    TRY(kb_zalloc(ctx, d, sizeof *stored, &stored));
    for (size_t j = 0; j < d; j++) {
        low[j] = INFINITY;
        high[j] = -INFINITY;
    }
    for (size_t i = 0; i < data->rows; i++) {
        TRY(pause_at(ctx, data, i));
        if (kb_weight_of(data->weight, i) == 0)
            continue;
        kb_row row = kb_data_row(data, i);
        rows++;
        for (size_t k = 0; k < row.count; k++) {
            size_t j = row.column ? row.column[k] : k;
            double x = row.value[k];
            low[j] = x < low[j] ? x : low[j];
            high[j] = x > high[j] ? x : high[j];
            stored[j]++;
        }
    }
    if (kb_rank_count(ctx) > 1)
        TRY(join_ranges(ctx, d, low, high, &rows, stored));
    for (size_t j = 0; j < d; j++)
        if (stored[j] < rows) {
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

/* Adds weight unit^power (x - center)^power over each column to sum; power is 1 or 2. */
static kb_status add_powers(kb_context *ctx, const kb_data *data, int power, const double *unit,
                            const double *center, double *sum) {
    kb_status status;
    size_t d = data->features;
    double *stored = NULL, all = 0;
    TRY(kb_zalloc(ctx, d, sizeof *stored, &stored));
    for (size_t i = 0; i < data->rows; i++) {
        TRY(pause_at(ctx, data, i));
        kb_row row = kb_data_row(data, i);
        double weight = kb_weight_of(data->weight, i);
        all += weight;
        for (size_t k = 0; k < row.count; k++) {
            size_t j = row.column ? row.column[k] : k;
            double x = row.value[k] * unit[j] - center[j];
            sum[j] += weight * (power == 2 ? x * x : x);
            stored[j] += weight;
        }
    }
    for (size_t j = 0; j < d; j++) {
        double left_out = all - stored[j];
        sum[j] += left_out * (power == 2 ? center[j] * center[j] : -center[j]);
    }
done:
    kb_release(ctx, stored);
    return status;
}

/* The same over the rows of all ranks, in sums of fixed parts of them: the weights in all, the sums
 * of the columns and the weights of their entries. */
typedef struct powers {
    const kb_data *data;
    int power;
    const double *unit, *center;
} powers;

static void powers_of_rows(void *arg, size_t begin, size_t end, double *sum) {
    const powers *p = arg;
    size_t d = p->data->features;
    memset(sum, 0, (2 * d + 1) * sizeof *sum);
    for (size_t i = begin; i < end; i++) {
        kb_row row = kb_data_row(p->data, i);
        double weight = kb_weight_of(p->data->weight, i);
        sum[2 * d] += weight;
        for (size_t k = 0; k < row.count; k++) {
            size_t j = row.column ? row.column[k] : k;
            double x = row.value[k] * p->unit[j] - p->center[j];
            sum[j] += weight * (p->power == 2 ? x * x : x);
            sum[d + j] += weight;
        }
    }
}

static kb_status add_powers_of_all(kb_context *ctx, const kb_data *data, int power,
                                   const double *unit, const double *center, double *sum,
                                   double *weights) {
    kb_status status;
    size_t d = data->features;
    powers p = {data, power, unit, center};
    double *all = NULL;
    TRY(kb_alloc(ctx, 2 * d + 1, sizeof *all, &all));
    TRY(kb_row_sums_by(ctx, data->rows, 2 * d + 1, powers_of_rows, &p, all));
    for (size_t j = 0; j < d; j++) {
        double left_out = all[2 * d] - all[d + j];
        sum[j] = all[j] + left_out * (power == 2 ? center[j] * center[j] : -center[j]);
    }
    *weights = all[2 * d];
done:
    kb_release(ctx, all);
    return status;
}

static kb_status scale_standard(kb_context *ctx, const kb_data *data, const double *low,
                                const double *high, double *shift, double *factor) {
    kb_status status;
    size_t d = data->features;
    double N = 0, *unit = NULL, *mean = NULL, *variance = NULL;
    TRY(kb_alloc(ctx, d, sizeof *unit, &unit));
    TRY(kb_zalloc(ctx, d, sizeof *mean, &mean));
    TRY(kb_zalloc(ctx, d, sizeof *variance, &variance));
    for (size_t j = 0; j < d; j++) {
        int e;
        frexp(fmax(-low[j], high[j]), &e);
        unit[j] = ldexp(1, e > -1000 ? -e : 1000);
        shift[j] = 0;
    }
    int ranked = kb_has_ranks(ctx);
    for (size_t i = 0; i < data->rows && !ranked; i++)
        N += kb_weight_of(data->weight, i);
    TRY(ranked ? add_powers_of_all(ctx, data, 1, unit, shift, mean, &N)
               : add_powers(ctx, data, 1, unit, shift, mean));
    for (size_t j = 0; j < d; j++)
        mean[j] /= N;
    TRY(ranked ? add_powers_of_all(ctx, data, 2, unit, mean, variance, &N)
               : add_powers(ctx, data, 2, unit, mean, variance));
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
    case KB_SCALE_AUTO:
    case KB_SCALE_RANKS:
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
    for (size_t j = 0; j < d; j++)
        if (data->level && data->level[j]) {
            shift[j] = 0;
            factor[j] = 1;
        }
done:
    kb_release(ctx, low);
    kb_release(ctx, high);
    return status;
}
