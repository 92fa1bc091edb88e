/* Samples from the caller's memory: every layout gives the same data. */
#include "support.h"

#include "data/data.h"

#include <math.h>

enum { N = 70, D = 37 };

static double cell(size_t i, size_t j) {
    return (double)((i * 7 + j * 3) % 11) / 4 - 1; /* a float too */
}

static void assert_cells(const kb_data *data) {
    assert_int_equal(data->rows, N);
    assert_int_equal(data->features, D);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < D; j++)
            assert_true(data->dense[i * D + j] == cell(i, j));
}

/* Both types; by rows, by columns, backwards, and with gaps between. */
static void every_layout_is_taken(void **unused) {
    static double d[2 * N * D];
    static float f[2 * N * D];
    kb_context *ctx = test_context();
    (void)unused;
    for (int single = 0; single < 2; single++)
        for (int layout = 0; layout < 4; layout++) {
            ptrdiff_t width = single ? sizeof(float) : sizeof(double);
            ptrdiff_t row = layout == 1 ? 1 : layout == 2 ? -D : layout == 3 ? 2 * D : D;
            ptrdiff_t column = layout == 1 ? N : 1, first = layout == 2 ? (N - 1) * D : 0;
            for (ptrdiff_t i = 0; i < N; i++)
                for (ptrdiff_t j = 0; j < D; j++) {
                    ptrdiff_t at = first + i * row + j * column;
                    d[at] = cell((size_t)i, (size_t)j);
                    f[at] = (float)d[at];
                }
            kb_arrays a = {.size = sizeof a,
                           .rows = N,
                           .features = D,
                           .type = single ? KB_VALUE_FLOAT : KB_VALUE_DOUBLE,
                           .values = single ? (void *)(f + first) : (void *)(d + first),
                           .row_step = row * width,
                           .column_step = column * width,
                           .borrow = 1};
            kb_data *data;
            assert_ok(ctx, kb_data_from_arrays(ctx, &a, &data));
            assert_cells(data);
            assert_int_equal((void *)data->dense == (void *)d, !single && layout == 0);
            kb_data_free(data);
            a.borrow = 0;
            assert_ok(ctx, kb_data_from_arrays(ctx, &a, &data));
            assert_cells(data);
            assert_true(data->dense != d);
            kb_data_free(data);
        }
    kb_context_free(ctx);
}

/* A third of the cells, in compressed rows of every type of index; the first entry is not at 0. */
static void compressed_rows_of_every_type_are_taken(void **unused) {
    static double value[N * D + 1];
    static float single[N * D + 1];
    static uint32_t narrow[N * D + 1], narrow_start[N + 1];
    static uint64_t wide[N * D + 1], wide_start[N + 1];
    kb_context *ctx = test_context();
    size_t used = 1;
    (void)unused;
    for (size_t i = 0; i < N; i++) {
        narrow_start[i] = (uint32_t)(wide_start[i] = used);
        for (size_t j = i % 3; j < D; j += 3) {
            single[used] = (float)(value[used] = cell(i, j));
            wide[used] = j;
            narrow[used++] = (uint32_t)j;
        }
    }
    narrow_start[N] = (uint32_t)(wide_start[N] = used);
    for (int kind = 0; kind < 8; kind++) {
        int borrow = kind & 1, is_wide = kind >> 1 & 1, is_single = kind >> 2 & 1;
        size_t bytes = is_wide ? 8 : 4;
        kb_arrays a = {.size = sizeof a,
                       .rows = N,
                       .features = D,
                       .type = is_single ? KB_VALUE_FLOAT : KB_VALUE_DOUBLE,
                       .values = is_single ? (void *)single : (void *)value,
                       .row_start = is_wide ? (void *)wide_start : (void *)narrow_start,
                       .columns = is_wide ? (void *)wide : (void *)narrow,
                       .row_start_bytes = bytes,
                       .column_bytes = bytes,
                       .borrow = borrow};
        kb_data *data;
        assert_ok(ctx, kb_data_from_arrays(ctx, &a, &data));
        assert_true(kb_data_is_sparse(data));
        assert_int_equal(data->value == value + 1, borrow && !is_single);
        assert_true(data->column != narrow + 1); /* nobody can change them any more */
        for (size_t i = 0; i < N; i++) {
            kb_row row = kb_data_row(data, i);
            assert_int_equal(row.count, (D - i % 3 + 2) / 3);
            for (size_t k = 0; k < row.count; k++)
                assert_true(row.column[k] == i % 3 + 3 * k &&
                            row.value[k] == cell(i, row.column[k]));
        }
        kb_data_free(data);
    }
    kb_context_free(ctx);
}

/* As a file would be: few numbers become compressed rows, many stored ones dense; what was
 * borrowed stays as it was. */
static void the_form_follows_the_numbers(void **unused) {
    kb_context *ctx = test_context();
    double sparse[9] = {0, 0, 5}, full[] = {1, 2, 3, 4};
    uint32_t start[] = {0, 2, 4}, column[] = {0, 1, 0, 1};
    kb_arrays few = {.size = sizeof few,
                     .rows = 3,
                     .features = 3,
                     .values = sparse,
                     .row_step = 24,
                     .column_step = 8,
                     .borrow = 1};
    kb_arrays many = {.size = sizeof many,
                      .rows = 2,
                      .features = 2,
                      .values = full,
                      .row_start = start,
                      .columns = column,
                      .row_start_bytes = 4,
                      .column_bytes = 4,
                      .borrow = 1};
    kb_data *data;
    (void)unused;
    assert_ok(ctx, kb_data_from_arrays(ctx, &few, &data));
    assert_true(kb_data_is_sparse(data) && data->value[0] == 5 && sparse[2] == 5);
    kb_data_free(data);
    assert_ok(ctx, kb_data_from_arrays(ctx, &many, &data));
    assert_false(kb_data_is_sparse(data));
    assert_memory_equal(data->dense, full, sizeof full);
    kb_data_free(data);
    kb_context_free(ctx);
}

static kb_arrays two_rows(const double *values) {
    return (kb_arrays){.size = sizeof(kb_arrays),
                       .rows = 2,
                       .features = 2,
                       .values = values,
                       .row_step = 16,
                       .column_step = 8,
                       .borrow = 1};
}

static void labels_weights_and_names_are_copied(void **unused) {
    kb_context *ctx = test_context();
    const double values[] = {1, 2, 3, 4};
    double labels[] = {1, 0}, weights[] = {0, 2.5};
    char ape[] = "ape", bee[] = "bee", height[] = "height", width[] = "width";
    const char *const classes[] = {ape, bee}, *const features[] = {width, height};
    kb_arrays a = two_rows(values);
    kb_data *data;
    (void)unused;
    a.labels = labels;
    a.weights = weights;
    a.class_names = classes;
    a.classes = 2;
    a.feature_names = features;
    assert_ok(ctx, kb_data_from_arrays(ctx, &a, &data));
    labels[0] = weights[1] = 0;
    ape[0] = width[0] = '\0';
    assert_true(data->label[0] == 1 && data->weight[1] == 2.5 && data->class_count == 2);
    assert_string_equal(data->class_name[0], "ape");
    assert_string_equal(data->feature_name[0], "width");
    kb_data_free(data);
    kb_context_free(ctx);
}

static void silly_arrays_are_refused(void **unused) {
    kb_context *ctx = test_context();
    const double values[] = {1, 2, 3, INFINITY}, good[] = {1, 2, 3, 4}, half[] = {0, 0.5};
    const double below[] = {1, -1}, none[] = {0, 0}, places[] = {0, 1};
    const char *const twice[] = {"ape", "ape"}, *const words[] = {"ape", "bee"};
    const int64_t start[] = {0, 1, 2}, columns[] = {0, -1}, beyond[] = {0, (int64_t)1 << 32};
    kb_arrays a = two_rows(values);
    kb_data *data;
    (void)unused;
    assert_fails(ctx, KB_ERR_DATA, "row 1, column 1 (counted from 0): the value is infinite",
                 kb_data_from_arrays(ctx, &a, &data));
    a.values = good;
    a.weights = below;
    assert_fails(ctx, KB_ERR_DATA,
                 "row 1 (counted from 0): the weight -1 is not a finite number from 0 up",
                 kb_data_from_arrays(ctx, &a, &data));
    a.weights = none;
    assert_fails(ctx, KB_ERR_DATA, "the samples: all 2 weights are 0",
                 kb_data_from_arrays(ctx, &a, &data));
    a.weights = NULL;
    a.class_names = words;
    a.classes = 2;
    a.labels = half;
    assert_fails(ctx, KB_ERR_ARGUMENT,
                 "row 1 (counted from 0): the label 0.5 is not the place of a class name",
                 kb_data_from_arrays(ctx, &a, &data));
    a.labels = places;
    a.class_names = twice;
    assert_fails(ctx, KB_ERR_ARGUMENT, "the class name 'ape' follows 'ape'; they must increase",
                 kb_data_from_arrays(ctx, &a, &data));
    a.class_names = NULL;
    a.row_start = start;
    a.columns = columns;
    a.row_start_bytes = a.column_bytes = 8;
    assert_fails(ctx, KB_ERR_ARGUMENT, "row 1 (counted from 0): column 4294967295, but there are 2",
                 kb_data_from_arrays(ctx, &a, &data));
    a.columns = beyond;
    assert_int_equal(kb_data_from_arrays(ctx, &a, &data), KB_ERR_ARGUMENT);
    assert_null(data);
    kb_context_free(ctx);
}

/* Rows that say that they go on behind the entries are refused before anything is read there. */
static void rows_beyond_the_entries_are_refused(void **unused) {
    kb_context *ctx = test_context();
    const double values[] = {1, 2};
    const uint32_t columns[] = {0, 1}, ends[] = {0, 2, 3, 1000000000, UINT32_MAX};
    kb_data *data;
    (void)unused;
    for (int k = 0; k < 5; k++)
        for (size_t entries = 0; entries <= 2; entries += 2) {
            const uint32_t start[] = {0, 0, ends[k]};
            kb_arrays a = {.size = sizeof a,
                           .rows = 2,
                           .features = 2,
                           .values = values,
                           .row_start = start,
                           .columns = columns,
                           .row_start_bytes = 4,
                           .column_bytes = 4,
                           .counted = 1,
                           .entries = entries};
            kb_status status = kb_data_from_arrays(ctx, &a, &data);
            assert_int_equal(status, ends[k] <= entries ? KB_OK : KB_ERR_ARGUMENT);
            kb_data_free(data);
        }
    assert_string_equal(kb_context_message(ctx),
                        "the rows end at entry 4294967295, but there are 2");
    kb_context_free(ctx);
}

static void nan_is_a_missing_value(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    const double values[] = {0, NAN, 0, 0, NAN, NAN, 0, 0, 0, 1};
    kb_arrays a = {.size = sizeof a, .rows = 5, .features = 2, .values = values, .borrow = 1};
    kb_column_info info = KB_COLUMN_INFO_INIT;
    kb_data *data;
    (void)unused;
    assert_ok(ctx, kb_data_from_arrays(ctx, &a, &data));
    assert_true(data->missing && data->dense == values); /* few nonzeros, but dense all the same */
    assert_int_equal(kb_data_column(data, 0, &info), KB_OK);
    assert_int_equal(info.missing, 1);
    assert_int_equal(kb_data_column(data, 1, &info), KB_OK);
    assert_int_equal(info.missing, 2);
    assert_int_equal(info.type, KB_COLUMN_NUMBER);
    kb_data_free(data);
    assert_string_equal(state.log, "");
    kb_context_free(ctx);
}

static void a_missing_value_of_sparse_rows_is_0(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    const double values[] = {5, NAN, 7};
    const uint32_t start[] = {0, 1, 2, 3, 3}, columns[] = {0, 1, 0};
    kb_arrays a = {.size = sizeof a, .rows = 4, .features = 3, .values = values};
    kb_data *data;
    (void)unused;
    a.row_start = start;
    a.columns = columns;
    a.row_start_bytes = a.column_bytes = sizeof *start;
    for (a.borrow = 0; a.borrow < 2; a.borrow++) {
        assert_ok(ctx, kb_data_from_arrays(ctx, &a, &data));
        assert_true(kb_data_is_sparse(data) && !data->missing && !data->table);
        assert_true(kb_data_row(data, 1).value[0] == 0 && isnan(values[1]));
        kb_data_free(data);
        assert_string_equal(state.log, "1 missing value in sparse rows is taken as 0\n");
        state.log[0] = '\0';
    }
    a.rows = 3;
    a.features = 2; /* now half of the cells are entries: dense rows, where values may be missing */
    assert_ok(ctx, kb_data_from_arrays(ctx, &a, &data));
    assert_true(data->dense && data->missing && isnan(data->dense[3]));
    assert_int_equal(data->table->column[1].missing, 1);
    kb_data_free(data);
    assert_string_equal(state.log, "");
    kb_context_free(ctx);
}

static void arrays_say_their_size(void **unused) {
    kb_context *ctx = test_context();
    const double values[] = {1, 2, 3, 4};
    char message[160];
    kb_arrays a = two_rows(values);
    kb_data *data;
    (void)unused;
    a.size = 0;
    assert_fails(ctx, KB_ERR_ARGUMENT, "kb_arrays: size is 0; it must be sizeof(kb_arrays)",
                 kb_data_from_arrays(ctx, &a, &data));
    a.size = sizeof a + 8;
    snprintf(message, sizeof message,
             "kb_arrays: size is %zu, but kerbin " KB_VERSION " knows %zu bytes of it", a.size,
             sizeof a);
    assert_fails(ctx, KB_ERR_ARGUMENT, message, kb_data_from_arrays(ctx, &a, &data));
    assert_null(data);

    /* A struct of an older program, without borrowing: what follows it in memory is not read. */
    a.size = offsetof(kb_arrays, borrow);
    assert_ok(ctx, kb_data_from_arrays(ctx, &a, &data));
    assert_true(data->dense != values && data->dense[3] == 4);
    kb_data_free(data);
    kb_context_free(ctx);
}

static void rows_one_after_the_other_need_no_steps(void **unused) {
    kb_context *ctx = test_context();
    const float values[] = {1, 2, 3, 4, 5, 6};
    kb_arrays a = KB_ARRAYS_INIT;
    kb_data *data;
    (void)unused;
    a.rows = 3;
    a.features = 2;
    a.type = KB_VALUE_FLOAT;
    a.values = values;
    assert_ok(ctx, kb_data_from_arrays(ctx, &a, &data));
    for (int k = 0; k < 6; k++)
        assert_true(data->dense[k] == k + 1);
    kb_data_free(data);
    kb_context_free(ctx);
}

static int take_all(kb_context *ctx, void *unused) {
    const double values[] = {1, 2, 3, 4}, places[] = {0, 1};
    const char *const words[] = {"ape", "bee"};
    const uint64_t start[] = {0, 1, 2}, columns[] = {0, 1};
    kb_arrays a = two_rows(values);
    kb_data *dense = NULL, *sparse = NULL;
    kb_status status;
    (void)unused;
    a.labels = a.weights = places;
    a.class_names = a.feature_names = words;
    a.classes = 2;
    TRY(kb_data_from_arrays(ctx, &a, &dense));
    a.row_start = start;
    a.columns = columns;
    a.row_start_bytes = a.column_bytes = 8;
    TRY(kb_data_from_arrays(ctx, &a, &sparse));
done:
    kb_data_free(dense);
    kb_data_free(sparse);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    (void)unused;
    run_with_allocation_failures(take_all, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layout_is_taken),
        cmocka_unit_test(compressed_rows_of_every_type_are_taken),
        cmocka_unit_test(the_form_follows_the_numbers),
        cmocka_unit_test(labels_weights_and_names_are_copied),
        cmocka_unit_test(silly_arrays_are_refused),
        cmocka_unit_test(rows_beyond_the_entries_are_refused),
        cmocka_unit_test(nan_is_a_missing_value),
        cmocka_unit_test(a_missing_value_of_sparse_rows_is_0),
        cmocka_unit_test(arrays_say_their_size),
        cmocka_unit_test(rows_one_after_the_other_need_no_steps),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
