/* tiles.c - see tiles.h. */
#include "simd/tiles.h"
#include "core/fixed_math.h"
#include "simd/level.h"

#include <math.h>
#include <string.h>
#if defined __AVX512F__ || defined __FMA__
#include <immintrin.h>
#endif

extern const kb_tiles KB_OF_LEVEL(kb_tiles);

/* The machine's own vector, and how many rows of a tile its registers hold. */
#if defined __AVX512F__
enum { WIDTH = 8, ROWS = 12 };
#elif defined __FMA__
enum { WIDTH = 4, ROWS = 3 };
#else
enum { WIDTH = 2, ROWS = 1 };
#endif
typedef double vec __attribute__((vector_size(8 * WIDTH)));
typedef int64_t bits __attribute__((vector_size(8 * WIDTH)));
typedef float narrow __attribute__((vector_size(4 * WIDTH)));

/* Sums run in eight chains on every level, so that their order is the same. */
enum { LANES = 8, PARTS = LANES / WIDTH, VECTORS = KB_TILE_COLUMNS / WIDTH };
typedef struct eight {
    vec part[PARTS];
} eight;

INLINE vec fused(vec x, vec y, vec z) {
#if defined __AVX512F__
    return (vec)_mm512_fmadd_pd((__m512d)x, (__m512d)y, (__m512d)z);
#elif defined __FMA__
    return (vec)_mm256_fmadd_pd((__m256d)x, (__m256d)y, (__m256d)z);
#else
    for (int k = 0; k < WIDTH; k++)
        z[k] = fma(x[k], y[k], z[k]);
    return z;
#endif
}

INLINE vec all(double x) {
    return x - (vec){0};
}

INLINE vec load(const double *p) {
    vec x;
    memcpy(&x, p, sizeof x);
    return x;
}

INLINE void store(double *p, vec x) {
    memcpy(p, &x, sizeof x);
}

INLINE vec magnitude(vec x) {
    return (vec)((bits)x & INT64_MAX);
}

INLINE vec choose(bits which, vec yes, vec no) {
    return (vec)(((bits)yes & which) | ((bits)no & ~which));
}

/* ---- tiles ------------------------------------------------------------- */

INLINE vec pair(kb_pairing pairing, vec x, vec y, vec c) {
    if (pairing == KB_PAIR_PRODUCT)
        return fused(x, y, c);
    vec t = x - y;
    if (pairing == KB_PAIR_SQUARE)
        return fused(t, t, c);
    t = magnitude(t);
    if (pairing == KB_PAIR_ABSOLUTE)
        return c + t;
    if (pairing == KB_PAIR_POWER)
        return c * (1 + t);
    vec k = 1 - t;
    return c * choose(k > 0, k, (vec){0});
}

INLINE void tile_as(kb_pairing pairing, size_t K, const double *a, const double *b, double *c,
                    size_t ldc) {
    for (size_t row = 0; row < KB_TILE_ROWS; row += ROWS, c += ROWS * ldc) {
        vec sum[ROWS][VECTORS];
        for (int i = 0; i < ROWS; i++)
            for (int v = 0; v < VECTORS; v++)
                sum[i][v] = load(c + (size_t)i * ldc + v * WIDTH);
        const double *x = a + row, *y = b;
        for (size_t k = 0; k < K; k++, x += KB_TILE_ROWS, y += KB_TILE_COLUMNS) {
            vec of_b[VECTORS];
            for (int v = 0; v < VECTORS; v++)
                of_b[v] = load(y + v * WIDTH);
#pragma GCC unroll 12
            for (int i = 0; i < ROWS; i++) {
                vec of_a = all(x[i]);
                for (int v = 0; v < VECTORS; v++)
                    sum[i][v] = pair(pairing, of_a, of_b[v], sum[i][v]);
            }
        }
        for (int i = 0; i < ROWS; i++)
            for (int v = 0; v < VECTORS; v++)
                store(c + (size_t)i * ldc + v * WIDTH, sum[i][v]);
    }
}

static void tile(kb_pairing pairing, size_t K, const double *a, const double *b, double *c,
                 size_t ldc) {
    switch (pairing) {
    case KB_PAIR_PRODUCT:
        tile_as(KB_PAIR_PRODUCT, K, a, b, c, ldc);
        break;
    case KB_PAIR_SQUARE:
        tile_as(KB_PAIR_SQUARE, K, a, b, c, ldc);
        break;
    case KB_PAIR_ABSOLUTE:
        tile_as(KB_PAIR_ABSOLUTE, K, a, b, c, ldc);
        break;
    case KB_PAIR_TRIANGLE:
        tile_as(KB_PAIR_TRIANGLE, K, a, b, c, ldc);
        break;
    case KB_PAIR_POWER:
        tile_as(KB_PAIR_POWER, K, a, b, c, ldc);
        break;
    }
}

static void entries(size_t n, const uint32_t *column, const double *value, const double *panel,
                    double *out) {
    vec sum[VECTORS];
    for (int v = 0; v < VECTORS; v++)
        sum[v] = load(out + v * WIDTH);
    for (size_t e = 0; e < n; e++) {
        const double *row = panel + (size_t)column[e] * KB_TILE_COLUMNS;
        for (int v = 0; v < VECTORS; v++)
            sum[v] = fused(all(value[e]), load(row + v * WIDTH), sum[v]);
    }
    for (int v = 0; v < VECTORS; v++)
        store(out + v * WIDTH, sum[v]);
}

static void substitute(size_t n, const double *L, size_t ld, const double *inverse, double *b) {
    for (size_t k = 0; k < n; k++) {
        double *at = b + k * KB_TILE_COLUMNS;
        vec sum[VECTORS];
        for (int v = 0; v < VECTORS; v++)
            sum[v] = load(at + v * WIDTH);
        for (size_t m = 0; m < k; m++) {
            vec of_l = all(-L[k * ld + m]);
            for (int v = 0; v < VECTORS; v++)
                sum[v] = fused(of_l, load(b + m * KB_TILE_COLUMNS + v * WIDTH), sum[v]);
        }
        for (int v = 0; v < VECTORS; v++)
            store(at + v * WIDTH, sum[v] * all(inverse[k]));
    }
}

/* ---- products with few columns ----------------------------------------- */

/* Eight numbers of a row from column r on; zeros past the end. */
INLINE eight eight_of(const kb_rows *z, int is_float, size_t i, size_t r, size_t count) {
    eight x;
    size_t at = i * z->ld + r;
    if (is_float) {
        float some[LANES] = {0};
        const float *from = z->f + at;
        if (count < LANES)
            from = memcpy(some, from, count * sizeof *some);
        for (int p = 0; p < PARTS; p++) {
            narrow y;
            memcpy(&y, from + p * WIDTH, sizeof y);
            x.part[p] = __builtin_convertvector(y, vec);
        }
    } else {
        double some[LANES] = {0};
        const double *from = z->d + at;
        if (count < LANES)
            from = memcpy(some, from, count * sizeof *some);
        for (int p = 0; p < PARTS; p++)
            x.part[p] = load(from + p * WIDTH);
    }
    return x;
}

INLINE double sum_of(const eight *x) {
    double s[LANES];
    memcpy(s, x, sizeof s);
    return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

/* `rows` rows by `columns` columns, both constants. */
INLINE void times_block(const kb_rows *z, int is_float, size_t i, size_t rows, size_t columns,
                        const double *w, size_t ldw, double *out, size_t ldo) {
    eight sum[4][2];
    memset(sum, 0, sizeof sum);
    for (size_t r = 0; r < z->columns; r += LANES) {
        size_t count = z->columns - r < LANES ? z->columns - r : LANES;
        eight of_w[2];
        for (size_t c = 0; c < columns; c++) {
            kb_rows column = {.d = w + c * ldw};
            of_w[c] = eight_of(&column, 0, 0, r, count);
        }
        for (size_t k = 0; k < rows; k++) {
            eight x = eight_of(z, is_float, i + k, r, count);
            for (size_t c = 0; c < columns; c++)
                for (int p = 0; p < PARTS; p++)
                    sum[k][c].part[p] = fused(x.part[p], of_w[c].part[p], sum[k][c].part[p]);
        }
    }
    for (size_t k = 0; k < rows; k++)
        for (size_t c = 0; c < columns; c++)
            out[(i + k) * ldo + c] += sum_of(&sum[k][c]);
}

INLINE void times_as(const kb_rows *z, int is_float, size_t C, const double *w, size_t ldw,
                     double *out, size_t ldo) {
    size_t i = 0;
    for (; i + 4 <= z->rows; i += 4) {
        size_t c = 0;
        for (; c + 2 <= C; c += 2)
            times_block(z, is_float, i, 4, 2, w + c * ldw, ldw, out + c, ldo);
        if (c < C)
            times_block(z, is_float, i, 4, 1, w + c * ldw, ldw, out + c, ldo);
    }
    for (; i < z->rows; i++)
        for (size_t c = 0; c < C; c++)
            times_block(z, is_float, i, 1, 1, w + c * ldw, ldw, out + c, ldo);
}

static void times(const kb_rows *z, size_t C, const double *w, size_t ldw, double *out,
                  size_t ldo) {
    if (z->f)
        times_as(z, 1, C, w, ldw, out, ldo);
    else
        times_as(z, 0, C, w, ldw, out, ldo);
}

/* One column, rows i .. i + rows: each number adds the rows in order. */
INLINE void times_t_block(const kb_rows *z, int is_float, size_t i, size_t rows, const double *v,
                          size_t ldv, double *out) {
    for (size_t r = 0; r < z->columns; r += LANES) {
        size_t count = z->columns - r < LANES ? z->columns - r : LANES;
        kb_rows column = {.d = out};
        eight sum = eight_of(&column, 0, 0, r, count);
        for (size_t k = 0; k < rows; k++) {
            eight x = eight_of(z, is_float, i + k, r, count);
            for (int p = 0; p < PARTS; p++)
                sum.part[p] = fused(x.part[p], all(v[(i + k) * ldv]), sum.part[p]);
        }
        memcpy(out + r, &sum, count * sizeof(double));
    }
}

INLINE void times_t_as(const kb_rows *z, int is_float, size_t C, const double *v, size_t ldv,
                       double *out, size_t ldo) {
    size_t i = 0;
    for (; i + 8 <= z->rows; i += 8)
        for (size_t c = 0; c < C; c++)
            times_t_block(z, is_float, i, 8, v + c, ldv, out + c * ldo);
    for (; i < z->rows; i++)
        for (size_t c = 0; c < C; c++)
            times_t_block(z, is_float, i, 1, v + c, ldv, out + c * ldo);
}

static void times_t(const kb_rows *z, size_t C, const double *v, size_t ldv, double *out,
                    size_t ldo) {
    if (z->f)
        times_t_as(z, 1, C, v, ldv, out, ldo);
    else
        times_t_as(z, 0, C, v, ldv, out, ldo);
}

/* ---- functions of every number ----------------------------------------- */

/* With f = x - the nearest integer (exact) and g = 1/4 - |f|: cos(2 pi x) = sin(2 pi g), and
 * sin(2 pi g) / g is a polynomial of degree 7 in g^2 to 7e-16 (fitted at Chebyshev's points).
 * From 2^50 on every x counts as an integer. */
INLINE vec cosine(vec x) {
    const vec most = all(0x1p50), shift = all(0x1.8p52);
    x = choose(x < most, x, most);
    x = choose(x > -most, x, -most);
    vec g = 0.25 - magnitude(x - ((x + shift) - shift)), s = g * g;
    vec p = fused(all(-0x1.63146111bd704p-1), s, all(0x1.e8a6c5496950bp+1));
    p = fused(p, s, all(-0x1.e3065ace63ce5p+3));
    p = fused(p, s, all(0x1.507832e2b15abp+5));
    p = fused(p, s, all(-0x1.32d2cce331cafp+6));
    p = fused(p, s, all(0x1.466bc677559dfp+6));
    p = fused(p, s, all(-0x1.4abbce625bdeap+5));
    p = fused(p, s, all(0x1.921fb54442d19p+2));
    return p * g;
}

static void cosines(size_t n, const double *turns, double factor, float *out) {
    size_t i = 0;
    for (; i + WIDTH <= n; i += WIDTH) {
        narrow y = __builtin_convertvector(cosine(load(turns + i)) * factor, narrow);
        memcpy(out + i, &y, sizeof y);
    }
    for (; i < n; i++)
        out[i] = (float)(cosine(all(turns[i]))[0] * factor);
}

static void exp_minus(size_t n, double a, double *x) {
    for (size_t i = 0; i < n; i++)
        x[i] = kb_exp_minus_fixed(a * x[i]);
}

static void exp_minus_root(size_t n, double *x) {
    for (size_t i = 0; i < n; i++)
        x[i] = kb_exp_minus_fixed(sqrt(x[i]));
}

static void add_logs(size_t n, const double *restrict x, double *restrict sum) {
    for (size_t i = 0; i < n; i++)
        sum[i] += kb_log_fixed(x[i]);
}

const kb_tiles KB_OF_LEVEL(kb_tiles) = {
    .tile = tile,
    .times = times,
    .times_t = times_t,
    .entries = entries,
    .cosines = cosines,
    .exp_minus = exp_minus,
    .exp_minus_root = exp_minus_root,
    .add_logs = add_logs,
    .substitute = substitute,
};
