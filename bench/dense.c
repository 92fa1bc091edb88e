/*
 * dense.c - the dense kernels of the rival maps against OpenBLAS, where it is installed; see
 * bench.h.
 *
 * OpenBLAS is looked for when the benchmark runs: kerbin itself does not use it.
 */
#define _GNU_SOURCE
#include "bench.h"

#include "rivals/rival.h"
#include "rivals/rival_parts.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void dgemm_routine(int order, int trans_a, int trans_b, int m, int n, int k, double alpha,
                           const double *a, int lda, const double *b, int ldb, double beta,
                           double *c, int ldc);
typedef void dpotrf_routine(const char *uplo, const int *n, double *a, const int *lda, int *info);
enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };

typedef struct openblas {
    dgemm_routine *dgemm;
    dpotrf_routine *dpotrf;
} openblas;

/* A function of a library opened at run time; the pointers must be copied as bytes. */
static int find(void *library, const char *name, void *out) {
    void *symbol = library ? dlsym(library, name) : NULL;
    memcpy(out, &symbol, sizeof symbol);
    return symbol != NULL;
}

static int find_openblas(openblas *o) {
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    void (*set_threads)(int);
    if (!find(library, "cblas_dgemm", &o->dgemm) || !find(library, "dpotrf_", &o->dpotrf) ||
        !find(library, "openblas_set_num_threads", &set_threads))
        return 0;
    set_threads(1);
    return 1;
}

static double *random_numbers(size_t count) {
    double *x = malloc(count * sizeof *x);
    for (size_t k = 0; x && k < count; k++)
        x[k] = kb_random_uniform(1, KB_STREAM_SYNTHETIC, k, 0).u;
    return x;
}

/* ---- Fourier features -------------------------------------------------- */

enum { ROWS = 10 * KB_TILE, COSINES = 1024 };

typedef struct cosines {
    const openblas *blas;
    size_t d;
    double *x, *w, *product; /* of OpenBLAS */
    kb_rival *rival;
    kb_points *points;
    double *scratch;
    float *z;
} cosines;

static void make_cosines(void *arg) {
    cosines *c = arg;
    for (size_t i = 0; i < ROWS; i += KB_TILE)
        kb_fourier_rows(c->rival, c->points, i, KB_TILE, c->scratch, c->z + i * COSINES);
}

static void multiply_only(void *arg) {
    cosines *c = arg;
    int d = (int)c->d;
    c->blas->dgemm(ROW_MAJOR, PLAIN, TRANSPOSED, ROWS, COSINES, d, 1, c->x, d, c->w, d, 0,
                   c->product, COSINES);
}

static void measure_cosines(bench *b, const openblas *blas, size_t d, double bar) {
    char what[64];
    kb_data *data = NULL;
    cosines c = {.blas = blas, .d = d, .x = random_numbers(ROWS * d)};
    double *shift = calloc(d, sizeof *shift), *one = malloc(d * sizeof *one), ours, theirs = 0;
    c.w = random_numbers(COSINES * d);
    c.product = malloc(ROWS * COSINES * sizeof(double));
    c.z = calloc(ROWS * COSINES, sizeof(float));
    for (size_t j = 0; j < d; j++)
        one[j] = 1;
    kb_rival_spec spec = {KB_RIVAL_FOURIER, "laplace", shift, one, one, COSINES, 1, 0};
    kb_metric metric = {d, shift, one};
    kb_arrays rows = {.size = sizeof rows, .rows = ROWS, .features = d, .values = c.x};
    if (kb_data_from_arrays(b->one, &rows, &data) == KB_OK &&
        kb_rival_build(b->one, &spec, data, &c.rival) == KB_OK &&
        kb_points_build(b->one, &metric, data, 0, ROWS, NULL, &c.points) == KB_OK) {
        c.scratch = malloc(kb_fourier_scratch(c.rival) * sizeof(double));
        bench_time(make_cosines, &c, blas ? multiply_only : NULL, &c, &ours, &theirs);
        snprintf(what, sizeof what, "Fourier features, %zu values a row, R=1024", d);
        bench_row(b, what, ours / (ROWS * (double)COSINES) * 1e9, "ns a cosine",
                  blas ? "dgemm alone, by OpenBLAS" : NULL, theirs / ours, blas ? bar : 0);
    }
    kb_points_free(c.points);
    kb_rival_free(c.rival);
    kb_data_free(data);
    free(c.x), free(c.w), free(c.product), free(c.z), free(c.scratch), free(shift), free(one);
}

/* ---- Cholesky ---------------------------------------------------------- */

enum { SIZE = 1536 };

typedef struct factors {
    bench *b;
    const openblas *blas;
    double *from, *to;
    kb_triangle t;
} factors;

static void factor_kerbin(void *arg) {
    factors *f = arg;
    size_t rank;
    memcpy(f->t.L, f->from, sizeof(double) * SIZE * SIZE);
    kb_cholesky(f->b->one, kb_simd_best()->tiles, &f->t, 0, &rank);
}

static void factor_openblas(void *arg) {
    factors *f = arg;
    int n = SIZE, info;
    memcpy(f->to, f->from, sizeof(double) * SIZE * SIZE);
    f->blas->dpotrf("U", &n, f->to, &n, &info);
}

static void measure_cholesky(bench *b, const openblas *blas) {
    double ours, theirs = 0, inverse[SIZE];
    factors f = {b, blas, random_numbers((size_t)SIZE * SIZE), NULL, {SIZE, NULL, inverse}};
    f.to = malloc(sizeof(double) * SIZE * SIZE);
    f.t.L = malloc(sizeof(double) * SIZE * SIZE);
    for (size_t i = 0; i < SIZE; i++) {
        for (size_t j = 0; j < i; j++)
            f.from[i * SIZE + j] = f.from[j * SIZE + i];
        f.from[i * SIZE + i] += SIZE;
    }
    bench_time(factor_kerbin, &f, blas ? factor_openblas : NULL, &f, &ours, &theirs);
    bench_row(b, "Cholesky, 1536 rows", (double)SIZE * SIZE * SIZE / 3 / ours / 1e9, "GFlop/s",
              blas ? "OpenBLAS" : NULL, theirs / ours, 0);
    free(f.from), free(f.to), free(f.t.L);
}

void bench_dense(bench *b) {
    openblas found, *blas = find_openblas(&found) ? &found : NULL;
    measure_cosines(b, blas, 22, 0);
    measure_cosines(b, blas, 100, 0.6);
    measure_cosines(b, blas, 784, 0.6);
    measure_cholesky(b, blas);
}
