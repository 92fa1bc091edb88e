/*
 * cloud.h - what the tests of the rival maps share: samples with a scaling and a sigma a
 * feature, and the kernel between them by plain loops.
 */
#ifndef KB_TESTS_CLOUD_H
#define KB_TESTS_CLOUD_H

#include "rivals/kernel.h"
#include "features/world.h"

static const char *const TEST_KERNELS[] = {"laplace",     "triangle", "power:1.5", "power:0.3",
                                           "exponential", "gauss",    "table"};
enum { TEST_KERNEL_COUNT = sizeof TEST_KERNELS / sizeof *TEST_KERNELS };

/* A kernel by name; "table" is one of three knots. */
static inline kb_kernel *test_kernel(kb_context *ctx, const char *name) {
    kb_kernel *kernel;
    if (strcmp(name, "table") != 0) {
        assert_ok(ctx, kb_kernel_parse(ctx, name, &kernel));
        return kernel;
    }
    char text[600];
    test_path path = file_with("table", "0 1\n0.5 0.5\n1.5 0.1\n3 0\n");
    snprintf(text, sizeof text, "table:%s", path.text);
    assert_ok(ctx, kb_kernel_parse(ctx, text, &kernel));
    remove(path.text);
    return kernel;
}

typedef struct cloud {
    size_t N, d;
    double *x, *shift, *factor;
    kb_data *dense, *sparse;
} cloud;

static inline kb_metric cloud_metric(const cloud *c) {
    return (kb_metric){c->d, c->shift, c->factor};
}

/* Every fifth sample is the same as the one three before it. */
static inline cloud cloud_build(kb_context *ctx, size_t N, size_t d, uint64_t seed) {
    cloud c = {.N = N, .d = d, .x = test_values(N, d, seed)};
    c.shift = test_numbers(seed + 1, d);
    c.factor = test_numbers(seed + 2, d);
    for (size_t j = 0; j < d; j++)
        c.factor[j] = 0.4 + 0.3 * c.factor[j];
    for (size_t i = 5; i < N; i += 5)
        memcpy(c.x + i * d, c.x + (i - 3) * d, d * sizeof(double));
    assert_ok(ctx, data_from_dense(ctx, N, d, c.x, NULL, &c.dense));
    c.sparse = test_sparse(ctx, N, d, c.x, NULL);
    return c;
}

static inline void cloud_free(cloud *c) {
    kb_data_free(c->dense);
    kb_data_free(c->sparse);
    free(c->x), free(c->shift), free(c->factor);
}

/* k(x, y) by its formula, with libm. */
static inline double plain_kernel(const kb_kernel *k, const cloud *c, const double *x,
                                  const double *y) {
    double square = 0, product = 1;
    for (size_t j = 0; j < c->d; j++) {
        double t = fabs(x[j] - y[j]) * c->factor[j];
        square += t * t;
        if (k->law)
            product *= kb_law_kernel(k->law, t);
    }
    return k->kind == KB_KERNEL_GAUSS         ? exp(-square / 2)
           : k->kind == KB_KERNEL_EXPONENTIAL ? exp(-sqrt(square))
                                              : product;
}

/* The whole kernel matrix. */
static inline double *plain_matrix(const kb_kernel *k, const cloud *c) {
    double *K = malloc((c->N * c->N + 1) * sizeof *K);
    assert_non_null(K);
    for (size_t i = 0; i < c->N; i++)
        for (size_t j = 0; j < c->N; j++)
            K[i * c->N + j] = plain_kernel(k, c, c->x + i * c->d, c->x + j * c->d);
    return K;
}

#endif
