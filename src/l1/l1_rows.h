/*
 * l1_rows.h - what the L1 solvers share: the rows of a problem in its columns' order, losses and
 * slopes on them, products with single columns, the intercept and the duality gap.
 *
 * The push of a row is -s L'; the pull of column j is z_j'push, the negative gradient of the losses
 * in w_j.
 */
#ifndef KB_L1_L1_ROWS_H
#define KB_L1_L1_ROWS_H

#include "l1/l1.h"
#include "l1/whole.h"
#include "ranks/row_sums.h"

typedef struct kb_l1_rows {
    kb_context *ctx;
    kb_l1 *p;
    const kb_zcolumns *c;
    size_t N, D;
    double *memory; /* of the arrays of N */
    double *more_memory;
    double *y, *s;     /* N, in the columns' order; s NULL: ones */
    double *f;         /* N: decisions, b among them */
    double *push;      /* N */
    double *curvature; /* N: s L'' */
    double *value;     /* N: for losses, and for the solvers' own use */
    double *pull;      /* D */
    double *strongest; /* blocks: the least lambda that the pulls of each would stay below */
    double bound;      /* the best dual bound on the minimum so far */
    double shrink;     /* t, for the rows' part of the gap */
    double few;        /* rows that cannot pull enough, whatever their push */
    /* Where the rows lie on ranks. */
    int ranked;
    size_t rows;        /* of all ranks; else N */
    double most;        /* the largest push */
    double *high, *low; /* N: the pushes in two halves, of these units */
    kb_l1_unit unit[2];
    int64_t *halves; /* 2 D: their sums over columns */
} kb_l1_rows;

/* Copies y and s, and computes f from w and b. */
kb_status kb_l1_open(kb_context *ctx, kb_l1 *p, kb_l1_rows *r);
/* Gives f to the caller, counts the nonzeros, and frees. */
void kb_l1_close(kb_l1_rows *r);

/* `count` arrays of N numbers, fit for octets; *memory is to be released. */
kb_status kb_l1_arrays(const kb_l1_rows *r, size_t count, double **const *array, double **memory);

/* The largest of the N numbers, of any rank. */
kb_status kb_l1_largest(const kb_l1_rows *r, const double *x, double *out);

/* f = Z w + b. */
void kb_l1_respond(kb_l1_rows *r);
/* Pushes and curvatures at f, and the sum of the losses. */
kb_status kb_l1_evaluate(kb_l1_rows *r, double *loss);
/* The same for the rows begin up to end. */
void kb_l1_evaluate_rows(const kb_l1_rows *r, size_t begin, size_t end, double *sum);
/* The sum of the losses alone; the pushes and curvatures stay those of another f. */
kb_status kb_l1_loss(kb_l1_rows *r, double *loss);
/* The pulls of all columns, from the pushes.  Where the weight is zero and the rows are too few to
 * pull as strongly as `least`, 0 stands for it. */
kb_status kb_l1_pulls(kb_l1_rows *r, double least);
/* The length of the vector x[begin] .. x[end - 1]. */
double kb_l1_length(const double *x, size_t begin, size_t end);
/* lambda |w|_1, or that of the groups. */
double kb_l1_penalty(const kb_l1_rows *r);
/* M, of every column: a bound on the second derivative in its weight.  r->value is used for it. */
void kb_l1_bounds(kb_l1_rows *r, double *M);
/* Moves b, and f with it, to its optimum; the pushes need another kb_l1_evaluate. */
kb_status kb_l1_fit_intercept(kb_l1_rows *r);
/* The duality gap at the pushes and pulls that are there; fills p->objective and p->gap. */
kb_status kb_l1_gap(kb_l1_rows *r, double loss);
/* All of that in order; sets p->converged too. */
kb_status kb_l1_look(kb_l1_rows *r);

/* How far a solve is: for progress bars. */
double kb_l1_progress(const kb_l1 *p);

/* Weight of block g's penalty. */
static inline double kb_l1_group_weight(const kb_zcolumns *c, size_t g) {
    return __builtin_sqrt((double)(c->block_start[g + 1] - c->block_start[g]));
}

/* x moved towards zero by `by`. */
static inline double kb_l1_soft(double x, double by) {
    return x > by ? x - by : x < -by ? x + by : 0;
}

/* Octets, or nonzeros, that follow one another: a column's, or those of one of its parts. */
typedef struct kb_run {
    size_t begin, end;
    size_t row; /* of the first, if dense */
} kb_run;

static inline kb_run kb_column_run(const kb_zcolumns *c, size_t j) {
    if (c->octet)
        return (kb_run){c->start[j * c->parts], c->start[(j + 1) * c->parts], 0};
    return (kb_run){j * c->rows, (j + 1) * c->rows, 0};
}

static inline kb_run kb_part_run(const kb_zcolumns *c, size_t j, size_t p) {
    if (c->octet)
        return (kb_run){c->start[j * c->parts + p], c->start[j * c->parts + p + 1], 0};
    return (kb_run){j * c->rows + c->part[p], j * c->rows + c->part[p + 1], c->part[p]};
}

/* The sum of z v over a run, in four independent chains to hide the latency of additions. */
static inline double kb_run_dot(const kb_zcolumns *c, kb_run run, const double *v) {
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    size_t count = run.end - run.begin, e = 0;
    if (c->octet)
        return c->value * c->loops->sum(c->octet + run.begin, count, v);
    const double *z = c->dense + run.begin;
    v += run.row;
    for (; e + 4 <= count; e += 4) {
        s0 += z[e] * v[e];
        s1 += z[e + 1] * v[e + 1];
        s2 += z[e + 2] * v[e + 2];
        s3 += z[e + 3] * v[e + 3];
    }
    for (; e < count; e++)
        s0 += z[e] * v[e];
    return (s0 + s1) + (s2 + s3);
}

/* v += d z. */
static inline void kb_run_add(const kb_zcolumns *c, kb_run run, double d, double *v) {
    size_t count = run.end - run.begin;
    if (c->octet) {
        c->loops->add(c->octet + run.begin, count, c->value * d, v);
        return;
    }
    const double *z = c->dense + run.begin;
    for (size_t e = 0; e < count; e++)
        v[run.row + e] += d * z[e];
}

/* The sum of h z^2. */
static inline double kb_run_square(const kb_zcolumns *c, kb_run run, const double *h) {
    if (c->octet)
        return c->value * kb_run_dot(c, run, h);
    const double *z = c->dense + run.begin;
    double sum = 0;
    for (size_t e = 0; e < run.end - run.begin; e++)
        sum += h[run.row + e] * z[e] * z[e];
    return sum;
}

/* z_j'v. */
static inline double kb_column_dot(const kb_zcolumns *c, size_t j, const double *v) {
    return kb_run_dot(c, kb_column_run(c, j), v);
}

#endif
