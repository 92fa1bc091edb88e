/* transform.c - see transform.h; how a transform is learned. */
#include "data/transform.h"
#include "core/order.h"
#include "core/team.h"
#include "data/scaling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

kb_status kb_transform_create(kb_context *ctx, size_t inputs, size_t plain, size_t knots,
                              size_t mixtures, kb_transform **out) {
    kb_status status;
    kb_transform *t;
    *out = NULL;
    TRY(kb_zalloc(ctx, 1, sizeof *t, &t));
    t->allocator = kb_allocator_of(ctx);
    t->inputs = inputs;
    t->features = plain + mixtures;
    t->plain = plain;
    TRY(kb_alloc(ctx, inputs, sizeof(double), &t->low));
    TRY(kb_alloc(ctx, inputs, sizeof(double), &t->high));
    TRY(kb_alloc(ctx, plain, sizeof *t->source, &t->source));
    TRY(kb_alloc(ctx, plain, sizeof(double), &t->shift));
    TRY(kb_alloc(ctx, plain, sizeof(double), &t->factor));
    TRY(kb_zalloc(ctx, plain + 1, sizeof *t->knot_start, &t->knot_start));
    TRY(kb_alloc(ctx, knots, sizeof(double), &t->knot));
    TRY(kb_alloc(ctx, knots, sizeof(double), &t->rank));
    TRY(kb_mixtures_create(ctx, mixtures, plain, &t->mixtures));
    *out = t;
done:
    if (status != KB_OK)
        kb_transform_free(t);
    return status;
}

void kb_transform_free(kb_transform *t) {
    if (!t)
        return;
    void *all[] = {t->low,  t->high, t->source, t->shift, t->factor, t->knot_start,
                   t->knot, t->rank, t->place,  t->zero,  t->level};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kb_allocator_release(t->allocator, all[i]);
    kb_mixtures_release(t->allocator, &t->mixtures);
    kb_allocator_release(t->allocator, t);
}

kb_status kb_transform_mix(kb_context *ctx, const kb_transform *t, const kb_mixtures *mixtures,
                           kb_transform **out) {
    kb_status status;
    kb_transform *mixed;
    size_t knots = t->knot_start[t->plain];
    *out = NULL;
    TRY(kb_transform_create(ctx, t->inputs, t->plain, knots, 0, &mixed));
    memcpy(mixed->low, t->low, t->inputs * sizeof *t->low);
    memcpy(mixed->high, t->high, t->inputs * sizeof *t->high);
    memcpy(mixed->source, t->source, t->plain * sizeof *t->source);
    memcpy(mixed->shift, t->shift, t->plain * sizeof *t->shift);
    memcpy(mixed->factor, t->factor, t->plain * sizeof *t->factor);
    memcpy(mixed->knot_start, t->knot_start, (t->plain + 1) * sizeof *t->knot_start);
    memcpy(mixed->knot, t->knot, knots * sizeof *t->knot);
    memcpy(mixed->rank, t->rank, knots * sizeof *t->rank);
    TRY(kb_mixtures_copy(ctx, mixtures, &mixed->mixtures));
    mixed->features += mixtures->count;
    mixed->levels = t->levels;
    TRY(kb_transform_finish(ctx, mixed));
    *out = mixed;
done:
    if (status != KB_OK)
        kb_transform_free(mixed);
    return status;
}

size_t kb_transform_features(const kb_transform *t) {
    return t->features;
}

size_t kb_transform_source(const kb_transform *t, size_t j) {
    return t->source[j];
}

/* ---- ranks ------------------------------------------------------------- */

/* One column's knots, while they are found. */
typedef struct curve {
    double *value; /* the sampled rows' values */
    double knot[KB_RANK_KNOTS], rank[KB_RANK_KNOTS];
    size_t knots; /* 0: no copy */
} curve;

typedef struct search {
    const kb_data *data;
    const kb_data *of_ranks; /* rows that the ranks come from */
    int with_levels;         /* else such columns are left out */
    const double *low, *high, *shift, *factor;
    size_t rows, first, last; /* sampled rows; columns first .. last at once */
    curve *each;              /* one a column of those */
} search;

/* The end of the values equal to x[i], sorted. */
static size_t end_of_tie(const double *x, size_t i, size_t n) {
    size_t end = i + 1;
    while (end < n && x[end] == x[i])
        end++;
    return end;
}

/* The correlation of the values with their mid-ranks, both between 0 and 1.  NAN where the values
 * lie too close together to tell, beside an outlier. */
static double rank_correlation(const double *x, size_t n, double shift, double factor) {
    double mean = 0, xx = 0, xr = 0, rr = 0;
    for (size_t i = 0; i < n; i++)
        mean += (x[i] - shift) * factor;
    mean /= (double)n;
    for (size_t i = 0, end; i < n; i = end) {
        end = end_of_tie(x, i, n);
        double u = (x[i] - shift) * factor - mean, count = (double)(end - i);
        double r = (double)(i + end) / 2 / (double)n - 0.5;
        xx += count * u * u;
        xr += count * u * r;
        rr += count * r * r;
    }
    return xr / sqrt(xx * rr);
}

/* All different values if they are few, else those at evenly spaced ranks. */
static void place_knots(const double *x, size_t n, size_t distinct, curve *c) {
    for (size_t i = 0, end, k = 0; i < n; i = end) {
        end = end_of_tie(x, i, n);
        int wanted = distinct <= KB_RANK_KNOTS;
        for (; k < KB_RANK_KNOTS && k * (n - 1) / (KB_RANK_KNOTS - 1) < end; k++)
            wanted = 1;
        if (wanted) {
            c->knot[c->knots] = x[i];
            c->rank[c->knots++] = (double)(i + end) / 2 / (double)n;
        }
    }
}

/* A normal column has KB_RANK_CORRELATION, and a sample of n rows of it deviates by 0.1 /
 * sqrt(n) (simulated).  Only columns with clearly longer tails get ranks. */
static double least_correlation(size_t n) {
    return KB_RANK_CORRELATION - 3 * 0.1 / sqrt((double)n);
}

static int is_level(const search *s, size_t j) {
    return s->data->level && s->data->level[j];
}

/* Whether the result has the column itself. */
static int stays(const search *s, size_t j) {
    return s->low[j] < s->high[j] && (s->with_levels || !is_level(s, j));
}

static void find_curve(const search *s, size_t j, curve *c) {
    size_t n = s->rows, distinct = 0;
    c->knots = 0;
    if (s->low[j] == s->high[j] || is_level(s, j))
        return;
    for (size_t i = 0; i < n; i++) /* rows < 2^64 / KB_TRANSFORM_ROWS */
        c->value[i] = s->of_ranks->dense[i * s->of_ranks->rows / n * s->data->features + j];
    qsort(c->value, n, sizeof *c->value, kb_compare_doubles);
    for (size_t i = 0; i < n; i = end_of_tie(c->value, i, n))
        distinct++;
    if (distinct > KB_RANK_DISTINCT &&
        !(rank_correlation(c->value, n, s->shift[j], s->factor[j]) >= least_correlation(n)))
        place_knots(c->value, n, distinct, c);
}

static void find_curves(void *arg, int me, int threads) {
    const search *s = arg;
    for (size_t j = s->first + (size_t)me; j < s->last; j += (size_t)threads)
        find_curve(s, j, &s->each[j - s->first]);
}

/* The knots of all columns, one after the other: those of column j are start[j] .. start[j+1]. */
typedef struct knots {
    size_t *start, room, other;
    double *knot, *rank;
} knots;

static kb_status keep_curve(kb_context *ctx, const curve *c, size_t j, knots *k) {
    kb_status status;
    size_t begin = k->start[j];
    TRY(kb_reserve(ctx, begin + c->knots, sizeof(double), &k->room, &k->knot));
    TRY(kb_reserve(ctx, begin + c->knots, sizeof(double), &k->other, &k->rank));
    memcpy(k->knot + begin, c->knot, c->knots * sizeof(double));
    memcpy(k->rank + begin, c->rank, c->knots * sizeof(double));
    k->start[j + 1] = begin + c->knots;
done:
    return status;
}

static kb_status find_knots(kb_context *ctx, search *s, knots *k) {
    kb_status status;
    size_t d = s->data->features, T = (size_t)ctx->threads;
    double *values = NULL;
    TRY(kb_alloc(ctx, T, sizeof *s->each, &s->each));
    TRY(kb_alloc(ctx, T * s->rows, sizeof *values, &values));
    for (size_t i = 0; i < T; i++)
        s->each[i].value = values + i * s->rows;
    for (s->first = 0; s->first < d; s->first = s->last) {
        s->last = d - s->first < T ? d : s->first + T;
        TRY(kb_progress(ctx, "bin", -1));
        kb_team_run(ctx, s->rows * T < KB_WORTH_A_THREAD, find_curves, s);
        for (size_t j = s->first; j < s->last; j++)
            TRY(keep_curve(ctx, &s->each[j - s->first], j, k));
    }
done:
    kb_release(ctx, values);
    kb_release(ctx, s->each);
    return status;
}

/* ---- all columns ------------------------------------------------------- */

/* The columns of levels, from `at` on.  What is no level of the training rows must not become one:
 * the numbers of missing and unknown ones are the two after the last. */
static void add_levels(const search *s, size_t at, kb_transform *t) {
    for (size_t j = 0; j < s->data->features; j++)
        if (is_level(s, j) && stays(s, j)) {
            t->high[j] = s->high[j] + 2;
            t->source[at] = j;
            t->shift[at] = 0;
            t->factor[at] = 1;
            t->knot_start[at + 1] = t->knot_start[at];
            t->levels++;
            at++;
        }
}

/* What the passes over the data have found, in the order of the result. */
static kb_status arrange(kb_context *ctx, const search *s, const knots *k, kb_transform **out) {
    kb_status status;
    size_t d = s->data->features, features = 0, at = 0;
    int sparse = !s->data->dense;
    for (size_t j = 0; j < d; j++)
        features += (size_t)stays(s, j) + (k->start[j] < k->start[j + 1]);
    int constant = features == 0;
    TRY(kb_transform_create(ctx, d, constant ? 1 : features, k->start[d], 0, out));
    kb_transform *t = *out;
    for (size_t j = 0; j < d; j++) {
        t->low[j] = sparse ? fmin(s->low[j], 0) : s->low[j];
        t->high[j] = sparse ? fmax(s->high[j], 0) : s->high[j];
        if ((stays(s, j) && !is_level(s, j)) || (constant && j == 0)) {
            t->source[at] = j;
            t->shift[at] = sparse ? 0 : s->shift[j];
            t->factor[at++] = constant ? 0 : s->factor[j];
        }
    }
    for (size_t j = 0; j < d; j++)
        if (k->start[j] < k->start[j + 1]) {
            t->source[at] = j;
            t->shift[at] = 0;
            t->factor[at] = 1;
            t->knot_start[at + 1] = k->start[j + 1];
            at++;
        }
    add_levels(s, at, t);
    memcpy(t->knot, k->knot, k->start[d] * sizeof(double));
    memcpy(t->rank, k->rank, k->start[d] * sizeof(double));
    TRY(kb_transform_finish(ctx, t));
done:
    return status;
}

kb_status kb_transform_learn_from(kb_context *ctx, const kb_data *data, const kb_data *sample,
                                  int with_levels, kb_transform **out) {
    kb_status status;
    size_t d = data->features;
    double *range = NULL, *affine = NULL;
    knots k = {0};
    *out = NULL;
    TRY(kb_alloc(ctx, d, 2 * sizeof *range, &range));
    TRY(kb_alloc(ctx, d, 2 * sizeof *affine, &affine));
    TRY(kb_zalloc(ctx, d + 1, sizeof *k.start, &k.start));
    TRY(kb_reserve(ctx, 1, sizeof(double), &k.room, &k.knot));
    TRY(kb_reserve(ctx, 1, sizeof(double), &k.other, &k.rank));
    search s = {.data = data,
                .of_ranks = sample,
                .with_levels = with_levels,
                .low = range,
                .high = range + d,
                .shift = affine,
                .factor = affine + d};
    s.rows = sample->rows < KB_TRANSFORM_ROWS ? sample->rows : KB_TRANSFORM_ROWS;
    TRY(kb_scaling_ranges(ctx, data, range, range + d));
    kb_scaling_minmax(d, range, range + d, affine, affine + d);
    if (data->dense && sample->rows > KB_RANK_DISTINCT)
        TRY(find_knots(ctx, &s, &k));
    TRY(arrange(ctx, &s, &k, out));
done:
    kb_release(ctx, range);
    kb_release(ctx, affine);
    kb_release(ctx, k.start);
    kb_release(ctx, k.knot);
    kb_release(ctx, k.rank);
    if (status != KB_OK) {
        kb_transform_free(*out);
        *out = NULL;
    }
    return status;
}

kb_status kb_transform_learn(kb_context *ctx, const kb_data *data, kb_transform **out) {
    return kb_transform_learn_from(ctx, data, data, 1, out);
}

kb_status kb_transform_learn_numbers(kb_context *ctx, const kb_data *data, kb_transform **out) {
    return kb_transform_learn_from(ctx, data, data, 0, out);
}
