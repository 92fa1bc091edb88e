/* Sums that do not depend on the number of threads. */
#include "features/world.h"

#include "core/sums.h"

#include <float.h>

static const size_t ROWS[] = {0, 1, 3, 4, 5, 2047, 2048, 2049, 12345, 60000};
static const size_t COLUMNS[] = {1, 2, 3, 26};
enum { CASES = sizeof ROWS / sizeof *ROWS, WIDTHS = sizeof COLUMNS / sizeof *COLUMNS };

/* n roundings of at most half a unit each, of partial sums no larger than `size`. */
static void sums_agree_with_long_double(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < CASES; k++)
        for (int m = 0; m < WIDTHS; m++) {
            size_t N = ROWS[k], C = COLUMNS[m];
            double *a = test_numbers(1, N * C), *b = test_numbers(2, N * C), out[26];
            for (int with = 0; with < 2; with++) {
                assert_ok(ctx, kb_sums(ctx, N, C, a, with ? b : NULL, out));
                for (size_t c = 0; c < C; c++) {
                    long double sum = 0, size = 0;
                    for (size_t i = 0; i < N; i++) {
                        long double term = (long double)a[i * C + c] * (with ? b[i * C + c] : 1);
                        sum += term;
                        size += fabsl(term);
                    }
                    assert_true(fabsl(out[c] - sum) <= (long double)(N + 1) * DBL_EPSILON * size);
                    if (N <= 4) /* where the bound above hides nothing */
                        assert_true(fabsl(out[c] - sum) <= 4 * DBL_EPSILON * size);
                }
            }
            free(a);
            free(b);
        }
    kb_context_free(ctx);
}

static void sums_have_the_same_bits_for_any_number_of_threads(void **unused) {
    static const int teams[] = {1, 2, 3, 5, 8};
    (void)unused;
    for (int k = 0; k < CASES; k++)
        for (int m = 0; m < WIDTHS; m++) {
            size_t N = ROWS[k], C = COLUMNS[m];
            double *a = test_numbers(1, N * C), *b = test_numbers(2, N * C), first[2][26] = {{0}};
            for (size_t t = 0; t < sizeof teams / sizeof *teams; t++) {
                test_state state = {0};
                kb_context *ctx = test_context_with(&state, teams[t]);
                for (int with = 0; with < 2; with++) {
                    double out[26];
                    assert_ok(ctx, kb_sums(ctx, N, C, a, with ? b : NULL, out));
                    if (t == 0)
                        memcpy(first[with], out, C * sizeof *out);
                    assert_same_bits(out, first[with], C);
                }
                kb_context_free(ctx);
                assert_int_equal(state.live, 0);
            }
            free(a);
            free(b);
        }
}

/* One of them large, at every place in turn: none may be left out or counted twice. */
static void strands_sum_all_and_find_the_largest(void **unused) {
    (void)unused;
    for (size_t n = 0; n <= 40; n++)
        for (size_t large = 0; large < (n > 0 ? n : 1); large++) {
            double *x = test_numbers(3, n + 1);
            long double sum = 0, sizes = 0;
            x[large] = large % 2 ? 1000 : -1000;
            for (size_t i = 0; i < n; i++) {
                sum += x[i];
                sizes += fabsl(x[i]);
            }
            assert_true(fabsl(kb_sum(n, x) - sum) <= 40 * DBL_EPSILON * sizes);
            assert_true(fabsl(kb_sum_sizes(n, x) - sizes) <= 40 * DBL_EPSILON * sizes);
            assert_true(kb_largest_size(n, x) == (n > 0 ? 1000 : 0));
            free(x);
        }
}

static int sum_once(kb_context *ctx, void *arg) {
    double out[3];
    return (int)kb_sums(ctx, 1000, 3, arg, NULL, out);
}

static void every_allocation_may_fail(void **unused) {
    double *a = test_numbers(1, 3000);
    (void)unused;
    run_with_allocation_failures(sum_once, a);
    free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_agree_with_long_double),
        cmocka_unit_test(sums_have_the_same_bits_for_any_number_of_threads),
        cmocka_unit_test(strands_sum_all_and_find_the_largest),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
