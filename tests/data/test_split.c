/* Two sets from one: every row in one of them, with all its attributes. */
#include "support.h"

#include "data/data.h"

#include <math.h>

enum { ROWS = 500, FEATURES = 3 };

/* Row i is (i + 1, 0, -i) with label i % 3 and weight i + 0.5; sparse rows leave the zeros out,
 * so row 0 has one entry and the others two. */
static kb_data *numbered(kb_context *ctx, size_t rows, int sparse) {
    static double dense[ROWS * FEATURES], label[ROWS], value[2 * ROWS];
    static size_t start[ROWS + 1];
    static uint32_t column[2 * ROWS];
    size_t used = 0;
    kb_data *data;
    for (size_t i = 0; i < rows; i++) {
        dense[FEATURES * i] = (double)i + 1;
        dense[FEATURES * i + 1] = 0;
        dense[FEATURES * i + 2] = -(double)i;
        label[i] = (double)(i % 3);
        start[i] = used;
        column[used] = 0;
        value[used++] = (double)i + 1;
        if (i > 0) {
            column[used] = 2;
            value[used++] = -(double)i;
        }
    }
    start[rows] = used;
    assert_ok(ctx, sparse ? data_from_csr(ctx, rows, FEATURES, start, column, value, label, &data)
                          : data_from_dense(ctx, rows, FEATURES, dense, label, &data));
    return data;
}

/* As a reader would leave them. */
static kb_status add_names_and_weights(kb_context *ctx, kb_data *data) {
    static const char *const class_name[] = {"ant", "bee", "cat"};
    kb_status status;
    TRY(kb_alloc(ctx, data->rows, sizeof(double), &data->weight));
    for (size_t i = 0; i < data->rows; i++)
        data->weight[i] = (double)i + 0.5;
    TRY(kb_zalloc(ctx, 3, sizeof(char *), &data->class_name));
    data->class_count = 3;
    TRY(kb_zalloc(ctx, data->features, sizeof(char *), &data->feature_name));
    for (size_t k = 0; k < 3; k++) {
        TRY(kb_strdup(ctx, class_name[k], &data->class_name[k]));
        TRY(kb_format(ctx, &data->feature_name[k], "column %zu", k));
    }
    TRY(kb_strdup(ctx, "animal", &data->label_name));
done:
    return status;
}

static size_t number_of(const kb_data *part, size_t k) {
    return (size_t)kb_data_row(part, k).value[0] - 1;
}

static void assert_same_row(const kb_data *data, size_t i, const kb_data *part, size_t k) {
    kb_row want = kb_data_row(data, i), got = kb_data_row(part, k);
    assert_int_equal(want.count, got.count);
    assert_memory_equal(want.value, got.value, want.count * sizeof *want.value);
    if (want.column)
        assert_memory_equal(want.column, got.column, want.count * sizeof *want.column);
    else
        assert_null(got.column);
    assert_true(data->label[i] == part->label[k]);
    if (data->weight)
        assert_true(data->weight[i] == part->weight[k]);
    else
        assert_null(part->weight);
}

/* Merged by their numbers, the two are `data` row for row. */
static void assert_union(const kb_data *data, const kb_data *first, const kb_data *second) {
    size_t a = 0, b = 0;
    assert_int_equal(first->rows + second->rows, data->rows);
    for (size_t i = 0; i < data->rows; i++)
        if (a < first->rows && number_of(first, a) == i)
            assert_same_row(data, i, first, a++);
        else {
            assert_true(b < second->rows);
            assert_same_row(data, i, second, b++);
        }
    assert_int_equal(kb_data_is_sparse(first), kb_data_is_sparse(data));
    assert_int_equal(kb_data_is_sparse(second), kb_data_is_sparse(data));
    assert_int_equal(first->features, data->features);
    assert_int_equal(second->features, data->features);
}

static void the_two_sets_are_the_rows_in_their_order(void **unused) {
    kb_context *ctx = test_context();
    kb_data *first, *second;
    (void)unused;
    for (int sparse = 0; sparse < 2; sparse++)
        for (int named = 0; named < 2; named++) {
            kb_data *data = numbered(ctx, ROWS, sparse);
            if (named)
                assert_ok(ctx, add_names_and_weights(ctx, data));
            assert_ok(ctx, kb_data_split(ctx, data, 0.2, 7, &first, &second));
            assert_union(data, first, second);
            kb_data_free(data);
            kb_data_free(first);
            kb_data_free(second);
        }
    kb_context_free(ctx);
}

static void names_stay_whole_and_are_copies(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = numbered(ctx, 5, 0), *part[2];
    (void)unused;
    assert_ok(ctx, add_names_and_weights(ctx, data));
    assert_ok(ctx, kb_data_split(ctx, data, 0.2, 7, &part[0], &part[1]));
    kb_data_free(data);
    for (int k = 0; k < 2; k++) {
        assert_int_equal(part[k]->class_count, 3);
        assert_string_equal(part[k]->class_name[0], "ant");
        assert_string_equal(part[k]->class_name[2], "cat");
        assert_string_equal(part[k]->feature_name[0], "column 0");
        assert_string_equal(part[k]->feature_name[2], "column 2");
        assert_string_equal(part[k]->label_name, "animal");
        kb_data_free(part[k]);
    }
    kb_context_free(ctx);
}

static void what_is_missing_stays_so(void **unused) {
    const double values[] = {1, 2, 3, 4};
    kb_context *ctx = test_context();
    kb_data *data, *part[2];
    (void)unused;
    assert_ok(ctx, data_from_dense(ctx, 4, 1, values, NULL, &data));
    assert_ok(ctx, kb_data_split(ctx, data, 0.5, 1, &part[0], &part[1]));
    for (int k = 0; k < 2; k++) {
        assert_null(part[k]->label);
        assert_null(part[k]->weight);
        assert_null(part[k]->class_name);
        assert_int_equal(part[k]->class_count, 0);
        assert_null(part[k]->feature_name);
        assert_null(part[k]->label_name);
        kb_data_free(part[k]);
    }
    kb_data_free(data);
    kb_context_free(ctx);
}

/* Within five standard deviations, sqrt(N s (1 - s)) each, which random splits hardly ever
 * exceed. */
static void the_second_has_about_its_share(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = numbered(ctx, ROWS, 0), *first, *second;
    (void)unused;
    for (uint64_t seed = 0; seed < 20; seed++)
        for (double share = 0.1; share < 0.95; share += 0.2) {
            assert_ok(ctx, kb_data_split(ctx, data, share, seed, &first, &second));
            assert_true(fabs((double)second->rows - ROWS * share) <
                        5 * sqrt(ROWS * share * (1 - share)));
            kb_data_free(first);
            kb_data_free(second);
        }
    kb_data_free(data);
    kb_context_free(ctx);
}

/* Marks the rows of the second set. */
static void marks(kb_context *ctx, size_t rows, double share, uint64_t seed, char *mark) {
    kb_data *data = numbered(ctx, rows, 0), *first, *second;
    assert_ok(ctx, kb_data_split(ctx, data, share, seed, &first, &second));
    memset(mark, 0, ROWS);
    for (size_t k = 0; k < second->rows; k++)
        mark[number_of(second, k)] = 1;
    kb_data_free(data);
    kb_data_free(first);
    kb_data_free(second);
}

static void fate_depends_on_seed_and_number_alone(void **unused) {
    static char all[ROWS], again[ROWS], fewer[ROWS], other[ROWS], larger[ROWS];
    kb_context *ctx = test_context();
    (void)unused;
    marks(ctx, ROWS, 0.3, 5, all);
    marks(ctx, ROWS, 0.3, 5, again);
    marks(ctx, ROWS / 2, 0.3, 5, fewer);
    marks(ctx, ROWS, 0.3, 6, other);
    marks(ctx, ROWS, 0.6, 5, larger);
    assert_memory_equal(all, again, ROWS);
    assert_memory_equal(all, fewer, ROWS / 2);
    assert_memory_not_equal(all, other, ROWS);
    for (int i = 0; i < ROWS; i++)
        assert_true(all[i] <= larger[i]);
    kb_context_free(ctx);
}

static void neither_is_empty(void **unused) {
    static const double share[] = {1e-9, 0.5, 1 - 1e-9};
    kb_context *ctx = test_context();
    kb_data *first, *second;
    (void)unused;
    for (size_t rows = 2; rows < 5; rows++)
        for (uint64_t seed = 0; seed < 20; seed++)
            for (int k = 0; k < 3; k++) {
                kb_data *data = numbered(ctx, rows, (int)seed % 2);
                assert_ok(ctx, kb_data_split(ctx, data, share[k], seed, &first, &second));
                assert_true(first->rows >= 1 && second->rows >= 1);
                assert_union(data, first, second);
                kb_data_free(data);
                kb_data_free(first);
                kb_data_free(second);
            }
    kb_context_free(ctx);
}

static void silly_splits_are_refused(void **unused) {
    kb_context *ctx = test_context();
    kb_data *one = numbered(ctx, 1, 0), *four = numbered(ctx, 4, 0);
    kb_data *first = one, *second = one;
    (void)unused;
    assert_fails(ctx, KB_ERR_DATA, "1 row cannot be split in two",
                 kb_data_split(ctx, one, 0.5, 1, &first, &second));
    assert_null(first);
    assert_null(second);
    assert_fails(ctx, KB_ERR_ARGUMENT, "a share of 0: must be above 0 and below 1",
                 kb_data_split(ctx, four, 0, 1, &first, &second));
    assert_int_equal(kb_data_split(ctx, four, 1, 1, &first, &second), KB_ERR_ARGUMENT);
    assert_int_equal(kb_data_split(ctx, four, NAN, 1, &first, &second), KB_ERR_ARGUMENT);
    assert_int_equal(kb_data_split(ctx, four, -0.1, 1, &first, &second), KB_ERR_ARGUMENT);
    assert_ok(ctx, kb_zalloc(ctx, 4, sizeof(double), &four->weight));
    four->weight[1] = 1; /* whichever set row 1 is in, the other weighs nothing */
    assert_fails(
        ctx, KB_ERR_DATA,
        "of the data set apart, all 3 rows have the weight 0: leave such rows out of the data, or "
        "try another --split or --seed",
        kb_data_split(ctx, four, 0.5, 1, &first, &second));
    assert_null(first);
    assert_null(second);
    kb_data_free(one);
    kb_data_free(four);
    kb_context_free(ctx);
}

static int split_all(kb_context *ctx, void *unused) {
    const size_t start[] = {0, 2, 3};
    const uint32_t column[] = {0, 2, 1};
    const double value[] = {1, 2, 3, 4, 5, 6};
    kb_data *sparse = NULL, *dense = NULL, *part[4] = {NULL};
    kb_status status;
    (void)unused;
    TRY(data_from_csr(ctx, 2, 3, start, column, value, value, &sparse));
    TRY(add_names_and_weights(ctx, sparse));
    TRY(kb_data_split(ctx, sparse, 0.5, 1, &part[0], &part[1]));
    TRY(data_from_dense(ctx, 2, 3, value, value, &dense));
    TRY(kb_data_split(ctx, dense, 0.5, 1, &part[2], &part[3]));
done:
    kb_data_free(sparse);
    kb_data_free(dense);
    for (int k = 0; k < 4; k++)
        kb_data_free(part[k]);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    (void)unused;
    run_with_allocation_failures(split_all, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_two_sets_are_the_rows_in_their_order),
        cmocka_unit_test(names_stay_whole_and_are_copies),
        cmocka_unit_test(what_is_missing_stays_so),
        cmocka_unit_test(the_second_has_about_its_share),
        cmocka_unit_test(fate_depends_on_seed_and_number_alone),
        cmocka_unit_test(neither_is_empty),
        cmocka_unit_test(silly_splits_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
