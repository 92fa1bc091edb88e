/* Samples as the rival maps see them: against the formula, in both forms. */
#include "features/cloud.h"
#include "meter.h"

/* The value of row i and feature j, by the formula. */
static double value_at(const cloud *c, size_t i, size_t j) {
    return (c->x[i * c->d + j] - c->shift[j]) * c->factor[j];
}

/* The value that the points hold, in whichever form. */
static double held(const kb_points *p, size_t i, size_t j) {
    if (p->dense)
        return p->dense[i * p->features + j];
    for (size_t e = p->row_start[i]; e < p->row_start[i + 1]; e++)
        if (p->column[e] == j)
            return p->value[e];
    return p->zero[j];
}

static kb_points *points_of(kb_context *ctx, const cloud *c, int sparse, size_t begin, size_t count,
                            const uint32_t *order) {
    kb_points *p;
    kb_metric metric = cloud_metric(c);
    assert_ok(
        ctx, kb_points_build(ctx, &metric, sparse ? c->sparse : c->dense, begin, count, order, &p));
    assert_int_equal(p->rows, count);
    assert_int_equal(p->features, c->d);
    assert_int_equal(p->dense == NULL, sparse);
    return p;
}

static void points_are_scaled_samples(void **unused) {
    enum { N = 40, d = 6 };
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, N, d, 5);
    uint32_t order[N];
    (void)unused;
    for (uint32_t i = 0; i < N; i++)
        order[i] = (i * 7 + 3) % N;
    for (int sparse = 0; sparse < 2; sparse++)
        for (int ordered = 0; ordered < 2; ordered++)
            for (size_t begin = 0; begin < N; begin += 13)
                for (size_t count = 0; begin + count <= N; count += 9) {
                    kb_points *p = points_of(ctx, &c, sparse, begin, count, ordered ? order : NULL);
                    for (size_t j = 0; j < d; j++)
                        assert_true(p->zero[j] == (0 - c.shift[j]) * c.factor[j]);
                    for (size_t i = 0; i < count; i++)
                        for (size_t j = 0; j < d; j++) {
                            size_t row = ordered ? order[begin + i] : begin + i;
                            assert_true(held(p, i, j) == value_at(&c, row, j));
                        }
                    kb_points_free(p);
                }
    kb_points_free(NULL);
    cloud_free(&c);
    kb_context_free(ctx);
}

/* Squares of differences must stay finite, whatever the samples are. */
static void far_samples_are_brought_near(void **unused) {
    const double x[] = {1e200, -1e308, 1e149, 3}, shift[] = {0, 0}, factor[] = {1e10, 1};
    const double want[] = {1e150, -1e150, 1e150, 3};
    kb_context *ctx = test_context();
    kb_metric metric = {2, shift, factor};
    kb_data *data;
    kb_points *p;
    (void)unused;
    assert_ok(ctx, data_from_dense(ctx, 2, 2, x, NULL, &data));
    assert_ok(ctx, kb_points_build(ctx, &metric, data, 0, 2, NULL, &p));
    for (size_t k = 0; k < 4; k++)
        assert_true(p->dense[k] == want[k]);
    kb_points_free(p);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* Group after group, feature after feature, row beside row; zeros where there is no row. */
static void rows_are_packed_side_by_side(void **unused) {
    enum { N = 30, d = 11 };
    static const size_t lanes[] = {1, 12, 16};
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, N, d, 5);
    (void)unused;
    for (int sparse = 0; sparse < 2; sparse++) {
        kb_points *p = points_of(ctx, &c, sparse, 0, N, NULL);
        for (int l = 0; l < 3; l++)
            for (size_t first = 0; first < N; first += 7)
                for (size_t rows = 1; first + rows <= N; rows += 5)
                    for (size_t k = 0; k < d; k += 4) {
                        size_t K = d - k < 5 ? d - k : 5, L = lanes[l];
                        size_t groups = (rows + L - 1) / L;
                        double *out = malloc(groups * L * K * sizeof *out);
                        assert_non_null(out);
                        kb_points_pack(p, first, rows, L, k, K, out);
                        for (size_t g = 0; g < groups; g++)
                            for (size_t e = 0; e < K; e++)
                                for (size_t lane = 0; lane < L; lane++) {
                                    size_t i = g * L + lane;
                                    double want = i < rows ? value_at(&c, first + i, k + e) : 0;
                                    assert_true(out[(g * K + e) * L + lane] == want);
                                }
                        free(out);
                    }
        kb_points_free(p);
    }
    cloud_free(&c);
    kb_context_free(ctx);
}

static void projections_are_sums_and_the_same_for_both_forms(void **unused) {
    enum { N = 25, d = 9 };
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, N, d, 5);
    kb_points *p[] = {points_of(ctx, &c, 0, 0, N, NULL), points_of(ctx, &c, 1, 0, N, NULL)};
    double *direction = test_numbers(8, d);
    (void)unused;
    for (size_t i = 0; i < N; i++) {
        double want = 0, got = kb_points_project(p[0], i, direction);
        for (size_t j = 0; j < d; j++)
            want += direction[j] * c.x[i * d + j] * c.factor[j];
        assert_true(fabs(got - want) < 1e-13);
        assert_true(kb_points_project(p[1], i, direction) == got);
    }
    kb_points_free(p[0]);
    kb_points_free(p[1]);
    free(direction);
    cloud_free(&c);
    kb_context_free(ctx);
}

/* Fewer than one entry in sixteen features, of many features. */
static void thin_rows_are_told_from_others(void **unused) {
    static const struct {
        size_t features, entries; /* of each of ten rows */
        int thin;
    } cases[] = {{64, 1, 0}, {65, 1, 1}, {65, 4, 0}, {1600, 99, 1}, {1600, 100, 0}, {1600, 0, 1}};
    kb_context *ctx = test_context();
    kb_points *p;
    (void)unused;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        assert_ok(ctx, kb_points_create(ctx, 10, cases[k].features, 1, 10 * cases[k].entries, &p));
        for (size_t i = 0; i <= 10; i++)
            p->row_start[i] = i * cases[k].entries;
        assert_int_equal(kb_points_thin(p), cases[k].thin);
        kb_points_free(p);
    }
    assert_ok(ctx, kb_points_create(ctx, 10, 1600, 0, 0, &p));
    assert_false(kb_points_thin(p));
    kb_points_free(p);
    assert_ok(ctx, kb_points_create(ctx, 0, 1600, 1, 0, &p)); /* no row is no thin row */
    assert_false(kb_points_thin(p));
    kb_points_free(p);
    kb_context_free(ctx);
}

static void memory_is_as_forecast(void **unused) {
    meter m = {0, 0};
    kb_context *ctx = metered_context(&m);
    cloud c = cloud_build(ctx, 500, 30, 5);
    (void)unused;
    for (int sparse = 0; sparse < 2; sparse++) {
        double forecast = kb_points_bytes(sparse ? c.sparse : c.dense);
        size_t before = m.now;
        kb_points *p = points_of(ctx, &c, sparse, 0, c.N, NULL);
        assert_true((double)(m.now - before) <= forecast + 256);
        assert_true((double)(m.now - before) >= 0.95 * forecast);
        kb_points_free(p);
    }
    cloud_free(&c);
    kb_context_free(ctx);
    assert_int_equal(m.now, 0);
}

static void what_cannot_be_counted_is_refused(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    kb_points *p = (kb_points *)&state;
    (void)unused;
    assert_fails(ctx, KB_ERR_MEMORY, "out of memory: 9223372036854775807 x 3 numbers",
                 kb_points_create(ctx, SIZE_MAX / 2, 3, 0, 0, &p));
    assert_null(p);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

static int build(kb_context *ctx, void *arg) {
    const cloud *c = arg;
    kb_metric metric = cloud_metric(c);
    kb_points *dense = NULL, *sparse = NULL;
    kb_status status;
    TRY(kb_points_build(ctx, &metric, c->dense, 0, c->N, NULL, &dense));
    TRY(kb_points_build(ctx, &metric, c->sparse, 0, c->N, NULL, &sparse));
done:
    kb_points_free(dense);
    kb_points_free(sparse);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, 10, 3, 5);
    (void)unused;
    run_with_allocation_failures(build, &c);
    cloud_free(&c);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_are_scaled_samples),
        cmocka_unit_test(far_samples_are_brought_near),
        cmocka_unit_test(rows_are_packed_side_by_side),
        cmocka_unit_test(projections_are_sums_and_the_same_for_both_forms),
        cmocka_unit_test(thin_rows_are_told_from_others),
        cmocka_unit_test(memory_is_as_forecast),
        cmocka_unit_test(what_cannot_be_counted_is_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
