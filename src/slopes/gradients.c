/* gradients.c - see gradients.h. */
#include "slopes/gradients.h"
#include "core/random.h"
#include "core/team.h"
#include "core/weights.h"
#include "simd/cholesky.h"
#include "simd/gram.h"
#include "simd/simd.h"

#include <math.h>
#include <string.h>

/* 1/s as a share of the mean distance of two rows, and lambda: one of the middle first, then its
 * neighbours while they are better. */
static const double LENGTHS[] = {0.0625, 0.125, 0.25, 0.5, 1, 2, 4};
static const double LAMBDAS[] = {1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1};
enum {
    LENGTHS_COUNT = sizeof LENGTHS / sizeof *LENGTHS,
    LAMBDAS_COUNT = sizeof LAMBDAS / sizeof *LAMBDAS,
    FIRST_LENGTH = 4,
    FIRST_LAMBDA = 2
};

typedef struct problem {
    const kb_gradient_fit *given;
    size_t n, all;    /* fitted rows; these and the judges, which come after them */
    size_t d, C;      /* columns; outputs after mixing */
    size_t width;     /* of a row of A and of a gradient */
    uint32_t *row;    /* all */
    double *weight;   /* all: of mean 1 */
    double *Z;        /* all x width: the columns times their units */
    double *gradient; /* n x C x width */
    double *y;        /* all x C: less the mean of the fitted rows */
    double *distance; /* all x all: the lower triangle */
    double mean;      /* of the distances */
    kb_triangle t;    /* n; its rows are scratch where L is not needed */
    const kb_tiles *tiles;
    double *c;                /* C x n */
    double *best;             /* C x n: of the best s and lambda so far */
    double *off;              /* judges x C: errors of c on the rows that judge */
    int length_at, lambda_at; /* the best so far */
    double s, lambda, error;
} problem;

static void release(kb_context *ctx, problem *p) {
    void *all[] = {p->row,       p->weight, p->Z,    p->y,   p->distance, p->t.L,
                   p->t.inverse, p->c,      p->best, p->off, p->gradient};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kb_release(ctx, all[i]);
}

double kb_gradients_bytes(size_t count, size_t features, size_t outputs) {
    double N = (double)count, n = 2 * N / 3, d = (double)kb_gram_width(features);
    double C = (double)(outputs < KB_GRADIENT_OUTPUTS ? outputs : KB_GRADIENT_OUTPUTS);
    return 8 * (N * N + n * n + N * (2 * d + 5 * C + 2) + n * C * d + d * d) +
           kb_cholesky_bytes((size_t)n);
}

/* ---- rows -------------------------------------------------------------- */

/* Rows of no weight say nothing. */
static void divide_rows(problem *p, size_t count, const uint32_t *row) {
    size_t place = 0, judges = 0;
    double total = 0;
    for (int judge = 0; judge < 2; judge++) {
        for (size_t i = 0; i < count; i++)
            if ((i % 3 == 2) == judge && kb_weight_of(p->given->weight, row[i]) > 0) {
                p->weight[place] = kb_weight_of(p->given->weight, row[i]);
                total += p->weight[place];
                p->row[place++] = row[i];
                judges += (size_t)judge;
            }
    }
    p->all = place;
    p->n = place - judges;
    for (size_t i = 0; i < place; i++)
        p->weight[i] *= (double)place / total;
}

static void fill_columns(problem *p, const double *unit) {
    memset(p->Z, 0, p->all * p->width * sizeof *p->Z);
    for (size_t i = 0; i < p->all; i++) {
        kb_row row = kb_data_row(p->given->x, p->row[i]);
        for (size_t e = 0; e < row.count; e++) {
            size_t j = row.column ? row.column[e] : e;
            p->Z[i * p->width + j] = row.value[e] * unit[j];
        }
    }
}

static double sign_of(const problem *p, size_t from, size_t to) {
    uint32_t bits = kb_random(p->given->seed, KB_STREAM_EFFECT, from, 2).word[0]; /* C <= 32 here */
    return bits >> to & 1 ? 1 : -1;
}

static void fill_targets(problem *p) {
    const kb_gradient_fit *g = p->given;
    int mixed = g->C > p->C;
    for (size_t c = 0; c < p->C; c++) {
        double mean = 0, total = 0;
        for (size_t i = 0; i < p->all; i++) {
            const double *y = g->y + p->row[i] * g->C;
            double sum = mixed ? 0 : y[c];
            for (size_t k = 0; k < g->C && mixed; k++)
                sum += sign_of(p, k, c) * y[k];
            p->y[i * p->C + c] = sum;
        }
        for (size_t i = 0; i < p->n; i++) {
            mean += p->weight[i] * p->y[i * p->C + c];
            total += p->weight[i];
        }
        for (size_t i = 0; i < p->all; i++)
            p->y[i * p->C + c] -= mean / total;
    }
}

/* |a - b|^2 = |a|^2 + |b|^2 - 2 ab. */
static kb_status fill_distances(kb_context *ctx, problem *p) {
    kb_status status;
    size_t N = p->all, m = kb_gram_width(N);
    double *columns = NULL, sum = 0;
    TRY(kb_zalloc(ctx, p->d * m, sizeof *columns, &columns));
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < p->d; j++)
            columns[j * m + i] = p->Z[i * p->width + j];
    kb_gram(N, p->d, columns, p->distance);
    for (size_t i = 0; i < N; i++) {
        double *at = p->distance + i * N;
        for (size_t k = 0; k < i; k++) {
            double square = at[i] + p->distance[k * N + k] - 2 * at[k];
            at[k] = sqrt(square > 0 ? square : 0);
            sum += at[k];
        }
    }
    for (size_t i = 0; i < N; i++)
        p->distance[i * N + i] = 0;
    p->mean = N > 1 ? 2 * sum / ((double)N * (double)(N - 1)) : 0;
done:
    kb_release(ctx, columns);
    return status;
}

static kb_status begin(kb_context *ctx, problem *p, size_t count, const uint32_t *row) {
    kb_status status;
    p->d = p->given->x->features;
    p->C = p->given->C < KB_GRADIENT_OUTPUTS ? p->given->C : KB_GRADIENT_OUTPUTS;
    p->width = kb_gram_width(p->d);
    p->length_at = FIRST_LENGTH;
    p->lambda_at = FIRST_LAMBDA;
    TRY(kb_alloc(ctx, count, sizeof *p->row, &p->row));
    TRY(kb_alloc(ctx, count, sizeof(double), &p->weight));
    divide_rows(p, count, row);
    size_t judges = p->all - p->n;
    TRY(kb_alloc(ctx, p->all * p->width, sizeof(double), &p->Z));
    TRY(kb_alloc(ctx, p->n * p->C * p->width, sizeof(double), &p->gradient));
    TRY(kb_alloc(ctx, p->all * p->C, sizeof(double), &p->y));
    TRY(kb_alloc(ctx, p->all * p->all, sizeof(double), &p->distance));
    TRY(kb_alloc(ctx, (judges > p->n ? judges : p->n) * p->n, sizeof(double), &p->t.L));
    TRY(kb_alloc(ctx, p->n, sizeof(double), &p->t.inverse));
    TRY(kb_alloc(ctx, p->n * p->C, sizeof(double), &p->c));
    TRY(kb_zalloc(ctx, p->n * p->C, sizeof(double), &p->best));
    TRY(kb_alloc(ctx, judges * p->C, sizeof(double), &p->off));
    p->t.n = p->n;
    p->tiles = kb_simd_best()->tiles;
    fill_targets(p);
done:
    return status;
}

/* ---- the fit ----------------------------------------------------------- */

typedef struct filling {
    problem *p;
    double s, lambda;
    kb_interrupt interrupt;
} filling;

/* k of n distances. */
static void kernel_of(const filling *f, size_t n, const double *distance, double *out) {
    memcpy(out, distance, n * sizeof *out);
    f->p->tiles->exp_minus(n, f->s, out);
    for (size_t k = 0; k < n; k++)
        out[k] *= 1 + f->s * distance[k];
}

/* Rows begin .. end of the kernel matrix. */
static void fill_kernel(void *arg, size_t begin, size_t end) {
    filling *f = arg;
    problem *p = f->p;
    for (size_t i = begin; i < end && !kb_interrupt_asked(&f->interrupt, begin != 0); i++) {
        double *to = p->t.L + i * p->n;
        kernel_of(f, i + 1, p->distance + i * p->all, to);
        to[i] += f->lambda / p->weight[i];
    }
}

/* The errors of c on some of the rows that judge. */
static void find_errors(void *arg, size_t begin, size_t end) {
    const filling *f = arg;
    problem *p = f->p;
    for (size_t h = begin; h < end; h++) {
        size_t i = p->n + h;
        double *value = p->t.L + h * p->n;
        kernel_of(f, p->n, p->distance + i * p->all, value);
        for (size_t c = 0; c < p->C; c++) {
            double sum = 0;
            for (size_t k = 0; k < p->n; k++)
                sum += value[k] * p->c[c * p->n + k];
            p->off[h * p->C + c] = sum - p->y[i * p->C + c];
        }
    }
}

/* The weighted squared error of c on the rows that judge. */
static double judge(kb_context *ctx, filling *f) {
    problem *p = f->p;
    double error = 0;
    size_t judges = p->all - p->n;
    kb_team_for(ctx, judges, KB_WORTH_A_THREAD / (p->n + 1) + 1, find_errors, f);
    for (size_t e = 0; e < judges * p->C; e++)
        error += p->weight[p->n + e / p->C] * p->off[e] * p->off[e];
    return error;
}

/* *better: whether it is the best so far. */
static kb_status attempt(kb_context *ctx, problem *p, int length_at, int lambda_at, int *better) {
    kb_status status;
    filling f = {p, 1 / (LENGTHS[length_at] * p->mean), LAMBDAS[lambda_at], {.ctx = ctx}};
    size_t rank;
    TRY(kb_progress(ctx, "bin", -1));
    kb_team_for(ctx, p->n, KB_WORTH_A_THREAD / (p->n + 1) + 1, fill_kernel, &f);
    TRY(kb_interrupt_status(&f.interrupt));
    TRY(kb_cholesky(ctx, p->tiles, &p->t, 0, &rank));
    kb_transpose(p->n, p->C, p->y, p->c);
    TRY(kb_triangle_forward(ctx, p->tiles, &p->t, p->C, p->c));
    TRY(kb_triangle_backward(ctx, p->tiles, &p->t, p->C, p->c));
    double error = judge(ctx, &f);
    *better = error < p->error;
    if (*better) {
        p->error = error;
        p->s = f.s;
        p->lambda = f.lambda;
        p->length_at = length_at;
        p->lambda_at = lambda_at;
        memcpy(p->best, p->c, p->n * p->C * sizeof *p->c);
    }
done:
    return status;
}

/* The best place so far, then its neighbours in one direction while they are better, else in the
 * other: of lambda, then of s. */
static kb_status search(kb_context *ctx, problem *p) {
    kb_status status;
    int better;
    p->error = INFINITY;
    TRY(attempt(ctx, p, p->length_at, p->lambda_at, &better));
    for (int of_lambda = 1; of_lambda >= 0; of_lambda--) {
        int *at = of_lambda ? &p->lambda_at : &p->length_at, first = *at;
        int count = of_lambda ? LAMBDAS_COUNT : LENGTHS_COUNT;
        for (int by = -1; by <= 1 && *at == first; by += 2)
            for (better = 1; better && *at + by >= 0 && *at + by < count;)
                TRY(attempt(ctx, p, p->length_at + (of_lambda ? 0 : by),
                            p->lambda_at + (of_lambda ? by : 0), &better));
    }
done:
    return status;
}

/* ---- its gradients ------------------------------------------------------ */

/* At the rows begin .. end, times the roots of their weights. */
static void differentiate(void *arg, size_t begin, size_t end) {
    filling *f = arg;
    const problem *p = f->p;
    memset(p->gradient + begin * p->C * p->width, 0,
           (end - begin) * p->C * p->width * sizeof *p->gradient);
    for (size_t i = begin; i < end && !kb_interrupt_asked(&f->interrupt, begin != 0); i++) {
        double *to = p->gradient + i * p->C * p->width, sum[KB_GRADIENT_OUTPUTS] = {0};
        double factor = -p->s * p->s * sqrt(p->weight[i]), *value = p->t.L + i * p->n;
        for (size_t k = 0; k < p->n; k++)
            value[k] = i > k ? p->distance[i * p->all + k] : p->distance[k * p->all + i];
        p->tiles->exp_minus(p->n, p->s, value);
        for (size_t k = 0; k < p->n; k++) {
            const double *z = p->Z + k * p->width;
            for (size_t c = 0; c < p->C; c++) {
                double by = value[k] * p->best[c * p->n + k], *out = to + c * p->width;
                sum[c] += by;
                for (size_t j = 0; j < p->width; j++)
                    out[j] -= by * z[j];
            }
        }
        for (size_t c = 0; c < p->C; c++)
            for (size_t j = 0; j < p->d; j++) {
                double *out = &to[c * p->width + j];
                *out = factor * (*out + sum[c] * p->Z[i * p->width + j]);
            }
    }
}

/* ---- rounds ------------------------------------------------------------ */

static kb_status fit(kb_context *ctx, problem *p, const double *unit) {
    kb_status status;
    fill_columns(p, unit);
    TRY(fill_distances(ctx, p));
    if (p->mean > 0 && p->n < p->all) {
        TRY(search(ctx, p));
        filling f = {.p = p, .interrupt = {.ctx = ctx}};
        kb_team_for(ctx, p->n, 1, differentiate, &f);
        TRY(kb_interrupt_status(&f.interrupt));
    } else {
        memset(p->gradient, 0, p->n * p->C * p->width * sizeof *p->gradient);
    }
done:
    return status;
}

/* M of the gradients, both of its triangles. */
static void average(const problem *p, double *M) {
    size_t d = p->d;
    kb_gram(d, p->n * p->C, p->gradient, M);
    for (size_t i = 0; i < d; i++)
        for (size_t k = 0; k <= i; k++) {
            M[i * d + k] /= fmax((double)p->n, 1);
            M[k * d + i] = M[i * d + k];
        }
}

/* The derivatives as units, of which the largest is 1; they stay as they are where M is 0. */
static void take_units(size_t d, const double *M, double *unit) {
    double most = 0;
    for (size_t j = 0; j < d; j++)
        most = fmax(most, unit[j] * sqrt(fmax(M[j * d + j], 0)));
    for (size_t j = 0; j < d && most > 0 && isfinite(most); j++)
        unit[j] =
            unit[j] > 0 ? fmax(unit[j] * sqrt(fmax(M[j * d + j], 0)) / most, KB_GRADIENT_FLOOR) : 0;
}

kb_status kb_gradients_learn(kb_context *ctx, const kb_gradient_fit *given, size_t count,
                             const uint32_t *row, double *unit, double *M) {
    kb_status status;
    problem p = {.given = given};
    TRY(begin(ctx, &p, count, row));
    for (size_t k = 0; k < given->rounds; k++) {
        if (k > 0)
            take_units(p.d, M, unit);
        TRY(fit(ctx, &p, unit));
        average(&p, M);
    }
done:
    release(ctx, &p);
    return status;
}

kb_status kb_gradients_find(kb_context *ctx, const kb_gradient_fit *given, size_t count,
                            const uint32_t *row, const double *unit, kb_gradient_detail *out) {
    kb_status status;
    problem p = {.given = given};
    *out = (kb_gradient_detail){0};
    TRY(begin(ctx, &p, count, row));
    TRY(fit(ctx, &p, unit));
    *out = (kb_gradient_detail){.s = p.s,
                                .lambda = p.lambda,
                                .fitted = p.n,
                                .outputs = p.C,
                                .width = p.width,
                                .c = p.best,
                                .gradient = p.gradient};
    p.best = p.gradient = NULL;
done:
    release(ctx, &p);
    return status;
}
