/*
 * cholesky.c - see cholesky.h.
 *
 * Right-looking by blocks of columns:  factor the block on the diagonal; solve for the rows
 * below it, sixteen at a time; take the product of those rows off the rest, by tiles.
 */
#include "simd/cholesky.h"
#include "core/team.h"

#include <math.h>
#include <string.h>

/* Columns of a block, and rows that a thread takes at a time: whole groups of both operands. */
enum { BLOCK = 128, UNIT = 48 };

typedef struct factoring {
    kb_context *ctx;
    const kb_tiles *tiles;
    kb_triangle *t;
    double drop;
    size_t rank;
    double *a, *b; /* the rows below the block, packed as either operand; a is negated */
    kb_interrupt interrupt;
} factoring;

double kb_cholesky_bytes(size_t n) {
    return 2 * 8.0 * BLOCK * (double)(n + UNIT);
}

/* The block of `n` columns from j on: each column is taken off the rest as soon as it is final, so
 * that the products of a row are independent of each other. */
static void factor_diagonal(factoring *f, size_t j, size_t n) {
    size_t ld = f->t->n;
    double *A = f->t->L + j * ld + j, column[BLOCK];
    for (size_t k = 0; k < n; k++) {
        double pivot = A[k * ld + k], *inverse = &f->t->inverse[j + k];
        int keep = pivot > f->drop;
        *inverse = keep ? 1 / sqrt(pivot) : 0;
        A[k * ld + k] = keep ? sqrt(pivot) : 0;
        f->rank += (size_t)keep;
        for (size_t i = k + 1; i < n; i++)
            column[i] = A[i * ld + k] *= *inverse;
        for (size_t i = k + 1; i < n; i++) {
            double *row = A + i * ld, factor = column[i];
            for (size_t m = k + 1; m <= i; m++)
                row[m] -= factor * column[m];
        }
    }
}

/* Rows first .. first + rows below the block of n columns at j; `at` is their place in a and b. */
static void solve_unit(factoring *f, size_t j, size_t n, size_t first, size_t rows, size_t at) {
    size_t ld = f->t->n;
    double *A = f->t->L;
    for (size_t g = 0; g < UNIT; g += KB_TILE_COLUMNS) {
        double *b = f->b + (at + g) * n;
        memset(b, 0, KB_TILE_COLUMNS * n * sizeof *b);
        size_t left = g < rows ? rows - g : 0;
        left = left < KB_TILE_COLUMNS ? left : KB_TILE_COLUMNS;
        for (size_t i = 0; i < left; i++)
            for (size_t k = 0; k < n; k++)
                b[k * KB_TILE_COLUMNS + i] = A[(first + g + i) * ld + j + k];
        f->tiles->substitute(n, A + j * ld + j, ld, f->t->inverse + j, b);
        for (size_t i = 0; i < left; i++)
            for (size_t k = 0; k < n; k++)
                A[(first + g + i) * ld + j + k] = b[k * KB_TILE_COLUMNS + i];
    }
    for (size_t i = 0; i < UNIT; i++) {
        double *a = f->a + (at + i / KB_TILE_ROWS * KB_TILE_ROWS) * n + i % KB_TILE_ROWS;
        for (size_t k = 0; k < n; k++)
            a[k * KB_TILE_ROWS] = i < rows ? -A[(first + i) * ld + j + k] : 0;
    }
}

/* One tile that may stick out of the matrix. */
static void update_tile(const factoring *f, size_t n, size_t row, size_t column, const double *a,
                        const double *b) {
    size_t N = f->t->n;
    double *c = f->t->L + row * N + column;
    if (row + KB_TILE_ROWS <= N && column + KB_TILE_COLUMNS <= N) {
        f->tiles->tile(KB_PAIR_PRODUCT, n, a, b, c, N);
        return;
    }
    double edge[KB_TILE_ROWS * KB_TILE_COLUMNS] = {0};
    size_t rows = row < N ? N - row : 0, columns = N - column;
    rows = rows < KB_TILE_ROWS ? rows : KB_TILE_ROWS;
    columns = columns < KB_TILE_COLUMNS ? columns : KB_TILE_COLUMNS;
    for (size_t i = 0; i < rows; i++)
        memcpy(edge + i * KB_TILE_COLUMNS, c + i * N, columns * sizeof *c);
    f->tiles->tile(KB_PAIR_PRODUCT, n, a, b, edge, KB_TILE_COLUMNS);
    for (size_t i = 0; i < rows; i++)
        memcpy(c + i * N, edge + i * KB_TILE_COLUMNS, columns * sizeof *c);
}

/* A -= the product, for the rows of a unit and the columns up to its end. */
static void update_unit(const factoring *f, size_t n, size_t below, size_t unit) {
    size_t N = f->t->n, end = unit + UNIT < N - below ? unit + UNIT : N - below;
    for (size_t g = 0; g < end; g += KB_TILE_COLUMNS)
        for (size_t i = unit; i < end; i += KB_TILE_ROWS)
            if (g < i + KB_TILE_ROWS)
                update_tile(f, n, below + i, below + g, f->a + i * n, f->b + g * n);
}

static void factor_all(void *arg, int me, int threads) {
    factoring *f = arg;
    size_t N = f->t->n, step = (size_t)threads * UNIT;
    for (size_t j = 0; j < N; j += BLOCK) {
        size_t n = N - j < BLOCK ? N - j : BLOCK, below = j + n;
        if (me == 0 && !kb_interrupt_asked(&f->interrupt, me))
            factor_diagonal(f, j, n);
        kb_team_meet(f->ctx, me, threads);
        for (size_t u = (size_t)me * UNIT; below + u < N && !kb_interrupt_asked(&f->interrupt, me);
             u += step)
            solve_unit(f, j, n, below + u, N - below - u < UNIT ? N - below - u : UNIT, u);
        kb_team_meet(f->ctx, me, threads);
        for (size_t u = (size_t)me * UNIT; below + u < N && !kb_interrupt_asked(&f->interrupt, me);
             u += step)
            update_unit(f, n, below, u);
        kb_team_meet(f->ctx, me, threads);
    }
}

kb_status kb_cholesky(kb_context *ctx, const kb_tiles *tiles, kb_triangle *t, double drop,
                      size_t *rank) {
    kb_status status;
    factoring f = {.ctx = ctx, .tiles = tiles, .t = t, .drop = drop, .interrupt = {.ctx = ctx}};
    size_t each = (t->n + UNIT) * BLOCK;
    double *memory;
    TRY(kb_alloc(ctx, 2 * each + KB_LINE, sizeof(double), &memory));
    f.a = kb_aligned(memory);
    f.b = f.a + each;
    kb_team_run(ctx, t->n < 2 * BLOCK, factor_all, &f);
    *rank = f.rank;
    TRY(kb_interrupt_status(&f.interrupt));
done:
    kb_release(ctx, memory);
    return status;
}

typedef struct substitution {
    const kb_tiles *tiles;
    const kb_triangle *t;
    double *y;
    kb_interrupt interrupt;
} substitution;

/* Rows of the triangle between two questions whether to stop. */
enum { ROWS_AT_ONCE = 256 };

/* The first piece is the caller's. */
static int is_to_stop(substitution *s, size_t first, size_t k) {
    return k % ROWS_AT_ONCE == 0 && kb_interrupt_asked(&s->interrupt, first != 0);
}

static void forward(void *arg, size_t first, size_t last) {
    substitution *s = arg;
    size_t n = s->t->n;
    for (size_t c = first; c < last; c++)
        for (size_t k = 0; k < n && !is_to_stop(s, first, k); k++) {
            kb_rows row = {.rows = 1, .columns = k, .ld = n, .d = s->t->L + k * n};
            double *y = s->y + c * n, sum = 0;
            s->tiles->times(&row, 1, y, n, &sum, 1);
            y[k] = (y[k] - sum) * s->t->inverse[k];
        }
}

static void backward(void *arg, size_t first, size_t last) {
    substitution *s = arg;
    size_t n = s->t->n;
    for (size_t c = first; c < last; c++)
        for (size_t k = n; k-- > 0 && !is_to_stop(s, first, k);) {
            kb_rows row = {.rows = 1, .columns = k, .ld = n, .d = s->t->L + k * n};
            double *y = s->y + c * n, minus;
            y[k] *= s->t->inverse[k];
            minus = -y[k];
            s->tiles->times_t(&row, 1, &minus, 1, y, n);
        }
}

kb_status kb_triangle_forward(kb_context *ctx, const kb_tiles *tiles, const kb_triangle *t,
                              size_t C, double *y) {
    substitution s = {tiles, t, y, {.ctx = ctx}};
    kb_team_for(ctx, C, KB_WORTH_A_THREAD / (t->n * t->n + 1) + 1, forward, &s);
    return kb_interrupt_status(&s.interrupt);
}

kb_status kb_triangle_backward(kb_context *ctx, const kb_tiles *tiles, const kb_triangle *t,
                               size_t C, double *y) {
    substitution s = {tiles, t, y, {.ctx = ctx}};
    kb_team_for(ctx, C, KB_WORTH_A_THREAD / (t->n * t->n + 1) + 1, backward, &s);
    return kb_interrupt_status(&s.interrupt);
}

void kb_transpose(size_t rows, size_t columns, const double *from, double *to) {
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            to[j * rows + i] = from[i * columns + j];
}
