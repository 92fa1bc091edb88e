/* The transform against a plain recomputation from its description. */
#include "support.h"

#include "core/random.h"
#include "data/transform.h"

#include <float.h>
#include <math.h>

enum { N = 2500, D = 8 };

/* Columns: uniform; long tail; constant; two values; 40 values, most of them the same; mostly
 * zero; beyond the largest double apart; three values. */
static const int VARIES[D] = {1, 1, 0, 1, 1, 1, 1, 1};
static const int RANKED[D] = {0, 1, 0, 0, 1, 0, 0, 0};

static double *cells(size_t rows) {
    double *x = malloc(rows * D * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < rows; i++) {
        kb_uniform2 p = kb_random_uniform(3, KB_STREAM_SYNTHETIC, i, 1);
        kb_uniform2 q = kb_random_uniform(3, KB_STREAM_SYNTHETIC, i, 2);
        double *row = x + i * D;
        row[0] = p.u - 0.3;
        row[1] = exp(9 * q.u) - 5000;
        row[2] = 7;
        row[3] = p.v < 0.5 ? -1 : 3;
        row[4] = q.v < 0.6 ? 0 : floor(39 * p.v) * floor(39 * p.v);
        row[5] = p.v < 0.2 ? q.u + 1 : 0;
        row[6] = i % 3 == 0 ? -DBL_MAX : i % 3 == 1 ? DBL_MAX : DBL_MAX * (2 * p.u - 1);
        row[7] = floor(3 * q.v);
    }
    return x;
}

static kb_data *dense_of(kb_context *ctx, size_t rows, size_t d, const double *x) {
    kb_data *data;
    assert_ok(ctx, kb_data_from_dense(ctx, rows, d, x, NULL, &data));
    return data;
}

/* Zeros are left out, but for those of every seventh row. */
static kb_data *sparse_of(kb_context *ctx, size_t rows, size_t d, const double *x) {
    kb_data *data;
    size_t *start = calloc(rows + 1, sizeof *start), used = 0;
    uint32_t *column = malloc(rows * d * sizeof *column);
    double *value = malloc(rows * d * sizeof *value);
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < d; j++)
            if (x[i * d + j] != 0 || i % 7 == 0) {
                column[used] = (uint32_t)j;
                value[used++] = x[i * d + j];
            }
        start[i + 1] = used;
    }
    assert_ok(ctx, kb_data_from_csr(ctx, rows, d, start, column, value, NULL, &data));
    free(start), free(column), free(value);
    return data;
}

static kb_transform *learnt(kb_context *ctx, const kb_data *data) {
    kb_transform *t;
    assert_ok(ctx, kb_transform_learn(ctx, data, &t));
    assert_true(kb_transform_is_sound(t));
    return t;
}

static kb_data *applied(kb_context *ctx, const kb_transform *t, const kb_data *data) {
    kb_data *out;
    assert_ok(ctx, kb_transform_apply(ctx, t, data, &out));
    assert_int_equal(out->rows, data->rows);
    assert_int_equal(out->features, kb_transform_features(t));
    assert_null(out->label);
    return out;
}

/* Row i, column j, whatever the form. */
static double cell(const kb_data *data, size_t i, size_t j) {
    kb_row row = kb_data_row(data, i);
    if (!row.column)
        return row.value[j];
    for (size_t e = 0; e < row.count; e++)
        if (row.column[e] == j)
            return row.value[e];
    return 0;
}

static void range_of(const double *x, size_t rows, size_t d, size_t j, double *low, double *high) {
    *low = *high = x[j];
    for (size_t i = 0; i < rows; i++) {
        *low = fmin(*low, x[i * d + j]);
        *high = fmax(*high, x[i * d + j]);
    }
}

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
    kb_transform *t = learnt(ctx, data);
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
    kb_transform *t = learnt(ctx, data);
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
    kb_transform *t = learnt(ctx, data);
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

/* A transform that moves zeros makes sparse rows dense, with the values of the dense ones. */
static void the_form_of_the_data_does_not_matter(void **unused) {
    kb_context *ctx = test_context();
    double *x = cells(N);
    kb_data *dense = dense_of(ctx, N, D, x), *sparse = sparse_of(ctx, N, D, x);
    kb_transform *t = learnt(ctx, dense);
    kb_data *a = applied(ctx, t, dense), *b = applied(ctx, t, sparse);
    (void)unused;
    assert_false(kb_data_is_sparse(b));
    assert_memory_equal(a->dense, b->dense, N * kb_transform_features(t) * sizeof(double));
    kb_data_free(a);
    kb_data_free(b);
    kb_transform_free(t);
    kb_data_free(dense);
    kb_data_free(sparse);
    free(x);
    kb_context_free(ctx);
}

/* What lies outside counts as the nearest value of the training data; so does a zero that is left
 * out of a column that had none. */
static void values_are_clipped_to_the_training_range(void **unused) {
    kb_context *ctx = test_context();
    double *x = cells(N), far[3 * D], edge[3 * D];
    kb_data *dense = dense_of(ctx, N, D, x), *sparse = sparse_of(ctx, N, D, x);
    (void)unused;
    for (size_t j = 0; j < D; j++) {
        double low, high;
        range_of(x, N, D, j, &low, &high);
        far[j] = edge[j] = low;
        far[D + j] = -DBL_MAX;
        edge[D + j] = low;
        far[2 * D + j] = DBL_MAX;
        edge[2 * D + j] = high;
    }
    for (int k = 0; k < 2; k++) {
        const kb_data *data = k ? sparse : dense;
        kb_transform *t = learnt(ctx, data);
        kb_data *rows = dense_of(ctx, 3, D, far), *ends = dense_of(ctx, 3, D, edge);
        kb_data *a = applied(ctx, t, rows), *b = applied(ctx, t, ends);
        for (size_t i = 0; i < 3; i++)
            for (size_t j = 0; j < kb_transform_features(t); j++) {
                size_t s = kb_transform_source(t, j);
                double want = cell(b, i, j);
                if (k && i == 1 && s == 5) /* 0 belongs to the range of sparse data */
                    want = 0;
                assert_true(cell(a, i, j) == want);
            }
        kb_data_free(a);
        kb_data_free(b);
        kb_data_free(rows);
        kb_data_free(ends);
        kb_transform_free(t);
    }
    kb_data_free(dense);
    kb_data_free(sparse);
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
            kb_transform *t = learnt(ctx, data);
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
        kb_transform *t = learnt(ctx, data);
        assert_int_equal(kb_transform_features(t), distinct - 31);
        kb_transform_free(t);
        kb_data_free(data);
    }
    kb_context_free(ctx);
}

/* Even where squares of the scaled differences are too small for a double. */
static void one_outlier_makes_ranks_the_only_story(void **unused) {
    kb_context *ctx = test_context();
    double x[100];
    (void)unused;
    for (size_t i = 0; i < 100; i++)
        x[i] = i == 50 ? DBL_MAX : (double)i * 4.9e-324;
    kb_data *data = dense_of(ctx, 100, 1, x);
    kb_transform *t = learnt(ctx, data);
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
    kb_transform *t = learnt(ctx, data);
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

static void assert_same_data(const kb_data *a, size_t from, const kb_data *b) {
    for (size_t i = 0; i < b->rows; i++) {
        kb_row p = kb_data_row(a, from + i), q = kb_data_row(b, i);
        assert_int_equal(p.count, q.count);
        assert_memory_equal(p.value, q.value, p.count * sizeof(double));
        if (p.column)
            assert_memory_equal(p.column, q.column, p.count * sizeof(uint32_t));
    }
}

static void some_rows_are_those_of_the_whole(void **unused) {
    kb_context *ctx = test_context();
    double *x = cells(N);
    kb_data *dense = dense_of(ctx, N, D, x), *sparse = sparse_of(ctx, N, D, x), *room;
    (void)unused;
    for (int k = 0; k < 4; k++) {
        kb_transform *t = learnt(ctx, k & 1 ? sparse : dense);
        const kb_data *data = k & 2 ? sparse : dense;
        kb_data *all = applied(ctx, t, data);
        assert_ok(ctx, kb_transform_room(ctx, t, data, 600, &room));
        for (size_t begin = 0; begin < N; begin += 600) {
            kb_transform_rows(t, data, begin, N - begin < 600 ? N - begin : 600, room);
            assert_same_data(all, begin, room);
        }
        double bytes = kb_transform_bytes(t, data);
        assert_true(all->dense ? bytes == 8.0 * N * (double)all->features
                               : bytes >= 8.0 * N + 12.0 * (double)all->row_start[N]);
        kb_data_free(room);
        kb_data_free(all);
        kb_transform_free(t);
    }
    kb_data_free(dense);
    kb_data_free(sparse);
    free(x);
    kb_context_free(ctx);
}

static void threads_change_nothing(void **unused) {
    double *x = cells(N);
    (void)unused;
    for (int k = 0; k < 2; k++) {
        test_state state[2] = {{0}, {0}};
        kb_context *ctx[2] = {test_context_with(&state[0], 1), test_context_with(&state[1], 5)};
        kb_data *out[2], *data = k ? sparse_of(ctx[0], N, D, x) : dense_of(ctx[0], N, D, x);
        kb_transform *t[2];
        for (int c = 0; c < 2; c++) {
            t[c] = learnt(ctx[c], data);
            out[c] = applied(ctx[c], t[c], data);
        }
        size_t knots = t[0]->knot_start[t[0]->features];
        assert_int_equal(knots, t[1]->knot_start[t[1]->features]);
        assert_memory_equal(t[0]->knot, t[1]->knot, knots * sizeof(double));
        assert_memory_equal(t[0]->rank, t[1]->rank, knots * sizeof(double));
        assert_same_data(out[0], 0, out[1]);
        for (int c = 0; c < 2; c++) {
            kb_data_free(out[c]);
            kb_transform_free(t[c]);
        }
        kb_data_free(data);
        kb_context_free(ctx[0]);
        kb_context_free(ctx[1]);
    }
    free(x);
}

static void other_features_are_refused(void **unused) {
    static const double x[] = {1, 2, 3, 4};
    kb_context *ctx = test_context();
    kb_data *two = dense_of(ctx, 2, 2, x), *four = dense_of(ctx, 1, 4, x), *out;
    kb_transform *t = learnt(ctx, two);
    (void)unused;
    assert_fails(ctx, KB_ERR_DATA, "the data have 4 features instead of 2",
                 kb_transform_apply(ctx, t, four, &out));
    assert_null(out);
    kb_transform_free(t);
    kb_data_free(two);
    kb_data_free(four);
    kb_context_free(ctx);
}

static int learn_and_apply(kb_context *ctx, void *arg) {
    kb_status status;
    kb_transform *t = NULL;
    kb_data *out = NULL, *room = NULL;
    TRY(kb_transform_learn(ctx, arg, &t));
    TRY(kb_transform_apply(ctx, t, arg, &out));
    TRY(kb_transform_room(ctx, t, arg, 100, &room));
done:
    kb_transform_free(t);
    kb_data_free(out);
    kb_data_free(room);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    double *x = cells(N);
    (void)unused;
    for (int sparse = 0; sparse < 2; sparse++) {
        kb_data *data = sparse ? sparse_of(ctx, N, D, x) : dense_of(ctx, N, D, x);
        run_with_allocation_failures(learn_and_apply, data);
        kb_data_free(data);
    }
    free(x);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_the_values_then_the_ranks),
        cmocka_unit_test(dense_values_are_in_the_unit_interval_and_ranks_are_mid_ranks),
        cmocka_unit_test(sparse_values_keep_their_zeros),
        cmocka_unit_test(the_form_of_the_data_does_not_matter),
        cmocka_unit_test(values_are_clipped_to_the_training_range),
        cmocka_unit_test(nothing_that_varies_gives_one_constant_column),
        cmocka_unit_test(only_many_values_get_ranks),
        cmocka_unit_test(one_outlier_makes_ranks_the_only_story),
        cmocka_unit_test(many_rows_are_sampled),
        cmocka_unit_test(some_rows_are_those_of_the_whole),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(other_features_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
