/*
 * partial_effects.c - see partial_effects.h.
 *
 * With X the matrix of all indicators and numbers and W the weights, conjugate gradients solve
 *
 *     (X' W X + ridge I) w = X' W (y - mean),    ridge = RIDGE times the mean weight,
 *
 * preconditioned by the diagonal: levels have from a few rows to all of them.  This is done for
 * LANES right-hand sides at once.  A lane is an output, with all rows or with those outside one
 * fold; its weight of a row is that of the row, or 0.  So a pass over the rows serves eight solves,
 * and every lane has its own step lengths.
 *
 * The rows are cut into fixed parts with sums of their own, added in order.
 */
#include "encode/partial_effects.h"
#include "core/order.h"
#include "core/team.h"
#include "core/weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 8, STEPS = 60, PARTS = 16, PART_ROWS = 4096, RANK_ROWS = 20000 };
static const double TOL = 1e-3, RIDGE = 10, CLIP = 4;
/* Sums of all parts together take at most so many bytes. */
static const size_t SUM_BYTES = (size_t)64 << 20;

typedef struct lane {
    double v[LANES];
} lane;

typedef struct solver {
    const kb_effects_problem *p;
    size_t columns, D; /* dense columns: two a number; coefficients: columns + levels */
    size_t *start;     /* of the levels of each category, among all levels */
    float *x;          /* rows x columns */
    size_t parts;
    double ridge;
    /* What the lanes are. */
    size_t output[LANES];
    int fold[LANES]; /* -1: all rows */
    double mean[LANES];
    lane *sum;        /* parts x D */
    lane *w, *r, *d;  /* D: coefficients, residual, direction */
    double *scale;    /* D: the diagonal of the matrix */
    const lane *from; /* of a product; NULL: the right-hand side is built */
} solver;

/* ---- numbers ----------------------------------------------------------- */

/* The different values of evenly spaced rows, increasing, and how many of the rows lie below. */
typedef struct ranks {
    size_t rows, count;
    double *value; /* count */
    double *below; /* count + 1 */
} ranks;

static void rank_values(ranks *k) {
    size_t n = k->rows;
    qsort(k->value, n, sizeof *k->value, kb_compare_doubles);
    k->count = 0;
    for (size_t i = 0; i < n; i++)
        if (i == 0 || k->value[i] != k->value[k->count - 1]) {
            k->below[k->count] = (double)i;
            k->value[k->count++] = k->value[i];
        }
    k->below[k->count] = (double)n;
}

/* The mid-rank of x, from -0.5 to 0.5. */
static double rank_of(const ranks *k, double x) {
    size_t low = 0, high = k->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (k->value[middle] < x)
            low = middle + 1;
        else
            high = middle;
    }
    double places = k->below[low];
    if (low < k->count && k->value[low] == x)
        places = (places + k->below[low + 1]) / 2;
    return places / (double)k->rows - 0.5;
}

/* The columns of number j: its mid-rank and its clipped z-score, both of mean 0 and deviation 1
 * over the ranked rows. */
static void standardize(const solver *s, size_t j, ranks *k) {
    const kb_effects_problem *p = s->p;
    size_t N = p->rows, n = k->rows = kb_least(N, RANK_ROWS);
    double mean = 0, square = 0, rank_square = 0;
    for (size_t i = 0; i < n; i++)
        mean += (k->value[i] = p->number[i * N / n * p->all + p->which[j]]) / (double)n;
    for (size_t i = 0; i < n; i++)
        square += (k->value[i] - mean) * (k->value[i] - mean) / (double)n;
    rank_values(k);
    for (size_t u = 0; u < k->count; u++) {
        double r = rank_of(k, k->value[u]);
        rank_square += r * r * (k->below[u + 1] - k->below[u]) / (double)n;
    }
    double z_unit = square > 0 && isfinite(square) ? 1 / sqrt(square) : 0;
    double r_unit = rank_square > 0 ? 1 / sqrt(rank_square) : 0;
    for (size_t i = 0; i < N; i++) {
        double x = p->number[i * p->all + p->which[j]];
        s->x[i * s->columns + 2 * j] = (float)(rank_of(k, x) * r_unit);
        s->x[i * s->columns + 2 * j + 1] = (float)fmin(fmax((x - mean) * z_unit, -CLIP), CLIP);
    }
}

typedef struct ranking {
    const solver *s;
    size_t room;
    double *values; /* 2 room + 1 for each thread */
} ranking;

static void standardize_some(void *arg, int me, int threads) {
    const ranking *a = arg;
    ranks k = {.value = a->values + (size_t)me * (2 * a->room + 1)};
    k.below = k.value + a->room;
    for (size_t j = (size_t)me; j < a->s->p->numbers; j += (size_t)threads)
        standardize(a->s, j, &k);
}

static kb_status standardize_all(kb_context *ctx, solver *s) {
    kb_status status;
    ranking a = {.s = s, .room = kb_least(s->p->rows, RANK_ROWS)};
    TRY(kb_alloc(ctx, (size_t)ctx->threads * (2 * a.room + 1), sizeof(double), &a.values));
    TRY(kb_alloc(ctx, s->p->rows * s->columns, sizeof *s->x, &s->x));
    kb_team_run(ctx, s->p->rows < PART_ROWS, standardize_some, &a);
done:
    kb_release(ctx, a.values);
    return status;
}

/* ---- products ---------------------------------------------------------- */

/* What row i counts in each lane. */
static lane weights_of(const solver *s, size_t i) {
    lane out;
    double w = kb_weight_of(s->p->weight, i);
    for (int k = 0; k < LANES; k++)
        out.v[k] = s->fold[k] == s->p->fold[i] ? 0 : w;
    return out;
}

/* X w of row i. */
static lane row_times(const solver *s, size_t i, const lane *w) {
    lane sum = {{0}};
    const float *x = s->x + i * s->columns;
    for (size_t j = 0; j < s->columns; j++)
        for (int k = 0; k < LANES; k++)
            sum.v[k] += (double)x[j] * w[j].v[k];
    for (size_t c = 0; c < s->p->categories; c++) {
        const lane *a = &w[s->columns + s->start[c] + s->p->level[i * s->p->categories + c]];
        for (int k = 0; k < LANES; k++)
            sum.v[k] += a->v[k];
    }
    return sum;
}

/* sum += x_i u. */
static void add_row(const solver *s, size_t i, const lane *u, lane *sum) {
    const float *x = s->x + i * s->columns;
    for (size_t j = 0; j < s->columns; j++)
        for (int k = 0; k < LANES; k++)
            sum[j].v[k] += (double)x[j] * u->v[k];
    for (size_t c = 0; c < s->p->categories; c++) {
        lane *a = &sum[s->columns + s->start[c] + s->p->level[i * s->p->categories + c]];
        for (int k = 0; k < LANES; k++)
            a->v[k] += u->v[k];
    }
}

static lane centred_targets(const solver *s, size_t i) {
    lane out;
    for (int k = 0; k < LANES; k++)
        out.v[k] = s->p->y[i * s->p->C + s->output[k]] - s->mean[k];
    return out;
}

static void multiply_parts(void *arg, size_t begin, size_t end) {
    solver *s = arg;
    for (size_t part = begin; part < end; part++) {
        lane *sum = s->sum + part * s->D;
        size_t last = kb_share(s->p->rows, (int)part + 1, (int)s->parts);
        memset(sum, 0, s->D * sizeof *sum);
        for (size_t i = kb_share(s->p->rows, (int)part, (int)s->parts); i < last; i++) {
            lane weight = weights_of(s, i);
            lane u = s->from ? row_times(s, i, s->from) : centred_targets(s, i);
            for (int k = 0; k < LANES; k++)
                u.v[k] *= weight.v[k];
            add_row(s, i, &u, sum);
        }
    }
}

/* out = X' W X from, or X' W (y - mean) without `from`. */
static void multiply(kb_context *ctx, solver *s, const lane *from, lane *out) {
    s->from = from;
    kb_team_for(ctx, s->parts, 1, multiply_parts, s);
    memcpy(out, s->sum, s->D * sizeof *out);
    for (size_t part = 1; part < s->parts; part++)
        for (size_t j = 0; j < s->D; j++)
            for (int k = 0; k < LANES; k++)
                out[j].v[k] += s->sum[part * s->D + j].v[k];
}

/* ---- conjugate gradients ----------------------------------------------- */

static lane dot(const solver *s, const lane *a, const lane *b) {
    lane out = {{0}};
    for (size_t j = 0; j < s->D; j++)
        for (int k = 0; k < LANES; k++)
            out.v[k] += a[j].v[k] * b[j].v[k];
    return out;
}

/* r' M^-1 r, with M the diagonal of the matrix. */
static lane scaled_square(const solver *s, const lane *r) {
    lane out = {{0}};
    for (size_t j = 0; j < s->D; j++)
        for (int k = 0; k < LANES; k++)
            out.v[k] += r[j].v[k] * r[j].v[k] / s->scale[j];
    return out;
}

/* The diagonal of X' W X + ridge I over all rows, for all lanes. */
static void find_scale(solver *s) {
    const kb_effects_problem *p = s->p;
    for (size_t j = 0; j < s->D; j++)
        s->scale[j] = s->ridge;
    for (size_t i = 0; i < p->rows; i++) {
        double w = kb_weight_of(p->weight, i);
        const float *x = s->x + i * s->columns;
        for (size_t j = 0; j < s->columns; j++)
            s->scale[j] += w * (double)x[j] * (double)x[j];
        for (size_t c = 0; c < p->categories; c++)
            s->scale[s->columns + s->start[c] + p->level[i * p->categories + c]] += w;
    }
}

static void find_means(solver *s) {
    double total[LANES] = {0};
    memset(s->mean, 0, sizeof s->mean);
    for (size_t i = 0; i < s->p->rows; i++) {
        lane weight = weights_of(s, i);
        for (int k = 0; k < LANES; k++) {
            s->mean[k] += weight.v[k] * s->p->y[i * s->p->C + s->output[k]];
            total[k] += weight.v[k];
        }
    }
    for (int k = 0; k < LANES; k++)
        s->mean[k] = total[k] > 0 ? s->mean[k] / total[k] : 0;
}

static kb_status solve(kb_context *ctx, solver *s) {
    kb_status status = KB_OK;
    lane *q = NULL;
    TRY(kb_alloc(ctx, s->D, sizeof *q, &q));
    find_means(s);
    memset(s->w, 0, s->D * sizeof *s->w);
    multiply(ctx, s, NULL, s->r);
    for (size_t j = 0; j < s->D; j++)
        for (int k = 0; k < LANES; k++)
            s->d[j].v[k] = s->r[j].v[k] / s->scale[j];
    lane rr = scaled_square(s, s->r), first = rr;
    for (int step = 0; step < STEPS; step++) {
        int going = 0;
        for (int k = 0; k < LANES; k++)
            going |= rr.v[k] > TOL * TOL * first.v[k];
        if (!going)
            break;
        TRY(kb_progress(ctx, "encode", -1));
        multiply(ctx, s, s->d, q);
        for (size_t j = 0; j < s->D; j++)
            for (int k = 0; k < LANES; k++)
                q[j].v[k] += s->ridge * s->d[j].v[k];
        lane dq = dot(s, s->d, q), alpha, beta;
        for (int k = 0; k < LANES; k++)
            alpha.v[k] = rr.v[k] > TOL * TOL * first.v[k] ? rr.v[k] / dq.v[k] : 0;
        for (size_t j = 0; j < s->D; j++)
            for (int k = 0; k < LANES; k++) {
                s->w[j].v[k] += alpha.v[k] * s->d[j].v[k];
                s->r[j].v[k] -= alpha.v[k] * q[j].v[k];
            }
        lane next = scaled_square(s, s->r);
        for (int k = 0; k < LANES; k++)
            beta.v[k] = rr.v[k] > 0 ? next.v[k] / rr.v[k] : 0;
        for (size_t j = 0; j < s->D; j++)
            for (int k = 0; k < LANES; k++)
                s->d[j].v[k] = s->r[j].v[k] / s->scale[j] + beta.v[k] * s->d[j].v[k];
        rr = next;
    }
done:
    kb_release(ctx, q);
    return status;
}

/* ---- all of them ------------------------------------------------------- */

static void keep(const solver *s, int k, kb_effects *out) {
    double *to = s->fold[k] < 0 ? out->all : out->without + (size_t)s->fold[k] * out->D * out->C;
    for (size_t j = 0; j < out->D; j++)
        to[j * out->C + s->output[k]] = s->w[s->columns + j].v[k];
}

/* Outputs times fits, LANES at a time; lanes to spare repeat the first. */
static kb_status solve_all(kb_context *ctx, solver *s, int folds, kb_effects *out) {
    kb_status status = KB_OK;
    size_t fits = folds ? 1 + KB_EFFECT_FOLDS : 1, jobs = fits * s->p->C;
    for (size_t first = 0; first < jobs; first += LANES) {
        size_t count = jobs - first < LANES ? jobs - first : LANES;
        for (size_t k = 0; k < LANES; k++) {
            size_t job = k < count ? first + k : first;
            s->output[k] = job / fits;
            s->fold[k] = (int)(job % fits) - 1;
        }
        TRY(solve(ctx, s));
        for (size_t k = 0; k < count; k++)
            keep(s, (int)k, out);
    }
done:
    return status;
}

/* The same for any number of threads. */
static size_t parts_of(size_t rows, size_t D) {
    size_t parts = kb_least(rows / PART_ROWS + 1, PARTS);
    while (parts > 1 && parts * D * sizeof(lane) > SUM_BYTES)
        parts /= 2;
    return parts;
}

static double mean_weight(const kb_effects_problem *p) {
    double sum = 0;
    for (size_t i = 0; i < p->rows; i++)
        sum += kb_weight_of(p->weight, i);
    return sum / (double)p->rows;
}

static kb_status prepare(kb_context *ctx, solver *s, kb_effects *out) {
    kb_status status;
    const kb_effects_problem *p = s->p;
    int folds = 0;
    TRY(kb_alloc(ctx, p->categories + 1, sizeof *out->start, &out->start));
    out->start[0] = 0;
    for (size_t c = 0; c < p->categories; c++) {
        out->start[c + 1] = out->start[c] + p->levels[c];
        folds |= p->needs_folds[c];
    }
    out->C = p->C;
    out->D = out->start[p->categories];
    TRY(kb_zalloc(ctx, out->D * p->C, sizeof(double), &out->all));
    if (folds)
        TRY(kb_zalloc(ctx, KB_EFFECT_FOLDS * out->D * p->C, sizeof(double), &out->without));
    s->start = out->start;
    s->columns = 2 * p->numbers;
    s->D = s->columns + out->D;
    s->parts = parts_of(p->rows, s->D);
    s->ridge = RIDGE * mean_weight(p);
    TRY(kb_alloc(ctx, s->parts * s->D, sizeof(lane), &s->sum));
    TRY(kb_alloc(ctx, s->D, sizeof(lane), &s->w));
    TRY(kb_alloc(ctx, s->D, sizeof(lane), &s->r));
    TRY(kb_alloc(ctx, s->D, sizeof(lane), &s->d));
    TRY(kb_alloc(ctx, s->D, sizeof *s->scale, &s->scale));
    TRY(standardize_all(ctx, s));
    find_scale(s);
done:
    return status;
}

kb_status kb_effects_build(kb_context *ctx, const kb_effects_problem *problem, kb_effects *out) {
    kb_status status;
    solver s = {.p = problem};
    *out = (kb_effects){0};
    TRY(prepare(ctx, &s, out));
    TRY(solve_all(ctx, &s, out->without != NULL, out));
done:
    kb_release(ctx, s.x);
    kb_release(ctx, s.sum);
    kb_release(ctx, s.w);
    kb_release(ctx, s.r);
    kb_release(ctx, s.d);
    kb_release(ctx, s.scale);
    return status;
}

double kb_effects_bytes(const kb_effects_size *size, int threads) {
    size_t D = 2 * size->numbers + size->levels;
    double ranked = 16.0 * (double)kb_least(size->rows, RANK_ROWS) + 8;
    return (double)size->rows * 2 * (double)size->numbers * sizeof(float) +
           ranked * (double)threads + (double)((parts_of(size->rows, D) + 4) * D) * sizeof(lane) +
           (double)D * sizeof(double) +
           (double)(1 + KB_EFFECT_FOLDS) * (double)(size->levels * size->C) * sizeof(double);
}

void kb_effects_release(kb_context *ctx, kb_effects *effects) {
    kb_release(ctx, effects->start);
    kb_release(ctx, effects->all);
    kb_release(ctx, effects->without);
    *effects = (kb_effects){0};
}
