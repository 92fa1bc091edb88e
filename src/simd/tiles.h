/*
 * tiles.h - the inner loops of dense products, for the rival maps.
 *
 * All levels of CPU give the same bits (simd.h), here by the fused multiply-add in a fixed order.
 * A BLAS would add in an order that depends on its threads and on the CPU, and would have threads
 * of its own beside the team.  (A CPU without the instruction, from before 2013, gets the same bits
 * from the C library's fma, slowly.)
 */
#ifndef KB_SIMD_TILES_H
#define KB_SIMD_TILES_H

#include <stddef.h>
#include <stdint.h>

/* A tile of the result.  Its operands lie packed: for each k the numbers of KB_TILE_ROWS rows of
 * a, and those of KB_TILE_COLUMNS rows of b. */
enum { KB_TILE_ROWS = 12, KB_TILE_COLUMNS = 16 };

/* How c[i][j] is updated for every k, with x = a[k][i] and y = b[k][j]. */
typedef enum kb_pairing {
    KB_PAIR_PRODUCT,  /* c += x y */
    KB_PAIR_SQUARE,   /* c += (x - y)^2 */
    KB_PAIR_ABSOLUTE, /* c += |x - y| */
    KB_PAIR_TRIANGLE, /* c *= max(0, 1 - |x - y|) */
    KB_PAIR_POWER,    /* c *= 1 + |x - y| */
} kb_pairing;

/* The next cache line at or after p: vectors that lie across two take twice as long to load.  So
 * scratch is asked for with KB_LINE numbers to spare. */
enum { KB_LINE = 8 };
static inline double *kb_aligned(double *p) {
    return p + (64 - (uintptr_t)p % 64) % 64 / sizeof *p;
}

/* Rows of a matrix, of one of the two types. */
typedef struct kb_rows {
    size_t rows, columns, ld;
    const float *f;
    const double *d;
} kb_rows;

typedef struct kb_tiles {
    /* The tile c, KB_TILE_ROWS x KB_TILE_COLUMNS, whose rows are ldc apart. */
    void (*tile)(kb_pairing pairing, size_t K, const double *a, const double *b, double *c,
                 size_t ldc);

    /* out[i*ldo + c] += sum over r of z[i][r] * w[c*ldw + r]: out += Z W with W by columns. */
    void (*times)(const kb_rows *z, size_t C, const double *w, size_t ldw, double *out, size_t ldo);

    /* out[c*ldo + r] += sum over i of z[i][r] * v[i*ldv + c]: Z' V by columns. */
    void (*times_t)(const kb_rows *z, size_t C, const double *v, size_t ldv, double *out,
                    size_t ldo);

    /* out[c] += sum over e of value[e] * panel[column[e]][c], for the KB_TILE_COLUMNS numbers of
     * each row of a packed operand. */
    void (*entries)(size_t n, const uint32_t *column, const double *value, const double *panel,
                    double *out);

    /* out = factor * cos(2 pi x), within 1e-15 * factor before it is rounded to float.  No
     * reduction by multiples of pi is needed where the frequencies are in turns. */
    void (*cosines)(size_t n, const double *turns, double factor, float *out);

    /* x = exp(-a x), x = exp(-sqrt x), sum += log x. */
    void (*exp_minus)(size_t n, double a, double *x);
    void (*exp_minus_root)(size_t n, double *x);
    void (*add_logs)(size_t n, const double *x, double *sum);

    /* Forward substitution for KB_TILE_COLUMNS rows at once: b[k] for k = 0 .. n - 1 becomes
     * (b[k] - sum over m < k of L[k][m] b[m]) * inverse[k].  b: n x KB_TILE_COLUMNS. */
    void (*substitute)(size_t n, const double *L, size_t ld, const double *inverse, double *b);
} kb_tiles;

#endif
