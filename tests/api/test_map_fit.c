/* Maps from data through the public interface: those of a model, and within the memory allowed. */
#include "model/fitted.h"

static void the_model_uses_the_same_map(void **unused) {
    enum { N = 300, R = 11 };
    kb_context *ctx = test_context();
    static const char *const sigmas[] = {"default", "0.3", "0.3,2"};
    (void)unused;
    for (int k = 0; k < 3; k++) {
        kb_options *options = OPTIONS(ctx, "grids", "11", "sigma", sigmas[k], "seed", "5");
        kb_data *data = data_of(ctx, N, 2, TWO);
        kb_map *map = map_of(ctx, options, data);
        kb_model *model = model_of(ctx, options, data);
        const kb_map *own = kb_model_map(model);
        assert_int_equal(kb_map_grids(own), R);
        assert_int_equal(kb_map_bins(own), kb_map_bins(map));
        int64_t *a = columns_of(ctx, map, data), *b = columns_of(ctx, own, data);
        assert_same_bits(a, b, N * R);
        free(a);
        free(b);
        kb_model_free(model);
        kb_map_free(map);
        kb_data_free(data);
        kb_options_free(options);
    }
    kb_context_free(ctx);
}

/* Only the medians of the columns are found before. */
static void too_much_memory_is_refused_before_the_work(void **unused) {
    enum { FOR_MEDIANS = 6 };
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    kb_options *options = OPTIONS(ctx, "grids", "100000", "max-memory", "1M");
    kb_data *data = data_of(ctx, 1000, 2, REAL);
    kb_map *map;
    long before = state.allocations;
    (void)unused;
    assert_int_equal(kb_map_fit(ctx, options, data, &map), KB_ERR_MEMORY);
    assert_null(map);
    assert_non_null(strstr(kb_context_message(ctx),
                           "100000 grids over 1000 rows and 2 features need at least "));
    assert_non_null(strstr(kb_context_message(ctx), "and 1.0 MiB may be taken: use fewer --grids "
                                                    "or a larger --max-memory"));
    assert_true(state.allocations <= before + FOR_MEDIANS);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

static void too_much_memory_is_refused_before_the_trials(void **unused) {
    static const char *const maps[] = {"binning", "fourier", "exact"};
    for (size_t k = 0; k < sizeof maps / sizeof *maps; k++) {
        test_state state = {0};
        kb_context *ctx = test_context_with(&state, 1);
        kb_options *options = OPTIONS(ctx, "tune", "on", "sigma", "auto", "lambda", "auto", "map",
                                      maps[k], "grids", "100000", "max-memory", "100K");
        kb_data *data = data_of(ctx, 1000, 2, REAL);
        kb_map *map;
        (void)unused;
        assert_int_equal(kb_map_fit(ctx, options, data, &map), KB_ERR_MEMORY);
        assert_non_null(strstr(kb_context_message(ctx), "1000 rows"));
        assert_non_null(strstr(kb_context_message(ctx), " 100 KiB may be taken: use "));
        assert_int_equal(state.progress, 0);
        kb_data_free(data);
        kb_options_free(options);
        kb_context_free(ctx);
        assert_int_equal(state.live, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_model_uses_the_same_map),
        cmocka_unit_test(too_much_memory_is_refused_before_the_work),
        cmocka_unit_test(too_much_memory_is_refused_before_the_trials),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
