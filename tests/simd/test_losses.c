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

/* Weights of 1, 2, 4 and 8 columns: changes against plain loops, and a step. */
static void changes_and_steps_are_the_same_on_every_level(void **unused) {
    enum { N = 88, PAST = KB_FORMS - 1 };
    const kb_simd *level[MOST];
    size_t levels = kb_simd_list(level, MOST);
    static float inverse[N], past[PAST][N], d[MOST][N];
    static int32_t g[MOST][N];
    static int64_t S[N];
    static double sum[MOST][KB_PANEL * KB_CHANGE_SUMS], after[MOST][N];
    double *u = test_numbers(1, N), *x = test_numbers(2, KB_PANEL * KB_FORMS);
    double *t = test_numbers(3, KB_PANEL);
    (void)unused;
    for (size_t i = 0; i < N; i++) {
        S[i] = (int64_t)(1e9 * (test_uniform(4, i) - 0.5));
        inverse[i] = (float)(i % 9 ? 100 * test_uniform(5, i) : 1e9); /* some are cut off */
        for (size_t a = 0; a < PAST; a++)
            past[a][i] = (float)test_uniform(6 + a, i);
    }
    for (size_t columns = 1; columns <= KB_PANEL; columns *= 2)
        for (size_t l = 0, n = N - columns; l < levels; l++) {
            kb_changes how = {1e-6, 0.3, 0.01, 5000, S, u, inverse, {past[0], past[1], past[2]},
                              g[l]};
            level[l]->losses->changes(n, columns, &how, sum[l]);
            for (size_t c = 0; c < columns; c++) {
                double descent = 0, with = 0;
                for (size_t i = c; i < n; i += columns) {
                    double q = (double)S[i] * 1e-6 - 0.3 * u[i];
                    double want = rint(fmin(fmax(q * (double)inverse[i], -5000), 5000));
                    assert_true(fabs(g[l][i] - want) <= 0);
                    descent += want * 0.01 * q;
                    with += want * 0.01 * (double)past[2][i];
                }
                const double *mine = sum[l] + c * KB_CHANGE_SUMS;
                assert_true(fabs(mine[KB_CHANGE_DESCENT] - descent) <= 1e-9 * fabs(descent));
                assert_true(fabs(mine[KB_CHANGE_WITH + 2] - with) <= 1e-9 * (1 + fabs(with)));
            }
            memcpy(d[l], past[2], sizeof d[l]);
            memcpy(after[l], u, sizeof after[l]);
            kb_step at = {0.01, g[l], {past[0], past[1]}, d[l], after[l]};
            level[l]->losses->step(n, columns, x, t, &at);
            for (size_t i = 0; i < n; i++) {
                const double *by = x + i % columns * KB_FORMS;
                double want = by[0] * 0.01 * g[l][i] + by[1] * (double)past[0][i] +
                              by[2] * (double)past[1][i] + by[3] * (double)past[2][i];
                assert_true(fabs((double)d[l][i] - want) <= 1e-6 * (1 + fabs(want)));
                want = u[i] + t[i % columns] * want;
                assert_true(fabs(after[l][i] - want) <= 1e-12 * (1 + fabs(want)));
            }
            assert_same_bits(sum[l], sum[0], columns * KB_CHANGE_SUMS);
            assert_same_bits(after[l], after[0], N);
            assert_memory_equal(d[l], d[0], sizeof d[l]);
        }
    free(u), free(x), free(t);
}

static void numbers_become_whole_and_real_again_on_every_level(void **unused) {
    enum { N = 75 };
    const kb_simd *level[MOST];
    size_t levels = kb_simd_list(level, MOST);
    double *x = test_numbers(1, N), back[N];
    const double offset[] = {0.25, -3};
    int32_t v[N];
    (void)unused;
    x[3] = 1e9;
    x[4] = -1e9;
    for (size_t l = 0; l < levels; l++) {
        level[l]->losses->whole(N, 1000, x, v);
        for (size_t i = 0; i < N; i++)
            assert_int_equal(v[i], (int32_t)rint(fmin(fmax(1000 * x[i], -0x1p28), 0x1p28)));
        level[l]->losses->real(N, 2, 0.5, offset, v, back);
        for (size_t i = 0; i < N; i++)
            assert_true(fabs(back[i] - (v[i] * 0.5 + offset[i % 2])) <= 0);
    }
    free(x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_are_the_same_on_every_level),
        cmocka_unit_test(the_logistic_loss_is_the_same_on_every_level),
        cmocka_unit_test(the_logistic_conjugate_is_the_same_on_every_level),
        cmocka_unit_test(changes_and_steps_are_the_same_on_every_level),
        cmocka_unit_test(numbers_become_whole_and_real_again_on_every_level),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
