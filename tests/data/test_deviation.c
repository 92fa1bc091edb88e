/* How far values lie apart: against plain loops over all of them. */
#include "data/columns.h"

static void the_mean_deviation_agrees_with_brute_force(void **unused) {
    kb_context *ctx = test_context();
    double x[N * D], shift[D], factor[D], got, column[N];
    (void)unused;
    fill(x);
    for (int sparse = 0; sparse < 2; sparse++) {
        kb_data *data = samples(ctx, x, sparse);
        for (int kind = KB_SCALE_MINMAX; kind <= KB_SCALE_NONE; kind++) {
            long double want = 0;
            assert_ok(ctx, kb_scaling_learn(ctx, (kb_scale_kind)kind, data, shift, factor));
            assert_ok(ctx, kb_scaling_mean_deviation(ctx, data, shift, factor, &got));
            for (int j = 0; j < D; j++) {
                for (int i = 0; i < N; i++)
                    column[i] = (x[i * D + j] - shift[j]) * factor[j];
                qsort(column, N, sizeof *column, by_size);
                for (int i = 0; i < N; i++)
                    want += fabsl((long double)column[i] - column[N / 2]) / N / D;
            }
            if (!(fabs(got - (double)want) <= 1e-13 * (double)want))
                fail_msg("kind %d, sparse %d: got %.17g, want %.17Lg", kind, sparse, got, want);
        }
        kb_data_free(data);
    }
    kb_context_free(ctx);
}

/* Weights that are no whole numbers: the median is the first value at which half of the weight
 * is passed, up to rounding. */
static void weighted_deviations_agree_with_brute_force(void **unused) {
    kb_context *ctx = test_context();
    double x[N * D], shift[D], factor[D], got[D], column[N], weight[N], all = 0;
    (void)unused;
    fill(x);
    for (int i = 0; i < N; i++) {
        weight[i] = i % 4 == 1 ? 0 : 3 * kb_random_uniform(9, KB_STREAM_SYNTHETIC, i, 0).u;
        all += weight[i];
    }
    for (int sparse = 0; sparse < 2; sparse++) {
        kb_data *data = samples(ctx, x, sparse);
        assert_ok(ctx, kb_alloc(ctx, N, sizeof(double), &data->weight));
        memcpy(data->weight, weight, sizeof weight);
        for (int kind = KB_SCALE_MINMAX; kind <= KB_SCALE_NONE; kind++) {
            assert_ok(ctx, kb_scaling_learn(ctx, (kb_scale_kind)kind, data, shift, factor));
            assert_ok(ctx, kb_scaling_deviations(ctx, data, shift, factor, got));
            for (int j = 0; j < D; j++) {
                double least = INFINITY; /* the median has the least mean deviation of all */
                for (int i = 0; i < N; i++)
                    column[i] = (x[i * D + j] - shift[j]) * factor[j];
                for (int m = 0; m < N; m++) {
                    double mean = 0;
                    for (int i = 0; i < N; i++)
                        mean += fabs(column[i] - column[m]) * weight[i] / all;
                    least = fmin(least, mean);
                }
                assert_true(fabs(got[j] - least) <= 1e-12 * least);
            }
        }
        kb_data_free(data);
    }
    kb_context_free(ctx);
}

/* Model files of the same data must not depend on their form. */
static void deviations_are_the_same_for_both_forms(void **unused) {
    kb_context *ctx = test_context();
    double x[N * D], shift[D], factor[D], out[2][D];
    (void)unused;
    fill(x);
    kb_data *form[2] = {samples(ctx, x, 0), samples(ctx, x, 1)};
    for (int kind = KB_SCALE_MINMAX; kind <= KB_SCALE_NONE; kind++) {
        assert_ok(ctx, kb_scaling_learn(ctx, (kb_scale_kind)kind, form[0], shift, factor));
        for (int k = 0; k < 2; k++)
            assert_ok(ctx, kb_scaling_deviations(ctx, form[k], shift, factor, out[k]));
        assert_memory_equal(out[0], out[1], sizeof out[0]);
    }
    kb_data_free(form[0]);
    kb_data_free(form[1]);
    kb_context_free(ctx);
}

/* Uniform on [0, 1]: mean deviation from the median 1/4; with 10,000 of 30,001 rows its
 * deviation is below 0.0015. */
static void the_mean_deviation_takes_a_sample_of_many_rows(void **unused) {
    enum { ROWS = 30001 };
    kb_context *ctx = test_context();
    double *x = malloc(ROWS * sizeof *x), shift = 0, factor = 1, got;
    kb_data *data;
    (void)unused;
    for (uint64_t i = 0; i < ROWS; i++)
        x[i] = kb_random_uniform(4, KB_STREAM_SYNTHETIC, i, 0).u;
    assert_ok(ctx, data_from_dense(ctx, ROWS, 1, x, NULL, &data));
    assert_ok(ctx, kb_scaling_mean_deviation(ctx, data, &shift, &factor, &got));
    assert_true(fabs(got - 0.25) < 0.008);
    free(x);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* The sampled rows are evenly spaced: all others may be anything. */
static void other_rows_of_many_have_no_effect(void **unused) {
    enum { ROWS = 20000 };
    kb_context *ctx = test_context();
    double *x = malloc(ROWS * sizeof *x), shift = 0, factor = 1, got[2];
    (void)unused;
    assert_non_null(x);
    for (int wild = 0; wild < 2; wild++) {
        kb_data *data;
        for (uint64_t i = 0; i < ROWS; i++)
            x[i] = i % 2 && wild ? 1e9 : kb_random_uniform(4, KB_STREAM_SYNTHETIC, i, 0).u;
        assert_ok(ctx, data_from_dense(ctx, ROWS, 1, x, NULL, &data));
        assert_ok(ctx, kb_scaling_deviations(ctx, data, &shift, &factor, &got[wild]));
        kb_data_free(data);
    }
    assert_true(got[0] == got[1] && got[0] > 0.2);
    free(x);
    kb_context_free(ctx);
}

static void small_columns_have_the_deviation_that_one_sees(void **unused) {
    static const struct {
        size_t rows;
        double x[5], want;
    } cases[] = {{1, {7}, 0},
                 {2, {1, 3}, 1},
                 {3, {-5, 0, 10}, 5},
                 {5, {0, 3, 4, 6, 9}, 2.4},
                 {4, {0, 0, 0, 8}, 2},
                 {5, {2, 2, 2, 2, 2}, 0},
                 {5, {-1, -2, -3, 0, 0}, 1}};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (int form = 0; form < 2; form++) {
            size_t start[6] = {0}, used = 0;
            uint32_t column[5] = {0};
            double value[5], shift = 0, factor = 1, got;
            kb_data *data;
            for (size_t i = 0; i < cases[k].rows; i++) {
                if (cases[k].x[i] != 0)
                    value[used++] = cases[k].x[i];
                start[i + 1] = used;
            }
            if (form)
                assert_ok(ctx,
                          data_from_csr(ctx, cases[k].rows, 1, start, column, value, NULL, &data));
            else
                assert_ok(ctx, data_from_dense(ctx, cases[k].rows, 1, cases[k].x, NULL, &data));
            assert_ok(ctx, kb_scaling_deviations(ctx, data, &shift, &factor, &got));
            assert_true(fabs(got - cases[k].want) < 1e-15);
            kb_data_free(data);
        }
    assert_true(kb_scaling_mean((const double[]){1, 2, 6}, 3) == 3);
    kb_context_free(ctx);
}

/* Twice the largest double apart: the mean is beyond the largest double, which is returned. */
static void columns_beyond_a_double_stay_finite(void **unused) {
    const double x[] = {DBL_MAX, -DBL_MAX, DBL_MAX, -DBL_MAX}, shift = 0, factor = 1;
    kb_context *ctx = test_context();
    kb_data *data;
    double got;
    (void)unused;
    assert_ok(ctx, data_from_dense(ctx, 4, 1, x, NULL, &data));
    for (int weighted = 0; weighted < 2; weighted++) {
        assert_ok(ctx, kb_scaling_deviations(ctx, data, &shift, &factor, &got));
        assert_true(got <= DBL_MAX && got > DBL_MAX / 2);
        if (!weighted)
            assert_ok(ctx, kb_zalloc(ctx, 4, sizeof(double), &data->weight));
        data->weight[0] = data->weight[1] = 1;
    }
    kb_data_free(data);
    kb_context_free(ctx);
}

static int deviate(kb_context *ctx, void *data) {
    double shift[D] = {0}, factor[D] = {1, 1, 1, 1, 1}, got[D];
    return (int)kb_scaling_deviations(ctx, data, shift, factor, got);
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    double x[N * D];
    (void)unused;
    fill(x);
    for (int form = 0; form < 4; form++) {
        kb_data *data = samples(ctx, x, form % 2);
        if (form / 2) {
            assert_ok(ctx, kb_alloc(ctx, N, sizeof(double), &data->weight));
            for (int i = 0; i < N; i++)
                data->weight[i] = 1 + i % 2;
        }
        run_with_allocation_failures(deviate, data);
        kb_data_free(data);
    }
    kb_context_free(ctx);
}

/* Levels 0, 1, 2 in 5, 3 and 2 of ten rows: two rows differ with chance 1 - 0.25 - 0.09 - 0.04;
 * weights count as rows do. */
static void levels_have_the_chance_to_differ(void **unused) {
    static const double x[] = {2, 0, 1, 0, 0, 1, 2, 0, 1, 0}, few[] = {0, 1, 2}, one = 1;
    static const unsigned char level = 1;
    double shift = 0, out, weight[] = {5, 3, 2};
    kb_context *ctx = test_context();
    kb_data *data;
    (void)unused;
    assert_ok(ctx, data_from_dense(ctx, 10, 1, x, NULL, &data));
    data->level = &level;
    assert_ok(ctx, kb_scaling_deviations(ctx, data, &shift, &one, &out));
    assert_true(fabs(out - 0.62) < 1e-15);
    kb_data_free(data);
    assert_ok(ctx, data_from_dense(ctx, 3, 1, few, NULL, &data));
    data->level = &level;
    data->weight = weight;
    assert_ok(ctx, kb_scaling_deviations(ctx, data, &shift, &one, &out));
    assert_true(fabs(out - 0.62) < 1e-15);
    data->weight = NULL;
    kb_data_free(data);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mean_deviation_agrees_with_brute_force),
        cmocka_unit_test(weighted_deviations_agree_with_brute_force),
        cmocka_unit_test(deviations_are_the_same_for_both_forms),
        cmocka_unit_test(the_mean_deviation_takes_a_sample_of_many_rows),
        cmocka_unit_test(other_rows_of_many_have_no_effect),
        cmocka_unit_test(small_columns_have_the_deviation_that_one_sees),
        cmocka_unit_test(columns_beyond_a_double_stay_finite),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(levels_have_the_chance_to_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
