/*
 * relevance.c - see relevance.h.
 *
 * The kernel is exp(-sum_j |x_j - z_j| / sigma_j), so 1 / sigma_j is how fast the learned function
 * may change along column j.  The targets change along it by about the root of the share of
 * variance that it explains.  But where few of many columns matter, most scores are due to chance,
 * and the share itself, which gives these less weight, was better.
 */
#include "tune/relevance.h"
#include "trial/rules.h"

#include <math.h>

/* Of a column: cut at the mean, and at KB_RULE_RELEVANCE_CUT deviations below and above. */
enum { BINS = 4 };

/* Sums over the rows, column by column. */
typedef struct sums {
    const kb_subsample *s;
    double all, square;              /* sum of the row weights, and of their squares */
    double *centre;                  /* C: the means of the targets */
    double *stored, *mean, *squares; /* columns */
    double *weight;                  /* columns x BINS */
    double *target;                  /* columns x BINS x C: of the targets less their means */
} sums;

static double scaled(const sums *a, size_t j, double x) {
    return (x - a->s->shift[j]) * a->s->scale[j];
}

/* Of the rows that do not store column j. */
static double left_out(const sums *a, size_t j) {
    return a->s->x->dense ? 0 : fmax(a->all - a->stored[j], 0);
}

static void add_moments(sums *a, size_t i) {
    kb_row row = kb_data_row(a->s->x, i);
    double w = kb_weight_of(a->s->weight, i);
    a->all += w;
    a->square += w * w;
    for (size_t c = 0; c < a->s->C; c++)
        a->centre[c] += w * a->s->y[i * a->s->C + c];
    for (size_t k = 0; k < row.count; k++) {
        size_t j = row.column ? row.column[k] : k;
        double x = scaled(a, j, row.value[k]);
        a->stored[j] += w;
        a->mean[j] += w * x;
        a->squares[j] += w * x * x;
    }
}

static void finish_moments(sums *a) {
    for (size_t c = 0; c < a->s->C; c++)
        a->centre[c] /= a->all;
    for (size_t j = 0; j < a->s->x->features; j++) {
        double missing = left_out(a, j), zero = scaled(a, j, 0);
        a->mean[j] = (a->mean[j] + missing * zero) / a->all;
        a->squares[j] = (a->squares[j] + missing * zero * zero) / a->all;
    }
}

static size_t bin_of(const sums *a, size_t j, double value) {
    double deviation = sqrt(fmax(a->squares[j] - a->mean[j] * a->mean[j], 0));
    double cut = KB_RULE_RELEVANCE_CUT * deviation;
    double off = scaled(a, j, value) - a->mean[j];
    return (size_t)(off > -cut) + (size_t)(off > 0) + (size_t)(off > cut);
}

static void add_to_bins(sums *a, size_t i) {
    kb_row row = kb_data_row(a->s->x, i);
    size_t C = a->s->C;
    double w = kb_weight_of(a->s->weight, i);
    for (size_t k = 0; k < row.count; k++) {
        size_t j = row.column ? row.column[k] : k;
        size_t bin = j * BINS + bin_of(a, j, row.value[k]);
        a->weight[bin] += w;
        for (size_t c = 0; c < C; c++)
            a->target[bin * C + c] += w * (a->s->y[i * C + c] - a->centre[c]);
    }
}

/* The sums of the rows that do not store a column are the total minus the others; the targets sum
 * to 0. */
static void add_zeros(sums *a, size_t j) {
    size_t C = a->s->C, zero = j * BINS + bin_of(a, j, 0);
    double missing = left_out(a, j);
    if (!(missing > 0))
        return;
    a->weight[zero] += missing;
    for (size_t c = 0; c < C; c++) {
        double sum = 0;
        for (size_t b = 0; b < BINS; b++)
            sum += a->target[(j * BINS + b) * C + c];
        a->target[zero * C + c] -= sum;
    }
}

/* `rows`: the effective number of rows, by their weights. */
static double score_of(const sums *a, size_t j, double rows, double total) {
    double between = 0, bins = 0;
    size_t C = a->s->C;
    for (size_t bin = j * BINS; bin < (j + 1) * BINS; bin++) {
        if (!(a->weight[bin] > 0))
            continue;
        bins++;
        for (size_t c = 0; c < C; c++)
            between += a->target[bin * C + c] * a->target[bin * C + c] / a->weight[bin];
    }
    return fmax(between / total - (bins - 1) / (rows - 1), 0);
}

/* Levels have no order to cut them by: they take the mean score of the other columns, for which
 * widths are equal ones. */
static void score_levels(const kb_data *x, double *score) {
    double sum = 0;
    size_t others = 0;
    for (size_t j = 0; j < x->features; j++) {
        sum += x->level[j] ? 0 : score[j];
        others += !x->level[j];
    }
    for (size_t j = 0; j < x->features; j++)
        if (x->level[j])
            score[j] = others ? sum / (double)others : 0;
}

kb_status kb_relevance_columns(kb_context *ctx, const kb_subsample *s, size_t count,
                               const uint32_t *row, double *score) {
    kb_status status;
    size_t d = s->x->features, C = s->C;
    sums a = {.s = s};
    double total = 0;
    TRY(kb_zalloc(ctx, C + 3 * d, sizeof(double), &a.centre)); /* the four in one array */
    a.stored = a.centre + C;
    a.mean = a.stored + d;
    a.squares = a.mean + d;
    TRY(kb_zalloc(ctx, d * BINS, sizeof(double), &a.weight));
    TRY(kb_zalloc(ctx, d * BINS * C, sizeof(double), &a.target));
    for (size_t i = 0; i < count; i++)
        add_moments(&a, row[i]);
    finish_moments(&a);
    for (size_t i = 0; i < count; i++) {
        add_to_bins(&a, row[i]);
        for (size_t c = 0; c < C; c++) {
            double off = s->y[row[i] * C + c] - a.centre[c];
            total += kb_weight_of(a.s->weight, row[i]) * off * off;
        }
    }
    double rows = a.square > 0 ? a.all * a.all / a.square : 0;
    for (size_t j = 0; j < d; j++) {
        add_zeros(&a, j);
        score[j] = total > 0 && rows > 1 ? score_of(&a, j, rows, total) : 0;
    }
    if (s->x->level)
        score_levels(s->x, score);
done:
    kb_release(ctx, a.centre);
    kb_release(ctx, a.weight);
    kb_release(ctx, a.target);
    return status;
}

kb_status kb_relevance_widths(kb_context *ctx, size_t features, const unsigned char *level,
                              const double *score, const kb_law *law, double sigma,
                              kb_widths *out) {
    kb_status status;
    double mean = 0;
    const double least = KB_RULE_RELEVANCE_FLOOR;
    *out = (kb_widths){1, features, NULL};
    TRY(kb_alloc(ctx, features, sizeof *out->width, &out->width));
    for (size_t j = 0; j < features; j++)
        mean += score[j] / (double)features;
    for (size_t j = 0; j < features; j++) {
        double share = mean > 0 ? score[j] / mean : 1;
        out->width[j] = level && level[j]
                            ? (kb_width){kb_law_levels(), KB_RULE_LEVELS_SIGMA * sigma, 1}
                            : (kb_width){law, sigma * (1 + least) / (share + least), 1};
    }
done:
    return status;
}
