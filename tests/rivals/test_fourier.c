/* The frequencies of random Fourier features; products with them are tested in test_maps.c. */
#include "rivals/maps.h"

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mean_is_the_kernel_and_its_error_falls_like_one_over_root_r),
        cmocka_unit_test(more_cosines_leave_the_first_as_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
