/* Scaling against a brute force over dense columns in long double. */
#include "data/columns.h"

static void expected(kb_scale_kind kind, const double *x, int j, double *shift, double *factor) {
    long double low = x[j], high = x[j], mean = 0, variance = 0;
    for (int i = 0; i < N; i++) {
        low = fminl(low, x[i * D + j]);
        high = fmaxl(high, x[i * D + j]);
        mean += x[i * D + j] / (long double)N;
    }
    for (int i = 0; i < N; i++)
        variance += (x[i * D + j] - mean) * (x[i * D + j] - mean) / N;
    *shift = (double)(kind == KB_SCALE_MINMAX ? low : kind == KB_SCALE_STANDARD ? mean : 0);
    *factor = 1;
    if (low < high && kind == KB_SCALE_MINMAX)
        *factor = (double)(1 / (high - low));
    if (low < high && kind == KB_SCALE_MAXABS)
        *factor = (double)(1 / fmaxl(-low, high));
    if (low < high && kind == KB_SCALE_STANDARD)
        *factor = (double)(1 / sqrtl(variance));
}

/* Sums of 157 terms: 157 roundings of 1.1e-16 each; in the column near 1e6 the
 * deviation is 1e-6 of the values, whose mean is wrong by up to 1e-8 of it. */
static void every_kind_agrees_with_brute_force(void **unused) {
    kb_context *ctx = test_context();
    double x[N * D], shift[D], factor[D];
    (void)unused;
    fill(x);
    for (int sparse = 0; sparse < 2; sparse++) {
        kb_data *data = samples(ctx, x, sparse);
        for (int kind = KB_SCALE_MINMAX; kind <= KB_SCALE_NONE; kind++) {
            assert_ok(ctx, kb_scaling_learn(ctx, (kb_scale_kind)kind, data, shift, factor));
            for (int j = 0; j < D; j++) {
                double s, f;
                expected((kb_scale_kind)kind, x, j, &s, &f);
                assert_true(fabs(shift[j] - s) <= 2e-14 * fabs(s));
                assert_true(fabs(factor[j] - f) <= 1e-12 * f);
            }
        }
        kb_data_free(data);
    }
    kb_context_free(ctx);
}

/* Row i counts i % 3 times: by its weight, or by repeating it. */
static void a_weight_counts_as_rows_do(void **unused) {
    kb_context *ctx = test_context();
    double x[N * D], more[2 * N * D], weight[N];
    size_t rows = 0;
    (void)unused;
    fill(x);
    x[0] = 1e9; /* of a row with weight 0 */
    for (int i = 0; i < N; i++) {
        weight[i] = i % 3;
        for (int k = 0; k < i % 3; k++)
            memcpy(more + D * rows++, x + i * D, D * sizeof *x);
    }
    for (int sparse = 0; sparse < 2; sparse++)
        for (int kind = KB_SCALE_MINMAX; kind <= KB_SCALE_NONE; kind++) {
            kb_data *data = samples(ctx, x, sparse), *repeated;
            double shift[2][D], factor[2][D], deviation[2];
            assert_ok(ctx, data_from_dense(ctx, rows, D, more, NULL, &repeated));
            assert_ok(ctx, kb_alloc(ctx, N, sizeof(double), &data->weight));
            memcpy(data->weight, weight, sizeof weight);
            kb_data *both[] = {data, repeated};
            for (int b = 0; b < 2; b++) {
                assert_ok(ctx,
                          kb_scaling_learn(ctx, (kb_scale_kind)kind, both[b], shift[b], factor[b]));
                assert_ok(ctx, kb_scaling_mean_deviation(ctx, both[b], shift[b], factor[b],
                                                         &deviation[b]));
            }
            for (int j = 0; j < D; j++) { /* as in every_kind_agrees_with_brute_force */
                assert_true(fabs(shift[0][j] - shift[1][j]) <= 4e-14 * fabs(shift[1][j]));
                assert_true(fabs(factor[0][j] - factor[1][j]) <= 2e-12 * factor[1][j]);
            }
            assert_true(fabs(deviation[0] - deviation[1]) <= 2e-12 * deviation[1]);
            kb_data_free(data);
            kb_data_free(repeated);
        }
    kb_context_free(ctx);
}

static void extreme_columns_stay_finite(void **unused) {
    static const double pair[][3] = {{1e300, -1e300, 0},     {DBL_MAX, -DBL_MAX, 1},
                                     {DBL_MAX, DBL_MAX, 0},  {4.9e-324, 0, 0},
                                     {1e-310, 2e-310, 0},    {1, 1 + DBL_EPSILON, 1},
                                     {1e300, 1e-300, 1},     {-DBL_MAX, -DBL_MAX, -DBL_MAX},
                                     {1e16, 1e16 + 2, 1e16}, {0, 0, 0}};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t p = 0; p < sizeof pair / sizeof *pair; p++) {
        kb_data *data;
        assert_ok(ctx, data_from_dense(ctx, 3, 1, pair[p], NULL, &data));
        for (int kind = KB_SCALE_MINMAX; kind <= KB_SCALE_NONE; kind++) {
            double shift, factor, deviation;
            assert_ok(ctx, kb_scaling_learn(ctx, (kb_scale_kind)kind, data, &shift, &factor));
            assert_true(isfinite(shift) && isfinite(factor) && factor > 0);
            for (int i = 0; i < 3; i++) {
                double scaled = (pair[p][i] - shift) * factor;
                assert_true(isfinite(scaled));
                if (kind != KB_SCALE_NONE && pair[p][0] != pair[p][1])
                    assert_true(fabs(scaled) < 2);
            }
            assert_ok(ctx, kb_scaling_mean_deviation(ctx, data, &shift, &factor, &deviation));
            assert_true(isfinite(deviation));
        }
        kb_data_free(data);
    }
    kb_context_free(ctx);
}

static void one_row_is_constant_everywhere(void **unused) {
    kb_context *ctx = test_context();
    const double x[] = {3, -4};
    double shift[2], factor[2], deviation;
    kb_data *data;
    (void)unused;
    assert_ok(ctx, data_from_dense(ctx, 1, 2, x, NULL, &data));
    assert_ok(ctx, kb_scaling_learn(ctx, KB_SCALE_STANDARD, data, shift, factor));
    assert_true(shift[0] == 3 && shift[1] == -4 && factor[0] == 1 && factor[1] == 1);
    assert_ok(ctx, kb_scaling_mean_deviation(ctx, data, shift, factor, &deviation));
    assert_true(deviation == 0);
    kb_data_free(data);
    kb_context_free(ctx);
}

static int learn_all(kb_context *ctx, void *data) {
    double shift[D], factor[D], deviation;
    kb_status status;
    for (int kind = KB_SCALE_MINMAX; kind <= KB_SCALE_NONE; kind++)
        TRY(kb_scaling_learn(ctx, (kb_scale_kind)kind, data, shift, factor));
    TRY(kb_scaling_mean_deviation(ctx, data, shift, factor, &deviation));
done:
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    double x[N * D];
    (void)unused;
    fill(x);
    for (int sparse = 0; sparse < 2; sparse++) {
        kb_data *data = samples(ctx, x, sparse);
        run_with_allocation_failures(learn_all, data);
        kb_data_free(data);
    }
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_agrees_with_brute_force),
        cmocka_unit_test(a_weight_counts_as_rows_do),
        cmocka_unit_test(extreme_columns_stay_finite),
        cmocka_unit_test(one_row_is_constant_everywhere),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
