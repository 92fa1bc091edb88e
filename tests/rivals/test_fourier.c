/* Random Fourier features. */
#include "rivals/rivalchecks.h"

/* Z Z' against the kernel: each of R terms is at most 2 in size with a variance of at most 3/2,
 * so the mean is off by more than 5 sqrt(1.5 / R) once in a million times (seeds are fixed). */
static double check_mean(kb_context *ctx, const cloud *c, const char *name, size_t R) {
    char text[600];
    test_path path = path_of("none");
    kb_rival *rival;
    kb_operator *op;
    kb_kernel *kernel = test_kernel(ctx, name);
    snprintf(text, sizeof text, "%s", name);
    if (strcmp(name, "table") == 0) {
        path = file_with("table", "0 1\n0.5 0.5\n1.5 0.1\n3 0\n");
        snprintf(text, sizeof text, "table:%s", path.text);
    }
    rivalry t = {c, KB_RIVAL_FOURIER, text, R, 0, 0};
    assert_ok(ctx, rival_of(ctx, &t, c->dense, &rival));
    assert_ok(ctx, kb_rival_operator(ctx, rival, c->dense, SIZE_MAX, &op));
    double *K = matrix_of(ctx, op), *want = plain_matrix(kernel, c), sum = 0;
    for (size_t e = 0; e < c->N * c->N; e++) {
        double error = fabs(K[e] - want[e]);
        assert_true(error <= 5 * sqrt(1.5 / (double)R));
        sum += error * error;
    }
    free(K), free(want);
    kb_operator_free(op);
    kb_rival_free(rival);
    kb_kernel_free(kernel);
    remove(path.text);
    return sqrt(sum / (double)(c->N * c->N));
}

static void the_mean_is_the_kernel_and_its_error_falls_like_one_over_root_r(void **unused) {
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, 30, 3, 5);
    (void)unused;
    for (size_t j = 0; j < c.d; j++)
        c.factor[j] *= 2; /* so that the kernels are far from 1 */
    for (size_t k = 0; k < TEST_KERNEL_COUNT; k++) {
        double few = check_mean(ctx, &c, TEST_KERNELS[k], 1000);
        double many = check_mean(ctx, &c, TEST_KERNELS[k], 64000);
        /* 64 times as many: an eighth, give or take what 30 dependent samples allow. */
        assert_true(many < few / 4);
        assert_true(many > few / 16);
    }
    cloud_free(&c);
    kb_context_free(ctx);
}

/* Z itself, from its definition. */
static void rows_are_cosines(void **unused) {
    enum { C = CHECK_COLUMNS };
    static const size_t shapes[][3] = {{1, 1, 1}, {97, 3, 17}, {200, 130, 300}, {5, 2, 257}};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t s = 0; s < 4; s++) {
        cloud c = cloud_build(ctx, shapes[s][0], shapes[s][1], 5);
        size_t N = c.N, R = shapes[s][2], count;
        rivalry t = {&c, KB_RIVAL_FOURIER, "gauss", R, 0, 0};
        kb_rival *r;
        assert_ok(ctx, rival_of(ctx, &t, c.dense, &r));
        double *Z = malloc(N * R * sizeof *Z), *w = test_numbers(2, R * C);
        for (size_t i = 0; i < N; i++)
            for (size_t k = 0; k < R; k++) {
                double turns = r->phase[k];
                for (size_t j = 0; j < c.d; j++)
                    turns +=
                        (c.x[i * c.d + j] - c.shift[j]) * r->factor[j] * *kb_fourier_at(r, k, j);
                Z[i * R + k] = sqrt(2.0 / (double)R) * cos(2 * 3.14159265358979323846 * turns);
            }
        double *want = test_product(Z, N, R, C, w);
        double *all = everything(ctx, &t, SIZE_MAX, 0, c.dense, &count);
        assert_close(all + N * C, want, N * C, 1e-6); /* Z is kept as float */
        check_products_fit(ctx, &t);
        free(Z), free(w), free(want), free(all);
        kb_rival_free(r);
        cloud_free(&c);
    }
    kb_context_free(ctx);
}

static void no_bit_depends_on_how_it_is_done(void **unused) {
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, 700, 5, 5);
    (void)unused;
    for (size_t k = 0; k < 6; k++) {
        rivalry t = {&c, KB_RIVAL_FOURIER, TEST_KERNELS[k], 90, 0, 0};
        check_same_bits(&t);
    }
    cloud_free(&c);
    kb_context_free(ctx);
}

/* Few entries among many features, and zeros that stay zeros: rows cost their entries. */
static void thin_rows_give_the_same_bits(void **unused) {
    enum { N = 60, d = 2000 };
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, N, d, 5);
    (void)unused;
    for (size_t k = 0; k < N * d; k++)
        if (k % 97)
            c.x[k] = 0;
    memset(c.shift, 0, d * sizeof(double));
    kb_data_free(c.dense);
    kb_data_free(c.sparse);
    assert_ok(ctx, data_from_dense(ctx, N, d, c.x, NULL, &c.dense));
    c.sparse = test_sparse(ctx, N, d, c.x, NULL);
    rivalry t = {&c, KB_RIVAL_FOURIER, "laplace", 70, 0, 0};
    check_same_bits(&t);
    cloud_free(&c);
    kb_context_free(ctx);
}

/* A frequency depends on its place alone. */
static void more_cosines_leave_the_first_as_they_are(void **unused) {
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, 3, 4, 5);
    kb_rival *few, *many;
    (void)unused;
    rivalry t = {&c, KB_RIVAL_FOURIER, "power:1", 10, 0, 0};
    assert_ok(ctx, rival_of(ctx, &t, c.dense, &few));
    t.rank = 20;
    assert_ok(ctx, rival_of(ctx, &t, c.dense, &many));
    for (size_t j = 0; j < 4; j++)
        for (size_t k = 0; k < 10; k++)
            assert_true(*kb_fourier_at(few, k, j) == *kb_fourier_at(many, k, j));
    assert_same_bits(few->phase, many->phase, 10);
    kb_rival_free(few);
    kb_rival_free(many);
    cloud_free(&c);
    kb_context_free(ctx);
}

static void damaged_arrays_are_refused(void **unused) {
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, 20, 3, 5);
    rivalry t = {&c, KB_RIVAL_FOURIER, "laplace", 17, 0, 1};
    kb_rival *r;
    double w[17] = {0}, out;
    kb_data *narrow;
    (void)unused;
    check_damaged_arrays(ctx, &t, c.dense);
    assert_ok(ctx, rival_of(ctx, &t, c.dense, &r));
    assert_ok(ctx, data_from_dense(ctx, 1, 2, c.x, NULL, &narrow));
    assert_fails(ctx, KB_ERR_DATA, "the data have 2 features, the model 3",
                 kb_rival_decide(ctx, r, narrow, 1, w, &out));
    assert_int_equal(kb_rival_solve(ctx, r, 1, NULL, 1, w, &out, NULL), KB_ERR_ARGUMENT);
    kb_data_free(narrow);
    kb_rival_free(r);
    cloud_free(&c);
    kb_context_free(ctx);
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, 40, 3, 5);
    rivalry t = {&c, KB_RIVAL_FOURIER, "laplace", 8, 0, 1};
    (void)unused;
    run_with_allocation_failures(use_rival, &t);
    cloud_free(&c);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mean_is_the_kernel_and_its_error_falls_like_one_over_root_r),
        cmocka_unit_test(rows_are_cosines),
        cmocka_unit_test(no_bit_depends_on_how_it_is_done),
        cmocka_unit_test(thin_rows_give_the_same_bits),
        cmocka_unit_test(more_cosines_leave_the_first_as_they_are),
        cmocka_unit_test(damaged_arrays_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
