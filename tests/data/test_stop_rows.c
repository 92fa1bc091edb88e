/* Rows that are kept out of the sums of a fit, to learn from them when to stop. */
#include "model/fitted.h"

#include "data/stop_rows.h"

static kb_data *rows_of(kb_context *ctx, size_t N) {
    double *x = calloc(N, sizeof *x);
    kb_data *data;
    assert_non_null(x);
    assert_ok(ctx, data_from_dense(ctx, N, 1, x, x, &data));
    free(x);
    return data;
}

static void give_groups(kb_context *ctx, kb_data *data, size_t each) {
    assert_ok(ctx, kb_alloc(ctx, data->rows, sizeof *data->group, &data->group));
    for (size_t i = 0; i < data->rows; i++)
        data->group[i] = (uint32_t)(i * 7919 % data->rows / each);
}

/* In their order, and each once. */
static uint32_t *stop_rows(kb_context *ctx, const kb_data *data, kb_config config, size_t *count) {
    uint32_t *row;
    assert_ok(ctx, kb_stop_rows(ctx, &config, data, count, &row));
    for (size_t h = 0; h < *count; h++)
        assert_true(row[h] < data->rows && (h == 0 || row[h] > row[h - 1]));
    return row;
}

/* A tenth, give or take four standard deviations; 20,000 are enough. */
static void a_tenth_of_the_rows_is_kept_out(void **unused) {
    static const size_t N[] = {100, 5000, 400000};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < 3; k++) {
        kb_data *data = rows_of(ctx, N[k]);
        double want = fmin(0.1 * (double)N[k], 20000);
        size_t count, again, other;
        uint32_t *row = stop_rows(ctx, data, (kb_config){.seed = 3}, &count);
        uint32_t *same = stop_rows(ctx, data, (kb_config){.seed = 3}, &again);
        uint32_t *seed = stop_rows(ctx, data, (kb_config){.seed = 4}, &other);
        assert_true(fabs((double)count - want) <= 4 * sqrt(want));
        assert_int_equal(count, again);
        assert_same_bits(row, same, count);
        assert_true(other != count || memcmp(row, seed, count * sizeof *row) != 0);
        kb_release(ctx, row);
        kb_release(ctx, same);
        kb_release(ctx, seed);
        kb_data_free(data);
    }
    kb_context_free(ctx);
}

static void groups_stay_whole(void **unused) {
    enum { N = 3000, EACH = 10 };
    kb_context *ctx = test_context();
    kb_data *data = rows_of(ctx, N);
    size_t count, of[N / EACH] = {0};
    (void)unused;
    give_groups(ctx, data, EACH);
    uint32_t *row = stop_rows(ctx, data, (kb_config){.seed = 3}, &count);
    assert_true(count > N / 20 && count < N / 5);
    for (size_t h = 0; h < count; h++)
        of[data->group[row[h]]]++;
    for (size_t g = 0; g < N / EACH; g++)
        assert_true(of[g] == 0 || of[g] == EACH);
    kb_release(ctx, row);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* Something must be left to learn from: where all rows are of one group, none is kept out. */
static void one_group_is_not_kept_out(void **unused) {
    enum { N = 50 };
    kb_context *ctx = test_context();
    kb_data *data = rows_of(ctx, N);
    (void)unused;
    give_groups(ctx, data, N);
    for (uint64_t seed = 0; seed < 60; seed++) {
        size_t count;
        uint32_t *row = stop_rows(ctx, data, (kb_config){.seed = seed}, &count);
        assert_int_equal(count, 0);
        kb_release(ctx, row);
    }
    kb_data_free(data);
    kb_context_free(ctx);
}

static void the_order_of_time_keeps_out_the_last_rows(void **unused) {
    static const size_t N[] = {1, 9, 1000, 400000};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < 4; k++) {
        kb_data *data = rows_of(ctx, N[k]);
        size_t count, want = N[k] / 10 < 20000 ? (N[k] + 9) / 10 : 20000;
        uint32_t *row = stop_rows(ctx, data, (kb_config){.split = KB_SPLIT_TIME}, &count);
        assert_int_equal(count, N[k] == 1 ? 0 : want);
        assert_true(count == 0 || row[0] == N[k] - count);
        assert_true(count == 0 || row[count - 1] == N[k] - 1);
        kb_release(ctx, row);
        kb_data_free(data);
    }
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tenth_of_the_rows_is_kept_out),
        cmocka_unit_test(groups_stay_whole),
        cmocka_unit_test(one_group_is_not_kept_out),
        cmocka_unit_test(the_order_of_time_keeps_out_the_last_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
