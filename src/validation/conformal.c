/* conformal.c - see conformal.h. */
#include "validation/conformal.h"
#include "core/order.h"
#include "core/weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_OF_A_KNOT = 60 };

/* A number and the weight of its row. */
typedef struct weighed {
    double x, y, weight;
    size_t row;
} weighed;

/* Equal ones by row: what qsort does with them differs between C libraries. */
static int by_x(const void *a, const void *b) {
    const weighed *p = a, *q = b;
    int order = (p->x > q->x) - (p->x < q->x);
    return order ? order : (p->row > q->row) - (p->row < q->row);
}

/* ---- quantiles --------------------------------------------------------- */

/* Of sorted numbers: each stands for the middle of its share of the weight. */
static void take_quantiles(size_t n, const weighed *sorted, kb_quantiles *q) {
    double total = 0, before = 0;
    size_t i = 0;
    for (size_t k = 0; k < n; k++)
        total += sorted[k].weight;
    q->count = n < KB_QUANTILES ? n : KB_QUANTILES;
    for (size_t k = 0; k < q->count; k++) {
        double level = q->count > 1 ? (double)k / (double)(q->count - 1) : 0.5;
        while (i + 1 < n && before + sorted[i].weight < level * total)
            before += sorted[i++].weight;
        q->at[k] = sorted[i].x;
    }
    q->at[q->count - 1] = sorted[n - 1].x;
}

static double quantile(const kb_quantiles *q, double level) {
    double place = fmin(fmax(level, 0), 1) * (double)(q->count - 1);
    size_t k = (size_t)place;
    if (k + 1 >= q->count)
        return q->at[q->count - 1];
    return q->at[k] + (place - (double)k) * (q->at[k + 1] - q->at[k]);
}

/* ---- spread ------------------------------------------------------------ */

static double spread_at(const kb_spread *s, double x) {
    size_t k = 0;
    if (s->knots == 0)
        return 1;
    if (!(x > s->x[0]))
        return s->y[0];
    while (k + 1 < s->knots && x > s->x[k + 1])
        k++;
    if (k + 1 >= s->knots)
        return s->y[s->knots - 1];
    return s->y[k] + (x - s->x[k]) / (s->x[k + 1] - s->x[k]) * (s->y[k + 1] - s->y[k]);
}

/* The mean y of rows with about the same x, relative to that of all; no less than a twentieth. */
static void take_spread(size_t n, weighed *row, kb_spread *s) {
    size_t groups = n / ROWS_OF_A_KNOT, begin = 0;
    double sum = 0, weight = 0;
    *s = (kb_spread){0};
    groups = groups < KB_SPREAD_KNOTS ? groups : KB_SPREAD_KNOTS;
    qsort(row, n, sizeof *row, by_x);
    for (size_t i = 0; i < n; i++) {
        sum += row[i].weight * row[i].y;
        weight += row[i].weight;
    }
    if (!(sum > 0))
        return;
    for (size_t g = 0; g < groups; g++) {
        size_t end = (g + 1) * n / groups;
        double x = 0, y = 0, w = 0;
        for (size_t i = begin; i < end; i++) {
            x += row[i].weight * row[i].x;
            y += row[i].weight * row[i].y;
            w += row[i].weight;
        }
        begin = end;
        if (!(w > 0) || (s->knots > 0 && !(x / w > s->x[s->knots - 1])))
            continue; /* the same x as before */
        s->x[s->knots] = x / w;
        s->y[s->knots++] = fmax(y / w / (sum / weight), 0.05);
    }
}

/* ---- building ---------------------------------------------------------- */

static double known_of(const kb_validation *v, size_t h) {
    return v->known ? v->known[h] : 1;
}

static void take_residuals(const kb_validation *v, weighed *row, kb_conformal *out) {
    for (size_t h = 0; h < v->rows; h++)
        row[h] = (weighed){v->decision[h], fabs(v->label[h] - v->decision[h]),
                           kb_weight_of(v->weight, h), h};
    take_spread(v->rows, row, &out->by_decision);
    for (size_t h = 0; h < v->rows; h++)
        row[h] = (weighed){known_of(v, h),
                           fabs(v->label[h] - v->decision[h]) /
                               spread_at(&out->by_decision, v->decision[h]),
                           kb_weight_of(v->weight, h), h};
    take_spread(v->rows, row, &out->by_known);
    for (size_t h = 0; h < v->rows; h++)
        row[h] = (weighed){(v->label[h] - v->decision[h]) /
                               spread_at(&out->by_decision, v->decision[h]) /
                               spread_at(&out->by_known, known_of(v, h)),
                           0, kb_weight_of(v->weight, h), h};
    qsort(row, v->rows, sizeof *row, by_x);
    take_quantiles(v->rows, row, &out->residual);
}

static kb_status take_truths(kb_context *ctx, const kb_validation *v, const kb_calibration *c,
                             weighed *row, kb_conformal *out) {
    kb_status status;
    double *p = NULL;
    TRY(kb_alloc(ctx, v->classes, sizeof *p, &p));
    for (size_t h = 0; h < v->rows; h++) {
        kb_calibration_apply(c, v->outputs, v->decision + h * v->outputs, p);
        row[h] = (weighed){p[v->class_of[h]], 0, kb_weight_of(v->weight, h), h};
    }
    qsort(row, v->rows, sizeof *row, by_x);
    take_quantiles(v->rows, row, &out->truth);
done:
    kb_release(ctx, p);
    return status;
}

kb_status kb_conformal_build(kb_context *ctx, const kb_validation *v, const kb_calibration *c,
                             kb_conformal *out) {
    kb_status status = KB_OK;
    weighed *row = NULL;
    *out = (kb_conformal){0};
    if (v->rows == 0)
        return KB_OK;
    TRY(kb_alloc(ctx, v->rows, sizeof *row, &row));
    out->rows = v->rows;
    if (!v->classes)
        take_residuals(v, row, out);
    else if (c->kind != KB_CALIBRATION_NONE)
        TRY(take_truths(ctx, v, c, row, out));
    if (v->known) {
        for (size_t h = 0; h < v->rows; h++)
            row[h] = (weighed){v->known[h], 0, kb_weight_of(v->weight, h), h};
        qsort(row, v->rows, sizeof *row, by_x);
        take_quantiles(v->rows, row, &out->known);
    }
done:
    kb_release(ctx, row);
    return status;
}

/* ---- use --------------------------------------------------------------- */

/* A new row is one more: its rank among n + 1 is even. */
static double level_of(const kb_conformal *c, double level) {
    return fmin(level * (double)(c->rows + 1) / (double)c->rows, 1);
}

void kb_conformal_interval(const kb_conformal *c, double decision, double known, double coverage,
                           double *low, double *high) {
    double scale = spread_at(&c->by_decision, decision) * spread_at(&c->by_known, known);
    double level = level_of(c, (1 + coverage) / 2);
    *low = decision + scale * quantile(&c->residual, 1 - level);
    *high = decision + scale * quantile(&c->residual, level);
}

double kb_conformal_threshold(const kb_conformal *c, double coverage) {
    return quantile(&c->truth, 1 - level_of(c, coverage));
}

double kb_conformal_novelty(const kb_conformal *c, double known) {
    size_t more = 0, as_many = 0;
    for (size_t k = 0; k < c->known.count; k++) {
        more += c->known.at[k] > known;
        as_many += c->known.at[k] == known;
    }
    return ((double)more + (double)as_many / 2) / (double)c->known.count;
}

static int rises(const kb_quantiles *q) {
    if (q->count > KB_QUANTILES)
        return 0;
    for (size_t k = 0; k < q->count; k++)
        if (!isfinite(q->at[k]) || (k > 0 && q->at[k] < q->at[k - 1]))
            return 0;
    return 1;
}

static int spread_is_sound(const kb_spread *s) {
    if (s->knots > KB_SPREAD_KNOTS)
        return 0;
    for (size_t k = 0; k < s->knots; k++)
        if (!isfinite(s->x[k]) || !(s->y[k] > 0 && s->y[k] < INFINITY) ||
            (k > 0 && !(s->x[k] > s->x[k - 1])))
            return 0;
    return 1;
}

int kb_conformal_is_sound(const kb_conformal *c, int classes) {
    return rises(&c->residual) && rises(&c->truth) && rises(&c->known) &&
           spread_is_sound(&c->by_decision) && spread_is_sound(&c->by_known) &&
           (c->rows == 0 || classes || c->residual.count > 0);
}
