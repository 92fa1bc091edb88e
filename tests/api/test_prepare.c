/* Training data prepared for the fit, and models of tables as a whole. */
#include "api/prepare.h"
#include "encode/tables.h"
#include "meter.h"
#include "model/rivals.h"

static void sparse_and_plain_data_stay_as_they_are(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "seed", "1");
    kb_data *dense = data_of(ctx, 50, 2, REAL), *sparse = sparse_of(ctx, dense);
    kb_prepared p;
    (void)unused;
    kb_config config = kb_config_of(options);
    assert_ok(ctx, kb_prepare(ctx, &config, sparse, &p));
    assert_true(p.data == sparse && !p.encoding && config.held == 0);
    kb_prepared_release(ctx, &p);
    assert_ok(ctx, kb_prepare(ctx, &config, dense, &p));
    assert_true(p.data == dense && p.encoding && p.encoding->plain);
    assert_true(config.held < 1024); /* the encoding alone */
    kb_prepared_release(ctx, &p);
    kb_data_free(dense);
    kb_data_free(sparse);
    kb_options_free(options);
    kb_context_free(ctx);
}

static void tables_become_numbers(void **unused) {
    static const size_t classes[] = {0, 2, 4, 30};
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "seed", "1");
    (void)unused;
    for (int k = 0; k < 4; k++) {
        kb_data *data = mixed_table(ctx, 300, classes[k]);
        kb_config config = kb_config_of(options);
        kb_plan plan = {0};
        kb_prepared p;
        assert_ok(ctx, kb_prepare(ctx, &config, data, &p));
        assert_true(p.data != data && p.data->label == data->label);
        assert_int_equal(p.data->rows, 300);
        assert_int_equal(p.data->features, p.encoding->features);
        assert_true(!p.data->table && !p.data->missing && !p.data->feature_name);
        assert_true(config.held >= 8.0 * 300 * (double)p.data->features);
        for (size_t c = 0; c < 300 * p.data->features; c++)
            assert_true(isfinite(p.data->dense[c]));
        kb_prepared_tell(&p, &plan);
        assert_true(plan.source == data && plan.encoding == p.encoding);
        kb_prepared_release(ctx, &p);
        kb_data_free(data);
    }
    kb_options_free(options);
    kb_context_free(ctx);
}

/* ---- models of tables -------------------------------------------------- */

/* Rows that the model has not seen, with an unknown level here and there. */
static kb_data *others(kb_context *ctx) {
    kb_data *all = mixed_table(ctx, 500, 0), *some;
    uint32_t row[100];
    for (uint32_t i = 0; i < 100; i++)
        row[i] = 400 + i;
    assert_ok(ctx, kb_data_take(ctx, all, 100, row, &some));
    for (size_t i = 0; i < 100; i += 9)
        some->dense[i * MIXED_COLUMNS + TOWN] = -1;
    kb_data_free(all);
    return some;
}

/* Through a file, and row by row, to the bit; for every map. */
static void models_take_tables_as_they_are(void **unused) {
    static const char *const maps[] = {"binning", "fourier", "exact"};
    static const char *const scales[] = {"minmax", "ranks"};
    kb_context *ctx = test_context();
    kb_data *data = mixed_table(ctx, 400, 0), *test = others(ctx);
    (void)unused;
    for (int m = 0; m < 3; m++)
        for (int s = 0; s < 2; s++) {
            kb_options *options = OPTIONS(ctx, "map", maps[m], "scale", scales[s], "grids", "40");
            kb_model *model = model_of(ctx, options, data), *back;
            kb_predictor *p;
            double f;
            test_path path = written(ctx, model);
            assert_int_equal(kb_model_info(model)->features, MIXED_COLUMNS);
            assert_ok(ctx, kb_model_read(ctx, path.text, &back));
            assert_same_file_again(ctx, back, path.text);
            double *a = decisions_of(ctx, model, test), *b = decisions_of(ctx, back, test);
            assert_same_bits(a, b, 100);
            assert_ok(ctx, kb_predictor_create(ctx, back, &p));
            for (size_t i = 0; i < 100; i++) {
                assert_int_equal(kb_predictor_row(p, test->dense + i * MIXED_COLUMNS, &f), KB_OK);
                assert_true(f == a[i]);
            }
            kb_predictor_free(p);
            free(a), free(b);
            unlink(path.text);
            kb_model_free(model);
            kb_model_free(back);
            kb_options_free(options);
        }
    kb_data_free(data);
    kb_data_free(test);
    kb_context_free(ctx);
}

/* What is learned from words, dates and holes predicts rows that were held out. */
static void a_table_is_learned(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = mixed_table(ctx, 400, 0), *test = others(ctx);
    kb_options *options = OPTIONS(ctx, "scale", "ranks", "grids", "400");
    kb_model *model = model_of(ctx, options, data);
    double *f = decisions_of(ctx, model, test), mean = 0, left = 0, all = 0;
    (void)unused;
    for (size_t i = 0; i < 100; i++)
        mean += test->label[i] / 100;
    for (size_t i = 0; i < 100; i++) {
        left += (f[i] - test->label[i]) * (f[i] - test->label[i]);
        all += (mean - test->label[i]) * (mean - test->label[i]);
    }
    assert_true(left < 0.4 * all);
    free(f);
    kb_model_free(model);
    kb_options_free(options);
    kb_data_free(data);
    kb_data_free(test);
    kb_context_free(ctx);
}

static fit_inputs table_inputs(kb_context *ctx, const void *classes) {
    return (fit_inputs){OPTIONS(ctx, "grids", "20"),
                        mixed_table(ctx, 6000, *(const size_t *)classes)};
}

static void threads_change_no_byte_of_the_model_file(void **unused) {
    static const size_t classes[] = {0, 8};
    (void)unused;
    for (int k = 0; k < 2; k++)
        assert_same_file_for_threads(table_inputs, &classes[k]);
}

static void maps_of_categories_need_labels(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "9");
    kb_data *data = mixed_table(ctx, 60, 0);
    kb_map *map = map_of(ctx, options, data);
    (void)unused;
    assert_int_equal(map->features, MIXED_COLUMNS);
    kb_map_free(map);
    kb_release(ctx, data->label);
    data->label = NULL;
    assert_int_equal(kb_map_fit(ctx, options, data, &map), KB_ERR_DATA);
    assert_null(map);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* ---- memory ------------------------------------------------------------ */

static void a_fit_of_a_table_takes_what_was_forecast(void **unused) {
    static const size_t classes[] = {0, 6};
    (void)unused;
    for (int k = 0; k < 2; k++) {
        meter m = {0, 0};
        kb_context *ctx = metered_context(&m);
        kb_data *data = mixed_table(ctx, 20000, classes[k]);
        kb_options *options = OPTIONS(ctx, "grids", "16", "max-iter", "3");
        size_t before = m.peak = m.now;
        kb_model *model = model_of(ctx, options, data);
        double taken = (double)(m.peak - before);
        double forecast = (double)kb_model_cost(model)->forecast_bytes;
        if (!(taken <= 1.05 * forecast + (1 << 20) && forecast <= 4.5 * taken))
            fail_msg("%.0f taken, %.0f forecast", taken, forecast);
        kb_model_free(model);
        kb_options_free(options);
        kb_data_free(data);
        kb_context_free(ctx);
    }
}

static void too_little_memory_is_refused_before_it_is_taken(void **unused) {
    meter m = {0, 0};
    kb_context *ctx = metered_context(&m);
    kb_data *data = mixed_table(ctx, 20000, 0);
    kb_options *options = OPTIONS(ctx, "grids", "16", "max-memory", "1M", "task", "regression");
    size_t before = m.peak = m.now;
    kb_model *model;
    (void)unused;
    assert_int_equal(kb_model_fit(ctx, options, data, &model), KB_ERR_MEMORY);
    assert_non_null(strstr(kb_context_message(ctx), "20000 rows and 5 features as numbers need "));
    assert_non_null(strstr(kb_context_message(ctx), "use a larger --max-memory"));
    assert_true(m.peak - before < 1 << 20); /* what the labels tell */
    kb_options_free(options);
    kb_data_free(data);
    kb_context_free(ctx);
}

static void every_allocation_may_fail(void **unused) {
    static const size_t classes[] = {0, 30};
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 2; k++) {
        fit_inputs in = {OPTIONS(ctx, "grids", "5"), mixed_table(ctx, 60, classes[k])};
        run_with_allocation_failures(fit_once, &in);
        fit_inputs_free(&in);
    }
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sparse_and_plain_data_stay_as_they_are),
        cmocka_unit_test(tables_become_numbers),
        cmocka_unit_test(models_take_tables_as_they_are),
        cmocka_unit_test(a_table_is_learned),
        cmocka_unit_test(threads_change_no_byte_of_the_model_file),
        cmocka_unit_test(maps_of_categories_need_labels),
        cmocka_unit_test(a_fit_of_a_table_takes_what_was_forecast),
        cmocka_unit_test(too_little_memory_is_refused_before_it_is_taken),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
