/* Kernels between samples, against plain loops. */
#include "features/cloud.h"

/* All pairs, in blocks of `step` rows and columns. */
static double *blocks_of(const kb_kernel *kernel, const kb_tiles *tiles, const kb_points *a,
                         const kb_points *b, size_t step) {
    double *scratch = malloc(kb_kernel_scratch() * sizeof *scratch);
    double *K = malloc((a->rows * b->rows + 1) * sizeof *K);
    assert_non_null(scratch);
    assert_non_null(K);
    for (size_t i = 0; i < a->rows; i += step)
        for (size_t j = 0; j < b->rows; j += step)
            kb_kernel_block(kernel, tiles, a, i, a->rows - i < step ? a->rows - i : step, b, j,
                            b->rows - j < step ? b->rows - j : step, scratch, K + i * b->rows + j,
                            b->rows);
    free(scratch);
    return K;
}

static void blocks_agree_with_plain_loops(void **unused) {
    static const size_t shapes[][2] = {{1, 1}, {40, 3}, {30, 37}, {320, 2}, {33, 150}};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t s = 0; s < 5; s++)
        for (size_t k = 0; k < TEST_KERNEL_COUNT; k++) {
            cloud c = cloud_build(ctx, shapes[s][0], shapes[s][1], 5);
            kb_kernel *kernel = test_kernel(ctx, TEST_KERNELS[k]);
            kb_metric metric = cloud_metric(&c);
            kb_points *dense, *sparse;
            assert_ok(ctx, kb_points_build(ctx, &metric, c.dense, 0, c.N, NULL, &dense));
            assert_ok(ctx, kb_points_build(ctx, &metric, c.sparse, 0, c.N, NULL, &sparse));
            double *want = plain_matrix(kernel, &c);
            double *K = blocks_of(kernel, kb_simd_best()->tiles, dense, dense, 1000);
            assert_close(K, want, c.N * c.N, 1e-13); /* some hundred roundings */
            for (size_t i = 0; i < c.N; i++) {
                assert_true(K[i * c.N + i] == 1);
                for (size_t j = 0; j < i; j++)
                    assert_true(K[i * c.N + j] == K[j * c.N + i]);
                if (i >= 5 && i % 5 == 0)
                    assert_true(K[i * c.N + i - 3] == 1); /* equal samples */
            }
            /* Other blocks, forms and levels: the same bits. */
            const kb_simd *all[8];
            size_t levels = kb_simd_list(all, 8);
            for (size_t m = 0; m < 3 + levels; m++) {
                double *other = blocks_of(
                    kernel, all[m < levels ? m : 0]->tiles, m == levels ? sparse : dense,
                    m >= levels && m < levels + 2 ? sparse : dense, m == levels + 2 ? 7 : 1000);
                assert_same_bits(other, K, c.N * c.N);
                free(other);
            }
            free(want), free(K);
            kb_points_free(dense);
            kb_points_free(sparse);
            kb_kernel_free(kernel);
            cloud_free(&c);
        }
    kb_context_free(ctx);
}

/* Few entries among many features: rows are walked along, not spread out. */
static void thin_rows_are_walked_along_with_the_same_bits(void **unused) {
    enum { N = 40, d = 3000 };
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, N, d, 5);
    (void)unused;
    for (size_t k = 0; k < N * d; k++)
        if (k % 97)
            c.x[k] = 0;
    kb_data_free(c.dense);
    kb_data_free(c.sparse);
    assert_ok(ctx, data_from_dense(ctx, N, d, c.x, NULL, &c.dense));
    c.sparse = test_sparse(ctx, N, d, c.x, NULL);
    kb_metric metric = cloud_metric(&c);
    kb_points *dense, *sparse;
    assert_ok(ctx, kb_points_build(ctx, &metric, c.dense, 0, N, NULL, &dense));
    assert_ok(ctx, kb_points_build(ctx, &metric, c.sparse, 0, N, NULL, &sparse));
    assert_true(kb_points_thin(sparse));
    assert_false(kb_points_thin(dense));
    for (size_t k = 0; k < TEST_KERNEL_COUNT; k++) {
        kb_kernel *kernel = test_kernel(ctx, TEST_KERNELS[k]);
        double *K = blocks_of(kernel, kb_simd_best()->tiles, dense, dense, 1000);
        double *walked = blocks_of(kernel, kb_simd_best()->tiles, sparse, sparse, 1000);
        assert_same_bits(walked, K, N * N);
        free(K), free(walked);
        kb_kernel_free(kernel);
    }
    kb_points_free(dense);
    kb_points_free(sparse);
    cloud_free(&c);
    kb_context_free(ctx);
}

static void close_samples_keep_their_digits(void **unused) {
    kb_context *ctx = test_context();
    kb_kernel *kernel = test_kernel(ctx, "exponential");
    double x[2][2] = {{1000, 1000}, {1000 + 0x1p-30, 1000}}, shift[2] = {0}, factor[2] = {1, 1};
    double far[2][2] = {{1e308, 0}, {-1e308, 0}};
    kb_metric metric = {2, shift, factor};
    kb_data *data;
    kb_points *p;
    (void)unused;
    assert_ok(ctx, data_from_dense(ctx, 2, 2, x[0], NULL, &data));
    assert_ok(ctx, kb_points_build(ctx, &metric, data, 0, 2, NULL, &p));
    double *K = blocks_of(kernel, kb_simd_best()->tiles, p, p, 2);
    assert_true(fabs(K[1] - exp(-0x1p-30)) <= 2e-16);
    free(K);
    kb_points_free(p);
    kb_data_free(data);
    assert_ok(ctx, data_from_dense(ctx, 2, 2, far[0], NULL, &data));
    factor[0] = 1e10; /* overflows */
    assert_ok(ctx, kb_points_build(ctx, &metric, data, 0, 2, NULL, &p));
    K = blocks_of(kernel, kb_simd_best()->tiles, p, p, 2);
    assert_true(K[0] == 1 && K[1] < 1e-300);
    free(K);
    kb_points_free(p);
    kb_data_free(data);
    kb_kernel_free(kernel);
    kb_context_free(ctx);
}

static void names_are_understood(void **unused) {
    kb_context *ctx = test_context();
    kb_kernel *kernel;
    (void)unused;
    assert_fails(ctx, KB_ERR_ARGUMENT,
                 "--kernel cubic: must be laplace, triangle, power:A with A > 0, table:FILE, "
                 "exponential or gauss",
                 kb_kernel_parse(ctx, "cubic", &kernel));
    assert_null(kernel);
    assert_int_equal(kb_kernel_parse(ctx, "power:-1", &kernel), KB_ERR_ARGUMENT);
    assert_int_equal(kb_kernel_parse(ctx, "table:/no/such/file", &kernel), KB_ERR_IO);
    double knot[] = {1}, share[] = {1};
    assert_ok(ctx, kb_kernel_restore(ctx, "table:/no/such/file", 1, knot, share, &kernel));
    assert_true(kb_law_kernel(kernel->law, 0.25) == 0.75);
    kb_kernel_free(kernel);
    assert_int_equal(kb_kernel_restore(ctx, "table:x", 0, knot, share, &kernel), KB_ERR_MODEL);
    kb_context_free(ctx);
}

static int build_and_free(kb_context *ctx, void *arg) {
    cloud *c = arg;
    kb_metric metric = cloud_metric(c);
    kb_points *dense = NULL, *sparse = NULL;
    kb_kernel *kernel = NULL, *table = NULL;
    double knot[] = {1}, share[] = {1};
    kb_status status;
    TRY(kb_kernel_parse(ctx, "laplace", &kernel));
    TRY(kb_kernel_restore(ctx, "table:x", 1, knot, share, &table));
    TRY(kb_points_build(ctx, &metric, c->dense, 0, c->N, NULL, &dense));
    TRY(kb_points_build(ctx, &metric, c->sparse, 0, c->N, NULL, &sparse));
done:
    kb_kernel_free(kernel);
    kb_kernel_free(table);
    kb_points_free(dense);
    kb_points_free(sparse);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, 9, 4, 5);
    (void)unused;
    run_with_allocation_failures(build_and_free, &c);
    cloud_free(&c);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_agree_with_plain_loops),
        cmocka_unit_test(thin_rows_are_walked_along_with_the_same_bits),
        cmocka_unit_test(close_samples_keep_their_digits),
        cmocka_unit_test(names_are_understood),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
