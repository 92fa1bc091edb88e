/* Some rows as a new set: in the order of the list, with all their attributes. */
#include "support.h"

#include "data/data.h"
#include "core/strings.h"

enum { ROWS = 4, FEATURES = 3 };

/* Row 2 has no entries; labels 10 i, weights i, groups i / 2. */
static kb_status make(kb_context *ctx, int sparse, int whole, kb_data **out) {
    static const double dense[ROWS * FEATURES] = {1, 0, 2, 0, 3, 0, 0, 0, 0, 4, 5, 6};
    static const double value[] = {1, 2, 3, 4, 5, 6}, label[ROWS] = {0, 10, 20, 30};
    static const size_t start[] = {0, 2, 3, 3, 6};
    static const uint32_t column[] = {0, 2, 1, 0, 1, 2};
    static const char *const name[] = {"a", "b", "c"};
    const double *labels = whole ? label : NULL;
    kb_status status;
    TRY(sparse ? data_from_csr(ctx, ROWS, FEATURES, start, column, value, labels, out)
               : data_from_dense(ctx, ROWS, FEATURES, dense, labels, out));
    if (!whole)
        goto done;
    TRY(kb_alloc(ctx, ROWS, sizeof(double), &(*out)->weight));
    TRY(kb_alloc(ctx, ROWS, sizeof(uint32_t), &(*out)->group));
    for (uint32_t i = 0; i < ROWS; i++) {
        (*out)->weight[i] = i;
        (*out)->group[i] = i / 2;
    }
    TRY(kb_strings_copy(ctx, FEATURES, (char *const *)name, &(*out)->feature_name));
    (*out)->class_count = 2;
    TRY(kb_strings_copy(ctx, 2, (char *const *)name, &(*out)->class_name));
    TRY(kb_strdup(ctx, "y", &(*out)->label_name));
done:
    return status;
}

static double cell(const kb_data *data, size_t i, size_t j) {
    kb_row row = kb_data_row(data, i);
    for (size_t k = 0; k < row.count; k++)
        if ((row.column ? row.column[k] : k) == j)
            return row.value[k];
    return 0;
}

/* Every list of up to three rows, in any order and with any of them twice. */
static void rows_come_in_the_order_of_the_list(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < 4; kind++) {
        int sparse = kind % 2, whole = kind / 2;
        kb_data *data;
        assert_ok(ctx, make(ctx, sparse, whole, &data));
        for (uint32_t code = 0; code < ROWS * ROWS * ROWS; code++)
            for (size_t count = 1; count <= 3; count++) {
                const uint32_t list[] = {code % ROWS, code / ROWS % ROWS, code / ROWS / ROWS};
                kb_data *part;
                size_t weight = 0;
                for (size_t k = 0; k < count; k++)
                    weight += list[k];
                if (whole && weight == 0)
                    continue;
                assert_ok(ctx, kb_data_take(ctx, data, count, list, &part));
                assert_int_equal(part->rows, count);
                assert_int_equal(part->features, FEATURES);
                assert_int_equal(kb_data_is_sparse(part), sparse);
                for (size_t k = 0; k < count; k++) {
                    assert_int_equal(kb_data_row(part, k).count, kb_data_row(data, list[k]).count);
                    for (size_t j = 0; j < FEATURES; j++)
                        assert_true(cell(part, k, j) == cell(data, list[k], j));
                    if (whole) {
                        assert_true(part->label[k] == 10 * list[k]);
                        assert_true(part->weight[k] == list[k]);
                        assert_int_equal(part->group[k], list[k] / 2);
                    }
                }
                kb_data_free(part);
            }
        kb_data_free(data);
    }
    kb_context_free(ctx);
}

static void names_are_copies_and_what_is_missing_stays_so(void **unused) {
    const uint32_t list[] = {1};
    kb_context *ctx = test_context();
    kb_data *data, *part;
    (void)unused;
    assert_ok(ctx, make(ctx, 0, 1, &data));
    assert_ok(ctx, kb_data_take(ctx, data, 1, list, &part));
    kb_data_free(data);
    assert_string_equal(part->feature_name[2], "c");
    assert_int_equal(part->class_count, 2);
    assert_string_equal(part->class_name[1], "b");
    assert_string_equal(part->label_name, "y");
    kb_data_free(part);
    assert_ok(ctx, make(ctx, 0, 0, &data));
    assert_ok(ctx, kb_data_take(ctx, data, 1, list, &part));
    assert_null(part->label);
    assert_null(part->weight);
    assert_null(part->group);
    assert_null(part->feature_name);
    assert_null(part->class_name);
    assert_null(part->label_name);
    kb_data_free(part);
    kb_data_free(data);
    kb_context_free(ctx);
}

static void nothing_to_learn_from_is_refused(void **unused) {
    const uint32_t list[] = {0, 0};
    kb_context *ctx = test_context();
    kb_data *data, *part;
    (void)unused;
    assert_ok(ctx, make(ctx, 0, 1, &data));
    part = data;
    assert_fails(ctx, KB_ERR_DATA, "one part of the data has no rows",
                 kb_data_take(ctx, data, 0, list, &part));
    assert_null(part);
    part = data;
    assert_fails(
        ctx, KB_ERR_DATA,
        "of the data set apart, all 2 rows have the weight 0: leave such rows out of the data, "
        "or try another --split or --seed",
        kb_data_take(ctx, data, 2, list, &part));
    assert_null(part);
    assert_int_equal(kb_data_take(ctx, data, 1, list, &part), KB_ERR_DATA);
    assert_non_null(strstr(kb_context_message(ctx), "all 1 row has the weight 0"));
    kb_data_free(data);
    kb_context_free(ctx);
}

/* Row by row as in the whole, without a copy. */
static void a_view_shows_the_rows_where_they_lie(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int sparse = 0; sparse < 2; sparse++)
        for (int whole = 0; whole < 2; whole++) {
            kb_data *data;
            assert_ok(ctx, make(ctx, sparse, whole, &data));
            for (size_t begin = 0; begin < data->rows; begin++)
                for (size_t count = 0; begin + count <= data->rows; count++) {
                    kb_data view = kb_data_view(data, begin, count);
                    assert_int_equal(view.rows, count);
                    assert_int_equal(view.features, data->features);
                    for (size_t i = 0; i < count; i++) {
                        kb_row a = kb_data_row(data, begin + i), b = kb_data_row(&view, i);
                        assert_int_equal(a.count, b.count);
                        assert_ptr_equal(a.value, b.value);
                        assert_ptr_equal(a.column, b.column);
                    }
                    assert_ptr_equal(view.label, data->label ? data->label + begin : NULL);
                    assert_ptr_equal(view.weight, data->weight ? data->weight + begin : NULL);
                    assert_ptr_equal(view.group, data->group ? data->group + begin : NULL);
                    assert_ptr_equal(view.feature_name, data->feature_name);
                }
            kb_data_free(data);
        }
    kb_context_free(ctx);
}

static int take_two(kb_context *ctx, void *unused) {
    const uint32_t list[] = {3, 1};
    kb_data *data[2] = {NULL}, *part[2] = {NULL};
    kb_status status;
    (void)unused;
    for (int sparse = 0; sparse < 2; sparse++) {
        TRY(make(ctx, sparse, 1, &data[sparse]));
        TRY(kb_data_take(ctx, data[sparse], 2, list, &part[sparse]));
    }
done:
    for (int k = 0; k < 2; k++) {
        kb_data_free(data[k]);
        kb_data_free(part[k]);
    }
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    (void)unused;
    run_with_allocation_failures(take_two, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_in_the_order_of_the_list),
        cmocka_unit_test(names_are_copies_and_what_is_missing_stays_so),
        cmocka_unit_test(nothing_to_learn_from_is_refused),
        cmocka_unit_test(a_view_shows_the_rows_where_they_lie),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
