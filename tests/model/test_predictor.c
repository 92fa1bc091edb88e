/* Single rows: the same bits as all rows at once, and no memory taken for them. */
#include "model/mixed.h"
#include "model/rivals.h"

enum { N = 300, D = 4, TAIL = 1 };

/* Rows like those of the training data, a few of them far from all others. */
static kb_data *others(kb_context *ctx) {
    kb_data *data = tailed_data(ctx, N, D, 5, REAL, TAIL, 0);
    for (size_t i = 0; i < N; i += 7)
        data->dense[i * D + i % D] = i % 2 ? 1e20 : -1e20;
    for (size_t j = 0; j < D; j++)
        data->dense[D + j] = 1e25; /* has no known bin, unless there is a transform */
    return data;
}

/* One by one, as many as decided at once, with an allocator that counts. */
static void check_model(kb_context *ctx, const kb_model *model) {
    kb_data *data = others(ctx);
    size_t C = kb_model_info(model)->outputs;
    double *want = decisions_of(ctx, model, data), *got = malloc(N * C * sizeof *got);
    test_state state = {0};
    kb_context *counting = test_context_with(&state, 3);
    kb_predictor *first, *predictor;
    assert_non_null(got);
    assert_ok(counting, kb_predictor_create(counting, model, &first));
    assert_ok(counting, kb_predictor_copy(counting, first, &predictor));
    kb_predictor_free(first);  /* what they share stays */
    kb_context_free(counting); /* no longer needed, except its allocator */
    long before = state.allocations, told = state.progress;
    for (size_t k = 0; k < N; k++) {
        size_t i = k * 7 % N; /* no row depends on the one before */
        assert_int_equal(kb_predictor_row(predictor, data->dense + i * D, got + i * C), KB_OK);
    }
    assert_int_equal(state.allocations, before);
    assert_int_equal(state.progress, told);
    assert_same_bits(got, want, N * C);
    kb_predictor_free(predictor);
    assert_int_equal(state.live, 0);
    free(want), free(got);
    kb_data_free(data);
}

static void check_fit(kb_context *ctx, kb_options *options, labels kind, int sparse) {
    kb_data *data = tailed_data(ctx, N, D, 3, kind, TAIL, sparse);
    kb_model *model = model_of(ctx, options, data), *back;
    test_path path = written(ctx, model);
    check_model(ctx, model);
    assert_ok(ctx, kb_model_read(ctx, path.text, &back));
    check_model(ctx, back);
    unlink(path.text);
    kb_model_free(back);
    kb_model_free(model);
    kb_data_free(data);
    kb_options_free(options);
}

static void one_row_is_decided_as_many_are(void **unused) {
    static const char *const scales[] = {"minmax", "standard", "none", "ranks"};
    kb_context *ctx = test_context();
    (void)unused;
    for (labels kind = REAL; kind <= WORDS; kind++)
        for (int s = 0; s < 4; s++)
            for (int sparse = 0; sparse < 2; sparse++)
                if (!sparse || s > 1) /* the others move zeros */
                    check_fit(ctx,
                              OPTIONS(ctx, "grids", s % 2 ? "21" : "16", "sigma", "0.7", "scale",
                                      scales[s], "intercept", kind % 2 ? "on" : "off"),
                              kind, sparse);
    kb_context_free(ctx);
}

static void pruned_models_do_too(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (labels kind = REAL; kind <= THREE; kind++)
        check_fit(ctx,
                  OPTIONS(ctx, "grids", "40", "sigma", "0.7", "penalty", "l1", "lambda", "2",
                          "scale", "ranks"),
                  kind, 0);
    kb_context_free(ctx);
}

static void models_that_fill_in_do_too(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (labels kind = REAL; kind <= THREE; kind++) {
        kb_options *options = OPTIONS(ctx, "grids", "21", "sigma", "0.2");
        kb_data *data = tailed_data(ctx, N, D, 3, kind, TAIL, 0);
        kb_model *model = model_of(ctx, options, data);
        model->fill = 1;
        check_model(ctx, model);
        kb_model_free(model);
        kb_data_free(data);
        kb_options_free(options);
    }
    kb_context_free(ctx);
}

static void models_with_mixtures_do_too(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int sparse = 0; sparse < 2; sparse++)
        for (labels kind = REAL; kind <= THREE; kind++) {
            kb_options *options = OPTIONS(ctx, "grids", "21", "sigma", "0.7", "scale", "ranks");
            kb_data *data = tailed_data(ctx, N, D, 3, kind, TAIL, sparse);
            kb_model *model = mixed_model(ctx, options, data);
            check_model(ctx, model);
            kb_model_free(model);
            kb_data_free(data);
            kb_options_free(options);
        }
    kb_context_free(ctx);
}

static void rival_maps_do_too(void **unused) {
    static const char *const scales[] = {"none", "ranks"};
    static const char *const kernels[] = {"laplace", "gauss"};
    kb_context *ctx = test_context();
    (void)unused;
    for (int map = 0; map < MAP_COUNT; map++)
        for (int k = 0; k < 2; k++)
            for (labels kind = REAL; kind <= THREE; kind++)
                for (int sparse = 0; sparse < 2; sparse++)
                    check_fit(ctx, RIVAL(ctx, map, "scale", scales[k], "kernel", kernels[k]), kind,
                              sparse);
    kb_context_free(ctx);
}

/* A missing value is the median of the training rows, or 0 where these were sparse. */
static void missing_values_are_filled_in(void **unused) {
    enum { ROWS = 51 };
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "9", "sigma", "0.3");
    kb_data *dense = data_of(ctx, ROWS, 2, REAL), *sparse = sparse_of(ctx, dense);
    double column[ROWS], want, got, other;
    (void)unused;
    for (size_t i = 0; i < ROWS; i++)
        column[i] = dense->dense[2 * i + 1];
    qsort(column, ROWS, sizeof *column, by_size);
    for (int k = 0; k < 2; k++) {
        kb_model *model = model_of(ctx, options, k ? sparse : dense);
        double fill = k ? 0 : column[ROWS / 2];
        kb_predictor *p;
        assert_ok(ctx, kb_predictor_create(ctx, model, &p));
        assert_int_equal(kb_predictor_row(p, (const double[]){0.3, NAN}, &got), KB_OK);
        assert_int_equal(kb_predictor_row(p, (const double[]){0.3, fill}, &want), KB_OK);
        assert_int_equal(kb_predictor_row(p, (const double[]){0.3, fill + 1}, &other), KB_OK);
        assert_true(got == want && got != other);
        kb_predictor_free(p);
        kb_model_free(model);
    }
    kb_data_free(dense);
    kb_data_free(sparse);
    kb_options_free(options);
    kb_context_free(ctx);
}

static void what_is_infinite_is_refused(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "4");
    kb_data *data = data_of(ctx, 50, 2, REAL);
    kb_model *model = model_of(ctx, options, data);
    kb_predictor *p;
    double f = 7;
    (void)unused;
    assert_ok(ctx, kb_predictor_create(ctx, model, &p));
    assert_int_equal(kb_predictor_row(p, (const double[]){1, INFINITY}, &f), KB_ERR_DATA);
    assert_int_equal(kb_predictor_row(p, (const double[]){-INFINITY, 1}, &f), KB_ERR_DATA);
    assert_true(f == 7);
    kb_predictor_free(p);
    kb_predictor_free(NULL);
    kb_model_free(model);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

static int create_once(kb_context *ctx, void *model) {
    kb_predictor *p;
    kb_status status = kb_predictor_create(ctx, model, &p);
    if (status != KB_OK)
        assert_null(p);
    kb_predictor_free(p);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    static const char *const maps[] = {"binning", "nystrom", "blocks"};
    kb_context *ctx = test_context();
    kb_data *data = tailed_data(ctx, 60, D, 3, REAL, TAIL, 0);
    (void)unused;
    for (int m = 0; m < 3; m++) {
        kb_options *options =
            OPTIONS(ctx, "grids", "8", "sigma", "1", "scale", "ranks", "map", maps[m]);
        kb_model *model = model_of(ctx, options, data);
        run_with_allocation_failures(create_once, model);
        kb_model_free(model);
        kb_options_free(options);
    }
    kb_data_free(data);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_row_is_decided_as_many_are),
        cmocka_unit_test(pruned_models_do_too),
        cmocka_unit_test(models_that_fill_in_do_too),
        cmocka_unit_test(models_with_mixtures_do_too),
        cmocka_unit_test(rival_maps_do_too),
        cmocka_unit_test(missing_values_are_filled_in),
        cmocka_unit_test(what_is_infinite_is_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
