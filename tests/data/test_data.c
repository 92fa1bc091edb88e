/* Samples from arrays, and their two forms. */
#include "support.h"

#include "data/data.h"

#include <math.h>

static void arrays_are_copied(void **unused) {
    kb_context *ctx = test_context();
    double values[] = {1, 0, 0, 4, 5, 6}, labels[] = {7, 8};
    kb_data *data;
    (void)unused;
    assert_ok(ctx, data_from_dense(ctx, 2, 3, values, labels, &data));
    values[0] = labels[0] = -1;
    assert_int_equal(kb_data_rows(data), 2);
    assert_int_equal(kb_data_features(data), 3);
    assert_false(kb_data_is_sparse(data));
    assert_true(data->dense[0] == 1 && kb_data_labels(data)[0] == 7);
    kb_data_free(data);
    kb_data_free(NULL);
    kb_context_free(ctx);
}

static void compressed_rows_are_copied(void **unused) {
    kb_context *ctx = test_context();
    size_t start[] = {2, 3, 3, 5}; /* need not begin at 0 */
    uint32_t column[] = {9, 9, 1, 0, 2};
    double value[] = {NAN, NAN, 1, 2, 3};
    kb_data *data;
    (void)unused;
    assert_ok(ctx, data_from_csr(ctx, 3, 3, start, column, value, NULL, &data));
    assert_true(kb_data_is_sparse(data));
    assert_null(kb_data_labels(data));
    assert_int_equal(kb_data_row(data, 0).count, 1);
    assert_int_equal(kb_data_row(data, 1).count, 0);
    assert_true(kb_data_row(data, 2).value[1] == 3);
    kb_data_free(data);
    size_t empty[] = {0, 0};
    assert_ok(ctx, data_from_csr(ctx, 1, 3, empty, NULL, NULL, NULL, &data));
    assert_int_equal(kb_data_row(data, 0).count, 0);
    kb_data_free(data);
    kb_context_free(ctx);
}

static void silly_dense_arrays_are_refused(void **unused) {
    kb_context *ctx = test_context();
    const double good[] = {1, 2, 3, 4}, nan[] = {1, 2, 3, NAN}, inf[] = {-INFINITY, 2, 3, 4};
    kb_data *data = (kb_data *)ctx;
    (void)unused;
    assert_fails(ctx, KB_ERR_DATA, "the data have no samples",
                 data_from_dense(ctx, 0, 2, good, NULL, &data));
    assert_null(data);
    assert_fails(ctx, KB_ERR_DATA, "the data have no features",
                 data_from_dense(ctx, 2, 0, good, NULL, &data));
    assert_fails(ctx, KB_ERR_DATA, "row 1, column 1 (counted from 0): the value is not finite",
                 data_from_dense(ctx, 2, 2, nan, NULL, &data));
    assert_fails(ctx, KB_ERR_DATA, "row 0, column 0 (counted from 0): the value is not finite",
                 data_from_dense(ctx, 2, 2, inf, NULL, &data));
    assert_fails(ctx, KB_ERR_DATA, "row 0 (counted from 0): the label is not finite",
                 data_from_dense(ctx, 2, 2, good, inf, &data));
    assert_null(data);
    assert_int_equal(data_from_dense(ctx, UINT32_MAX - 1, INT32_MAX, good, NULL, &data),
                     KB_ERR_MEMORY);
    assert_fails(ctx, KB_ERR_DATA, "more rows than kerbin can number",
                 data_from_dense(ctx, UINT32_MAX, 1, good, NULL, &data));
    assert_int_equal(data_from_dense(ctx, 1, SIZE_MAX, good, NULL, &data), KB_ERR_ARGUMENT);
    kb_context_free(ctx);
}

static void silly_compressed_rows_are_refused(void **unused) {
    kb_context *ctx = test_context();
    const size_t start[] = {0, 2, 3}, back[] = {0, 2, 1};
    const uint32_t column[] = {0, 2, 1}, twice[] = {1, 1, 0}, beyond[] = {0, 3, 1};
    const double value[] = {1, 2, 3}, nan[] = {1, NAN, 3};
    kb_data *data;
    (void)unused;
    assert_fails(ctx, KB_ERR_ARGUMENT,
                 "row 1 (counted from 0): it starts at 2 and ends before that, at 1",
                 data_from_csr(ctx, 2, 3, back, column, value, NULL, &data));
    assert_fails(ctx, KB_ERR_ARGUMENT,
                 "row 0 (counted from 0): column 1 follows column 1; they must increase",
                 data_from_csr(ctx, 2, 3, start, twice, value, NULL, &data));
    assert_fails(ctx, KB_ERR_ARGUMENT, "row 0 (counted from 0): column 3, but there are 3",
                 data_from_csr(ctx, 2, 3, start, beyond, value, NULL, &data));
    assert_fails(ctx, KB_ERR_DATA, "row 0, column 2 (counted from 0): the value is not finite",
                 data_from_csr(ctx, 2, 3, start, column, nan, NULL, &data));
    assert_null(data);
    kb_context_free(ctx);
}

/* 10 x 10 cells with `count` of them 1; the border is at 40. */
static kb_data *with_ones(kb_context *ctx, int count) {
    double cell[100] = {0};
    kb_data *data;
    for (int k = 0; k < count; k++)
        cell[(k * 37) % 100] = k + 1;
    assert_ok(ctx, data_from_dense(ctx, 10, 10, cell, NULL, &data));
    return data;
}

static void the_form_follows_the_share_of_nonzeros(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int count = 0; count <= 100; count++) {
        kb_data *data = with_ones(ctx, count), *copy = with_ones(ctx, count);
        assert_ok(ctx, kb_data_choose_form(ctx, data));
        assert_int_equal(kb_data_is_sparse(data), count <= 40);
        for (size_t i = 0; i < 10 && !data->dense; i++) {
            kb_row row = kb_data_row(data, i);
            for (size_t k = 0; k < row.count; k++) {
                assert_true(row.value[k] == copy->dense[10 * i + row.column[k]]);
                copy->dense[10 * i + row.column[k]] = 0;
            }
        }
        for (int k = 0; k < 100 && !data->dense; k++)
            assert_true(copy->dense[k] == 0);
        kb_data_free(data);
        kb_data_free(copy);
    }
    kb_context_free(ctx);
}

static void sparse_rows_become_dense_when_full(void **unused) {
    kb_context *ctx = test_context();
    const size_t start[] = {0, 2, 3};
    const uint32_t column[] = {0, 2, 1};
    const double value[] = {1, 2, 3}, want[] = {1, 0, 2, 0, 3, 0};
    kb_data *data;
    (void)unused;
    assert_ok(ctx, data_from_csr(ctx, 2, 3, start, column, value, NULL, &data));
    assert_ok(ctx, kb_data_choose_form(ctx, data));
    assert_false(kb_data_is_sparse(data));
    assert_memory_equal(data->dense, want, sizeof want);
    kb_data_free(data);
    kb_context_free(ctx);
}

static int build_all(kb_context *ctx, void *unused) {
    const size_t start[] = {0, 2, 3};
    const uint32_t column[] = {0, 2, 1};
    const double value[] = {1, 2, 3}, dense[] = {0, 0, 0, 1};
    kb_data *sparse = NULL, *full = NULL;
    kb_status status;
    (void)unused;
    TRY(data_from_csr(ctx, 2, 3, start, column, value, value, &sparse));
    TRY(kb_data_choose_form(ctx, sparse));
    TRY(data_from_dense(ctx, 2, 2, dense, value, &full));
    TRY(kb_data_choose_form(ctx, full));
done:
    kb_data_free(sparse);
    kb_data_free(full);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    (void)unused;
    run_with_allocation_failures(build_all, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_are_copied),
        cmocka_unit_test(compressed_rows_are_copied),
        cmocka_unit_test(silly_dense_arrays_are_refused),
        cmocka_unit_test(silly_compressed_rows_are_refused),
        cmocka_unit_test(the_form_follows_the_share_of_nonzeros),
        cmocka_unit_test(sparse_rows_become_dense_when_full),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
