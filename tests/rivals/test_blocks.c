/* The kernel within blocks of samples. */
#include "rivals/rivalchecks.h"

/* Which block each sample is in. */
static size_t *block_of_samples(const kb_rival *r) {
    size_t *block = malloc(r->columns * sizeof *block);
    assert_non_null(block);
    for (size_t i = 0; i < r->columns; i++)
        block[i] = SIZE_MAX;
    for (size_t b = 0; b < r->blocks; b++)
        for (size_t k = r->start[b]; k < r->start[b + 1]; k++) {
            assert_int_equal(block[r->order[k]], SIZE_MAX); /* each sample once */
            block[r->order[k]] = b;
        }
    return block;
}

static void blocks_part_the_samples(void **unused) {
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, 1000, 7, 5);
    (void)unused;
    for (size_t rank = 16; rank < 2000; rank *= 3) {
        rivalry t = {&c, KB_RIVAL_BLOCKS, "laplace", rank, 0, 0.5};
        kb_rival *r;
        assert_ok(ctx, rival_of(ctx, &t, c.dense, &r));
        size_t *block = block_of_samples(r);
        assert_int_equal(r->start[r->blocks], c.N);
        for (size_t b = 0; b < r->blocks; b++) {
            size_t size = r->start[b + 1] - r->start[b];
            assert_true(size <= rank);
            assert_true(r->blocks == 1 || size >= rank / 3); /* up to equal samples */
        }
        /* A training sample, in either form, finds its own block again. */
        kb_metric metric = cloud_metric(&c);
        const kb_data *forms[] = {c.dense, c.sparse};
        for (int f = 0; f < 2; f++) {
            kb_points *p;
            assert_ok(ctx, kb_points_build(ctx, &metric, forms[f], 0, c.N, NULL, &p));
            for (size_t i = 0; i < c.N; i++)
                assert_int_equal(kb_block_tree_find(r, p, i), block[i]);
            kb_points_free(p);
        }
        for (size_t i = 5; i < c.N; i += 5)
            assert_int_equal(block[i], block[i - 3]); /* equal samples stay together */
        free(block);
        kb_rival_free(r);
    }
    cloud_free(&c);
    kb_context_free(ctx);
}

/* Without equal samples there are no more blocks than their size asks for. */
static void blocks_are_nearly_full(void **unused) {
    static const size_t rows[] = {11, 100, 513, 1000, 1025};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        cloud c = cloud_build(ctx, rows[k], 3, 5);
        double *x = test_numbers(6, 3 * c.N);
        kb_data_free(c.dense);
        assert_ok(ctx, data_from_dense(ctx, c.N, 3, x, NULL, &c.dense));
        for (size_t rank = 3; rank < 700; rank = 2 * rank + 1) {
            rivalry t = {&c, KB_RIVAL_BLOCKS, "laplace", rank, 0, 0.5};
            kb_rival *r;
            assert_ok(ctx, rival_of(ctx, &t, c.dense, &r));
            assert_int_equal(r->blocks, (c.N + rank - 1) / rank);
            for (size_t b = 0; b < r->blocks; b++)
                assert_true(r->start[b + 1] - r->start[b] <= rank);
            kb_rival_free(r);
        }
        free(x);
        cloud_free(&c);
    }
    kb_context_free(ctx);
}

static void equal_samples_stay_whole(void **unused) {
    enum { N = 100 };
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, N, 2, 5);
    (void)unused;
    for (size_t i = 0; i < 2 * N; i++)
        c.x[i] = i % 2 ? 2 : 1;
    kb_data_free(c.dense);
    assert_ok(ctx, data_from_dense(ctx, N, 2, c.x, NULL, &c.dense));
    rivalry t = {&c, KB_RIVAL_BLOCKS, "laplace", 10, 0, 0.5};
    kb_rival *r;
    assert_ok(ctx, rival_of(ctx, &t, c.dense, &r));
    assert_int_equal(r->blocks, 1);
    assert_int_equal(r->splits.count, 0);
    kb_rival_free(r);
    cloud_free(&c);
    kb_context_free(ctx);
}

/* K is the kernel within blocks and 0 between them; the solution is that of each block. */
static void products_and_solution_are_those_of_the_blocks(void **unused) {
    enum { C = CHECK_COLUMNS };
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, 260, 3, 5);
    size_t N = c.N, count;
    (void)unused;
    for (size_t k = 0; k < 6; k++) {
        rivalry t = {&c, KB_RIVAL_BLOCKS, TEST_KERNELS[k], 50, 0, 0.5};
        kb_rival *r;
        kb_kernel *kernel = test_kernel(ctx, TEST_KERNELS[k]);
        assert_ok(ctx, rival_of(ctx, &t, c.dense, &r));
        assert_true(r->blocks > 4);
        size_t *block = block_of_samples(r);
        double *K = plain_matrix(kernel, &c), *v = test_numbers(1, N * C);
        for (size_t i = 0; i < N; i++)
            for (size_t j = 0; j < N; j++)
                K[i * N + j] *= block[i] == block[j];
        double *want = test_product(K, N, N, C, v);
        double *all = everything(ctx, &t, SIZE_MAX, 0, c.dense, &count);
        assert_close(all, want, N * C, 1e-13);
        const double *alpha = all + 3 * N * C;
        double *back = test_product(K, N, N, C, alpha);
        for (size_t e = 0; e < N * C; e++)
            back[e] += t.lambda * alpha[e];
        assert_close(back, v, N * C, 1e-12);
        check_products_fit(ctx, &t);
        free(block), free(K), free(v), free(want), free(all), free(back);
        kb_kernel_free(kernel);
        kb_rival_free(r);
    }
    cloud_free(&c);
    kb_context_free(ctx);
}

static void no_bit_depends_on_how_it_is_done(void **unused) {
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, 900, 4, 5);
    rivalry t = {&c, KB_RIVAL_BLOCKS, "laplace", 150, 0, 0.1};
    (void)unused;
    check_same_bits(&t);
    t.kernel = "gauss";
    t.rank = 40;
    check_same_bits(&t);
    cloud_free(&c);
    kb_context_free(ctx);
}

static void damaged_arrays_are_refused(void **unused) {
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, 60, 3, 5);
    rivalry t = {&c, KB_RIVAL_BLOCKS, "laplace", 10, 0, 1};
    kb_rival *r, *copy;
    kb_array arrays[KB_RIVAL_ARRAYS];
    (void)unused;
    check_damaged_arrays(ctx, &t, c.dense);
    check_damaged_arrays(ctx, &t, c.sparse);
    assert_ok(ctx, rival_of(ctx, &t, c.dense, &r));
    size_t n = kb_rival_arrays(r, arrays);
    for (size_t k = 0; k < 2 * r->splits.count; k++) {
        static const int32_t wrong[] = {0, INT32_MAX, INT32_MIN};
        int32_t keep = r->splits.child[k]; /* a path that never ends, or leads nowhere */
        for (int w = 0; w < 3; w++) {
            r->splits.child[k] = wrong[w];
            assert_int_equal(kb_rival_restore(ctx, t.kind, t.kernel, 3, n, arrays, &copy),
                             KB_ERR_MODEL);
        }
        r->splits.child[k] = keep;
    }
    kb_rival_free(r);
    cloud_free(&c);
    kb_context_free(ctx);
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, 40, 3, 5);
    rivalry t = {&c, KB_RIVAL_BLOCKS, "laplace", 8, 0, 1};
    (void)unused;
    run_with_allocation_failures(use_rival, &t);
    cloud_free(&c);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_part_the_samples),
        cmocka_unit_test(blocks_are_nearly_full),
        cmocka_unit_test(equal_samples_stay_whole),
        cmocka_unit_test(products_and_solution_are_those_of_the_blocks),
        cmocka_unit_test(no_bit_depends_on_how_it_is_done),
        cmocka_unit_test(damaged_arrays_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
