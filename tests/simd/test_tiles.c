/* The inner loops of dense products, on every level of CPU. */
#include "features/world.h"

enum { MOST = 8 };

static const kb_tiles *level(size_t k, size_t *levels) {
    const kb_simd *all[MOST];
    *levels = kb_simd_list(all, MOST);
    return all[k]->tiles;
}

/* One pair as the header says it. */
static double plain_pair(kb_pairing pairing, double c, double x, double y) {
    double t = fabs(x - y);
    switch (pairing) {
    case KB_PAIR_PRODUCT:
        return fma(x, y, c);
    case KB_PAIR_SQUARE:
        return fma(t, t, c);
    case KB_PAIR_ABSOLUTE:
        return c + t;
    case KB_PAIR_TRIANGLE:
        return c * (t < 1 ? 1 - t : 0);
    case KB_PAIR_POWER:
        break;
    }
    return c * (1 + t);
}

static void tiles_are_plain_loops_to_the_bit(void **unused) {
    enum { K = 37, LD = 19, C = KB_TILE_ROWS * LD };
    size_t levels;
    double *a = test_numbers(1, K * KB_TILE_ROWS), *b = test_numbers(2, K * KB_TILE_COLUMNS);
    (void)unused;
    for (int form = KB_PAIR_PRODUCT; form <= KB_PAIR_POWER; form++) {
        double *want = test_numbers(3, C);
        for (size_t i = 0; i < KB_TILE_ROWS; i++)
            for (size_t j = 0; j < KB_TILE_COLUMNS; j++)
                for (size_t k = 0; k < K; k++)
                    want[i * LD + j] =
                        plain_pair((kb_pairing)form, want[i * LD + j], a[k * KB_TILE_ROWS + i],
                                   b[k * KB_TILE_COLUMNS + j]);
        level(0, &levels);
        for (size_t l = 0; l < levels; l++) {
            double *c = test_numbers(3, C);
            level(l, &levels)->tile((kb_pairing)form, K, a, b, c, LD);
            assert_same_bits(c, want, C);
            free(c);
        }
        free(want);
    }
    free(a), free(b);
}

static void check_times(size_t rows, size_t columns, size_t C, int is_float) {
    size_t ld = columns + 3, levels;
    double *z = test_numbers(1, rows * ld), *w = test_numbers(2, columns * C);
    double *v = test_numbers(3, rows * C), *first = NULL, *first_t = NULL;
    float *f = malloc(rows * ld * sizeof *f);
    for (size_t k = 0; k < rows * ld; k++) {
        f[k] = (float)z[k];
        z[k] = is_float ? (double)f[k] : z[k];
    }
    kb_rows m = {rows, columns, ld, is_float ? f : NULL, z};
    double *want = test_numbers(4, rows * C), *want_t = test_numbers(5, columns * C);
    for (size_t i = 0; i < rows; i++)
        for (size_t r = 0; r < columns; r++)
            for (size_t c = 0; c < C; c++) {
                want[i * C + c] += z[i * ld + r] * w[c * columns + r];
                want_t[c * columns + r] += z[i * ld + r] * v[i * C + c];
            }
    level(0, &levels);
    for (size_t l = 0; l < levels; l++) {
        double *out = test_numbers(4, rows * C), *out_t = test_numbers(5, columns * C);
        level(l, &levels)->times(&m, C, w, columns, out, C);
        level(l, &levels)->times_t(&m, C, v, C, out_t, columns);
        assert_close(out, want, rows * C, 1e-14); /* sums of 40 numbers below 1 */
        assert_close(out_t, want_t, columns * C, 1e-14);
        if (l == 0) {
            first = out, first_t = out_t;
            continue;
        }
        assert_same_bits(out, first, rows * C);
        assert_same_bits(out_t, first_t, columns * C);
        free(out), free(out_t);
    }
    free(first), free(first_t), free(z), free(f), free(w), free(v), free(want), free(want_t);
}

static void products_agree_with_plain_loops(void **unused) {
    static const size_t sizes[] = {1, 3, 7, 8, 9, 17, 40};
    (void)unused;
    for (size_t a = 0; a < 7; a++)
        for (size_t b = 0; b < 7; b++)
            for (size_t C = 1; C < 6; C++)
                for (int is_float = 0; is_float < 2; is_float++)
                    check_times(sizes[a], sizes[b], C, is_float);
}

static void cosines_are_right_and_the_same_on_every_level(void **unused) {
    enum { N = 20003 };
    static double x[N];
    static float out[N], first[N];
    size_t levels;
    (void)unused;
    for (size_t i = 0; i < N; i++) {
        double size = i < 10000 ? 3 : i < 15000 ? 1e6 : 0x1p40;
        x[i] = size * (2 * test_uniform(1, i) - 1);
    }
    const double special[] = {0, 0.25, 0.5, -0.75, 1, 1e300, -1e300, INFINITY, 0x1p50, 0x1p52};
    memcpy(x, special, sizeof special);
    level(0, &levels);
    for (size_t l = 0; l < levels; l++) {
        level(l, &levels)->cosines(N, x, 0.5, out);
        for (size_t i = 0; i < N; i++) {
            /* The remainder is exact; the rest is half a unit in the last place of a float. */
            double turn = isfinite(x[i]) ? x[i] - nearbyint(x[i]) : 0;
            double want = 0.5 * cos(2 * 3.14159265358979323846 * turn);
            assert_true(fabs((double)out[i] - want) <= 0x1p-24 * fabs(want) + 1e-15);
        }
        if (l == 0)
            memcpy(first, out, sizeof out);
        assert_memory_equal(out, first, sizeof out);
    }
}

static void exponentials_are_right_and_the_same_on_every_level(void **unused) {
    enum { N = 1003 };
    static double x[N], y[N], first[3][N];
    size_t levels;
    (void)unused;
    for (size_t i = 0; i < N; i++)
        x[i] = i == 0 ? 0 : exp(12 * test_uniform(1, i) - 6);
    level(0, &levels);
    for (size_t l = 0; l < levels; l++)
        for (int form = 0; form < 3; form++) {
            memcpy(y, x, sizeof x);
            if (form == 0)
                level(l, &levels)->exp_minus(N, 0.5, y);
            else if (form == 1)
                level(l, &levels)->exp_minus_root(N, y);
            for (size_t i = 0; form == 2 && i < N; i++)
                y[i] = 1;
            if (form == 2)
                level(l, &levels)->add_logs(N - 1, x + 1, y + 1);
            for (size_t i = 0; i < N; i++) {
                double want = form == 0   ? exp(-x[i] / 2)
                              : form == 1 ? exp(-sqrt(x[i]))
                              : i         ? 1 + log(x[i])
                                          : 1;
                assert_true(fabs(y[i] - want) <= 2e-15 * (1 + fabs(want)));
            }
            if (l == 0)
                memcpy(first[form], y, sizeof y);
            assert_same_bits(y, first[form], N);
        }
}

static void substitution_solves_a_triangle(void **unused) {
    enum { n = 21, LD = 24, W = KB_TILE_COLUMNS };
    size_t levels;
    double *L = test_numbers(1, n * LD), inverse[n], *first = NULL;
    (void)unused;
    for (size_t k = 0; k < n; k++) {
        L[k * LD + k] = 2;
        inverse[k] = 0.5;
    }
    level(0, &levels);
    for (size_t l = 0; l < levels; l++) {
        double *b = test_numbers(2, n * W), *y = test_numbers(2, n * W);
        level(l, &levels)->substitute(n, L, LD, inverse, b);
        for (size_t k = 0; k < n; k++)
            for (size_t c = 0; c < W; c++) {
                double sum = 0, size = 0;
                for (size_t m = 0; m <= k; m++) {
                    sum += L[k * LD + m] * b[m * W + c];
                    size += fabs(L[k * LD + m] * b[m * W + c]);
                }
                assert_true(fabs(sum - y[k * W + c]) <= 1e-14 * (1 + size));
            }
        free(y);
        if (!first)
            first = b;
        assert_same_bits(b, first, n * W);
        if (b != first)
            free(b);
    }
    free(first), free(L);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_are_plain_loops_to_the_bit),
        cmocka_unit_test(products_agree_with_plain_loops),
        cmocka_unit_test(cosines_are_right_and_the_same_on_every_level),
        cmocka_unit_test(exponentials_are_right_and_the_same_on_every_level),
        cmocka_unit_test(substitution_solves_a_triangle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
