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

/* Where there is no memory for the tuned number of grids, the fit takes half of them, and logs
 * it. */
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
        if (status == KB_OK && strstr(state.log, "too little memory; trying ")) {
            const kb_fit_info *info = kb_model_info(model);
            halved = 1;
            assert_true(info->grids < grids);
            assert_true(kb_model_cost(model)->forecast_bytes <= most / 10 * (size_t)share);
            snprintf(says, sizeof says, "too little memory; trying %zu grids\n", info->grids);
            assert_non_null(strstr(state.log, says));
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
        cmocka_unit_test(grids_that_were_asked_for_are_not_fewer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
