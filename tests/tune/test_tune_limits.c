/* Limits of tuning: memory, budget, and cancelling. */
#include "tune/tuned.h"
#include "meter.h"

#include "tune/tune.h"

/* ---- memory and time --------------------------------------------------- */

/* The most bytes that were in use at once while the trials ran. */
static size_t peak_of_tuning(const char *limit, const kb_data *data, kb_status expected) {
    meter m = {0, 0};
    kb_context *ctx;
    kb_context_config config = {
        .size = sizeof config, .user = &m, .reallocate = metered, .threads = 1};
    assert_int_equal(kb_context_create(&config, &ctx), KB_OK);
    kb_options *options = TUNING(ctx, "max-memory", limit, "grids", "8");
    kb_tuning tuning;
    assert_int_equal(kb_tune(ctx, CONFIG(options), data, NULL, &tuning), expected);
    kb_tuning_release(ctx, &tuning);
    kb_options_free(options);
    kb_context_free(ctx);
    return m.peak;
}

static void trials_keep_within_the_memory_allowed(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = generated(ctx, "checkers", "12000", "1", "0.1");
    (void)unused;
    size_t free_peak = peak_of_tuning("1G", data, KB_OK);
    size_t tight_peak = peak_of_tuning("8M", data, KB_OK);
    assert_true(tight_peak < free_peak);
    assert_true(tight_peak <= 8 << 20);
    peak_of_tuning("1.2M", data, KB_ERR_MEMORY);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* Sparse rows of one entry or two, and ten classes: the mixtures take most of the memory. */
static void mixtures_of_sparse_rows_keep_within_it_too(void **unused) {
    enum { ROWS = 12000, COLUMNS = 20 };
    kb_context *ctx = test_context();
    double *x = calloc(ROWS * COLUMNS, sizeof *x), *y = malloc(ROWS * sizeof *y);
    (void)unused;
    for (size_t i = 0; i < ROWS; i++) {
        size_t j = (size_t)(COLUMNS * test_uniform(3, i));
        x[i * COLUMNS + j] = test_uniform(4, i);
        y[i] = (double)(j / 2);
    }
    kb_data *data = test_sparse(ctx, ROWS, COLUMNS, x, y);
    assert_true(peak_of_tuning("24M", data, KB_OK) <= 24 << 20);
    kb_data_free(data);
    free(x), free(y);
    kb_context_free(ctx);
}

static void a_spent_budget_still_gives_a_model(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = generated(ctx, "friedman", "1000", "1", "0.1");
    kb_data *two = generated(ctx, "checkers", "300", "1", "0.1");
    (void)unused;
    kb_model *model = fit_sanely(ctx, TUNING(ctx, "budget", "0.000001s"), data);
    assert_true(trials_of(model) < 6);
    /* No sigma was found: the untuned values, not the start value of the search. */
    assert_string_equal(kb_model_info(model)->scale, "minmax");
    assert_string_equal(kb_model_info(model)->sigma_rule, "default");
    assert_int_equal(kb_model_info(model)->grids, 32); /* as few as a fit may have */
    kb_model_free(model);
    kb_model_free(fit_sanely(ctx, TUNING(ctx, "budget", "0.000001s"), two));
    kb_model_free(
        fit_sanely(ctx, TUNING(ctx, "budget", "0.000001s", "map", "fourier", "grids", "20"), two));
    kb_model_free(fit_sanely(ctx, TUNING(ctx, "budget", "0.000001s", "penalty", "l1"), two));
    kb_data_free(data);
    kb_data_free(two);
    kb_context_free(ctx);
}

/* ---- progress, and failures -------------------------------------------- */

typedef struct watch {
    test_state state; /* first: the allocator's */
    double last;
    int tuned;
} watch;

static int watch_progress(void *user, const char *phase, double done) {
    watch *w = user;
    if (strcmp(phase, "tune") == 0) {
        assert_true(done >= w->last && done <= 1);
        w->last = done;
        w->tuned = 1;
    }
    return 0;
}

static void progress_runs_from_0_to_1(void **unused) {
    static const char *const pairs[][2] = {
        {"tune", "on"}, {"penalty", "l1"}, {"map", "fourier"}, {"sigma", "0.2"}};
    kb_context *plain = test_context();
    kb_data *data = generated(plain, "rings", "600", "1", "0.1");
    (void)unused;
    for (int k = 0; k < 4; k++) {
        watch w = {.last = 0};
        kb_context *ctx;
        kb_context_config config = {.size = sizeof config,
                                    .user = &w,
                                    .reallocate = test_reallocate,
                                    .progress = watch_progress,
                                    .threads = 1};
        assert_int_equal(kb_context_create(&config, &ctx), KB_OK);
        kb_options *options = TUNING(ctx, "grids", "32", pairs[k][0], pairs[k][1]);
        kb_model_free(fit_sanely(ctx, options, data));
        assert_int_equal(w.tuned, 1);
        assert_true(w.last == 1);
        kb_context_free(ctx);
    }
    kb_data_free(data);
    kb_context_free(plain);
}

static void tuning_may_be_cancelled(void **unused) {
    static const char *const pairs[][2] = {{"tune", "on"}, {"penalty", "l1"}, {"map", "nystrom"}};
    kb_context *plain = test_context();
    kb_data *data = generated(plain, "rings", "500", "1", "0.1");
    (void)unused;
    for (int k = 0; k < 3; k++)
        for (long at = 1; at < 2000; at = at * 3 + 1) {
            test_state state = {.cancel_after = at};
            kb_context *ctx = test_context_with(&state, 1);
            kb_options *options = TUNING(ctx, "grids", "32", pairs[k][0], pairs[k][1]);
            kb_model *model;
            kb_status status = kb_model_fit(ctx, options, data, &model);
            assert_int_equal(status, state.progress < at ? KB_OK : KB_ERR_CANCELLED);
            kb_model_free(model);
            kb_options_free(options);
            kb_context_free(ctx);
            assert_int_equal(state.live, 0);
        }
    kb_data_free(data);
    kb_context_free(plain);
}

/* Every allocation of a small tuned fit at first, then some. */
static void check_failures(const kb_data *data, const char *const *pairs, long every) {
    for (long k = 1;; k += k < 60 ? 1 : every) {
        test_state state = {0};
        kb_context *ctx = test_context_with(&state, 1);
        kb_options *options = tuning_options_of(ctx, pairs);
        kb_model *model;
        long live = state.live;
        state.fail_at = state.allocations + k;
        kb_status status = kb_model_fit(ctx, options, data, &model);
        int met = state.allocations >= state.fail_at;
        assert_int_equal(status, met ? KB_ERR_MEMORY : KB_OK);
        kb_model_free(model);
        assert_int_equal(state.live, live);
        kb_options_free(options);
        kb_context_free(ctx);
        assert_int_equal(state.live, 0);
        if (!met)
            return;
    }
}

static void allocations_may_fail(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = generated(ctx, "checkers", "60", "1", "0.1");
    kb_data *more = generated(ctx, "checkers", "520", "1", "0.1");
    static const char *const plain[] = {"grids", "4", NULL};
    static const char *const l1[] = {"grids", "4", "penalty", "l1", "split", "time", NULL};
    static const char *const rival[] = {"grids", "4", "map", "fourier", NULL};
    (void)unused;
    check_failures(data, plain, 97);
    check_failures(data, l1, 397);
    check_failures(data, rival, 397);
    check_failures(more, plain, 2999);
    kb_data_free(data);
    kb_data_free(more);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trials_keep_within_the_memory_allowed),
        cmocka_unit_test(mixtures_of_sparse_rows_keep_within_it_too),
        cmocka_unit_test(a_spent_budget_still_gives_a_model),
        cmocka_unit_test(progress_runs_from_0_to_1),
        cmocka_unit_test(tuning_may_be_cancelled),
        cmocka_unit_test(allocations_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
