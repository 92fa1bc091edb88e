/*
 * fourier.c - random Fourier features (Rahimi and Recht 2007): by Bochner's theorem a kernel is the
 * mean of cos(w'(x - y)) over frequencies w of its spectrum, and so
 * E [2 cos(w'x + b) cos(w'y + b)] = k(x, y) for a uniform phase b.
 *
 *   laplace       Cauchy in every feature: the ratio of the coordinates of a point in the disc.
 *   gauss         normal, by Marsaglia's polar method.
 *   exponential   multivariate Cauchy: normals over the size of one more normal.
 *   the others    a convex kernel is a mixture of triangles max(0, 1 - t/delta) with the law of
 *                 the bin widths delta (law.h), and the spectrum of a triangle is Fejer's:
 *                 u = w delta / 2 has the density (sin u / u)^2 / pi, which lies under
 *                 min(1, 1/u^2) / pi: half of that is uniform on (-1, 1), half 1/uniform.
 *
 * Frequencies are kept in turns, w / 2 pi, and for sigma = 1.
 */
#include "rivals/rival_parts.h"
#include "core/fixed_math.h"

#include <math.h>
#include <string.h>

static const double PI = 0x1.921fb54442d18p+1;

/* Columns and features of a tile at a time. */
enum { COLUMNS = 256, DEPTH = 128 };

/* The number of the draw for the one normal that belongs to no feature. */
static const uint32_t NO_FEATURE = UINT32_MAX;

typedef struct draw {
    uint64_t seed, cosine;
    uint32_t feature;
} draw;

static kb_uniform2 attempt(const draw *d, uint64_t k) {
    return kb_random_uniform(d->seed, KB_STREAM_FREQUENCY, d->cosine | k << 40, d->feature);
}

/* A uniform point of the disc; its squared radius. */
static double disc(const draw *d, double *x, double *y) {
    for (uint64_t k = 0;; k++) {
        kb_uniform2 u = attempt(d, k);
        *x = 2 * u.u - 1;
        *y = 2 * u.v - 1;
        double square = *x * *x + *y * *y;
        if (square < 1 && *y != 0)
            return square;
    }
}

static double normal(const draw *d) {
    double x, y, s = disc(d, &x, &y);
    return x * sqrt(-2 * kb_log_fixed(s) / s);
}

static double cauchy(const draw *d) {
    double x, y;
    disc(d, &x, &y);
    return x / y;
}

/* sin u, to float. */
static double sine(const kb_tiles *tiles, double u) {
    double turn = u / (2 * PI) - 0.25;
    float out;
    tiles->cosines(1, &turn, 1, &out);
    return (double)out;
}

static double fejer(const kb_tiles *tiles, const draw *d) {
    for (uint64_t k = 0;; k++) {
        kb_uniform2 u = attempt(d, k);
        if (u.u < 0.5) {
            double x = 4 * u.u - 1, s = x == 0 ? 1 : sine(tiles, x) / x;
            if (u.v < s * s)
                return x;
        } else {
            double y = 4 * u.u - 3, s = y == 0 ? 0 : sine(tiles, 1 / y);
            if (u.v < s * s)
                return 1 / y;
        }
    }
}

/* A frequency of one feature, for sigma = 1. */
static double frequency(const kb_tiles *tiles, const kb_kernel *kernel, const draw *d) {
    if (kb_kernel_is_isotropic(kernel))
        return normal(d);
    if (kernel->law->kind == KB_KERNEL_LAPLACE)
        return cauchy(d);
    kb_uniform2 u = kb_random_uniform(d->seed, KB_STREAM_WIDTH, d->cosine, d->feature);
    return 2 * fejer(tiles, d) / kb_law_width(kernel->law, u);
}

static void draw_cosine(const kb_rival_spec *spec, const kb_kernel *kernel, kb_rival *r, size_t c) {
    draw d = {spec->seed, c, NO_FEATURE};
    double all = kernel->kind == KB_KERNEL_EXPONENTIAL ? fabs(normal(&d)) : 1;
    for (size_t j = 0; j < r->features; j++) {
        d.feature = (uint32_t)j;
        *kb_fourier_at(r, c, j) = frequency(r->tiles, kernel, &d) / (all * 2 * PI);
    }
    r->phase[c] = kb_random_uniform(spec->seed, KB_STREAM_PHASE, c, 0).u;
}

kb_status kb_fourier_allocate(kb_context *ctx, kb_rival *r) {
    kb_status status;
    size_t padded = kb_fourier_padded(r->columns);
    if (r->features && padded > (SIZE_MAX / 8 - KB_LINE) / r->features)
        TRY(kb_fail(ctx, KB_ERR_MEMORY, "out of memory: %zu x %zu frequencies", r->columns,
                    r->features));
    TRY(kb_zalloc(ctx, r->features * padded + KB_LINE, sizeof(double), &r->memory));
    TRY(kb_zalloc(ctx, padded, sizeof(double), &r->phase));
    r->frequency = kb_aligned(r->memory);
done:
    return status;
}

kb_status kb_fourier_build(kb_context *ctx, const kb_rival_spec *spec, const kb_kernel *kernel,
                           kb_rival *r) {
    r->columns = spec->rank;
    kb_status status = kb_fourier_allocate(ctx, r);
    for (size_t c = 0; status == KB_OK && c < spec->rank; c++)
        draw_cosine(spec, kernel, r, c);
    return status;
}

/* ---- rows -------------------------------------------------------------- */

size_t kb_fourier_scratch(const kb_rival *r) {
    size_t dense = KB_TILE * (r->features + COLUMNS), thin = kb_fourier_padded(r->columns);
    return KB_LINE + (dense > thin ? dense : thin);
}

/* Turns of `columns` cosines from `first` on for the packed rows: c is KB_TILE x COLUMNS. */
static void turn(const kb_rival *r, size_t first, size_t columns, size_t rows, const double *a,
                 double *c) {
    size_t d = r->features, groups = (rows + KB_TILE_ROWS - 1) / KB_TILE_ROWS;
    for (size_t i = 0; i < groups * KB_TILE_ROWS; i++)
        memcpy(c + i * COLUMNS, r->phase + first, columns * sizeof *c);
    for (size_t k = 0; k < d; k += DEPTH, a += groups * KB_TILE_ROWS * DEPTH) {
        size_t K = d - k < DEPTH ? d - k : DEPTH;
        for (size_t j = 0; j < columns; j += KB_TILE_COLUMNS)
            for (size_t g = 0; g < groups; g++)
                r->tiles->tile(KB_PAIR_PRODUCT, K, a + g * KB_TILE_ROWS * K,
                               kb_fourier_at(r, first + j, k), c + g * KB_TILE_ROWS * COLUMNS + j,
                               COLUMNS);
    }
}

static void rows_by_tiles(const kb_rival *r, const kb_points *p, size_t first, size_t rows,
                          double *scratch, float *out) {
    size_t d = r->features, R = r->columns;
    size_t padded = (rows + KB_TILE_ROWS - 1) / KB_TILE_ROWS * KB_TILE_ROWS;
    double *c = kb_aligned(scratch), *a = c + KB_TILE * COLUMNS, factor = sqrt(2 / (double)R);
    for (size_t k = 0; k < d; k += DEPTH)
        kb_points_pack(p, first, rows, KB_TILE_ROWS, k, d - k < DEPTH ? d - k : DEPTH,
                       a + padded * k);
    for (size_t j = 0; j < R; j += COLUMNS) {
        size_t columns = R - j < COLUMNS ? R - j : COLUMNS;
        turn(r, j, kb_fourier_padded(columns), rows, a, c);
        for (size_t i = 0; i < rows; i++)
            r->tiles->cosines(columns, c + i * COLUMNS, factor, out + i * R + j);
    }
}

/* Rows with few entries cost time in proportion to their entries. */
static void rows_by_entries(const kb_rival *r, const kb_points *p, size_t first, size_t rows,
                            double *turns, float *out) {
    size_t R = r->columns, padded = kb_fourier_padded(R);
    for (size_t i = first; i < first + rows; i++) {
        size_t begin = p->row_start[i], n = p->row_start[i + 1] - begin;
        memcpy(turns, r->phase, padded * sizeof *turns);
        for (size_t c = 0; c < padded; c += KB_TILE_COLUMNS)
            r->tiles->entries(n, p->column + begin, p->value + begin, kb_fourier_at(r, c, 0),
                              turns + c);
        r->tiles->cosines(R, turns, sqrt(2 / (double)R), out + (i - first) * R);
    }
}

/* Where a sparse row's empty places are not 0 they cost as much as a dense row's. */
static int zeros_are_zero(const kb_points *p) {
    for (size_t j = 0; j < p->features; j++)
        if (p->zero[j] != 0)
            return 0;
    return 1;
}

void kb_fourier_rows(const kb_rival *r, const kb_points *p, size_t first, size_t rows,
                     double *scratch, float *out) {
    if (kb_points_thin(p) && zeros_are_zero(p))
        rows_by_entries(r, p, first, rows, scratch, out);
    else
        rows_by_tiles(r, p, first, rows, scratch, out);
}
