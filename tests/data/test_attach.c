/* Weights and groups that a program gives to its samples. */
#include "support.h"

#include "data/data.h"

#include <math.h>

static kb_status make(kb_context *ctx, kb_data **out) {
    static const double values[] = {1, 2, 3};
    return data_from_dense(ctx, 3, 1, values, NULL, out);
}

static void both_are_copied_replaced_and_taken_away(void **unused) {
    double weight[] = {1, 0, 2};
    uint32_t group[] = {2, 0, 2};
    kb_context *ctx = test_context();
    kb_data *data;
    (void)unused;
    assert_ok(ctx, make(ctx, &data));
    for (int round = 0; round < 2; round++) {
        assert_ok(ctx, kb_data_set_weights(ctx, data, weight));
        assert_ok(ctx, kb_data_set_groups(ctx, data, group));
        weight[0]++;
        group[0]--;
        assert_true(data->weight[0] == weight[0] - 1 && data->weight[2] == 2);
        assert_int_equal(data->group[0], group[0] + 1);
        assert_int_equal(data->group[2], 2);
    }
    assert_ok(ctx, kb_data_set_weights(ctx, data, NULL));
    assert_ok(ctx, kb_data_set_groups(ctx, data, NULL));
    assert_null(data->weight);
    assert_null(data->group);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* Refused, and what was there before stays. */
static void what_cannot_be_is_refused(void **unused) {
    static const struct {
        double weight[3];
        const char *message;
    } known[] = {
        {{1, -1, 2}, "row 1 (counted from 0): the weight -1 is not a finite number from 0 up"},
        {{1, 1, NAN}, "row 2 (counted from 0): the weight nan is not a finite number from 0 up"},
        {{INFINITY, 1, 1},
         "row 0 (counted from 0): the weight inf is not a finite number from 0 up"},
        {{0, 0, 0}, "the samples: all 3 weights are 0"},
        {{1e308, 1e308, 0}, "the samples: the sum of the weights is too large for a double"},
    };
    const double good[] = {1, 2, 3};
    const uint32_t groups[] = {0, 1, 2}, beyond[] = {0, 3, 1};
    kb_context *ctx = test_context();
    kb_data *data;
    (void)unused;
    assert_ok(ctx, make(ctx, &data));
    assert_ok(ctx, kb_data_set_weights(ctx, data, good));
    assert_ok(ctx, kb_data_set_groups(ctx, data, groups));
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_fails(ctx, KB_ERR_DATA, known[i].message,
                     kb_data_set_weights(ctx, data, known[i].weight));
    assert_fails(ctx, KB_ERR_ARGUMENT,
                 "row 1 (counted from 0): group 3, but groups are numbered from 0 and there are 3 "
                 "rows",
                 kb_data_set_groups(ctx, data, beyond));
    assert_memory_equal(data->weight, good, sizeof good);
    assert_memory_equal(data->group, groups, sizeof groups);
    kb_data_free(data);
    kb_context_free(ctx);
}

static int set_both(kb_context *ctx, void *unused) {
    const double weight[] = {1, 2, 3};
    const uint32_t group[] = {0, 0, 1};
    kb_data *data = NULL;
    kb_status status;
    (void)unused;
    TRY(make(ctx, &data));
    for (int round = 0; round < 2; round++) {
        TRY(kb_data_set_weights(ctx, data, weight));
        TRY(kb_data_set_groups(ctx, data, group));
    }
done:
    kb_data_free(data);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    (void)unused;
    run_with_allocation_failures(set_both, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_are_copied_replaced_and_taken_away),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
