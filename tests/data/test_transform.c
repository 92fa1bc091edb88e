/* The transform against a plain recomputation from its description. */
#include "data/transforming.h"

/* The share of the rows below x, and half of those equal. */
static double mid_rank(const double *x, size_t rows, size_t d, size_t j, double at) {
    size_t below = 0, equal = 0;
    for (size_t i = 0; i < rows; i++) {
        below += x[i * d + j] < at;
        equal += x[i * d + j] == at;
    }
    return ((double)below + (double)equal / 2) / (double)rows;
}

static void columns_are_the_values_then_the_ranks(void **unused) {
    kb_context *ctx = test_context();
    double *x = cells(N);
    kb_data *data = dense_of(ctx, N, D, x);
    kb_transform *t = learned(ctx, data);
    size_t at = 0;
    (void)unused;
    for (size_t j = 0; j < D; j++)
        if (VARIES[j])
            assert_int_equal(kb_transform_source(t, at++), j);
    for (size_t j = 0; j < D; j++)
        if (RANKED[j])
            assert_int_equal(kb_transform_source(t, at++), j);
    assert_int_equal(kb_transform_features(t), at);
    kb_transform_free(t);
    kb_data_free(data);
    free(x);
    kb_context_free(ctx);
}

/* Between two of the 1000 knots lie at most 3 of the 2500 rows, so a rank is off by less than
 * their share; at the few values of column 4 every one is a knot. */
static void dense_values_are_in_the_unit_interval_and_ranks_are_mid_ranks(void **unused) {
    kb_context *ctx = test_context();
    double *x = cells(N), low, high;
    kb_data *data = dense_of(ctx, N, D, x);
    kb_transform *t = learned(ctx, data);
    kb_data *out = applied(ctx, t, data);
    size_t values = 0;
    (void)unused;
    assert_false(kb_data_is_sparse(out));
    for (size_t j = 0; j < D; j++)
        values += (size_t)VARIES[j];
    for (size_t j = 0; j < kb_transform_features(t); j++) {
        size_t s = kb_transform_source(t, j);
        range_of(x, N, D, s, &low, &high);
        for (size_t i = 0; i < N; i += 3) {
            double is = cell(out, i, j), v = x[i * D + s];
            double want = s == 6 && j < values ? v / high / 2 : (v - low) / (high - low);
            if (j >= values)
                want = mid_rank(x, N, D, s, v);
            double within = j < values ? 1e-15 : s == 4 ? 1e-15 : 3.0 / N;
            if (!(fabs(is - want) <= within))
                fail_msg("row %zu, column %zu of %zu: %.17g, not %.17g", i, j, s, is, want);
        }
    }
    kb_data_free(out);
    kb_transform_free(t);
    kb_data_free(data);
    free(x);
    kb_context_free(ctx);
}

static void sparse_values_keep_their_zeros(void **unused) {
    kb_context *ctx = test_context();
    double *x = cells(N), low, high;
    kb_data *data = sparse_of(ctx, N, D, x), *dense = dense_of(ctx, N, D, x);
    kb_transform *t = learned(ctx, data);
    kb_data *out = applied(ctx, t, data), *spread = applied(ctx, t, dense);
    (void)unused;
    assert_true(kb_data_is_sparse(out));
    assert_false(kb_data_is_sparse(spread));
    assert_int_equal(kb_transform_features(t), D - 1);
    for (size_t j = 0; j < D - 1; j++) {
        size_t s = kb_transform_source(t, j);
        assert_int_equal(s, j < 2 ? j : j + 1);
        range_of(x, N, D, s, &low, &high);
        for (size_t i = 0; i < N; i += 3) {
            double v = x[i * D + s], want = s == 6 ? v / high / 2 : v / (high - low);
            assert_true(fabs(cell(out, i, j) - want) <= 4e-16 * fabs(want));
            assert_true(cell(spread, i, j) == cell(out, i, j));
        }
    }
    for (size_t i = 0; i < N; i++)
        assert_int_equal(kb_data_row(out, i).count,
                         kb_data_row(data, i).count - 1); /* the constant is gone */
    kb_data_free(out);
    kb_data_free(spread);
    kb_transform_free(t);
    kb_data_free(data);
    kb_data_free(dense);
    free(x);
    kb_context_free(ctx);
}

static void nothing_that_varies_gives_one_constant_column(void **unused) {
    static const double x[] = {3, -4, 0, 3, -4, 0}, y[] = {5, 5, 5};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t rows = 1; rows <= 2; rows++)
        for (int k = 0; k < 2; k++) {
            kb_data *data = k ? sparse_of(ctx, rows, 3, x) : dense_of(ctx, rows, 3, x);
            kb_data *other = k ? sparse_of(ctx, 1, 3, y) : dense_of(ctx, 1, 3, y);
            kb_transform *t = learned(ctx, data);
            kb_data *a = applied(ctx, t, data), *b = applied(ctx, t, other);
            assert_int_equal(kb_transform_features(t), 1);
            assert_int_equal(kb_transform_source(t, 0), 0);
            assert_true(cell(a, 0, 0) == 0 && cell(b, 0, 0) == 0);
            kb_data_free(a);
            kb_data_free(b);
            kb_data_free(other);
            kb_data_free(data);
            kb_transform_free(t);
        }
    kb_context_free(ctx);
}

/* 33 values, one more than the few: ranks where they are far from even. */
static void only_many_values_get_ranks(void **unused) {
    kb_context *ctx = test_context();
    double x[40];
    (void)unused;
    for (size_t distinct = 32; distinct <= 33; distinct++) {
        for (size_t i = 0; i < 40; i++)
            x[i] = pow(2, (double)(i % distinct));
        kb_data *data = dense_of(ctx, 40, 1, x);
        kb_transform *t = learned(ctx, data);
        assert_int_equal(kb_transform_features(t), distinct - 31);
        kb_transform_free(t);
        kb_data_free(data);
    }
    kb_context_free(ctx);
}

/* Columns of normal numbers get none, however few the rows; their exponentials do. */
static void normal_columns_get_no_ranks(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t rows = 100; rows <= 6400; rows *= 4) {
        double *x = malloc(rows * 6 * sizeof *x);
        kb_data *data;
        kb_transform *t;
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < 3; j++) {
                double sum = -6;
                for (uint32_t k = 0; k < 6; k++) {
                    kb_uniform2 u = kb_random_uniform(rows + j, KB_STREAM_SYNTHETIC, i, k);
                    sum += u.u + u.v;
                }
                x[i * 6 + j] = sum;
                x[i * 6 + 3 + j] = exp(sum);
            }
        assert_ok(ctx, data_from_dense(ctx, rows, 6, x, NULL, &data));
        assert_ok(ctx, kb_transform_learn(ctx, data, &t));
        assert_int_equal(kb_transform_features(t), 6 + 3);
        for (size_t j = 0; j < 3; j++)
            assert_int_equal(kb_transform_source(t, 6 + j), 3 + j);
        kb_transform_free(t);
        kb_data_free(data);
        free(x);
    }
    kb_context_free(ctx);
}

/* Even where the squares of the scaled differences underflow. */
static void one_outlier_leaves_the_rest_to_the_ranks(void **unused) {
    kb_context *ctx = test_context();
    double x[100];
    (void)unused;
    for (size_t i = 0; i < 100; i++)
        x[i] = i == 50 ? DBL_MAX : (double)i * 4.9e-324;
    kb_data *data = dense_of(ctx, 100, 1, x);
    kb_transform *t = learned(ctx, data);
    kb_data *out = applied(ctx, t, data);
    assert_int_equal(kb_transform_features(t), 2);
    for (size_t i = 0; i < 100; i++) {
        double want = i == 50 ? 0.995 : ((double)i - (i > 50) + 0.5) / 100;
        assert_true(fabs(cell(out, i, 1) - want) <= 1e-15);
        assert_true(isfinite(cell(out, i, 0)));
    }
    kb_data_free(out);
    kb_transform_free(t);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* Knots from 100,000 of 130,000 rows: the share below is off by about 1/sqrt(100,000). */
static void many_rows_are_sampled(void **unused) {
    enum { ROWS = 130000 };
    kb_context *ctx = test_context();
    double *x = malloc(ROWS * sizeof *x);
    (void)unused;
    for (size_t i = 0; i < ROWS; i++)
        x[i] = exp(9 * kb_random_uniform(5, KB_STREAM_SYNTHETIC, i, 0).u);
    kb_data *data = dense_of(ctx, ROWS, 1, x);
    kb_transform *t = learned(ctx, data);
    kb_data *out = applied(ctx, t, data);
    assert_int_equal(kb_transform_features(t), 2);
    assert_true(t->knot_start[2] <= KB_RANK_KNOTS);
    for (size_t i = 0; i < ROWS; i += 1001)
        assert_true(fabs(cell(out, i, 1) - log(x[i]) / 9) < 0.01);
    kb_data_free(out);
    kb_transform_free(t);
    kb_data_free(data);
    free(x);
    kb_context_free(ctx);
}

/* Columns 1 and 4 as levels: unscaled and without ranks, after all others; numbers above those of
 * the training rows stay above them, and do not become levels. */
static void levels_stay_as_they_are(void **unused) {
    static const unsigned char level[D] = {0, 1, 0, 0, 1};
    kb_context *ctx = test_context();
    double *x = cells(N);
    (void)unused;
    for (size_t i = 0; i < N; i++) {
        x[i * D + 1] = floor(50 * kb_random_uniform(5, KB_STREAM_SYNTHETIC, i, 0).u);
        x[i * D + 4] = (double)(i % 2);
    }
    kb_data *data = dense_of(ctx, N, D, x), *out;
    data->level = level;
    kb_transform *t = learned(ctx, data), *numbers, *none;
    size_t d = kb_transform_features(t);
    assert_int_equal(t->levels, 2);
    assert_int_equal(kb_transform_source(t, d - 2), 1);
    assert_int_equal(kb_transform_source(t, d - 1), 4);
    out = applied(ctx, t, data);
    for (size_t j = 0; j < d; j++)
        assert_int_equal(out->level[j], j >= d - 2);
    for (size_t i = 0; i < N; i++) {
        assert_true(out->dense[i * d + d - 2] == x[i * D + 1]);
        assert_true(out->dense[i * d + d - 1] == x[i * D + 4]);
    }
    kb_data_free(out);
    double low, high;
    range_of(x, N, D, 1, &low, &high);
    for (double beyond = 1; beyond < 1e9; beyond *= 10) {
        data->dense[1] = high + beyond;
        out = applied(ctx, t, data);
        assert_true(out->dense[d - 2] > high);
        kb_data_free(out);
    }
    data->dense[1] = x[1];
    assert_ok(ctx, kb_transform_learn_numbers(ctx, data, &numbers));
    data->level = NULL;
    for (size_t i = 0; i < N; i++)
        data->dense[i * D + 1] = data->dense[i * D + 4] = 0;
    none = learned(ctx, data);
    assert_int_equal(numbers->levels, 0);
    assert_null(numbers->level);
    assert_int_equal(kb_transform_features(numbers), d - 2);
    assert_int_equal(kb_transform_features(none), d - 2);
    assert_memory_equal(numbers->factor, none->factor, (d - 2) * sizeof(double));
    assert_memory_equal(numbers->shift, none->shift, (d - 2) * sizeof(double));
    t->factor[d - 1] = 2; /* levels are not scaled */
    assert_false(kb_transform_is_sound(t));
    t->factor[d - 1] = 1;
    t->levels = 1; /* the others must come before ranks */
    assert_false(kb_transform_is_sound(t));
    t->levels = d + 1;
    assert_false(kb_transform_is_sound(t));
    kb_transform_free(t);
    kb_transform_free(numbers);
    kb_transform_free(none);
    kb_data_free(data);
    free(x);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_the_values_then_the_ranks),
        cmocka_unit_test(dense_values_are_in_the_unit_interval_and_ranks_are_mid_ranks),
        cmocka_unit_test(sparse_values_keep_their_zeros),
        cmocka_unit_test(nothing_that_varies_gives_one_constant_column),
        cmocka_unit_test(only_many_values_get_ranks),
        cmocka_unit_test(normal_columns_get_no_ranks),
        cmocka_unit_test(one_outlier_leaves_the_rest_to_the_ranks),
        cmocka_unit_test(many_rows_are_sampled),
        cmocka_unit_test(levels_stay_as_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
