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
    const double good[] = {1, 2, 3, 4}, last[] = {1, 2, 3, INFINITY}, inf[] = {-INFINITY, 2, 3, 4};
    kb_data *data = (kb_data *)ctx;
    (void)unused;
    assert_fails(ctx, KB_ERR_DATA, "the data have no samples",
                 data_from_dense(ctx, 0, 2, good, NULL, &data));
    assert_null(data);
    assert_fails(ctx, KB_ERR_DATA, "the data have no features",
                 data_from_dense(ctx, 2, 0, good, NULL, &data));
    assert_fails(ctx, KB_ERR_DATA, "row 1, column 1 (counted from 0): the value is infinite",
                 data_from_dense(ctx, 2, 2, last, NULL, &data));
    assert_fails(ctx, KB_ERR_DATA, "row 0, column 0 (counted from 0): the value is infinite",
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
    const double value[] = {1, 2, 3}, inf[] = {1, INFINITY, 3};
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
    assert_fails(ctx, KB_ERR_DATA, "row 0, column 2 (counted from 0): the value is infinite",
                 data_from_csr(ctx, 2, 3, start, column, inf, NULL, &data));
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

/* Enough cells for several threads, to and fro. */
static void any_threads_make_the_same_form(void **unused) {
    enum { ROWS = 3001, FEATURES = 211, CELLS = ROWS * FEATURES };
    kb_context *ctx = test_context();
    double *cell = calloc(CELLS, sizeof *cell);
    kb_data *sparse[2], *full[2];
    (void)unused;
    for (size_t k = 0; k < CELLS; k++)
        cell[k] = k * 7919 % 10007 % 3 ? 0 : (double)k;
    for (int many = 0; many < 2; many++) {
        kb_context_config config = {.size = sizeof config, .threads = many ? 5 : 1};
        kb_context *own;
        assert_int_equal(kb_context_create(&config, &own), KB_OK);
        assert_ok(ctx, data_from_dense(ctx, ROWS, FEATURES, cell, NULL, &sparse[many]));
        assert_ok(own, kb_data_choose_form(own, sparse[many]));
        const kb_data *s = sparse[many];
        assert_null(s->dense);
        /* The same entries in half as many columns are a full matrix. */
        uint32_t *half = malloc(s->row_start[ROWS] * sizeof *half);
        for (size_t i = 0; i < ROWS; i++)
            for (size_t k = s->row_start[i]; k < s->row_start[i + 1]; k++)
                half[k] = (uint32_t)(k - s->row_start[i]);
        assert_ok(ctx, data_from_csr(ctx, ROWS, FEATURES / 2, s->row_start, half, s->value, NULL,
                                     &full[many]));
        assert_ok(own, kb_data_choose_form(own, full[many]));
        assert_non_null(full[many]->dense);
        free(half);
        kb_context_free(own);
    }
    size_t entries = sparse[0]->row_start[ROWS];
    assert_memory_equal(sparse[0]->row_start, sparse[1]->row_start, (ROWS + 1) * sizeof(size_t));
    assert_memory_equal(sparse[0]->column, sparse[1]->column, entries * sizeof(uint32_t));
    assert_memory_equal(sparse[0]->value, sparse[1]->value, entries * sizeof(double));
    assert_memory_equal(full[0]->dense, full[1]->dense, ROWS * (FEATURES / 2) * sizeof(double));
    for (size_t i = 0; i < ROWS; i++)
        for (size_t k = sparse[1]->row_start[i]; k < sparse[1]->row_start[i + 1]; k++)
            assert_true(sparse[1]->value[k] == cell[i * FEATURES + sparse[1]->column[k]]);
    for (int many = 0; many < 2; many++) {
        kb_data_free(sparse[many]);
        kb_data_free(full[many]);
    }
    free(cell);
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
        cmocka_unit_test(any_threads_make_the_same_form),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
