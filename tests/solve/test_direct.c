/* Kernel ridge within blocks by Cholesky: the equations that a solution must fulfil. */
#include "rivals/maps.h"

#include <lapacke.h>

enum { C = CHECK_COLUMNS };

/* Weights of samples: none, some of them 0, and nothing but 0. */
enum { ONES, SOME, NONE_AT_ALL, WEIGHINGS };

static double *weights_of(size_t N, int how) {
    double *s = malloc(N * sizeof *s);
    assert_non_null(s);
    for (size_t i = 0; i < N; i++)
        s[i] = how == NONE_AT_ALL || i % 6 == 2 ? 0 : 0.2 + 2 * test_uniform(19, i);
    return s;
}

typedef struct solution {
    double *alpha; /* N x C */
    double b[C];
} solution;

static solution solve(kb_context *ctx, const kb_rival *r, size_t N, double lambda,
                      const double *weight, int free_b) {
    solution s = {.alpha = malloc(N * C * sizeof(double))};
    double *y = test_numbers(4, N * C);
    assert_ok(ctx, kb_rival_solve(ctx, r, lambda, weight, C, y, s.alpha, free_b ? s.b : NULL));
    free(y);
    return s;
}

/* (K + lambda diag(s)^-1) alpha = y - b where there is a weight, alpha = 0 where there is none, and
 * with a free b the sum of alpha is 0.  The condition is below N / lambda. */
static void check_solution(kb_context *ctx, const rivalry *t, double lambda, int how, int free_b) {
    kb_rival *r;
    kb_operator *op;
    size_t N = t->c->N;
    assert_ok(ctx, rival_of(ctx, t, t->c->dense, &r));
    assert_ok(ctx, kb_rival_operator(ctx, r, t->c->dense, SIZE_MAX, &op));
    double *weight = how == ONES ? NULL : weights_of(N, how), *y = test_numbers(4, N * C);
    solution s = solve(ctx, r, N, lambda, weight, free_b);
    double *K = matrix_of(ctx, op), *f = dense_apply(N, N, C, K, s.alpha), sum[C] = {0};
    for (size_t i = 0; i < N; i++)
        for (size_t c = 0; c < C; c++) {
            double alpha = s.alpha[i * C + c], w = weight ? weight[i] : 1;
            double b = free_b ? s.b[c] : 0;
            sum[c] += alpha;
            if (w == 0)
                assert_true(alpha == 0);
            else
                assert_true(fabs(f[i * C + c] + lambda / w * alpha + b - y[i * C + c]) < 1e-10);
        }
    for (size_t c = 0; free_b && c < C; c++) {
        assert_true(fabs(sum[c]) < 1e-10);
        assert_int_equal(s.b[c] == 0, how == NONE_AT_ALL);
    }
    kb_operator_free(op);
    kb_rival_free(r);
    free(weight), free(y), free(K), free(f), free(s.alpha);
}

static void solutions_fulfil_their_equations(void **unused) {
    static const double lambdas[] = {0.01, 1, 100};
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, 230, 3, 5);
    (void)unused;
    for (int exact = 0; exact < 2; exact++)
        for (int k = 0; k < 3; k++)
            for (int how = ONES; how < WEIGHINGS; how++)
                for (int free_b = 0; free_b < 2; free_b++) {
                    rivalry t = {&c, exact ? KB_RIVAL_EXACT : KB_RIVAL_BLOCKS, "laplace", 40, 0, 0};
                    check_solution(ctx, &t, lambdas[k], how, free_b);
                }
    cloud_free(&c);
    kb_context_free(ctx);
}

/* One sample: alpha = y / (1 + lambda / s), and with an intercept that takes it all, 0. */
static void one_sample_is_solved_by_hand(void **unused) {
    const double weight = 4, y[C] = {2, -3, 0.5};
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, 1, 2, 5);
    rivalry t = {&c, KB_RIVAL_EXACT, "gauss", 0, 0, 0};
    kb_rival *r;
    double alpha[C], b[C];
    (void)unused;
    assert_ok(ctx, rival_of(ctx, &t, c.dense, &r));
    assert_ok(ctx, kb_rival_solve(ctx, r, 2, &weight, C, y, alpha, NULL));
    for (size_t k = 0; k < C; k++)
        assert_true(fabs(alpha[k] - y[k] / 1.5) < 1e-15);
    assert_ok(ctx, kb_rival_solve(ctx, r, 2, NULL, C, y, alpha, b));
    for (size_t k = 0; k < C; k++)
        assert_true(fabs(alpha[k]) < 1e-15 && fabs(b[k] - y[k]) < 1e-15);
    kb_rival_free(r);
    cloud_free(&c);
    kb_context_free(ctx);
}

/* Equal samples make the matrix singular, and lambda regular. */
static void a_singular_matrix_is_refused(void **unused) {
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, 30, 2, 5); /* every fifth sample is there twice */
    rivalry t = {&c, KB_RIVAL_EXACT, "laplace", 0, 0, 0};
    kb_rival *r;
    double *y = test_numbers(4, 30), alpha[30];
    (void)unused;
    assert_ok(ctx, rival_of(ctx, &t, c.dense, &r));
    assert_fails(ctx, KB_ERR_ARGUMENT,
                 "the kernel matrix is singular to rounding: use a larger --lambda than 1e-300",
                 kb_rival_solve(ctx, r, 1e-300, NULL, 1, y, alpha, NULL));
    assert_ok(ctx, kb_rival_solve(ctx, r, 1e-6, NULL, 1, y, alpha, NULL));
    kb_rival_free(r);
    cloud_free(&c);
    free(y);
    kb_context_free(ctx);
}

static void maps_of_features_are_not_solved_so(void **unused) {
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, 9, 2, 5);
    double y[9] = {0}, alpha[9];
    (void)unused;
    for (int k = 0; k < 2; k++) {
        rivalry t = {&c, k ? KB_RIVAL_NYSTROM : KB_RIVAL_FOURIER, "laplace", 4, 0, 0};
        kb_rival *r;
        assert_ok(ctx, rival_of(ctx, &t, c.dense, &r));
        assert_fails(ctx, KB_ERR_ARGUMENT, "only blocks and exact can be solved directly",
                     kb_rival_solve(ctx, r, 1, NULL, 1, y, alpha, NULL));
        kb_rival_free(r);
    }
    cloud_free(&c);
    kb_context_free(ctx);
}

/* Sizes around the blocks of 128 and the units of 48. */
static void the_direct_solution_is_lapacks(void **unused) {
    static const size_t sizes[] = {1, 2, 47, 128, 129, 177, 300, 421};
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

static void no_ridge_on_equal_samples_is_refused(void **unused) {
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

static void threads_change_no_bit(void **unused) {
    enum { N = 500 };
    static const int teams[] = {1, 2, 5};
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, N, 3, 5);
    double *weight = weights_of(N, SOME);
    (void)unused;
    for (int exact = 0; exact < 2; exact++) {
        solution first = {0};
        for (int m = 0; m < 3; m++) {
            test_state state = {0};
            kb_context *team = test_context_with(&state, teams[m]);
            rivalry t = {&c, exact ? KB_RIVAL_EXACT : KB_RIVAL_BLOCKS, "gauss", 150, 0, 0};
            kb_rival *r;
            assert_ok(team, rival_of(team, &t, c.dense, &r));
            solution s = solve(team, r, N, 0.1, weight, 1);
            kb_rival_free(r);
            kb_context_free(team);
            assert_int_equal(state.live, 0);
            if (first.alpha) {
                assert_same_bits(s.alpha, first.alpha, N * C);
                assert_same_bits(s.b, first.b, C);
                free(s.alpha);
            } else {
                first = s;
            }
        }
        free(first.alpha);
    }
    free(weight);
    cloud_free(&c);
    kb_context_free(ctx);
}

/* The rival and what it is solved for; the rival's own context is another. */
static int solve_once(kb_context *ctx, void *arg) {
    const kb_rival *r = arg;
    double *y = test_numbers(4, r->columns * C), *alpha = malloc(r->columns * C * sizeof *alpha);
    double b[C];
    kb_status status = kb_rival_solve(ctx, r, 0.5, NULL, C, y, alpha, b);
    free(y), free(alpha);
    return (int)status;
}

static void it_may_be_cancelled_and_every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, 60, 2, 5);
    rivalry t = {&c, KB_RIVAL_BLOCKS, "laplace", 15, 0, 0};
    kb_rival *r;
    (void)unused;
    assert_ok(ctx, rival_of(ctx, &t, c.dense, &r));
    run_with_cancellations(solve_once, r, 1, (long)r->blocks);
    run_with_allocation_failures(solve_once, r);
    kb_rival_free(r);
    cloud_free(&c);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solutions_fulfil_their_equations),
        cmocka_unit_test(one_sample_is_solved_by_hand),
        cmocka_unit_test(the_direct_solution_is_lapacks),
        cmocka_unit_test(no_ridge_on_equal_samples_is_refused),
        cmocka_unit_test(a_singular_matrix_is_refused),
        cmocka_unit_test(maps_of_features_are_not_solved_so),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(it_may_be_cancelled_and_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
