/* Fits with the rival maps in little memory, and failures during a fit. */
#include "model/rivals.h"
#include "fit/map_build.h"
#include "meter.h"

/* ---- memory ------------------------------------------------------------ */

/* The forecast and the decisions of a fit that may take `limit` (0: no limit) of memory; the
 * fit must take no more than the forecast. */
static double *measured(const kb_data *data, int map, const way *w, const char *solver,
                        const char *penalty, size_t limit, size_t *forecast) {
    meter m = {0, 0};
    kb_context *ctx = metered_context(&m);
    char text[32];
    snprintf(text, sizeof text, "%zu", limit);
    kb_options *options = rival_options(ctx, map, w, "on");
    assert_ok(ctx, kb_options_set(ctx, options, "max-memory", limit ? text : "auto"));
    assert_ok(ctx, kb_options_set(ctx, options, "solver", solver));
    assert_ok(ctx, kb_options_set(ctx, options, "penalty", penalty));
    assert_ok(ctx, kb_options_set(ctx, options, "tol", penalty[1] == '1' ? "1e-3" : "1e-11"));
    assert_ok(ctx, kb_options_set(ctx, options, "max-iter", "5000"));
    size_t before = m.now;
    kb_model *model = model_of(ctx, options, data);
    const kb_fit_info *info = kb_model_info(model);
    *forecast = kb_model_cost(model)->forecast_bytes;
    if ((double)(m.peak - before) > 1.02 * (double)*forecast + 16384)
        fail_msg("%s, %s, %s: %zu bytes taken, %zu forecast", MAPS[map], info->loss, info->solver,
                 m.peak - before, *forecast);
    if (limit)
        assert_true(*forecast <= limit);
    double *f = decisions_of(ctx, model, data);
    kb_model_free(model);
    kb_options_free(options);
    kb_context_free(ctx);
    assert_int_equal(m.now, 0);
    return f;
}

/* With less memory than that, rows are computed again instead of stored and nothing is solved
 * directly: the same decisions, as far as the solver goes. */
static void less_memory_changes_no_decision(void **unused) {
    enum { N = TEST_LIGHT ? 120 : 220 };
    kb_context *ctx = test_context();
    (void)unused;
    for (int map = 0; map < MAP_COUNT; map++)
        for (int k = 0; k < RIVAL_WAYS; k++)
            for (int l1 = 0; l1 <= takes_l1(map, &WAYS[k]); l1++) {
                if (is_long(&WAYS[k]))
                    continue;
                const char *penalty = l1 ? "l1" : "l2";
                kb_data *data = data_of(ctx, N, 3, WAYS[k].kind);
                size_t most, less, least;
                double *f = measured(data, map, &WAYS[k], "auto", penalty, 0, &most);
                double *g = measured(data, map, &WAYS[k], "auto", penalty, most - 1, &less);
                assert_true(less < most);
                size_t C = WAYS[k].kind >= THREE ? 3 : 1;
                if (l1) /* the same columns */
                    assert_same_bits(g, f, N * C);
                else
                    assert_close(g, f, N * C, 1e-8);
                if (map >= BLOCKS && strcmp(WAYS[k].loss, "square") == 0) { /* CG, stored or not */
                    free(g);
                    g = measured(data, map, &WAYS[k], "cg", penalty, 0, &most);
                    double *h = measured(data, map, &WAYS[k], "cg", penalty, most - 1, &least);
                    assert_true(least < most);
                    assert_same_bits(g, h, N * C);
                    assert_close(g, f, N * C, 1e-8);
                    free(h);
                }
                free(f), free(g);
                kb_data_free(data);
            }
    kb_context_free(ctx);
}

/* Features are made and written some rows at a time: what that takes is forecast, does not grow
 * with the rows, and changes no bit. */
static void features_take_what_was_forecast(void **unused) {
    enum { ROWS = 9000, R = 64 };
    test_path null;
    double *want = malloc(sizeof *want * ROWS * R), *z = malloc(sizeof *z * ROWS * R);
    (void)unused;
    assert_true(want && z);
    if (!device_like("null", 1, 3, &null))
        skip();
    for (int map = FOURIER; map <= NYSTROM; map++)
        for (int ranks = 0; ranks <= (map == FOURIER); ranks++) {
            meter m = {0, 0};
            kb_context *ctx = metered_context(&m);
            kb_data *data = data_of(ctx, ROWS, 2, REAL), *scaled = NULL;
            kb_options *options = RIVAL(ctx, map, "grids", "64", "scale", ranks ? "ranks" : "none");
            kb_map *fitted;
            assert_ok(ctx, kb_map_fit(ctx, options, data, &fitted));
            size_t before = m.peak = m.now;
            assert_ok(ctx, kb_map_write_features(ctx, fitted, data, null.text));
            double taken = (double)(m.peak - before);
            double forecast = kb_map_features_bytes(CONFIG(options), data);
            assert_true(taken <= 1.02 * forecast + (1 << 20)); /* and a few tiles of scratch */
            assert_true(forecast < 16.0 * ROWS * R);
            if (ranks)
                assert_ok(ctx, kb_transform_apply(ctx, fitted->transform, data, &scaled));
            assert_ok(ctx, kb_rival_features(ctx, fitted->rival, ranks ? scaled : data, want));
            assert_ok(ctx, kb_map_apply_dense(ctx, fitted, data, z));
            assert_same_bits(z, want, ROWS * R);
            kb_data_free(scaled);
            kb_map_free(fitted);
            assert_ok(ctx, kb_options_set(ctx, options, "max-memory", "8M"));
            assert_int_equal(kb_map_fit(ctx, options, data, &fitted), KB_ERR_MEMORY);
            assert_null(fitted);
            assert_non_null(strstr(kb_context_message(ctx), "a larger --max-memory"));
            kb_data_free(data);
            kb_options_free(options);
            kb_context_free(ctx);
            assert_int_equal(m.now, 0);
        }
    unlink(null.text);
    free(want), free(z);
}

/* One line, and before any work. */
static void too_little_memory_is_refused(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = data_of(ctx, 2000, 2, REAL);
    (void)unused;
    for (int map = 0; map < MAP_COUNT; map++)
        for (int asked = 0; asked < (map >= BLOCKS ? 2 : 1); asked++) {
            test_state state = {0};
            kb_context *mine = test_context_with(&state, 1);
            kb_options *options =
                RIVAL(mine, map, "max-memory", "20K", "solver", asked ? "cholesky" : "auto");
            long before = state.live;
            kb_model *model;
            char says[64];
            assert_int_equal(kb_model_fit(mine, options, data, &model), KB_ERR_MEMORY);
            assert_null(model);
            snprintf(says, sizeof says, "--map %s for 2000 rows needs ", MAPS[map]);
            const char *message = kb_context_message(mine);
            assert_memory_equal(message, says, strlen(says));
            assert_non_null(strstr(message, "or a larger --max-memory"));
            assert_null(strchr(message, '\n'));
            assert_int_equal(state.live, before);
            assert_true(state.progress <= 1);
            kb_options_free(options);
            kb_context_free(mine);
        }
    /* A direct solution that was asked for is not replaced by another. */
    size_t most;
    free(measured(data, BLOCKS, &WAYS[0], "cg", "l2", 0, &most));
    free(measured(data, BLOCKS, &WAYS[0], "cholesky", "l2", 0, &most));
    char text[32];
    snprintf(text, sizeof text, "%zu", most - 1);
    kb_options *options = rival_options(ctx, BLOCKS, &WAYS[0], "on");
    assert_ok(ctx, kb_options_set(ctx, options, "solver", "cholesky"));
    assert_ok(ctx, kb_options_set(ctx, options, "max-memory", text));
    kb_model *model;
    assert_int_equal(kb_model_fit(ctx, options, data, &model), KB_ERR_MEMORY);
    assert_null(model);
    kb_options_free(options);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* ---- when things go wrong ---------------------------------------------- */

typedef struct attempt {
    fit_inputs in;
    int map;
} attempt;

/* A few steps of each way, with weights. */
static attempt tiny(kb_context *ctx, int map, const way *w, int l1) {
    return (attempt){TINY_WAY(ctx, w, "map", MAPS[map], "penalty", l1 ? "l1" : "l2", "landmarks",
                              w->kind == REAL ? "uniform" : "kmeans++"),
                     map};
}

static int read_and_decide(kb_context *ctx, void *arg) {
    attempt *a = arg;
    test_path path = path_of("model.kerbin"), again = path_of("again.kerbin");
    kb_model *model;
    kb_map *map = NULL;
    double f[30 * 3];
    kb_status status;
    TRY(kb_model_read(ctx, path.text, &model));
    TRY(kb_model_decide(ctx, model, a->in.data, f));
    TRY(kb_model_write(ctx, model, again.text));
    TRY(kb_map_fit(ctx, a->in.options, a->in.data, &map));
    if (a->map < BLOCKS)
        TRY(kb_map_write_features(ctx, map, a->in.data, again.text));
done:
    kb_map_free(map);
    kb_model_free(model);
    unlink(again.text);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int map = 0; map < MAP_COUNT; map++)
        for (int k = 0; k < RIVAL_WAYS; k++)
            for (int l1 = 0; l1 <= takes_l1(map, &WAYS[k]); l1++) {
                if (is_long(&WAYS[k]))
                    continue;
                attempt a = tiny(ctx, map, &WAYS[k], l1);
                run_with_allocation_failures(fit_once, &a.in);
                kb_model *model = model_of(ctx, a.in.options, a.in.data);
                test_path path = written(ctx, model);
                if (WAYS[k].kind != TWO)
                    run_with_allocation_failures(read_and_decide, &a);
                unlink(path.text);
                kb_model_free(model);
                fit_inputs_free(&a.in);
            }
    kb_context_free(ctx);
}

static void the_callback_may_cancel_at_any_call(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int map = 0; map < MAP_COUNT; map++)
        for (int k = 0; k < RIVAL_WAYS; k++) {
            attempt a = tiny(ctx, map, &WAYS[k], 0);
            run_with_cancellations(fit_once, &a.in, 2, 2);
            fit_inputs_free(&a.in);
        }
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(less_memory_changes_no_decision),
        cmocka_unit_test(features_take_what_was_forecast),
        cmocka_unit_test(too_little_memory_is_refused),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(the_callback_may_cancel_at_any_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
