/* --scale ranks, from data to decisions.  The oracle is a map without
 * scaling over data that were transformed beforehand. */
#include "meter.h"
#include "model/mixed.h"

/* WIDE: columns of dense data after the transform, which drops one and adds one. */
enum { N = 700, D = 4, WIDE = 4 };

static kb_data *raw(kb_context *ctx, size_t rows, uint64_t seed, labels kind, int sparse) {
    return tailed_data(ctx, rows, D, seed, kind, 1, sparse);
}

static kb_data *through(kb_context *ctx, const kb_transform *t, const kb_data *data) {
    kb_data *out;
    assert_ok(ctx, kb_transform_apply(ctx, t, data, &out));
    assert_ok(ctx, kb_alloc(ctx, data->rows, sizeof(double), &out->label));
    memcpy(out->label, data->label, data->rows * sizeof(double));
    return out;
}

typedef struct pair {
    kb_data *train, *scaled;
    kb_model *model, *oracle;
} pair;

static pair pair_of(kb_context *ctx, const char *map, labels kind, int sparse) {
    pair p;
    kb_transform *t;
    kb_options *options = OPTIONS(ctx, "scale", "ranks", "grids", "21", "map", map);
    p.train = raw(ctx, N, 5, kind, sparse);
    p.model = model_of(ctx, options, p.train);
    assert_ok(ctx, kb_transform_learn(ctx, p.train, &t));
    assert_int_equal(kb_transform_features(t), sparse ? 3 : WIDE);
    p.scaled = through(ctx, t, p.train);
    assert_ok(ctx, kb_options_set(ctx, options, "scale", "none"));
    p.oracle = model_of(ctx, options, p.scaled);
    kb_transform_free(t);
    kb_options_free(options);
    return p;
}

static void pair_free(pair *p) {
    kb_data_free(p->train);
    kb_data_free(p->scaled);
    kb_model_free(p->model);
    kb_model_free(p->oracle);
}

static void decisions_are_those_of_transformed_data(void **unused) {
    static const char *const maps[] = {"binning", "fourier", "nystrom", "exact"};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t m = 0; m < sizeof maps / sizeof *maps; m++)
        for (int sparse = 0; sparse < 2; sparse++) {
            pair p = pair_of(ctx, maps[m], m % 2 ? REAL : THREE, sparse);
            assert_string_equal(kb_model_info(p.model)->scale, "ranks");
            assert_string_equal(kb_model_info(p.model)->sigma_text,
                                kb_model_info(p.oracle)->sigma_text);
            assert_int_equal(kb_model_info(p.model)->features, D);
            assert_true(kb_model_info(p.model)->objective == kb_model_info(p.oracle)->objective);
            size_t C = kb_model_info(p.model)->outputs;
            for (int form = 0; form < 2; form++) {
                kb_data *test = raw(ctx, 9000, 6, REAL, form);
                kb_data *scaled = through(ctx, p.model->map->transform, test);
                double *want = decisions_of(ctx, p.oracle, scaled);
                for (int threads = 1; threads <= 5; threads += 4) {
                    test_state state = {0};
                    kb_context *team = test_context_with(&state, threads);
                    double *got = decisions_of(team, p.model, test);
                    assert_same_bits(got, want, 9000 * C);
                    free(got);
                    kb_context_free(team);
                    assert_int_equal(state.live, 0);
                }
                free(want);
                kb_data_free(test);
                kb_data_free(scaled);
            }
            pair_free(&p);
        }
    kb_context_free(ctx);
}

static void features_are_those_of_transformed_data(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int sparse = 0; sparse < 2; sparse++) {
        pair p = pair_of(ctx, "binning", TWO, sparse);
        kb_data *test = raw(ctx, 2500, 6, REAL, 1 - sparse);
        kb_data *scaled = through(ctx, p.model->map->transform, test);
        const kb_map *map = kb_model_map(p.model), *oracle = kb_model_map(p.oracle);
        int64_t *got = columns_of(ctx, map, test), *want = columns_of(ctx, oracle, scaled);
        assert_same_bits(got, want, 2500 * 21);
        test_path a = path_of("a.txt"), b = path_of("b.txt");
        assert_ok(ctx, kb_map_write_features(ctx, map, test, a.text));
        assert_ok(ctx, kb_map_write_features(ctx, oracle, scaled, b.text));
        size_t n, m;
        char *one = bytes_of(a.text, &n), *two = bytes_of(b.text, &m);
        assert_int_equal(n, m);
        assert_memory_equal(one, two, n);
        unlink(a.text), unlink(b.text);
        free(got), free(want), free(one), free(two);
        kb_data_free(test);
        kb_data_free(scaled);
        pair_free(&p);
    }
    kb_context_free(ctx);
}

static void dense_features_are_those_of_transformed_data(void **unused) {
    kb_context *ctx = test_context();
    pair p = pair_of(ctx, "fourier", TWO, 0);
    test_path a = path_of("a.txt"), b = path_of("b.txt");
    size_t n, m;
    (void)unused;
    assert_ok(ctx, kb_map_write_features(ctx, kb_model_map(p.model), p.train, a.text));
    assert_ok(ctx, kb_map_write_features(ctx, kb_model_map(p.oracle), p.scaled, b.text));
    char *one = bytes_of(a.text, &n), *two = bytes_of(b.text, &m);
    assert_int_equal(n, m);
    assert_memory_equal(one, two, n);
    unlink(a.text), unlink(b.text);
    free(one), free(two);
    pair_free(&p);
    kb_context_free(ctx);
}

static void other_features_are_refused(void **unused) {
    kb_context *ctx = test_context();
    pair p = pair_of(ctx, "binning", REAL, 0);
    kb_data *test = data_of(ctx, 3, D + 1, REAL);
    double f[3];
    (void)unused;
    assert_fails(ctx, KB_ERR_DATA, "the data have 5 features, the model 4",
                 kb_model_decide(ctx, p.model, test, f));
    kb_data_free(test);
    pair_free(&p);
    kb_context_free(ctx);
}

/* The transformed copy is part of the forecast. */
static void the_copy_is_forecast(void **unused) {
    static const char *const maps[] = {"binning", "nystrom"};
    kb_context *ctx = test_context();
    kb_data *data = raw(ctx, 60000, 5, REAL, 0);
    kb_model *model;
    (void)unused;
    for (int m = 0; m < 2; m++) {
        kb_options *options =
            OPTIONS(ctx, "scale", "ranks", "grids", "1", "map", maps[m], "max-memory", "1900000");
        assert_int_equal(kb_model_fit(ctx, options, data, &model), KB_ERR_MEMORY);
        assert_non_null(strstr(kb_context_message(ctx), "larger --max-memory"));
        kb_options_free(options);
    }
    kb_data_free(data);
    kb_context_free(ctx);
}

/* ---- mixtures ---------------------------------------------------------- */

static void decisions_with_mixtures_are_those_of_transformed_data(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int sparse = 0; sparse < 2; sparse++) {
        kb_options *options = OPTIONS(ctx, "scale", "ranks", "grids", "21", "sigma", "0.7");
        kb_data *train = raw(ctx, N, 5, THREE, sparse), *test = raw(ctx, N, 6, THREE, sparse);
        kb_model *model = mixed_model(ctx, options, train);
        kb_data *scaled = through(ctx, model->map->transform, train);
        kb_data *other = through(ctx, model->map->transform, test);
        assert_ok(ctx, kb_options_set(ctx, options, "scale", "none"));
        kb_model *oracle = model_of(ctx, options, scaled);
        assert_true(kb_model_info(model)->objective == kb_model_info(oracle)->objective);
        double *f = decisions_of(ctx, model, test), *g = decisions_of(ctx, oracle, other);
        assert_same_bits(f, g, (size_t)3 * N);
        free(f), free(g);
        kb_model_free(model);
        kb_model_free(oracle);
        kb_data_free(train);
        kb_data_free(test);
        kb_data_free(scaled);
        kb_data_free(other);
        kb_options_free(options);
    }
    kb_context_free(ctx);
}

static void mixtures_of_other_columns_are_refused(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = raw(ctx, N, 5, REAL, 0);
    kb_options *options = OPTIONS(ctx, "scale", "ranks", "grids", "3");
    kb_mixtures m;
    kb_memory_plan plan = {SIZE_MAX, 0, 0};
    kb_binned binned;
    kb_map *map;
    double forecast;
    (void)unused;
    assert_ok(ctx, kb_mixtures_create(ctx, 1, 3, &m));
    kb_plan made = {.config = kb_config_of(options), .mixtures = m};
    assert_fails(ctx, KB_ERR_ARGUMENT, "mixtures of 3 columns for 4",
                 kb_map_build(ctx, &made, data, &plan, &map, &binned, &forecast));
    assert_null(map);
    assert_null(binned.z);
    kb_mixtures_release(kb_allocator_of(ctx), &m);
    kb_options_free(options);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* The forecast includes the extra columns. */
static void mixtures_are_forecast(void **unused) {
    enum { ROWS = 30000, MORE = 10 };
    (void)unused;
    for (int sparse = 0; sparse < 2; sparse++) {
        double taken[2], forecast[2];
        for (int k = 0; k < 2; k++) {
            meter m = {0, 0};
            kb_context *ctx = metered_context(&m);
            kb_options *options = OPTIONS(ctx, "scale", "ranks", "grids", "8", "sigma", "0.7");
            kb_data *data = raw(ctx, ROWS, 5, REAL, sparse);
            kb_plan plan = {.config = kb_config_of(options)};
            kb_model *model;
            if (k)
                plan.mixtures = some_mixtures(ctx, data, MORE);
            size_t before = m.peak = m.now;
            assert_ok(ctx, kb_fit_plan(ctx, &plan, data, &model));
            taken[k] = (double)(m.peak - before);
            forecast[k] = (double)kb_model_cost(model)->forecast_bytes;
            kb_model_free(model);
            kb_plan_release(ctx, &plan);
            kb_data_free(data);
            kb_options_free(options);
            kb_context_free(ctx);
        }
        assert_true(forecast[1] - forecast[0] >= (sparse ? 12.0 : 8.0) * ROWS * MORE);
        assert_true(taken[1] <= 1.1 * forecast[1]);
    }
}

static int fit_and_decide(kb_context *ctx, void *arg) {
    kb_status status;
    const void *const *given = arg;
    kb_model *model = NULL;
    double f[N];
    TRY(kb_model_fit(ctx, given[0], given[1], &model));
    TRY(kb_model_decide(ctx, model, given[1], f));
done:
    kb_model_free(model);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    static const char *const maps[] = {"binning", "nystrom"};
    kb_context *ctx = test_context();
    (void)unused;
    for (int sparse = 0; sparse < 2; sparse++)
        for (int m = 0; m < 2; m++) {
            kb_options *options = OPTIONS(ctx, "scale", "ranks", "grids", "5", "max-iter", "5",
                                          "map", maps[m], "max-memory", "1G");
            kb_data *data = raw(ctx, N, 5, REAL, sparse);
            const void *given[] = {options, data};
            run_with_allocation_failures(fit_and_decide, given);
            kb_data_free(data);
            kb_options_free(options);
        }
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decisions_are_those_of_transformed_data),
        cmocka_unit_test(features_are_those_of_transformed_data),
        cmocka_unit_test(dense_features_are_those_of_transformed_data),
        cmocka_unit_test(other_features_are_refused),
        cmocka_unit_test(the_copy_is_forecast),
        cmocka_unit_test(decisions_with_mixtures_are_those_of_transformed_data),
        cmocka_unit_test(mixtures_of_other_columns_are_refused),
        cmocka_unit_test(mixtures_are_forecast),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
