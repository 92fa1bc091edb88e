/*
 * linear.c - see linear.h.
 *
 * Conjugate gradients on the normal equations of columns with mean 0 and variance 1.  Neither the
 * equations nor such columns are ever stored: sparse rows stay sparse.
 */
#include "solve/linear.h"

#include <math.h>
#include <string.h>

/* The ridge, as a share of the variance of a column; the tolerance; the share of the mean target
 * that counts as rounding. */
static const double RIDGE = 1e-3, TOL = 1e-6, ROUNDING = 1e-12;

typedef struct problem {
    const kb_linear *s;
    size_t count, columns;
    const uint32_t *row;
    double total;          /* total weight of the rows; each counts by its share of it */
    double *mean, *scale;  /* columns: scale is 1 / deviation, 0 for a column that is
                            constant or has levels */
    double *v, *r, *p, *q; /* columns: of the conjugate gradients */
    double *u;             /* columns: a direction, for the original columns */
} problem;

static double share_of(const problem *b, size_t i) {
    return kb_weight_of(b->s->weight, b->row[i]) / b->total;
}

static size_t column_of(kb_row row, size_t e) {
    return row.column ? row.column[e] : e;
}

static void add_row(double factor, kb_row row, double *out) {
    for (size_t e = 0; e < row.count; e++)
        out[column_of(row, e)] += factor * row.value[e];
}

static double dot(size_t n, const double *a, const double *b) {
    double sum = 0;
    for (size_t j = 0; j < n; j++)
        sum += a[j] * b[j];
    return sum;
}

/* The mean and the mean square of a column are enough: behind a transform its values lie between
 * -1 and 1. */
static void standardise(problem *b) {
    double *square = b->u;
    memset(b->mean, 0, b->columns * sizeof(double));
    memset(square, 0, b->columns * sizeof(double));
    b->total = b->s->weight ? 0 : (double)b->count;
    for (size_t i = 0; i < b->count && b->s->weight; i++)
        b->total += b->s->weight[b->row[i]];
    for (size_t i = 0; i < b->count; i++) {
        kb_row row = kb_data_row(b->s->x, b->row[i]);
        double share = share_of(b, i);
        add_row(share, row, b->mean);
        for (size_t e = 0; e < row.count; e++)
            square[column_of(row, e)] += share * row.value[e] * row.value[e];
    }
    for (size_t j = 0; j < b->columns; j++) {
        double variance = square[j] - b->mean[j] * b->mean[j];
        int level = b->s->x->level && b->s->x->level[j]; /* numbers without an order */
        b->scale[j] = variance > 1e-12 && !level ? 1 / sqrt(variance) : 0;
    }
}

/* From sums over the rows, and the sum of their factors, to the columns that are solved for. */
static void centre(const problem *b, double factors, double *g) {
    for (size_t j = 0; j < b->columns; j++)
        g[j] = (g[j] - b->mean[j] * factors) * b->scale[j];
}

/* q = (X'WX + ridge) p. */
static void multiply(const problem *b) {
    double shift = 0, factors = 0;
    memset(b->q, 0, b->columns * sizeof(double));
    for (size_t j = 0; j < b->columns; j++) {
        b->u[j] = b->p[j] * b->scale[j];
        shift += b->u[j] * b->mean[j];
    }
    for (size_t i = 0; i < b->count; i++) {
        kb_row row = kb_data_row(b->s->x, b->row[i]);
        double sum = -shift;
        for (size_t e = 0; e < row.count; e++)
            sum += row.value[e] * b->u[column_of(row, e)];
        sum *= share_of(b, i);
        factors += sum;
        add_row(sum, row, b->q);
    }
    centre(b, factors, b->q);
    for (size_t j = 0; j < b->columns; j++)
        b->q[j] += RIDGE * b->p[j];
}

/* r = X'W(y - its mean) of output c; returns the mean. */
static double begin(const problem *b, size_t c) {
    const kb_linear *s = b->s;
    double mean = 0, factors = 0;
    memset(b->r, 0, b->columns * sizeof(double));
    for (size_t i = 0; i < b->count; i++)
        mean += share_of(b, i) * s->y[b->row[i] * s->C + c];
    for (size_t i = 0; i < b->count; i++) {
        double factor = share_of(b, i) * (s->y[b->row[i] * s->C + c] - mean);
        factors += factor;
        add_row(factor, kb_data_row(s->x, b->row[i]), b->r);
    }
    centre(b, factors, b->r);
    return mean;
}

static void solve(const problem *b, size_t c) {
    size_t d = b->columns;
    double mean = begin(b, c);
    memset(b->v, 0, d * sizeof(double));
    memcpy(b->p, b->r, d * sizeof(double));
    double size = dot(d, b->r, b->r);
    double least = fmax(TOL * TOL * size, ROUNDING * ROUNDING * mean * mean);
    for (int step = 0; step < KB_LINEAR_STEPS && size > least; step++) {
        multiply(b);
        double way = size / dot(d, b->p, b->q), before = size;
        for (size_t j = 0; j < d; j++) {
            b->v[j] += way * b->p[j];
            b->r[j] -= way * b->q[j];
        }
        size = dot(d, b->r, b->r);
        for (size_t j = 0; j < d; j++)
            b->p[j] = b->r[j] + size / before * b->p[j];
    }
}

kb_status kb_linear_learn(kb_context *ctx, const kb_linear *s, size_t count, const uint32_t *row,
                          kb_mixtures *out) {
    kb_status status;
    problem b = {.s = s, .count = count, .columns = s->x->features, .row = row};
    size_t d = b.columns;
    double *room = NULL;
    TRY(kb_mixtures_create(ctx, s->C, d, out));
    TRY(kb_alloc(ctx, 7 * d, sizeof *room, &room));
    b.mean = room;
    b.scale = room + d;
    b.v = room + 2 * d;
    b.r = room + 3 * d;
    b.p = room + 4 * d;
    b.q = room + 5 * d;
    b.u = room + 6 * d;
    standardise(&b);
    for (size_t c = 0; c < s->C; c++) {
        TRY(kb_progress(ctx, "bin", -1));
        solve(&b, c);
        for (size_t j = 0; j < d; j++)
            out->weight[c * d + j] = b.v[j] * b.scale[j];
    }
    kb_mixtures_fit(s->x, count, row, out);
done:
    kb_release(ctx, room);
    return status;
}
