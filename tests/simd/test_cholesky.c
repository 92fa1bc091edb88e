/* Dense triangular algebra: against plain loops. */
#include "features/world.h"
#include "meter.h"

#include "simd/cholesky.h"

/* Within a block, at its edges, and several of them with tiles that stick out. */
static const size_t SIZES[] = {1, 2, 15, 47, 48, 128, 129, 177, 300};
enum { SIZE_COUNT = sizeof SIZES / sizeof *SIZES };

/* B B' / n + 1/10 of the unit matrix, but for the rows in `same`, which are those before them;
 * above the diagonal are numbers that must not be used. */
static double *test_symmetric(size_t n, const int *same) {
    double *B = test_numbers(7, n * n), *A = malloc((n * n + 1) * sizeof *A);
    assert_non_null(A);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            size_t a = same && same[i] ? i - 1 : i, b = same && same[j] ? j - 1 : j;
            double sum = a == b ? 0.1 : 0;
            for (size_t k = 0; k < n; k++)
                sum += B[a * n + k] * B[b * n + k] / (double)n;
            A[i * n + j] = j <= i ? sum : NAN;
        }
    free(B);
    return A;
}

static kb_triangle triangle_of(const double *A, size_t n) {
    kb_triangle t = {n, malloc(n * n * sizeof(double)), malloc(n * sizeof(double))};
    assert_true(t.L && t.inverse);
    memcpy(t.L, A, n * n * sizeof(double));
    return t;
}

static void triangle_free(kb_triangle *t) {
    free(t->L), free(t->inverse);
}

static const kb_tiles *best(void) {
    return kb_simd_best()->tiles;
}

/* L L' - A for the rows and columns that were kept: n roundings of numbers below 2. */
static void check_factor(const kb_triangle *t, const double *A) {
    for (size_t i = 0; i < t->n; i++) {
        if (t->inverse[i] != 0)
            assert_true(fabs(t->inverse[i] * t->L[i * t->n + i] - 1) < 1e-15);
        for (size_t j = 0; j <= i; j++) {
            double sum = 0;
            for (size_t k = 0; k <= j; k++)
                sum += t->L[i * t->n + k] * t->L[j * t->n + k];
            if (t->inverse[i] != 0 && t->inverse[j] != 0)
                assert_true(fabs(sum - A[i * t->n + j]) <= 1e-13);
        }
    }
}

static void the_factor_times_its_transpose_is_the_matrix(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int s = 0; s < SIZE_COUNT; s++) {
        size_t n = SIZES[s], rank = 99;
        double *A = test_symmetric(n, NULL);
        kb_triangle t = triangle_of(A, n);
        assert_ok(ctx, kb_cholesky(ctx, best(), &t, 0, &rank));
        assert_int_equal(rank, n);
        check_factor(&t, A);
        triangle_free(&t);
        free(A);
    }
    kb_context_free(ctx);
}

/* Of two equal rows one is dropped; the rest is the same as without it. */
static void equal_rows_are_dropped(void **unused) {
    enum { n = 200 };
    kb_context *ctx = test_context();
    int same[n] = {0};
    size_t rank;
    (void)unused;
    same[1] = same[60] = same[128] = same[199] = 1;
    double *A = test_symmetric(n, same), y[n], *x = test_numbers(5, n);
    kb_triangle t = triangle_of(A, n);
    assert_ok(ctx, kb_cholesky(ctx, best(), &t, 1e-9, &rank));
    assert_int_equal(rank, n - 4);
    for (size_t k = 0; k < n; k++)
        assert_int_equal(t.inverse[k] == 0, same[k]);
    check_factor(&t, A);
    /* And so is its number in a solution. */
    memcpy(y, x, sizeof y);
    kb_triangle_forward(ctx, best(), &t, 1, y);
    kb_triangle_backward(ctx, best(), &t, 1, y);
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        assert_true(!same[i] || y[i] == 0);
        for (size_t j = 0; j < n; j++)
            sum += (j <= i ? A[i * n + j] : A[j * n + i]) * y[j];
        assert_true(same[i] || fabs(sum - x[i]) < 1e-11);
    }
    triangle_free(&t);
    free(A), free(x);
    kb_context_free(ctx);
}

/* A pivot that is exactly `drop` goes; a matrix of nothing has rank 0. */
static void what_is_at_the_border_is_dropped(void **unused) {
    kb_context *ctx = test_context();
    double L[9] = {4, 0, 0, 0, 2, 0, 0, 0, 1}, inverse[3], y[3] = {8, 8, 8};
    kb_triangle t = {3, L, inverse}, none = {0, L, inverse};
    size_t rank;
    (void)unused;
    assert_ok(ctx, kb_cholesky(ctx, best(), &t, 2, &rank));
    assert_int_equal(rank, 1);
    assert_true(inverse[0] == 0.5 && inverse[1] == 0 && inverse[2] == 0);
    kb_triangle_forward(ctx, best(), &t, 1, y);
    assert_true(y[0] == 4 && y[1] == 0 && y[2] == 0);
    memset(L, 0, sizeof L);
    assert_ok(ctx, kb_cholesky(ctx, best(), &t, 0, &rank));
    assert_int_equal(rank, 0);
    assert_ok(ctx, kb_cholesky(ctx, best(), &none, 0, &rank));
    assert_int_equal(rank, 0);
    kb_context_free(ctx);
}

static void substitutions_undo_the_factor(void **unused) {
    enum { C = 5 };
    kb_context *ctx = test_context();
    size_t rank;
    (void)unused;
    for (int s = 0; s < SIZE_COUNT; s++) {
        size_t n = SIZES[s];
        double *A = test_symmetric(n, NULL), *x = test_numbers(3, C * n);
        double *down = calloc(C * n, sizeof *down), *up = calloc(C * n, sizeof *up);
        kb_triangle t = triangle_of(A, n);
        assert_ok(ctx, kb_cholesky(ctx, best(), &t, 0, &rank));
        for (size_t c = 0; c < C; c++)
            for (size_t i = 0; i < n; i++)
                for (size_t k = 0; k <= i; k++) {
                    down[c * n + i] += t.L[i * n + k] * x[c * n + k]; /* L x */
                    up[c * n + k] += t.L[i * n + k] * x[c * n + i];   /* L' x */
                }
        kb_triangle_forward(ctx, best(), &t, C, down);
        kb_triangle_backward(ctx, best(), &t, C, up);
        assert_close(down, x, C * n, 1e-11); /* the condition of L is below 100 */
        assert_close(up, x, C * n, 1e-11);
        triangle_free(&t);
        free(A), free(x), free(down), free(up);
    }
    kb_context_free(ctx);
}

static void a_transpose_has_rows_for_columns(void **unused) {
    const double from[] = {1, 2, 3, 4, 5, 6}, want[] = {1, 4, 2, 5, 3, 6};
    double to[6], back[6];
    (void)unused;
    kb_transpose(2, 3, from, to);
    assert_same_bits(to, want, 6);
    kb_transpose(3, 2, to, back);
    assert_same_bits(back, from, 6);
}

/* Neither the threads nor the CPU change a bit. */
static void threads_and_levels_change_no_bit(void **unused) {
    enum { n = 430, C = 3 };
    static const int teams[] = {1, 2, 3, 7};
    const kb_simd *level[8];
    size_t levels = kb_simd_list(level, 8), rank;
    double *A = test_symmetric(n, NULL), *first = NULL;
    (void)unused;
    for (int m = 0; m < 4; m++)
        for (size_t l = 0; l < levels; l++) {
            test_state state = {0};
            kb_context *ctx = test_context_with(&state, teams[m]);
            const kb_tiles *tiles = level[l]->tiles;
            double *out = calloc(n * n + C * n, sizeof *out), *x = test_numbers(3, C * n);
            kb_triangle t = triangle_of(A, n);
            assert_ok(ctx, kb_cholesky(ctx, tiles, &t, 0, &rank));
            kb_triangle_forward(ctx, tiles, &t, C, x);
            kb_triangle_backward(ctx, tiles, &t, C, x);
            for (size_t i = 0; i < n; i++)
                memcpy(out + i * n, t.L + i * n, (i + 1) * sizeof *out);
            memcpy(out + n * n, x, C * n * sizeof *out);
            kb_context_free(ctx);
            assert_int_equal(state.live, 0);
            triangle_free(&t);
            free(x);
            if (first)
                assert_same_bits(out, first, n * n + C * n);
            if (first)
                free(out);
            else
                first = out;
        }
    free(A), free(first);
}

static void memory_is_as_forecast(void **unused) {
    (void)unused;
    for (int s = 0; s < SIZE_COUNT; s++) {
        meter m = {0, 0};
        kb_context *ctx = metered_context(&m);
        size_t n = SIZES[s], rank, before = m.now;
        double *A = test_symmetric(n, NULL);
        kb_triangle t = triangle_of(A, n);
        m.peak = m.now;
        assert_ok(ctx, kb_cholesky(ctx, best(), &t, 0, &rank));
        assert_true((double)(m.peak - before) <= kb_cholesky_bytes(n) + 64);
        assert_true((double)(m.peak - before) >= 0.9 * kb_cholesky_bytes(n));
        assert_int_equal(m.now, before);
        triangle_free(&t);
        free(A);
        kb_context_free(ctx);
    }
}

static int factor(kb_context *ctx, void *A) {
    size_t rank;
    kb_triangle t = triangle_of(A, 60);
    kb_status status = kb_cholesky(ctx, best(), &t, 0, &rank);
    triangle_free(&t);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    double *A = test_symmetric(60, NULL);
    (void)unused;
    run_with_allocation_failures(factor, A);
    free(A);
}

/* Cancelled in the middle, by any number of threads, and none waits for another for ever. */
static void the_caller_may_stop_it(void **unused) {
    const size_t n = 300;
    double *A = test_symmetric(n, NULL), *y = test_numbers(3, 4 * n);
    (void)unused;
    for (int threads = 1; threads <= 4; threads++) {
        test_state state = {0};
        kb_context *ctx = test_context_with(&state, threads);
        kb_triangle t = triangle_of(A, n);
        size_t rank;
        state.cancel_after = 1;
        assert_fails(ctx, KB_ERR_CANCELLED, "interrupted", kb_cholesky(ctx, best(), &t, 0, &rank));
        memcpy(t.L, A, n * n * sizeof *A);
        state.cancel_after = 0;
        assert_ok(ctx, kb_cholesky(ctx, best(), &t, 0, &rank));
        state.cancel_after = state.progress + 1;
        assert_int_equal(kb_triangle_forward(ctx, best(), &t, 4, y), KB_ERR_CANCELLED);
        state.cancel_after = state.progress + 1;
        assert_int_equal(kb_triangle_backward(ctx, best(), &t, 4, y), KB_ERR_CANCELLED);
        triangle_free(&t);
        kb_context_free(ctx);
        assert_int_equal(state.live, 0);
    }
    free(A), free(y);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_factor_times_its_transpose_is_the_matrix),
        cmocka_unit_test(equal_rows_are_dropped),
        cmocka_unit_test(what_is_at_the_border_is_dropped),
        cmocka_unit_test(substitutions_undo_the_factor),
        cmocka_unit_test(a_transpose_has_rows_for_columns),
        cmocka_unit_test(threads_and_levels_change_no_bit),
        cmocka_unit_test(memory_is_as_forecast),
        cmocka_unit_test(the_caller_may_stop_it),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
