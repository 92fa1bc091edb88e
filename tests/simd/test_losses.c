/* The loops over losses: every level of CPU against libm, and the same bits on all of them. */
#include "features/world.h"

enum { MOST = 8 };

static void forms_are_the_same_on_every_level(void **unused) {
    const kb_simd *level[MOST];
    size_t levels = kb_simd_list(level, MOST);
    (void)unused;
    for (size_t n = 0; n < 70; n += 1 + n / 20)
        for (size_t count = 1; count <= KB_FORMS; count++) {
            double *h = test_numbers(1, n + 1), *v = test_numbers(2, n + 1), *k[KB_FORMS];
            double first[16] = {0}, dots[KB_FORMS] = {0};
            for (size_t a = 0; a < count; a++)
                k[a] = test_numbers(3 + a, n + 1);
            for (size_t l = 0; l < levels; l++) {
                double product[16] = {0}, dot[KB_FORMS] = {0};
                level[l]->losses->forms(n, count, h, v, (const double *const *)k, product, dot);
                for (size_t b = 0, pair = 0; b < count; b++) {
                    double want = 0;
                    for (size_t i = 0; i < n; i++)
                        want += v[i] * k[b][i];
                    assert_true(fabs(dot[b] - want) <= 1e-13 * (1 + (double)n));
                    for (size_t a = 0; a <= b; a++, pair++) {
                        want = 0;
                        for (size_t i = 0; i < n; i++)
                            want += h[i] * k[a][i] * k[b][i];
                        assert_true(fabs(product[pair] - want) <= 1e-13 * (1 + (double)n));
                    }
                }
                if (l == 0) {
                    memcpy(first, product, sizeof first);
                    memcpy(dots, dot, sizeof dots);
                }
                assert_same_bits(product, first, 16);
                assert_same_bits(dot, dots, KB_FORMS);
            }
            free(h), free(v);
            for (size_t a = 0; a < count; a++)
                free(k[a]);
        }
}

static void the_logistic_loss_is_the_same_on_every_level(void **unused) {
    enum { N = 3003 };
    const kb_simd *level[MOST];
    size_t levels = kb_simd_list(level, MOST);
    static double z[N], y[N], out[3][N], first[3][N];
    (void)unused;
    for (size_t i = 0; i < N; i++) {
        z[i] = i < 1000 ? 2 * test_uniform(1, i) - 1 : ((double)i - 2000) * 0.9; /* to 900 */
        y[i] = i % 2 ? 1 : -1;
    }
    for (size_t l = 0; l < levels; l++) {
        level[l]->losses->logistic(N, z, y, out[0], out[1], out[2]);
        for (size_t i = 0; i < N; i++) {
            double m = y[i] * z[i], wrong = 1 / (1 + exp(m));
            double value = m > 0 ? log1p(exp(-m)) : log1p(exp(m)) - m;
            assert_true(fabs(out[0][i] - value) <= 1e-15 * (1 + value));
            assert_true(fabs(out[1][i] + y[i] * wrong) <= 1e-15);
            assert_true(fabs(out[2][i] - wrong / (1 + exp(-m))) <= 1e-15);
        }
        if (l == 0)
            memcpy(first, out, sizeof first);
        assert_same_bits(out[0], first[0], 3 * N);
        double sum = level[l]->losses->logistic_sum(KB_LOGISTIC_MOST, z, y, out[1], out[2]);
        assert_true(sum == level[0]->losses->logistic_sum(KB_LOGISTIC_MOST, z, y, out[1], out[2]));
    }
}

/* Against libm, at the ends and beyond them too. */
static void the_logistic_conjugate_is_the_same_on_every_level(void **unused) {
    enum { N = 1003 };
    const kb_simd *level[MOST];
    size_t levels = kb_simd_list(level, MOST);
    static double u[N], y[N], out[N], first[N];
    static const double edges[] = {0, 1, 1e-300, 1 - 1e-16, 0.5, -1e-300, 1 + 1e-15, -3, 7};
    (void)unused;
    for (size_t i = 0; i < N; i++) {
        y[i] = i % 2 ? 1 : -1;
        u[i] = -y[i] * (i < sizeof edges / sizeof *edges ? edges[i] : test_uniform(1, i));
    }
    for (size_t l = 0; l < levels; l++) {
        level[l]->losses->logistic_conjugate(N, u, y, out);
        for (size_t i = 0; i < N; i++) {
            double p = -u[i] * y[i], q = 1 - p;
            double value = (p > 0 ? p * log(p) : 0) + (q > 0 ? q * log(q) : 0);
            assert_true(p < 0 || q < 0 ? isinf(out[i]) && out[i] > 0
                                       : fabs(out[i] - value) <= 1e-15);
        }
        if (l == 0)
            memcpy(first, out, sizeof first);
        assert_same_bits(out, first, N);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_are_the_same_on_every_level),
        cmocka_unit_test(the_logistic_loss_is_the_same_on_every_level),
        cmocka_unit_test(the_logistic_conjugate_is_the_same_on_every_level),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
