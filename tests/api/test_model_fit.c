/* Tuned fits through the public interface: the trials in the model, and little memory. */
#include "tune/tuned.h"

static void the_model_has_its_trials(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = generated(ctx, "rings", "300", "1", "0.1");
    size_t count;
    (void)unused;
    kb_model *tuned = fit_sanely(ctx, TUNING(ctx, "tune", "on"), data);
    const kb_trial_info *tried = kb_model_trials(tuned, &count);
    assert_true(count > 0 && tried);
    assert_true(kb_model_cost(tuned)->tune_seconds > 0);
    kb_model *plain = fit_sanely(ctx, TUNING(ctx, "tune", "off"), data);
    kb_model_trials(plain, &count);
    assert_int_equal(count, 0);
    assert_true(kb_model_cost(plain)->tune_seconds == 0);
    kb_model_free(tuned);
    kb_model_free(plain);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* Where there is no memory for the tuned number of grids, the fit takes half of them, and warns.
 */
static void fewer_grids_are_taken_where_memory_is_short(void **unused) {
    kb_context *plain = test_context();
    kb_data *data = generated(plain, "friedman", "1500", "1", "0.1");
    kb_model *model = fit_sanely(plain, TUNING(plain, "widths", "equal"), data);
    size_t most = kb_model_cost(model)->forecast_bytes, grids = kb_model_info(model)->grids;
    (void)unused;
    kb_model_free(model);
    int halved = 0;
    for (int share = 9; share >= 5 && !halved; share--) {
        test_state state = {0};
        kb_context *ctx = test_context_with(&state, 1);
        char limit[32], says[64];
        snprintf(limit, sizeof limit, "%zu", most / 10 * (size_t)share);
        kb_options *options = TUNING(ctx, "widths", "equal", "max-memory", limit);
        kb_status status = kb_model_fit(ctx, options, data, &model);
        if (status == KB_OK && strstr(state.log, "too little memory for the ")) {
            const kb_fit_info *info = kb_model_info(model);
            halved = 1;
            assert_true(info->grids < grids);
            assert_true(kb_model_cost(model)->forecast_bytes <= most / 10 * (size_t)share);
            snprintf(says, sizeof says, " grids that were tuned: the model gets %zu\n",
                     info->grids);
            assert_non_null(strstr(state.log, says));
            assert_true(state.warnings > 0);
        }
        kb_model_free(model);
        kb_options_free(options);
        kb_context_free(ctx);
        assert_int_equal(state.live, 0);
    }
    assert_true(halved);
    kb_data_free(data);
    kb_context_free(plain);
}

/* An allocation that fails ends a tuned fit, or the model is another one and there is a warning. */
static void a_failed_allocation_is_told(void **unused) {
    kb_context *plain = test_context();
    kb_data *data = generated(plain, "friedman", "300", "1", "0.1");
    kb_model *model;
    int other = 0;
    (void)unused;
    kb_options *options = TUNING(plain, "widths", "equal", "linear", "off", "loss", "square");
    test_state all = {0};
    kb_context *counting = test_context_with(&all, 1);
    assert_ok(counting, kb_model_fit(counting, options, data, &model));
    size_t grids = kb_model_info(model)->grids;
    kb_model_free(model);
    kb_context_free(counting);
    for (long cases = TEST_LIGHT ? 6 : 24, k = cases; k >= 0; k--) {
        test_state state = {.fail_at = all.allocations - k * all.allocations / cases / 8};
        kb_context *ctx = test_context_with(&state, 1);
        kb_status status = kb_model_fit(ctx, options, data, &model);
        int met = state.allocations >= state.fail_at;
        if (status == KB_OK && kb_model_info(model)->grids != grids) {
            assert_true(state.warnings > 0);
            assert_non_null(strstr(state.log, "too little memory for the "));
            other++;
        } else {
            assert_int_equal(status, met ? KB_ERR_MEMORY : KB_OK);
        }
        kb_model_free(model);
        kb_context_free(ctx);
        assert_int_equal(state.live, 0);
    }
    assert_true(other > 0);
    kb_options_free(options);
    kb_data_free(data);
    kb_context_free(plain);
}

/* A number of grids that was asked for is not changed. */
static void grids_that_were_asked_for_are_not_fewer(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    kb_data *data = data_of(ctx, 500, 2, REAL);
    kb_options *options = OPTIONS(ctx, "grids", "2000", "max-memory", "300K");
    kb_model *model;
    (void)unused;
    assert_int_equal(kb_model_fit(ctx, options, data, &model), KB_ERR_MEMORY);
    assert_null(model);
    assert_null(strstr(state.log, "trying"));
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_model_has_its_trials),
        cmocka_unit_test(fewer_grids_are_taken_where_memory_is_short),
        cmocka_unit_test(a_failed_allocation_is_told),
        cmocka_unit_test(grids_that_were_asked_for_are_not_fewer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
