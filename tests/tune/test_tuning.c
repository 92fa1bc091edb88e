/* What the stages of the tuner fill in. */
#include "model/fitted.h"

#include "tune/tuning.h"

static void a_plan_begins_as_the_config(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "lambda", "3", "seed", "5");
    kb_config given = kb_config_of(options);
    kb_tuning t = kb_tuning_begin(&given);
    (void)unused;
    assert_ptr_equal(t.given, &given);
    assert_memory_equal(&t.plan.config, &given, sizeof given);
    assert_null(t.plan.widths.width);
    assert_int_equal(t.count, 0);
    kb_tuning_release(ctx, &t);
    kb_options_free(options);
    kb_context_free(ctx);
}

static void trials_are_kept_in_order_with_their_time(void **unused) {
    enum { TRIALS = 40 };
    kb_context *ctx = test_context();
    kb_config given = {.budget = INFINITY};
    kb_tuning t = kb_tuning_begin(&given);
    (void)unused;
    for (size_t k = 0; k < TRIALS; k++)
        assert_ok(ctx, kb_tuning_note(ctx, &t, &(kb_trial_info){.grids = k + 1, .seconds = -1}));
    assert_int_equal(t.count, TRIALS);
    for (size_t k = 0; k < TRIALS; k++) {
        assert_int_equal(t.trial[k].grids, k + 1);
        assert_true(t.trial[k].seconds >= (k ? t.trial[k - 1].seconds : 0));
    }
    kb_tuning_release(ctx, &t);
    assert_null(t.trial);
    kb_context_free(ctx);
}

static void a_budget_is_late_by_its_share(void **unused) {
    kb_config given = {.budget = INFINITY};
    kb_tuning t = kb_tuning_begin(&given);
    (void)unused;
    assert_false(kb_tuning_is_late(&t, 0));
    given.budget = 100;
    t.began = kb_seconds() - 50;
    assert_true(kb_tuning_is_late(&t, 0.4));
    assert_false(kb_tuning_is_late(&t, 0.9));
}

static int note_some(kb_context *ctx, void *arg) {
    kb_status status = KB_OK;
    kb_tuning t = kb_tuning_begin(arg);
    for (size_t k = 0; k < 20; k++)
        TRY(kb_tuning_note(ctx, &t, &(kb_trial_info){.grids = 1}));
done:
    kb_tuning_release(ctx, &t);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    kb_config given = {.budget = INFINITY};
    (void)unused;
    run_with_allocation_failures(note_some, &given);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_begins_as_the_config),
        cmocka_unit_test(trials_are_kept_in_order_with_their_time),
        cmocka_unit_test(a_budget_is_late_by_its_share),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
