/*
 * blocks.c - the kernel within blocks of samples, and the exact kernel, which is one block.
 *
 * The points lie block after block.  A product goes by tiles of KB_TILE rows of a block; for each,
 * the kernel with all points of the block is stored, or computed piece by piece.
 */
#include "rivals/rival_parts.h"
#include "core/sums.h"
#include "core/team.h"

#include <string.h>

/* Points at a time. */
enum { PIECE = 2048 };

kb_status kb_blocks_build(kb_context *ctx, const kb_rival_spec *spec, const kb_data *data,
                          kb_rival *r) {
    kb_status status;
    kb_points *all = NULL;
    kb_metric metric = kb_rival_metric(r);
    r->columns = data->rows;
    TRY(kb_points_build(ctx, &metric, data, 0, data->rows, NULL, &all));
    if (spec->kind == KB_RIVAL_EXACT) {
        TRY(kb_alloc(ctx, 2, sizeof *r->start, &r->start));
        r->start[0] = 0;
        r->start[1] = data->rows;
        r->blocks = 1;
        r->points = all;
        all = NULL;
    } else {
        TRY(kb_block_tree_build(ctx, spec->seed, spec->rank, all, r));
        kb_points_free(all);
        all = NULL;
        TRY(kb_points_build(ctx, &metric, data, 0, data->rows, r->order, &r->points));
    }
done:
    kb_points_free(all);
    return status;
}

/* ---- products by tiles ------------------------------------------------- */

/* out = the kernel of the rows of `a` with the points of their blocks, times w. */
typedef struct sweep {
    const kb_rival *r;
    const kb_points *a;
    const kb_block_tile *tiles;
    size_t count;
    const double *stored; /* the blocks of the kernel, one after the other, or NULL */
    const size_t *place;  /* where each begins */
    size_t C;
    const double *w; /* C x D */
    double *out;     /* rows of a x C */
    double *scratch; /* for each thread */
    kb_interrupt interrupt;
} sweep;

size_t kb_blocks_scratch(void) {
    return kb_kernel_scratch() + KB_TILE * PIECE;
}

static void sweep_tile(const sweep *s, const kb_block_tile *t, double *scratch) {
    const kb_rival *r = s->r;
    size_t n = kb_block_size(r, t->block), begin = r->start[t->block];
    double *out = s->out + t->first * s->C, *piece = scratch + kb_kernel_scratch();
    memset(out, 0, t->rows * s->C * sizeof *out);
    for (size_t k = 0; k < n; k += PIECE) {
        size_t columns = n - k < PIECE ? n - k : PIECE;
        kb_rows z = {.rows = t->rows, .columns = columns, .ld = PIECE, .d = piece};
        if (s->stored) {
            z.d = s->stored + s->place[t->block] + (t->first - begin) * n + k;
            z.ld = n;
        } else {
            kb_kernel_block(r->kernel, r->tiles, s->a, t->first, t->rows, r->points, begin + k,
                            columns, scratch, piece, PIECE);
        }
        r->tiles->times(&z, s->C, s->w + begin + k, r->columns, out, s->C);
    }
}

static void sweep_tiles(void *arg, int me, int threads) {
    sweep *s = arg;
    for (size_t k = (size_t)me; k < s->count && !kb_interrupt_asked(&s->interrupt, me);
         k += (size_t)threads)
        sweep_tile(s, &s->tiles[k], s->scratch + (size_t)me * kb_blocks_scratch());
}

kb_status kb_block_tiles(kb_context *ctx, size_t blocks, const size_t *start, kb_block_tile **tiles,
                         size_t *count) {
    size_t room = 0;
    for (size_t b = 0; b < blocks; b++)
        room += (start[b + 1] - start[b] + KB_TILE - 1) / KB_TILE;
    kb_status status = kb_alloc(ctx, room, sizeof **tiles, tiles);
    *count = 0;
    for (size_t b = 0; status == KB_OK && b < blocks; b++)
        for (size_t i = start[b]; i < start[b + 1]; i += KB_TILE) {
            size_t left = start[b + 1] - i;
            (*tiles)[(*count)++] = (kb_block_tile){b, i, left < KB_TILE ? left : KB_TILE};
        }
    return status;
}

/* ---- the operator ------------------------------------------------------ */

typedef struct blockmap {
    kb_operator op; /* first: the two are cast into each other */
    const kb_rival *r;
    kb_block_tile *tiles;
    size_t count;
    double *stored;
    size_t *place;
    double *scratch;
    double *w, *out; /* C x N, N x C in the order of the points */
    size_t w_room, out_room;
} blockmap;

/* m->out = K w for the w in m->w. */
static kb_status multiply(kb_context *ctx, blockmap *m, size_t C) {
    size_t N = m->op.rows;
    kb_status status = kb_reserve(ctx, N * C, sizeof(double), &m->out_room, &m->out);
    if (status != KB_OK)
        return status;
    sweep s = {m->r, m->r->points, m->tiles, m->count,   m->stored,   m->place,
               C,    m->w,         m->out,   m->scratch, {.ctx = ctx}};
    kb_team_run(ctx, N < 2 * KB_TILE, sweep_tiles, &s);
    return kb_interrupt_status(&s.interrupt);
}

static kb_status blockmap_apply_k(kb_operator *self, kb_context *ctx, size_t C, const double *v,
                                  double *out, double *square) {
    kb_status status;
    blockmap *m = (blockmap *)self;
    size_t N = self->rows;
    TRY(kb_reserve(ctx, N * C, sizeof(double), &m->w_room, &m->w));
    for (size_t k = 0; k < N; k++)
        for (size_t c = 0; c < C; c++)
            m->w[c * N + k] = v[kb_sample_of(m->r, k) * C + c];
    TRY(multiply(ctx, m, C));
    if (square) {
        for (size_t k = 0; k < N; k++) /* w is free again: for v in the order of the points */
            memcpy(m->w + k * C, v + kb_sample_of(m->r, k) * C, C * sizeof(double));
        TRY(kb_sums(ctx, N, C, m->w, m->out, square));
    }
    for (size_t k = 0; out && k < N; k++)
        memcpy(out + kb_sample_of(m->r, k) * C, m->out + k * C, C * sizeof(double));
done:
    return status;
}

static kb_status blockmap_apply(kb_operator *self, kb_context *ctx, size_t C, const double *w,
                                double *out) {
    kb_status status;
    blockmap *m = (blockmap *)self;
    size_t N = self->rows;
    TRY(kb_reserve(ctx, N * C, sizeof(double), &m->w_room, &m->w));
    kb_transpose(N, C, w, m->w);
    TRY(multiply(ctx, m, C));
    for (size_t k = 0; k < N; k++)
        memcpy(out + kb_sample_of(m->r, k) * C, m->out + k * C, C * sizeof(double));
done:
    return status;
}

static kb_status blockmap_apply_t(kb_operator *self, kb_context *ctx, size_t C, const double *v,
                                  double *out) {
    (void)ctx;
    for (size_t k = 0; k < self->rows; k++)
        memcpy(out + k * C, v + kb_sample_of(((blockmap *)self)->r, k) * C, C * sizeof(double));
    return KB_OK;
}

static void blockmap_release(kb_operator *self) {
    blockmap *m = (blockmap *)self;
    void *all[] = {m->tiles, m->stored, m->place, m->scratch, m->w, m->out};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kb_allocator_release(self->allocator, all[i]);
}

/* ---- filling blocks ---------------------------------------------------- */

static double *block_of(const kb_filling *f, size_t block) {
    return f->out + (f->place ? f->place[block] : 0);
}

static void fill_tiles(void *arg, int me, int threads) {
    kb_filling *f = arg;
    double *scratch = f->scratch + (size_t)me * kb_blocks_scratch();
    for (size_t k = (size_t)me; k < f->count && !kb_interrupt_asked(&f->interrupt, me);
         k += (size_t)threads) {
        const kb_block_tile *t = &f->tiles[k];
        size_t begin = f->r->start[t->block], n = kb_block_size(f->r, t->block),
               row = t->first - begin;
        kb_kernel_block(f->r->kernel, f->r->tiles, f->r->points, t->first, t->rows, f->r->points,
                        begin, row + t->rows, scratch, block_of(f, t->block) + row * n, n);
    }
}

kb_status kb_fill_tiles(kb_context *ctx, kb_filling *f) {
    f->interrupt = (kb_interrupt){.ctx = ctx};
    kb_team_run(ctx, f->count < 2, fill_tiles, f);
    return kb_interrupt_status(&f->interrupt);
}

static void mirror_tiles(void *arg, int me, int threads) {
    kb_filling *f = arg;
    for (size_t k = (size_t)me; k < f->count && !kb_interrupt_asked(&f->interrupt, me);
         k += (size_t)threads) {
        const kb_block_tile *t = &f->tiles[k];
        size_t n = kb_block_size(f->r, t->block), row = t->first - f->r->start[t->block];
        double *K = block_of(f, t->block);
        for (size_t i = row + t->rows; i < n; i++)
            for (size_t j = row; j < row + t->rows; j++)
                K[j * n + i] = K[i * n + j];
    }
}

static kb_status store(kb_context *ctx, blockmap *m) {
    kb_status status;
    TRY(kb_alloc(ctx, m->place[m->r->blocks], sizeof(double), &m->stored));
    size_t round = 16 * (size_t)ctx->threads;
    for (size_t first = 0; first < m->count; first += round) {
        size_t count = m->count - first < round ? m->count - first : round;
        kb_filling f = {m->r,      m->tiles + first, count,       m->place,
                        m->stored, m->scratch,       {.ctx = ctx}};
        TRY(kb_fill_tiles(ctx, &f));
        TRY(kb_progress(ctx, "bin", (double)(first + count) / (double)m->count));
    }
    kb_filling f = {m->r, m->tiles, m->count, m->place, m->stored, m->scratch, {.ctx = ctx}};
    kb_team_run(ctx, m->count < 2, mirror_tiles, &f);
    TRY(kb_interrupt_status(&f.interrupt));
done:
    return status;
}

/* How many numbers all blocks have; `place` may be NULL.  A double, since it may exceed a
 * size_t. */
static double place_blocks(const kb_rival *r, size_t *place) {
    double sum = 0;
    for (size_t b = 0; b <= r->blocks; b++) {
        if (place)
            place[b] = sum < 1e18 ? (size_t)sum : SIZE_MAX;
        if (b < r->blocks)
            sum += (double)kb_block_size(r, b) * (double)kb_block_size(r, b);
    }
    return sum;
}

kb_status kb_blocks_scratch_for(kb_context *ctx, double **out) {
    return kb_alloc(ctx, (size_t)ctx->threads * kb_blocks_scratch(), sizeof(double), out);
}

kb_status kb_blocks_operator(kb_context *ctx, const kb_rival *r, size_t room, kb_operator **out) {
    kb_status status;
    blockmap *m;
    *out = NULL;
    TRY(kb_zalloc(ctx, 1, sizeof *m, &m));
    m->op = (kb_operator){
        .allocator = kb_allocator_of(ctx),
        .rows = r->columns,
        .columns = r->columns,
        .apply_k = blockmap_apply_k,
        .apply = blockmap_apply,
        .apply_t = blockmap_apply_t,
        .release = blockmap_release,
    };
    m->r = r;
    TRY(kb_alloc(ctx, r->blocks + 1, sizeof *m->place, &m->place));
    TRY(kb_block_tiles(ctx, r->blocks, r->start, &m->tiles, &m->count));
    TRY(kb_blocks_scratch_for(ctx, &m->scratch));
    if (8 * place_blocks(r, m->place) <= (double)room)
        TRY(store(ctx, m));
    *out = &m->op;
done:
    if (status != KB_OK)
        kb_operator_free(m ? &m->op : NULL);
    return status;
}

/* ---- decisions --------------------------------------------------------- */

typedef struct deciding {
    const kb_rival *r;
    size_t C;
    double *w;       /* C x D */
    double *scratch; /* for each thread */
    double *some;    /* decisions of a span, block after block */
    uint32_t *block, *order;
    size_t *start; /* blocks + 1 */
} deciding;

/* The block of every row of the span, and its rows block after block (a counting sort). */
static void sort_rows(const deciding *d, const kb_points *p, size_t begin) {
    memset(d->start, 0, (d->r->blocks + 1) * sizeof *d->start);
    for (size_t i = 0; i < p->rows; i++) {
        d->block[i] = (uint32_t)kb_block_tree_find(d->r, p, i);
        d->start[d->block[i] + 1]++;
    }
    for (size_t b = 0; b < d->r->blocks; b++)
        d->start[b + 1] += d->start[b];
    for (size_t i = 0; i < p->rows; i++)
        d->order[d->start[d->block[i]]++] = (uint32_t)(begin + i);
    for (size_t b = d->r->blocks; b > 0; b--)
        d->start[b] = d->start[b - 1];
    d->start[0] = 0;
}

static kb_status decide_span(kb_context *ctx, const deciding *d, const kb_data *data, size_t begin,
                             size_t rows, double *out) {
    kb_status status;
    kb_metric metric = kb_rival_metric(d->r);
    kb_points *points = NULL;
    kb_block_tile *tiles = NULL;
    size_t count;
    TRY(kb_points_build(ctx, &metric, data, begin, rows, NULL, &points));
    sort_rows(d, points, begin);
    kb_points_free(points);
    points = NULL;
    TRY(kb_points_build(ctx, &metric, data, 0, rows, d->order, &points));
    TRY(kb_block_tiles(ctx, d->r->blocks, d->start, &tiles, &count));
    sweep s = {.r = d->r,
               .a = points,
               .tiles = tiles,
               .count = count,
               .C = d->C,
               .w = d->w,
               .out = d->some,
               .scratch = d->scratch,
               .interrupt = {.ctx = ctx}};
    kb_team_run(ctx, count < 2, sweep_tiles, &s);
    TRY(kb_interrupt_status(&s.interrupt));
    for (size_t k = 0; k < rows; k++)
        memcpy(out + d->order[k] * d->C, d->some + k * d->C, d->C * sizeof *out);
done:
    kb_points_free(points);
    kb_release(ctx, tiles);
    return status;
}

kb_status kb_blocks_decide(kb_context *ctx, const kb_rival *r, const kb_data *data, size_t C,
                           const double *w, double *out) {
    kb_status status;
    size_t N = data->rows, span = KB_SPAN;
    deciding d = {.r = r, .C = C};
    TRY(kb_alloc(ctx, r->columns * C, sizeof(double), &d.w));
    TRY(kb_alloc(ctx, span * C, sizeof(double), &d.some));
    TRY(kb_alloc(ctx, span, sizeof *d.block, &d.block));
    TRY(kb_alloc(ctx, span, sizeof *d.order, &d.order));
    TRY(kb_alloc(ctx, r->blocks + 1, sizeof *d.start, &d.start));
    TRY(kb_blocks_scratch_for(ctx, &d.scratch));
    kb_transpose(r->columns, C, w, d.w);
    for (size_t begin = 0; begin < N; begin += span) {
        size_t rows = N - begin < span ? N - begin : span;
        TRY(decide_span(ctx, &d, data, begin, rows, out));
        TRY(kb_progress(ctx, "predict", (double)(begin + rows) / (double)N));
    }
done:
    kb_release(ctx, d.w);
    kb_release(ctx, d.some);
    kb_release(ctx, d.block);
    kb_release(ctx, d.order);
    kb_release(ctx, d.start);
    kb_release(ctx, d.scratch);
    return status;
}

size_t kb_blocks_row_scratch(void) {
    return kb_kernel_scratch() + PIECE;
}

void kb_blocks_decide_row(const kb_rival *r, const kb_points *p, size_t C, const double *w,
                          double *scratch, double *out) {
    kb_block_tile tile = {kb_block_tree_find(r, p, 0), 0, 1};
    sweep s = {.r = r, .a = p, .C = C, .w = w, .out = out};
    sweep_tile(&s, &tile, scratch);
}
