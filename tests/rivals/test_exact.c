/* The exact kernel as a rival. */
#include "rivals/rivalchecks.h"

#include <lapacke.h>

static void products_are_those_of_the_kernel_matrix(void **unused) {
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, 230, 4, 5);
    (void)unused;
    for (size_t k = 0; k < 6; k++) {
        rivalry t = {&c, KB_RIVAL_EXACT, TEST_KERNELS[k], 0, 0, 0.5};
        kb_kernel *kernel = test_kernel(ctx, TEST_KERNELS[k]);
        double *K = plain_matrix(kernel, &c), *v = test_numbers(1, c.N * CHECK_COLUMNS);
        double *want = test_product(K, c.N, c.N, CHECK_COLUMNS, v);
        size_t count;
        double *all = everything(ctx, &t, SIZE_MAX, 0, c.dense, &count);
        assert_close(all, want, c.N * CHECK_COLUMNS, 1e-13);
        check_products_fit(ctx, &t);
        free(K), free(v), free(want), free(all);
        kb_kernel_free(kernel);
    }
    cloud_free(&c);
    kb_context_free(ctx);
}

/* Sizes around the blocks of 128 and the units of 48. */
static void the_direct_solution_is_lapacks(void **unused) {
    static const size_t sizes[] = {1, 2, 47, 128, 129, 177, 300, 421};
    enum { C = 3 };
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t s = 0; s < 8; s++) {
        cloud c = cloud_build(ctx, sizes[s], 3, 5);
        size_t N = c.N;
        rivalry t = {&c, KB_RIVAL_EXACT, "laplace", 0, 0, 1e-3};
        kb_rival *rival;
        kb_kernel *kernel = test_kernel(ctx, "laplace");
        double *K = plain_matrix(kernel, &c), *y = test_numbers(1, N * C);
        double *want = test_numbers(1, N * C), *alpha = calloc(N * C, sizeof *alpha);
        for (size_t i = 0; i < N; i++)
            K[i * N + i] += t.lambda;
        assert_int_equal(LAPACKE_dposv(LAPACK_ROW_MAJOR, 'L', (int)N, C, K, (int)N, want, C), 0);
        assert_ok(ctx, rival_of(ctx, &t, c.dense, &rival));
        assert_ok(ctx, kb_rival_solve(ctx, rival, t.lambda, NULL, C, y, alpha, NULL));
        assert_close(alpha, want, N * C, 1e-10); /* a condition of 1e5 */
        free(K), free(y), free(want), free(alpha);
        kb_kernel_free(kernel);
        kb_rival_free(rival);
        cloud_free(&c);
    }
    kb_context_free(ctx);
}

static void a_singular_matrix_is_refused(void **unused) {
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, 60, 3, 5); /* with equal samples */
    rivalry t = {&c, KB_RIVAL_EXACT, "laplace", 0, 0, 0};
    kb_rival *rival;
    double *y = test_numbers(1, c.N), *alpha = calloc(c.N, sizeof *alpha);
    (void)unused;
    assert_ok(ctx, rival_of(ctx, &t, c.dense, &rival));
    assert_fails(ctx, KB_ERR_ARGUMENT,
                 "the kernel matrix is singular to rounding: use a larger --lambda than 0",
                 kb_rival_solve(ctx, rival, 0, NULL, 1, y, alpha, NULL));
    kb_rival_free(rival);
    free(y), free(alpha);
    cloud_free(&c);
    kb_context_free(ctx);
}

static void no_bit_depends_on_how_it_is_done(void **unused) {
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, 500, 5, 5);
    (void)unused;
    for (size_t k = 0; k < 6; k += 2) {
        rivalry t = {&c, KB_RIVAL_EXACT, TEST_KERNELS[k], 0, 0, 0.1};
        check_same_bits(&t);
    }
    cloud_free(&c);
    kb_context_free(ctx);
}

/* More points than a piece of a product has. */
static void long_rows_are_multiplied_in_pieces(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 2);
    cloud c = cloud_build(ctx, 2500, 2, 5);
    rivalry t = {&c, KB_RIVAL_EXACT, "laplace", 0, 0, 0.1};
    size_t count;
    (void)unused;
    double *stored = everything(ctx, &t, SIZE_MAX, 0, c.dense, &count);
    double *lean = everything(ctx, &t, 0, 0, c.dense, &count);
    assert_same_bits(stored, lean, count);
    kb_kernel *kernel = test_kernel(ctx, "laplace");
    double *K = plain_matrix(kernel, &c), *v = test_numbers(1, c.N * CHECK_COLUMNS);
    double *want = test_product(K, c.N, c.N, CHECK_COLUMNS, v);
    assert_close(stored, want, c.N * CHECK_COLUMNS, 1e-12);
    free(stored), free(lean), free(K), free(v), free(want);
    kb_kernel_free(kernel);
    cloud_free(&c);
    kb_context_free(ctx);
}

static void silly_sizes_work(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t N = 1; N < 4; N++) {
        cloud c = cloud_build(ctx, N, 1, 5);
        rivalry t = {&c, KB_RIVAL_EXACT, "laplace", 1, 0, 1};
        check_products_fit(ctx, &t);
        cloud_free(&c);
    }
    kb_context_free(ctx);
}

static void damaged_arrays_are_refused(void **unused) {
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, 20, 3, 5);
    rivalry t = {&c, KB_RIVAL_EXACT, "laplace", 0, 0, 1};
    (void)unused;
    check_damaged_arrays(ctx, &t, c.dense);
    check_damaged_arrays(ctx, &t, c.sparse);
    cloud_free(&c);
    kb_context_free(ctx);
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, 40, 3, 5);
    rivalry t = {&c, KB_RIVAL_EXACT, "laplace", 0, 0, 1};
    (void)unused;
    run_with_allocation_failures(use_rival, &t);
    cloud_free(&c);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_those_of_the_kernel_matrix),
        cmocka_unit_test(the_direct_solution_is_lapacks),
        cmocka_unit_test(a_singular_matrix_is_refused),
        cmocka_unit_test(no_bit_depends_on_how_it_is_done),
        cmocka_unit_test(long_rows_are_multiplied_in_pieces),
        cmocka_unit_test(silly_sizes_work),
        cmocka_unit_test(damaged_arrays_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
