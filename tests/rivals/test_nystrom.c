/* The landmarks of the Nystrom method; its products are tested in test_maps.c. */
#include "rivals/maps.h"

/* Root mean square of K - kernel. */
static double error_of(kb_context *ctx, const rivalry *t, const double *want) {
    kb_rival *rival;
    kb_operator *op;
    size_t n = t->c->N * t->c->N;
    double sum = 0;
    assert_ok(ctx, rival_of(ctx, t, t->c->dense, &rival));
    assert_ok(ctx, kb_rival_operator(ctx, rival, t->c->dense, SIZE_MAX, &op));
    double *K = matrix_of(ctx, op);
    for (size_t e = 0; e < n; e++)
        sum += (K[e] - want[e]) * (K[e] - want[e]);
    free(K);
    kb_operator_free(op);
    kb_rival_free(rival);
    return sqrt(sum / (double)n);
}

static void the_error_falls_with_the_rank(void **unused) {
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, 300, 2, 5);
    kb_kernel *kernel = test_kernel(ctx, "laplace");
    double *want = plain_matrix(kernel, &c);
    (void)unused;
    for (int l = KB_LANDMARKS_UNIFORM; l <= KB_LANDMARKS_KMEANS; l++) {
        double before = INFINITY;
        for (size_t rank = 5; rank <= 135; rank *= 3) {
            rivalry t = {&c, KB_RIVAL_NYSTROM, "laplace", rank, (kb_landmarks)l, 0};
            double error = error_of(ctx, &t, want);
            assert_true(error < 0.7 * before);
            before = error;
        }
    }
    free(want);
    kb_kernel_free(kernel);
    cloud_free(&c);
    kb_context_free(ctx);
}

/* k-means++ never takes a sample that it has: it stops when all are covered. */
static void far_landmarks_are_different_samples(void **unused) {
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, 100, 8, 5);
    rivalry t = {&c, KB_RIVAL_NYSTROM, "laplace", 100, KB_LANDMARKS_KMEANS, 0};
    kb_rival *r;
    (void)unused;
    assert_ok(ctx, rival_of(ctx, &t, c.dense, &r));
    assert_int_equal(r->columns, 81); /* 19 of 100 are the same as others */
    for (size_t a = 0; a < r->columns; a++)
        for (size_t b = 0; b < a; b++)
            assert_memory_not_equal(r->points->dense + a * c.d, r->points->dense + b * c.d,
                                    c.d * sizeof(double));
    kb_rival_free(r);
    cloud_free(&c);
    kb_context_free(ctx);
}

static void uniform_landmarks_are_rows_without_repetition(void **unused) {
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, 50, 1, 5);
    (void)unused;
    for (size_t i = 0; i < c.N; i++)
        c.x[i] = (double)i + 1;
    kb_data_free(c.dense);
    assert_ok(ctx, data_from_dense(ctx, c.N, 1, c.x, NULL, &c.dense));
    c.shift[0] = 0;
    c.factor[0] = 1;
    for (size_t rank = 1; rank <= 50; rank += 7) {
        rivalry t = {&c, KB_RIVAL_NYSTROM, "laplace", rank, 0, 0};
        kb_rival *r;
        int seen[51] = {0};
        assert_ok(ctx, rival_of(ctx, &t, c.dense, &r));
        for (size_t k = 0; k < rank; k++)
            assert_int_equal(seen[(int)r->points->dense[k]]++, 0);
        kb_rival_free(r);
    }
    cloud_free(&c);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_error_falls_with_the_rank),
        cmocka_unit_test(far_landmarks_are_different_samples),
        cmocka_unit_test(uniform_landmarks_are_rows_without_repetition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
