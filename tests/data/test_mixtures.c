/* Columns that are weighted sums of others. */
#include "data/transforming.h"

static kb_mixtures mixtures_of(kb_context *ctx, size_t count, size_t columns,
                               const double *weight) {
    kb_mixtures m;
    assert_ok(ctx, kb_mixtures_create(ctx, count, columns, &m));
    memcpy(m.weight, weight, count * columns * sizeof *weight);
    return m;
}

static void release(kb_context *ctx, kb_mixtures *m) {
    kb_mixtures_release(kb_allocator_of(ctx), m);
}

static const double X[] = {0, 1, 0, 0.5, 0, 0, 1, 0.25, 0, 0, 0, 0};
static const double WEIGHT[] = {2, -4, 0, -1, 0, 8, 0, 0, 5};
static const uint32_t SOME[] = {0, 1, 2}, ALL[] = {0, 1, 2, 3};
enum { ROWS = 4, COLUMNS = 3, COUNT = 3 };

/* Sums over the first three rows: -4, 1, 1; 0, -0.5, -1; 0, 0, 0. */
static void dense_sums_are_brought_to_0_and_1(void **unused) {
    static const double want[] = {0, 1, 1, 0.8, 1, 0.5, 0, 1};
    kb_context *ctx = test_context();
    kb_data *data = dense_of(ctx, ROWS, COLUMNS, X);
    kb_mixtures m = mixtures_of(ctx, COUNT, COLUMNS, WEIGHT);
    (void)unused;
    kb_mixtures_fit(data, 3, SOME, &m);
    assert_true(kb_mixtures_are_sound(&m));
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t k = 0; k < 2; k++)
            assert_true(fabs(kb_mixtures_value(&m, k, kb_data_row(data, i)) - want[k * ROWS + i]) <
                        1e-15);
        assert_true(kb_mixtures_value(&m, 2, kb_data_row(data, i)) == 0); /* it did not vary */
    }
    release(ctx, &m);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* They are divided by their range, which includes 0, and 0 stays 0. */
static void sparse_sums_keep_their_zeros(void **unused) {
    static const double want[] = {-0.8, 0.2, 0.2, 0, 0, -0.5, -1, 0};
    kb_context *ctx = test_context();
    kb_data *data = sparse_of(ctx, ROWS, COLUMNS, X);
    kb_mixtures m = mixtures_of(ctx, COUNT, COLUMNS, WEIGHT);
    (void)unused;
    kb_mixtures_fit(data, 3, SOME, &m);
    assert_true(kb_mixtures_are_sound(&m));
    for (size_t k = 0; k < COUNT; k++) {
        assert_true(m.offset[k] == 0 && m.low[k] <= 0 && m.high[k] >= 0);
        for (size_t i = 0; i < ROWS; i++)
            assert_true(fabs(kb_mixtures_value(&m, k, kb_data_row(data, i)) -
                             (k < 2 ? want[k * ROWS + i] : 0)) < 1e-15);
    }
    release(ctx, &m);
    kb_data_free(data);
    kb_context_free(ctx);
}

static void what_lies_beyond_is_clipped(void **unused) {
    static const double far[] = {9, 0, 0, 0, 9, 9, DBL_MAX, DBL_MAX, 0}, w[] = {1, -1, 0};
    static const double want[2][3] = {{1, 0, 0}, {0.5, -0.5, -0.5}};
    static const double two[] = {1, 0, 0, 0, 1, 0};
    kb_context *ctx = test_context();
    (void)unused;
    for (int sparse = 0; sparse < 2; sparse++) {
        kb_data *data = sparse ? sparse_of(ctx, 2, 3, two) : dense_of(ctx, 2, 3, two);
        kb_data *beyond = sparse ? sparse_of(ctx, 3, 3, far) : dense_of(ctx, 3, 3, far);
        kb_mixtures m = mixtures_of(ctx, 1, 3, w);
        kb_mixtures_fit(data, 2, ALL, &m);
        for (size_t i = 0; i < 2; i++)
            assert_true(kb_mixtures_value(&m, 0, kb_data_row(beyond, i)) == want[sparse][i]);
        /* Infinity less infinity. */
        m.weight[0] = 2, m.weight[1] = -2;
        assert_true(kb_mixtures_value(&m, 0, kb_data_row(beyond, 2)) == want[sparse][2]);
        release(ctx, &m);
        kb_data_free(data);
        kb_data_free(beyond);
    }
    kb_context_free(ctx);
}

/* A row may have columns that are in no mixture: they do not count. */
static void columns_beyond_those_mixed_do_not_count(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = sparse_of(ctx, ROWS, COLUMNS, X);
    kb_mixtures m = mixtures_of(ctx, 1, 1, WEIGHT);
    (void)unused;
    kb_mixtures_fit(data, ROWS, ALL, &m);
    assert_true(kb_mixtures_value(&m, 0, kb_data_row(data, 0)) == 0);
    assert_true(kb_mixtures_value(&m, 0, kb_data_row(data, 2)) == 1);
    release(ctx, &m);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* No rows, or sums that a double cannot hold, count as a sum that does not vary. */
static void sums_without_a_range_become_0(void **unused) {
    static const double weight[] = {1, 0, 0, DBL_MAX, -DBL_MAX, 0, 1e-320, 0, 0, INFINITY, 1, 1};
    static const size_t rows[] = {0, 3, 3, 3};
    kb_context *ctx = test_context();
    (void)unused;
    for (int sparse = 0; sparse < 2; sparse++)
        for (size_t c = 0; c < 4; c++) {
            kb_data *data =
                sparse ? sparse_of(ctx, ROWS, COLUMNS, X) : dense_of(ctx, ROWS, COLUMNS, X);
            kb_mixtures m = mixtures_of(ctx, 1, COLUMNS, weight + c * COLUMNS);
            kb_mixtures_fit(data, rows[c], SOME, &m);
            assert_true(kb_mixtures_are_sound(&m));
            for (size_t i = 0; i < ROWS; i++)
                assert_true(kb_mixtures_value(&m, 0, kb_data_row(data, i)) == 0);
            release(ctx, &m);
            kb_data_free(data);
        }
    kb_context_free(ctx);
}

static void what_is_not_sound_is_seen(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = dense_of(ctx, ROWS, COLUMNS, X);
    (void)unused;
    for (int k = 0; k < 9; k++) {
        kb_mixtures m = mixtures_of(ctx, COUNT, COLUMNS, WEIGHT);
        kb_mixtures_fit(data, 3, SOME, &m);
        assert_true(kb_mixtures_are_sound(&m));
        double *const at[] = {&m.weight[8], &m.weight[0], &m.offset[1], &m.offset[0], &m.low[1],
                              &m.high[2],   &m.low[0],    &m.low[2],    &m.high[0]};
        static const double value[] = {NAN,      INFINITY, NAN,       -INFINITY, NAN,
                                       INFINITY, 2,        -INFINITY, NAN};
        *at[k] = value[k];
        if (kb_mixtures_are_sound(&m))
            fail_msg("damage %d is not seen", k);
        release(ctx, &m);
    }
    kb_mixtures m = mixtures_of(ctx, 1, COLUMNS, WEIGHT);
    m.weight[0] = m.weight[2] = DBL_MAX; /* each is a number, their sum is none */
    assert_false(kb_mixtures_are_sound(&m));
    release(ctx, &m);
    kb_data_free(data);
    kb_context_free(ctx);
}

static void none_take_nothing(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    long before = state.allocations;
    kb_mixtures m, copy;
    (void)unused;
    assert_ok(ctx, kb_mixtures_create(ctx, 0, 5, &m));
    assert_ok(ctx, kb_mixtures_copy(ctx, &m, &copy));
    assert_true(kb_mixtures_are_sound(&copy));
    assert_int_equal(state.allocations, before);
    release(ctx, &m);
    release(ctx, &copy);
    kb_context_free(ctx);
}

static int copy_some(kb_context *ctx, void *arg) {
    const kb_mixtures *from = arg;
    kb_mixtures m;
    kb_status status = kb_mixtures_copy(ctx, from, &m);
    if (status == KB_OK) {
        assert_int_equal(m.count, from->count);
        assert_int_equal(m.columns, from->columns);
        assert_memory_equal(m.weight, from->weight, COUNT * COLUMNS * sizeof(double));
        assert_memory_equal(m.offset, from->offset, COUNT * sizeof(double));
        assert_memory_equal(m.low, from->low, COUNT * sizeof(double));
        assert_memory_equal(m.high, from->high, COUNT * sizeof(double));
    }
    release(ctx, &m);
    return (int)status;
}

static void every_allocation_of_a_copy_may_fail(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = dense_of(ctx, ROWS, COLUMNS, X);
    kb_mixtures m = mixtures_of(ctx, COUNT, COLUMNS, WEIGHT);
    (void)unused;
    kb_mixtures_fit(data, 3, SOME, &m);
    run_with_allocation_failures(copy_some, &m);
    release(ctx, &m);
    kb_data_free(data);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_sums_are_brought_to_0_and_1),
        cmocka_unit_test(sparse_sums_keep_their_zeros),
        cmocka_unit_test(what_lies_beyond_is_clipped),
        cmocka_unit_test(columns_beyond_those_mixed_do_not_count),
        cmocka_unit_test(sums_without_a_range_become_0),
        cmocka_unit_test(what_is_not_sound_is_seen),
        cmocka_unit_test(none_take_nothing),
        cmocka_unit_test(every_allocation_of_a_copy_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
