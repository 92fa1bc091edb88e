/* All products of a few vectors, beside a plain loop. */
#include "features/world.h"

#include "simd/gram.h"

/* Numbers and lengths around those that are handled at a time. */
static void products_are_those_of_a_plain_loop(void **unused) {
    static const size_t count[] = {1, 7, 8, 9, 43, 64}, length[] = {0, 1, 47, 48, 49, 200};
    (void)unused;
    for (int a = 0; a < 6; a++)
        for (int b = 0; b < 6; b++) {
            size_t n = count[a], p = length[b], m = kb_gram_width(n);
            double *x = test_numbers(5, n * p), *G = calloc(p * m + 1, sizeof *G);
            double *L = test_numbers(6, n * n);
            assert_true(m >= n);
            for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j < p; j++)
                    G[j * m + i] = x[i * p + j];
            kb_gram(n, p, G, L);
            for (size_t i = 0; i < n; i++)
                for (size_t k = 0; k <= i; k++) {
                    double sum = 0;
                    for (size_t j = 0; j < p; j++)
                        sum += x[i * p + j] * x[k * p + j];
                    assert_true(L[i * n + k] == sum);
                }
            free(x), free(G), free(L);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_those_of_a_plain_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
