/* joined_operator.c - see joined_operator.h. */
#include "joined/joined_operator.h"
#include "core/team.h"
#include "joined/halves.h"
#include "features/slices.h"
#include "ranks/ranks.h"

#include <math.h>
#include <string.h>

/* Bins that are squared and added up in order by one thread. */
enum { BLOCK = 256 };
/* Columns of V or W at a time: each takes two of the slices'. */
enum { MOST = KB_PANEL / 2 };
/* Slices are made for 1, 2 and 4 columns. */
enum { SIZES = 3 };

typedef struct joined {
    kb_operator op; /* first: the two are cast into each other */
    const kb_binmat *z;
    kb_slices *slices[SIZES];
    int32_t *in, *out; /* N x KB_PANEL: a panel in units, and what a slice makes of it */
    int64_t *sum;      /* N x MOST: over all slices */
    int32_t *step;     /* bins of a slice x KB_PANEL */
    size_t step_room;
    double *square; /* blocks of a slice x MOST */
    size_t square_room;
    double *largest; /* threads x MOST */
} joined;

/* One panel of columns of a product. */
typedef struct panel {
    kb_context *ctx;
    joined *op;
    kb_slices *slices;
    size_t C, first, columns; /* of the arrays; from column `first` on; 1, 2 or 4, of which */
    size_t used;              /* so many are there */
    const double *v;          /* N x C, or NULL */
    const double *w;          /* D x C, or NULL: then v */
    double *rows, *bins;      /* N x C, D x C: what is wanted */
    double *squares;          /* C, or NULL: |Z'v|^2 */
    double unit[MOST];        /* of v or w */
    double slice_unit[MOST];  /* of what is spread now */
} panel;

/* ---- numbers in units -------------------------------------------------- */

/* So many that the sum of the grids fits. */
static int bits_for_grids(size_t grids) {
    int bits = 62;
    while (grids > 0) {
        grids /= 2;
        bits--;
    }
    return bits < KB_HALVES_BITS ? bits : KB_HALVES_BITS;
}

/* The largest size of each column; INFINITY where one is no number. */
static void find_most(size_t count, size_t C, size_t first, size_t used, const double *x,
                      double *most) {
    memset(most, 0, MOST * sizeof *most);
    for (size_t i = 0; i < count; i++)
        for (size_t c = 0; c < used; c++) {
            double size = fabs(x[i * C + first + c]);
            if (!(size <= most[c]))
                most[c] = isnan(size) ? INFINITY : size;
        }
}

typedef struct looking {
    panel *p;
    const double *x;
    size_t count;
} looking;

static void look(void *arg, int me, int threads) {
    const looking *a = arg;
    panel *p = a->p;
    size_t begin = kb_share(a->count, me, threads), end = kb_share(a->count, me + 1, threads);
    find_most(end - begin, p->C, p->first, p->used, a->x + begin * p->C,
              p->op->largest + (size_t)me * MOST);
}

/* The units of v, of all ranks, or of w, which all have. */
static kb_status find_units(panel *p) {
    kb_status status = KB_OK;
    double most[MOST] = {0};
    int bits = p->w ? bits_for_grids(p->op->z->grids) : KB_HALVES_BITS;
    looking a = {.p = p, .x = p->w ? p->w : p->v};
    a.count = p->w ? p->op->op.columns : p->op->op.rows;
    size_t each = (size_t)p->ctx->threads * MOST;
    memset(p->op->largest, 0, each * sizeof *p->op->largest);
    kb_team_run(p->ctx, a.count < KB_WORTH_A_THREAD, look, &a);
    for (size_t e = 0; e < each; e++)
        most[e % MOST] = fmax(most[e % MOST], p->op->largest[e]);
    if (!p->w)
        TRY(kb_ranks_most(p->ctx, most, MOST));
    for (size_t c = 0; c < MOST; c++)
        p->unit[c] = kb_halves_unit(most[c], bits);
done:
    return status;
}

/* Rows of v in units, side by side. */
static void take_rows(panel *p, size_t begin, size_t end) {
    double per[MOST];
    for (size_t c = 0; c < p->columns; c++)
        per[c] = c < p->used ? kb_halves_per_unit(p->unit[c]) : 0;
    for (size_t i = begin; i < end; i++)
        for (size_t c = 0; c < p->columns; c++)
            kb_halves_split(per[c] > 0 ? kb_halves_whole(p->v[i * p->C + p->first + c], per[c]) : 0,
                            p->op->in + (i * p->columns + c) * 2);
}

/* ---- one slice --------------------------------------------------------- */

/* The sums of this thread's blocks of bins to where they are wanted. */
static void keep_sums(panel *p, size_t k, const int64_t *S, int me, int threads) {
    size_t bins = kb_slice_bins(p->slices, k), first = kb_slice_first(p->slices, k);
    size_t blocks = (bins + BLOCK - 1) / BLOCK;
    double value = kb_bin_value(p->op->z->R), most[MOST] = {0};
    for (size_t B = kb_share(blocks, me, threads); B < kb_share(blocks, me + 1, threads); B++) {
        double square[MOST] = {0};
        for (size_t b = B * BLOCK; b < bins && b < (B + 1) * BLOCK; b++)
            for (size_t c = 0; c < p->used; c++) {
                double x = kb_halves_value(S + (b * p->columns + c) * 2) * p->unit[c] * value;
                square[c] += x * x;
                most[c] = fmax(most[c], fabs(x));
                if (p->bins)
                    p->bins[(first + b) * p->C + p->first + c] = x;
            }
        memcpy(p->op->square + B * MOST, square, sizeof square);
    }
    memcpy(p->op->largest + (size_t)me * MOST, most, sizeof most);
}

static void add_squares(panel *p, size_t k) {
    size_t blocks = (kb_slice_bins(p->slices, k) + BLOCK - 1) / BLOCK;
    for (size_t B = 0; p->squares && B < blocks; B++)
        for (size_t c = 0; c < p->used; c++)
            p->squares[p->first + c] += p->op->square[B * MOST + c];
}

/* What the bins of a slice give back to the rows, in units of their own: from the sums, or from w.
 */
static void take_bins(panel *p, size_t k, const int64_t *S, int me, int threads) {
    size_t bins = kb_slice_bins(p->slices, k), first = kb_slice_first(p->slices, k);
    double value = kb_bin_value(p->op->z->R), per[MOST];
    for (size_t c = 0; c < p->columns; c++)
        per[c] = c < p->used ? kb_halves_per_unit(p->slice_unit[c]) : 0;
    for (size_t b = kb_share(bins, me, threads); b < kb_share(bins, me + 1, threads); b++)
        for (size_t c = 0; c < p->columns; c++) {
            size_t e = b * p->columns + c;
            double x = 0;
            if (per[c] > 0)
                x = S ? kb_halves_value(S + e * 2) * p->unit[c] * value
                      : p->w[(first + b) * p->C + p->first + c];
            kb_halves_split(kb_halves_whole(x, per[c]), p->op->step + e * 2);
        }
}

/* The rows' share of a slice, which has `value` for each bin, is added to the result: with w in
 * whole numbers, whose unit is that of all slices. */
static void add_rows(panel *p, int first, size_t begin, size_t end) {
    double value = kb_bin_value(p->op->z->R);
    for (size_t i = begin; i < end; i++)
        for (size_t c = 0; c < p->used; c++) {
            const int32_t *half = p->op->out + (i * p->columns + c) * 2;
            int64_t x = kb_halves_join(half);
            int64_t *sum = p->op->sum + i * MOST + c;
            double *out = p->rows + i * p->C + p->first + c;
            if (p->w)
                *sum = first ? x : *sum + x;
            else
                *out = (first ? 0 : *out) + (double)x * p->slice_unit[c] * value;
        }
}

static void finish_rows(panel *p, size_t begin, size_t end) {
    double value = kb_bin_value(p->op->z->R);
    for (size_t i = begin; i < end; i++)
        for (size_t c = 0; c < p->used; c++)
            p->rows[i * p->C + p->first + c] =
                (double)p->op->sum[i * MOST + c] * p->slice_unit[c] * value;
}

/* The units of a slice's sums. */
static void find_slice_units(panel *p, int threads) {
    for (size_t c = 0; c < MOST; c++) {
        double most = 0;
        for (int t = 0; t < threads; t++)
            most = fmax(most, p->op->largest[(size_t)t * MOST + c]);
        p->slice_unit[c] = kb_halves_unit(most, KB_HALVES_BITS);
    }
}

static void run_slices(void *arg, int me, int threads) {
    panel *p = arg;
    size_t N = p->op->op.rows, begin = kb_share(N, me, threads);
    size_t end = kb_share(N, me + 1, threads);
    if (!p->w)
        take_rows(p, begin, end);
    kb_team_meet(p->ctx, me, threads);
    for (size_t k = 0; k < kb_slices_count(p->slices); k++) {
        const int64_t *S = NULL;
        if (!p->w) {
            S = kb_slice_sum(p->slices, k, p->op->in, me, threads);
            keep_sums(p, k, S, me, threads);
            kb_team_meet(p->ctx, me, threads);
            if (me == 0) {
                add_squares(p, k);
                find_slice_units(p, threads);
            }
            kb_team_meet(p->ctx, me, threads);
        }
        if (!p->rows)
            continue;
        take_bins(p, k, S, me, threads);
        kb_team_meet(p->ctx, me, threads);
        kb_slice_spread(p->slices, k, p->op->step, p->op->out, me, threads);
        add_rows(p, k == 0, begin, end);
        kb_team_meet(p->ctx, me, threads);
    }
    if (p->rows && p->w)
        finish_rows(p, begin, end);
}

/* ---- products ---------------------------------------------------------- */

static kb_status slices_for(kb_context *ctx, joined *op, size_t columns, kb_slices **out) {
    kb_status status = KB_OK;
    size_t size = columns == 1 ? 0 : columns == 2 ? 1 : 2;
    if (!op->slices[size])
        TRY(kb_slices_create(ctx, op->z, KB_BUNDLE, 2 * columns, &op->slices[size]));
    size_t most = kb_slices_most_bins(op->slices[size]);
    TRY(kb_reserve(ctx, most * KB_PANEL, sizeof *op->step, &op->step_room, &op->step));
    TRY(kb_reserve(ctx, (most / BLOCK + 1) * MOST, sizeof *op->square, &op->square_room,
                   &op->square));
    *out = op->slices[size];
done:
    return status;
}

static void fill_with_nan(panel *p) {
    for (size_t c = 0; c < p->used; c++) {
        if (!isnan(p->unit[c]))
            continue;
        for (size_t i = 0; p->rows && i < p->op->op.rows; i++)
            p->rows[i * p->C + p->first + c] = NAN;
        for (size_t b = 0; p->bins && b < p->op->op.columns; b++)
            p->bins[b * p->C + p->first + c] = NAN;
        if (p->squares)
            p->squares[p->first + c] = NAN;
    }
}

/* All columns, a panel at a time. */
static kb_status multiply(kb_context *ctx, panel *p) {
    kb_status status = KB_OK;
    p->ctx = ctx;
    if (p->squares)
        memset(p->squares, 0, p->C * sizeof *p->squares);
    for (p->first = 0; p->first < p->C; p->first += p->used) {
        size_t left = p->C - p->first;
        p->columns = left == 1 ? 1 : left == 2 ? 2 : MOST;
        p->used = left < p->columns ? left : p->columns;
        TRY(kb_ranks_agree(ctx, slices_for(ctx, p->op, p->columns, &p->slices)));
        TRY(find_units(p));
        if (p->w)
            memcpy(p->slice_unit, p->unit, sizeof p->unit);
        kb_team_run(ctx, 0, run_slices, p);
        TRY(kb_slices_status(p->slices));
        fill_with_nan(p);
    }
done:
    return status;
}

static kb_status apply_k(kb_operator *self, kb_context *ctx, size_t C, const double *v, double *out,
                         double *square) {
    panel p = {.op = (joined *)self, .C = C, .v = v, .rows = out, .squares = square};
    return multiply(ctx, &p);
}

static kb_status apply(kb_operator *self, kb_context *ctx, size_t C, const double *w, double *out) {
    panel p = {.op = (joined *)self, .C = C, .w = w, .rows = out};
    return multiply(ctx, &p);
}

static kb_status apply_t(kb_operator *self, kb_context *ctx, size_t C, const double *v,
                         double *out) {
    panel p = {.op = (joined *)self, .C = C, .v = v, .bins = out};
    return multiply(ctx, &p);
}

static void release(kb_operator *self) {
    joined *op = (joined *)self;
    void *all[] = {op->in, op->out, op->sum, op->step, op->square, op->largest};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kb_allocator_release(self->allocator, all[i]);
    for (size_t i = 0; i < SIZES; i++)
        kb_slices_free(op->slices[i]);
}

kb_status kb_operator_joined(kb_context *ctx, const kb_binmat *z, kb_operator **out) {
    kb_status status;
    joined *op;
    *out = NULL;
    TRY(kb_zalloc(ctx, 1, sizeof *op, &op));
    op->op = (kb_operator){.allocator = kb_allocator_of(ctx),
                           .rows = z->rows,
                           .columns = z->bins,
                           .apply_k = apply_k,
                           .apply = apply,
                           .apply_t = apply_t,
                           .release = release};
    op->z = z;
    *out = &op->op;
    TRY(kb_alloc(ctx, z->rows, KB_PANEL * sizeof *op->in, &op->in));
    TRY(kb_alloc(ctx, z->rows, KB_PANEL * sizeof *op->out, &op->out));
    TRY(kb_alloc(ctx, z->rows, MOST * sizeof *op->sum, &op->sum));
    TRY(kb_alloc(ctx, (size_t)ctx->threads * MOST, sizeof *op->largest, &op->largest));
done:
    if (status != KB_OK) {
        kb_operator_free(*out);
        *out = NULL;
    }
    return status;
}

kb_bytes kb_operator_joined_bytes(size_t grids) {
    double slice = fmin(1, (double)KB_BUNDLE / (double)grids);
    return (kb_bytes){.row = 2 * 4 * KB_PANEL + 8 * MOST, .bin = slice * (4 + 8 + 8) * KB_PANEL};
}
