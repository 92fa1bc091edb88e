/* The first eigenvectors of matrices whose eigenvectors are known, or not. */
#include "slopes/eigenvectors.h"
#include "features/world.h"

enum { N = 40 };

/* M = B B' of rank `rank`. */
static double *matrix(size_t n, size_t rank) {
    double *B = test_numbers(4, n * rank), *M = calloc(n * n, sizeof *M);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            for (size_t k = 0; k < rank; k++) /* so that the eigenvalues are apart */
                M[i * n + j] += B[i * rank + k] * B[j * rank + k] * pow(0.5, (double)k);
    free(B);
    return M;
}

static double dot(size_t n, const double *a, const double *b) {
    double sum = 0;
    for (size_t j = 0; j < n; j++)
        sum += a[j] * b[j];
    return sum;
}

static void they_are_orthonormal_and_solve_the_equation(void **unused) {
    static const size_t count[] = {1, 3, 8}, size[] = {N, 9, 3};
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 9; k++) {
        size_t n = size[k / 3], K = count[k % 3], rank = n < 12 ? n : 12;
        double *M = matrix(n, rank), *vector = malloc(K * n * sizeof *vector), value[8];
        assert_ok(ctx, kb_eigenvectors(ctx, n, M, K, vector, value));
        for (size_t a = 0; a < K; a++) {
            const double *v = vector + a * n;
            if (a >= n) {
                assert_true(value[a] == 0 && dot(n, v, v) == 0);
                continue;
            }
            assert_true(a == 0 || value[a] <= value[a - 1] * (1 + 1e-6));
            for (size_t b = 0; b <= a; b++)
                assert_true(fabs(dot(n, v, vector + b * n) - (a == b)) < 1e-12);
            for (size_t i = 0; i < n; i++)
                assert_true(fabs(dot(n, M + i * n, v) - value[a] * v[i]) < 1e-2 * value[0]);
        }
        /* the largest eigenvalue, by many plain multiplications */
        double x[N], length = 0;
        for (size_t i = 0; i < n; i++)
            x[i] = 1 + (double)i / (double)n;
        for (int round = 0; round < 500; round++) {
            double y[N];
            for (size_t i = 0; i < n; i++)
                y[i] = dot(n, M + i * n, x);
            length = sqrt(dot(n, y, y));
            for (size_t i = 0; i < n; i++)
                x[i] = y[i] / length;
        }
        assert_true(fabs(value[0] / length - 1) < 1e-6);
        free(M), free(vector);
    }
    kb_context_free(ctx);
}

static void behind_the_rank_they_are_0(void **unused) {
    kb_context *ctx = test_context();
    double *M = matrix(N, 2), vector[4 * N], value[4], zero[9] = {0};
    (void)unused;
    assert_ok(ctx, kb_eigenvectors(ctx, N, M, 4, vector, value));
    assert_true(value[1] > 1e-3 && value[2] < 1e-9 * value[0] && value[3] < 1e-9 * value[0]);
    assert_ok(ctx, kb_eigenvectors(ctx, 3, zero, 2, vector, value));
    assert_true(value[0] == 0 && value[1] == 0 && dot(6, vector, vector) == 0);
    free(M);
    kb_context_free(ctx);
}

static void the_largest_number_is_positive(void **unused) {
    kb_context *ctx = test_context();
    double M[4] = {1, -2, -2, 4}, vector[2], value[1]; /* (1, -2) (1, -2)' */
    (void)unused;
    assert_ok(ctx, kb_eigenvectors(ctx, 2, M, 1, vector, value));
    assert_true(fabs(value[0] - 5) < 1e-9 && fabs(vector[0] + sqrt(0.2)) < 1e-9 &&
                fabs(vector[1] - sqrt(0.8)) < 1e-9);
    kb_context_free(ctx);
}

static int find(kb_context *ctx, void *M) {
    double vector[2 * N], value[2];
    return kb_eigenvectors(ctx, N, M, 2, vector, value);
}

static void it_may_fail_anywhere(void **unused) {
    double *M = matrix(N, 5);
    (void)unused;
    run_with_allocation_failures(find, M);
    free(M);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_are_orthonormal_and_solve_the_equation),
        cmocka_unit_test(behind_the_rank_they_are_0),
        cmocka_unit_test(the_largest_number_is_positive),
        cmocka_unit_test(it_may_fail_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
