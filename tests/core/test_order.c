/* Numbers compared, sorted and selected. */
#include "support.h"

#include "core/order.h"
#include "core/random.h"

#include <math.h>

static void selection_finds_what_sorting_finds(void **unused) {
    enum { MOST = 70 };
    double x[MOST], sorted[MOST];
    (void)unused;
    for (size_t n = 1; n <= MOST; n++)
        for (int values = 1; values < 100; values += 14) /* few values: many ties */
            for (size_t k = 0; k < n; k++) {
                for (size_t i = 0; i < n; i++)
                    x[i] =
                        floor(values * kb_random_uniform(1, KB_STREAM_SYNTHETIC, n, (uint32_t)i).u);
                memcpy(sorted, x, n * sizeof *x);
                qsort(sorted, n, sizeof *sorted, kb_compare_doubles);
                assert_true(kb_select_rank(x, n, k) == sorted[k]);
                qsort(x, n, sizeof *x, kb_compare_doubles);
                assert_memory_equal(x, sorted, n * sizeof *x); /* reordered, no more */
            }
}

static void numbers_are_sorted_in_increasing_order(void **unused) {
    double x[] = {3, -1e300, 0.5, -2, 1e300, 0.5};
    uint32_t k[] = {7, UINT32_MAX, 0, 7, 1};
    (void)unused;
    qsort(x, 6, sizeof *x, kb_compare_doubles);
    for (int i = 1; i < 6; i++)
        assert_true(x[i - 1] <= x[i]);
    qsort(k, 5, sizeof *k, kb_compare_uint32);
    for (int i = 1; i < 5; i++)
        assert_true(k[i - 1] <= k[i]);
    assert_int_equal(kb_least(2, 3), 2);
    assert_int_equal(kb_least(3, 2), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(selection_finds_what_sorting_finds),
        cmocka_unit_test(numbers_are_sorted_in_increasing_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
