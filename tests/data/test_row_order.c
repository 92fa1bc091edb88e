/* Close rows side by side: the order against the cells of rows by plain arithmetic. */
#include "support.h"

#include "core/random.h"
#include "data/data.h"

#include <math.h>

enum { N = 700, D = 3 };

static kb_data *points(kb_context *ctx) {
    kb_data *data;
    double x[N * D];
    for (size_t k = 0; k < N * D; k++)
        x[k] = kb_random_uniform(3, KB_STREAM_SYNTHETIC, k, 5).u * (k % D == 1 ? 20 : 1);
    assert_ok(ctx, data_from_dense(ctx, N, D, x, NULL, &data));
    return data;
}

/* The mean distance between neighbours, in cells. */
static double distance(const kb_data *data, const double *cuts, const uint32_t *order) {
    double sum = 0;
    for (size_t i = 1; i < data->rows; i++)
        for (size_t j = 0; j < D; j++)
            sum += cuts[j] * fabs(data->dense[(order ? order[i] : i) * D + j] -
                                  data->dense[(order ? order[i - 1] : i - 1) * D + j]);
    return sum / (double)data->rows;
}

static void every_row_stands_once_and_neighbours_are_close(void **unused) {
    static const double cuts[][D] = {{4, 4, 4}, {1, 0.1, 1}, {30, 0, 0}, {0, 0, 0}, {1e9, 1, 1}};
    kb_context *ctx = test_context();
    kb_data *data = points(ctx);
    (void)unused;
    assert_true(kb_data_can_order(data));
    for (size_t k = 0; k < sizeof cuts / sizeof *cuts; k++) {
        uint32_t *order;
        int seen[N] = {0};
        assert_ok(ctx, kb_data_order(ctx, data, cuts[k], &order));
        for (size_t i = 0; i < N; i++) {
            assert_in_range(order[i], 0, N - 1);
            seen[order[i]]++;
            if (k == 3) /* one cell: as they were */
                assert_int_equal(order[i], i);
        }
        for (size_t i = 0; i < N; i++)
            assert_int_equal(seen[i], 1);
        if (k < 3) /* 700 points of a cube are a ninth of its side apart */
            assert_true(distance(data, cuts[k], order) < 0.4 * distance(data, cuts[k], NULL));
        kb_release(ctx, order);
    }
    kb_data_free(data);
    kb_context_free(ctx);
}

/* One feature: rows by their cells, and within a cell as they were. */
static void one_feature_is_sorted_by_its_cells(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data;
    double x[N], cuts = 8; /* cells of 1/128 */
    uint32_t *order;
    (void)unused;
    for (size_t i = 0; i < N; i++)
        x[i] = kb_random_uniform(4, KB_STREAM_SYNTHETIC, i, 5).u;
    x[N - 1] = NAN; /* stands with the least */
    x[0] = 0;
    assert_ok(ctx, data_from_dense(ctx, N, 1, x, NULL, &data));
    assert_ok(ctx, kb_data_order(ctx, data, &cuts, &order));
    for (size_t i = 1; i < N; i++) {
        double a = floor(x[order[i - 1]] * 128), b = floor(x[order[i]] * 128);
        a = isnan(a) ? 0 : a;
        b = isnan(b) ? 0 : b;
        assert_true(a < b || (a == b && order[i - 1] < order[i]));
    }
    kb_release(ctx, order);
    kb_data_free(data);
    kb_context_free(ctx);
}

static int order_them(kb_context *ctx, void *arg) {
    static const double cuts[D] = {4, 4, 4};
    uint32_t *order;
    kb_status status = kb_data_order(ctx, arg, cuts, &order);
    kb_release(ctx, order);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = points(ctx);
    (void)unused;
    run_with_allocation_failures(order_them, data);
    kb_data_free(data);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_stands_once_and_neighbours_are_close),
        cmocka_unit_test(one_feature_is_sorted_by_its_cells),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
