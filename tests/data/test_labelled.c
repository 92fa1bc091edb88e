/* Rows without a label are left out: against a copy of the others. */
#include "support.h"

#include <math.h>

/* Data of some rows, compressed or dense, of which those in `none` (bits) have no label. */
static kb_data *some_data(kb_context *ctx, size_t rows, unsigned none, int dense) {
    enum { FEATURES = 3 };
    kb_data *data;
    size_t entries = 0;
    assert_ok(ctx, kb_data_create(ctx, &data));
    data->rows = rows;
    data->features = FEATURES;
    assert_ok(ctx, kb_alloc(ctx, rows, sizeof(double), &data->label));
    assert_ok(ctx, kb_alloc(ctx, rows, sizeof(double), &data->weight));
    assert_ok(ctx, kb_alloc(ctx, rows, sizeof(uint32_t), &data->group));
    if (dense) {
        assert_ok(ctx, kb_alloc(ctx, rows * FEATURES, sizeof(double), &data->dense));
        assert_ok(ctx, kb_table_create(ctx, FEATURES, &data->table));
    } else {
        assert_ok(ctx, kb_alloc(ctx, rows + 1, sizeof(size_t), &data->row_start));
        assert_ok(ctx, kb_alloc(ctx, rows * FEATURES, sizeof(uint32_t), &data->column));
        assert_ok(ctx, kb_alloc(ctx, rows * FEATURES, sizeof(double), &data->value));
    }
    for (size_t i = 0; i < rows; i++) {
        data->label[i] = none >> i & 1 ? NAN : (double)i;
        data->weight[i] = 1 + (double)i;
        data->group[i] = (uint32_t)(i / 2);
        for (size_t j = 0; dense && j < FEATURES; j++)
            data->dense[i * FEATURES + j] = i == 1 && j == 2 ? NAN : (double)(10 * i + j);
        if (!dense)
            data->row_start[i] = entries;
        for (uint32_t j = 0; !dense && j < i % (FEATURES + 1); j++) {
            data->column[entries] = j;
            data->value[entries++] = (double)(10 * i + j);
        }
    }
    if (dense)
        assert_ok(ctx, kb_data_count_missing(ctx, data));
    else
        data->row_start[rows] = entries;
    return data;
}

static void same_row(const kb_data *a, size_t i, const kb_data *b, size_t k) {
    kb_row x = kb_data_row(a, i), y = kb_data_row(b, k);
    assert_true(a->label[i] == b->label[k] && a->weight[i] == b->weight[k]);
    assert_int_equal(a->group[i], b->group[k]);
    assert_int_equal(x.count, y.count);
    assert_memory_equal(x.value, y.value, x.count * sizeof *x.value);
    if (x.column)
        assert_memory_equal(x.column, y.column, x.count * sizeof *x.column);
}

/* Every set of rows to leave out. */
static void the_other_rows_are_kept(void **unused) {
    enum { ROWS = 6 };
    (void)unused;
    for (unsigned none = 0; none + 1 < 1u << ROWS; none++)
        for (int dense = 0; dense < 2; dense++) {
            test_state state = {0};
            kb_context *ctx = test_context_with(&state, 1);
            kb_data *all = some_data(ctx, ROWS, none, dense);
            kb_data *data = some_data(ctx, ROWS, none, dense);
            size_t kept = 0;
            assert_ok(ctx, kb_data_keep_labelled(ctx, "file", data));
            for (size_t i = 0; i < ROWS; i++)
                if (!(none >> i & 1))
                    same_row(data, kept++, all, i);
            assert_int_equal(data->rows, kept);
            char want[100] = "";
            if (ROWS - kept == 1)
                strcpy(want, "file: 1 row without a label is left out\n");
            else if (kept < ROWS)
                snprintf(want, sizeof want, "file: %zu rows without a label are left out\n",
                         ROWS - kept);
            assert_string_equal(state.log, want);
            if (dense) {
                assert_int_equal(data->missing, !(none & 2));
                assert_int_equal(data->table->column[2].missing, !(none & 2));
            }
            kb_data_free(data);
            kb_data_free(all);
            kb_context_free(ctx);
            assert_int_equal(state.live, 0);
        }
}

static void some_row_must_be_left(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = some_data(ctx, 3, 7, 1);
    (void)unused;
    assert_fails(ctx, KB_ERR_DATA, "file: no row has a label",
                 kb_data_keep_labelled(ctx, "file", data));
    kb_data_free(data);
    data = some_data(ctx, 3, 1, 0);
    data->weight[1] = data->weight[2] = 0;
    assert_int_equal(kb_data_keep_labelled(ctx, "file", data), KB_ERR_DATA);
    kb_data_free(data);
    data = some_data(ctx, 3, 0, 0);
    kb_release(ctx, data->label);
    data->label = NULL;
    assert_ok(ctx, kb_data_keep_labelled(ctx, "file", data));
    assert_int_equal(data->rows, 3);
    kb_data_free(data);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_other_rows_are_kept),
        cmocka_unit_test(some_row_must_be_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
