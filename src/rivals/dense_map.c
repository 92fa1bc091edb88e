/*
 * dense_map.c - products of a map that gives each sample a row of numbers: R cosines (fourier), or
 * the kernel with R landmarks (nystrom), there with L^-1 to follow.
 *
 *     fourier   Z = rows,         nystrom   Z = rows L'^-1
 *
 * The rows are divided into a fixed number of strands, each is summed on its own, and the sums are
 * added in order: so no number depends on the threads.
 */
#include "rivals/rival_parts.h"
#include "core/team.h"

#include <string.h>

enum { STRANDS = 16 };

typedef struct rowmap {
    kb_operator op; /* first: the two are cast into each other */
    const kb_rival *r;
    kb_points *points;  /* of the rows, unless they are stored */
    float *f;           /* N x R of one of the two types, if stored */
    double *d;          /* fourier has floats, nystrom doubles */
    double *scratch;    /* for each thread */
    double *w, *strand; /* C x R; STRANDS times that */
    size_t w_room, strand_room;
} rowmap;

/* One product over tiles of rows. */
typedef struct product {
    rowmap *m;
    const kb_points *points;
    size_t rows, C;
    const double *w, *v; /* C x R; rows x C */
    double *out;         /* rows x C */
    kb_interrupt interrupt;
} product;

static int is_float(const kb_rival *r) {
    return r->kind == KB_RIVAL_FOURIER;
}

static size_t rounded(size_t n) {
    return (n + 15) / 16 * 16;
}

size_t kb_dense_map_fill_scratch(const kb_rival *r) {
    return is_float(r) ? kb_fourier_scratch(r) : kb_kernel_scratch();
}

size_t kb_dense_map_scratch(const kb_rival *r) {
    return rounded(kb_dense_map_fill_scratch(r)) + rounded(KB_TILE * r->columns);
}

void kb_dense_map_rows(const kb_rival *r, const kb_points *p, size_t first, size_t rows,
                       double *scratch, float *f, double *d) {
    if (is_float(r))
        kb_fourier_rows(r, p, first, rows, scratch, f);
    else
        kb_kernel_block(r->kernel, r->tiles, p, first, rows, r->points, 0, r->columns, scratch, d,
                        r->columns);
}

/* The rows of a tile, stored or computed into the thread's scratch. */
static kb_rows rows_of(const product *t, size_t first, size_t rows, int me) {
    const rowmap *m = t->m;
    size_t R = m->r->columns, at = first * R;
    if (m->f || m->d)
        return (kb_rows){rows, R, R, m->f ? m->f + at : NULL, m->d ? m->d + at : NULL};
    double *scratch = m->scratch + (size_t)me * kb_dense_map_scratch(m->r);
    double *out = scratch + kb_dense_map_scratch(m->r) - rounded(KB_TILE * R);
    kb_dense_map_rows(m->r, t->points, first, rows, scratch, (float *)out, out);
    return (kb_rows){rows, R, R, is_float(m->r) ? (float *)out : NULL, out};
}

static size_t tiles_in(size_t rows) {
    return (rows + KB_TILE - 1) / KB_TILE;
}

static size_t rows_in(size_t rows, size_t tile) {
    return rows - tile * KB_TILE < KB_TILE ? rows - tile * KB_TILE : KB_TILE;
}

/* out = rows w. */
static void multiply(void *arg, int me, int threads) {
    product *t = arg;
    const rowmap *m = t->m;
    size_t R = m->r->columns;
    for (size_t k = (size_t)me; k < tiles_in(t->rows) && !kb_interrupt_asked(&t->interrupt, me);
         k += (size_t)threads) {
        size_t first = k * KB_TILE, rows = rows_in(t->rows, k);
        double *out = t->out + first * t->C;
        kb_rows z = rows_of(t, first, rows, me);
        memset(out, 0, rows * t->C * sizeof *out);
        m->r->tiles->times(&z, t->C, t->w, R, out, t->C);
    }
}

/* strand[s] = the rows of strand s, transposed, times v. */
static void multiply_t(void *arg, int me, int threads) {
    product *t = arg;
    const rowmap *m = t->m;
    size_t R = m->r->columns, tiles = tiles_in(t->rows);
    for (int s = me; s < STRANDS; s += threads) {
        double *strand = m->strand + (size_t)s * t->C * R;
        memset(strand, 0, t->C * R * sizeof *strand);
        size_t end = kb_share(tiles, s + 1, STRANDS);
        for (size_t k = kb_share(tiles, s, STRANDS);
             k < end && !kb_interrupt_asked(&t->interrupt, me); k++) {
            kb_rows z = rows_of(t, k * KB_TILE, rows_in(t->rows, k), me);
            m->r->tiles->times_t(&z, t->C, t->v + k * KB_TILE * t->C, t->C, strand, R);
        }
    }
}

static int alone(const product *t) {
    return t->rows * t->m->r->columns < KB_WORTH_A_THREAD;
}

/* m->w = Z' V by columns. */
static kb_status weigh(kb_context *ctx, rowmap *m, size_t C, const double *v) {
    kb_status status;
    size_t n = C * m->r->columns;
    product t = {
        .m = m, .points = m->points, .rows = m->op.rows, .C = C, .v = v, .interrupt = {.ctx = ctx}};
    TRY(kb_reserve(ctx, n, sizeof(double), &m->w_room, &m->w));
    TRY(kb_reserve(ctx, n * STRANDS, sizeof(double), &m->strand_room, &m->strand));
    kb_team_run(ctx, alone(&t), multiply_t, &t);
    TRY(kb_interrupt_status(&t.interrupt));
    memset(m->w, 0, n * sizeof(double));
    for (size_t s = 0; s < STRANDS; s++)
        for (size_t k = 0; k < n; k++)
            m->w[k] += m->strand[s * n + k];
    if (m->r->kind == KB_RIVAL_NYSTROM)
        TRY(kb_triangle_forward(ctx, m->r->tiles, &m->r->triangle, C, m->w));
done:
    return status;
}

/* out = Z w for the w by columns in m->w, which is used up. */
static kb_status decide(kb_context *ctx, rowmap *m, const kb_points *points, size_t rows, size_t C,
                        double *out) {
    product t = {.m = m,
                 .points = points,
                 .rows = rows,
                 .C = C,
                 .w = m->w,
                 .out = out,
                 .interrupt = {.ctx = ctx}};
    kb_team_run(ctx, alone(&t), multiply, &t);
    return kb_interrupt_status(&t.interrupt);
}

/* From w to what the rows are multiplied by. */
static kb_status unwind(kb_context *ctx, rowmap *m, size_t C) {
    return m->r->kind == KB_RIVAL_NYSTROM
               ? kb_triangle_backward(ctx, m->r->tiles, &m->r->triangle, C, m->w)
               : KB_OK;
}

static kb_status take_w(kb_context *ctx, rowmap *m, size_t C, const double *w) {
    kb_status status = kb_reserve(ctx, C * m->r->columns, sizeof(double), &m->w_room, &m->w);
    if (status != KB_OK)
        return status;
    kb_transpose(m->r->columns, C, w, m->w);
    return unwind(ctx, m, C);
}

static kb_status rowmap_apply_k(kb_operator *self, kb_context *ctx, size_t C, const double *v,
                                double *out, double *square) {
    rowmap *m = (rowmap *)self;
    size_t R = m->r->columns;
    kb_status status = weigh(ctx, m, C, v);
    for (size_t c = 0; status == KB_OK && square && c < C; c++) {
        square[c] = 0;
        for (size_t k = 0; k < R; k++)
            square[c] += m->w[c * R + k] * m->w[c * R + k];
    }
    if (status == KB_OK && out)
        status = unwind(ctx, m, C);
    if (status == KB_OK && out)
        status = decide(ctx, m, m->points, self->rows, C, out);
    return status;
}

static kb_status rowmap_apply(kb_operator *self, kb_context *ctx, size_t C, const double *w,
                              double *out) {
    rowmap *m = (rowmap *)self;
    kb_status status = take_w(ctx, m, C, w);
    return status == KB_OK ? decide(ctx, m, m->points, self->rows, C, out) : status;
}

static kb_status rowmap_apply_t(kb_operator *self, kb_context *ctx, size_t C, const double *v,
                                double *out) {
    rowmap *m = (rowmap *)self;
    kb_status status = weigh(ctx, m, C, v);
    if (status == KB_OK)
        kb_transpose(C, m->r->columns, m->w, out);
    return status;
}

static void rowmap_release(kb_operator *self) {
    rowmap *m = (rowmap *)self;
    void *all[] = {m->f, m->d, m->scratch, m->w, m->strand};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kb_allocator_release(self->allocator, all[i]);
    kb_points_free(m->points);
}

/* ---- storing ----------------------------------------------------------- */

typedef struct storing {
    const rowmap *m;
    const kb_points *points;
    size_t begin, rows;
} storing;

static void store_rows(void *arg, int me, int threads) {
    const storing *s = arg;
    const rowmap *m = s->m;
    double *scratch = m->scratch + (size_t)me * kb_dense_map_scratch(m->r);
    for (size_t k = (size_t)me; k < tiles_in(s->rows); k += (size_t)threads) {
        size_t at = (s->begin + k * KB_TILE) * m->r->columns;
        kb_dense_map_rows(m->r, s->points, k * KB_TILE, rows_in(s->rows, k), scratch,
                          m->f ? m->f + at : NULL, m->d ? m->d + at : NULL);
    }
}

static kb_status store(kb_context *ctx, rowmap *m, const kb_data *data) {
    kb_status status;
    kb_points *points = NULL;
    kb_metric metric = kb_rival_metric(m->r);
    size_t N = data->rows, span = KB_SPAN;
    TRY(is_float(m->r) ? kb_alloc(ctx, N * m->r->columns, sizeof(float), &m->f)
                       : kb_alloc(ctx, N * m->r->columns, sizeof(double), &m->d));
    for (size_t begin = 0; begin < N; begin += span) {
        size_t rows = N - begin < span ? N - begin : span;
        TRY(kb_points_build(ctx, &metric, data, begin, rows, NULL, &points));
        storing s = {m, points, begin, rows};
        kb_team_run(ctx, rows < 2 * KB_TILE, store_rows, &s);
        kb_points_free(points);
        points = NULL;
        TRY(kb_progress(ctx, "bin", (double)(begin + rows) / (double)N));
    }
done:
    kb_points_free(points);
    return status;
}

static kb_status create(kb_context *ctx, const kb_rival *r, size_t rows, rowmap **out) {
    kb_status status = kb_zalloc(ctx, 1, sizeof **out, out);
    if (status != KB_OK)
        return status;
    (*out)->op = (kb_operator){
        .allocator = kb_allocator_of(ctx),
        .rows = rows,
        .columns = r->columns,
        .apply_k = rowmap_apply_k,
        .apply = rowmap_apply,
        .apply_t = rowmap_apply_t,
        .release = rowmap_release,
    };
    (*out)->r = r;
    return kb_alloc(ctx, (size_t)ctx->threads * kb_dense_map_scratch(r), sizeof(double),
                    &(*out)->scratch);
}

kb_status kb_dense_map_operator(kb_context *ctx, const kb_rival *r, const kb_data *data,
                                size_t room, kb_operator **out) {
    kb_status status;
    rowmap *m = NULL;
    kb_metric metric = kb_rival_metric(r);
    double bytes = (double)data->rows * (double)r->columns * (is_float(r) ? 4 : 8);
    *out = NULL;
    TRY(create(ctx, r, data->rows, &m));
    if (bytes <= (double)room)
        TRY(store(ctx, m, data));
    else
        TRY(kb_points_build(ctx, &metric, data, 0, data->rows, NULL, &m->points));
    *out = &m->op;
done:
    if (status != KB_OK)
        kb_operator_free(m ? &m->op : NULL);
    return status;
}

kb_status kb_dense_map_decide(kb_context *ctx, const kb_rival *r, const kb_data *data, size_t C,
                              const double *w, double *out) {
    kb_status status;
    rowmap *m = NULL;
    kb_points *points = NULL;
    kb_metric metric = kb_rival_metric(r);
    size_t N = data->rows, span = KB_SPAN;
    TRY(create(ctx, r, 0, &m));
    TRY(take_w(ctx, m, C, w));
    for (size_t begin = 0; begin < N; begin += span) {
        size_t rows = N - begin < span ? N - begin : span;
        TRY(kb_points_build(ctx, &metric, data, begin, rows, NULL, &points));
        TRY(decide(ctx, m, points, rows, C, out + begin * C));
        kb_points_free(points);
        points = NULL;
        TRY(kb_progress(ctx, "predict", (double)(begin + rows) / (double)N));
    }
done:
    kb_points_free(points);
    kb_operator_free(m ? &m->op : NULL);
    return status;
}

kb_status kb_dense_map_features(kb_context *ctx, const kb_rival *r, const kb_data *data,
                                double *out) {
    kb_status status;
    rowmap *m = NULL;
    size_t cells = data->rows * r->columns;
    TRY(create(ctx, r, data->rows, &m));
    TRY(store(ctx, m, data));
    for (size_t k = 0; k < cells; k++)
        out[k] = m->f ? m->f[k] : m->d[k];
    if (r->kind == KB_RIVAL_NYSTROM) /* a row is L^-1 times the kernel with the landmarks */
        TRY(kb_triangle_forward(ctx, r->tiles, &r->triangle, data->rows, out));
done:
    kb_operator_free(m ? &m->op : NULL);
    return status;
}
