/* Fits of degenerate data, refused fits, and failures during a fit. */
#include "model/fitted.h"

/* ---- silly data -------------------------------------------------------- */

/* Fits and predicts; every decision must be finite. */
static double *fit_silly(kb_context *ctx, const kb_options *options, size_t N, size_t d,
                         const double *x, const double *y) {
    kb_data *data;
    assert_ok(ctx, data_from_dense(ctx, N, d, x, y, &data));
    kb_model *model = model_of(ctx, options, data);
    double *f = decisions_of(ctx, model, data);
    for (size_t k = 0; k < N * kb_model_info(model)->outputs; k++)
        assert_true(isfinite(f[k]));
    assert_true(isfinite(kb_model_info(model)->objective));
    assert_true(isfinite(kb_model_info(model)->train_score));
    kb_model_free(model);
    kb_data_free(data);
    return f;
}

static void silly_data_are_fitted(void **unused) {
    static const char *const scales[] = {"none", "minmax", "maxabs", "standard"};
    const double one[] = {0.3}, y1[] = {5.5}, x[] = {1, 1, 1, 1}, y[] = {1.5, 2, 2.5, 4};
    const double column[] = {1, 7, 2, 7, 3, 7, 4, 7};
    const double huge[] = {1e30, -1e30, 1e300, -1e300, 5e-324, -0.0, 1e308, -1e308};
    kb_context *ctx = test_context();
    (void)unused;
    for (int s = 0; s < 4; s++) {
        kb_options *options = OPTIONS(ctx, "grids", "9", "task", "regression", "scale", scales[s]);
        double *f = fit_silly(ctx, options, 1, 1, one, y1); /* one sample */
        assert_true(fabs(f[0] - 5.5) < 1e-6);
        free(f);
        f = fit_silly(ctx, options, 4, 1, x, y); /* all the same */
        for (int i = 0; i < 4; i++)
            assert_true(fabs(f[i] - 2.5) < 1e-6); /* their mean */
        free(f);
        free(fit_silly(ctx, options, 4, 2, column, y)); /* one constant column */
        free(fit_silly(ctx, options, 4, 2, huge, y));
        free(fit_silly(ctx, options, 8, 1, huge, column));
        const double same[] = {0.1, 0.1, 0.1, 0.1}; /* constant labels */
        f = fit_silly(ctx, options, 4, 2, column, same);
        for (int i = 0; i < 4; i++)
            assert_true(fabs(f[i] - 0.1) < 1e-9);
        free(f);
        kb_options_free(options);
    }
    kb_context_free(ctx);
}

/* Widths beyond the range of a double: no model, rather than one that no reader takes. */
static void features_as_large_as_a_double_make_no_broken_model(void **unused) {
    static const char *const scales[] = {"none", "standard", "minmax", "maxabs", "ranks"};
    static const char *const maps[] = {"binning", "fourier", "exact"};
    const double x[] = {1.79e308, -1.79e308, 1.2e308, -1.5e308, 1.6e308, -1.7e308};
    const double y[] = {1, 2, 1, 2, 1, 2};
    kb_context *ctx = test_context();
    kb_data *data;
    size_t made = 0, refused = 0;
    (void)unused;
    assert_ok(ctx, data_from_dense(ctx, 6, 1, x, y, &data));
    for (int k = 0; k < 15; k++) {
        kb_options *options =
            OPTIONS(ctx, "grids", "8", "scale", scales[k % 5], "map", maps[k / 5]);
        kb_model *model, *again;
        if (kb_model_fit(ctx, options, data, &model) == KB_OK) {
            test_path path = written(ctx, model);
            assert_ok(ctx, kb_model_read(ctx, path.text, &again));
            kb_model_free(again);
            unlink(path.text);
            made++;
        } else {
            assert_null(model);
            assert_non_null(strstr(kb_context_message(ctx), "no model can be made: "));
            refused++;
        }
        kb_model_free(model);
        kb_options_free(options);
    }
    assert_true(made > 0 && refused > 0);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* A large constant in the labels goes to the intercept and costs no accuracy. */
static void labels_far_from_zero_are_learned(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options =
        OPTIONS(ctx, "grids", "64", "sigma", "1", "lambda", "0.01", "tol", "1e-6");
    kb_data *data = data_of(ctx, 200, 2, REAL), *far = data_of(ctx, 200, 2, REAL);
    (void)unused;
    for (int i = 0; i < 200; i++)
        far->label[i] += 1e7;
    kb_model *a = model_of(ctx, options, data), *b = model_of(ctx, options, far);
    double *f = decisions_of(ctx, a, data), *g = decisions_of(ctx, b, far);
    assert_int_equal(kb_model_info(b)->converged, 1);
    for (int i = 0; i < 200; i++) /* the labels themselves have 1e-9 of digits there */
        assert_true(fabs(g[i] - 1e7 - f[i]) < 1e-5);
    assert_true(fabs(kb_model_info(a)->train_score - kb_model_info(b)->train_score) < 1e-5);
    free(f), free(g);
    kb_model_free(a);
    kb_model_free(b);
    kb_data_free(data);
    kb_data_free(far);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* ---- what is refused --------------------------------------------------- */

static void data_that_cannot_be_learned_are_refused(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "4"), *wide = OPTIONS(ctx, "sigma", "1,2,3");
    kb_options *table = OPTIONS(ctx, "kernel", "table:/nowhere/k.txt");
    const double x[] = {1, 2, 3}, y[] = {1, 1, 1};
    kb_data *none, *same, *good = data_of(ctx, 20, 2, TWO);
    kb_model *model;
    (void)unused;
    assert_ok(ctx, data_from_dense(ctx, 3, 1, x, NULL, &none));
    assert_ok(ctx, data_from_dense(ctx, 3, 1, x, y, &same));
    assert_fails(ctx, KB_ERR_DATA, "the data have no labels to learn from",
                 kb_model_fit(ctx, options, none, &model));
    assert_null(model);
    assert_fails(ctx, KB_ERR_DATA,
                 "all 3 labels are the same: classification needs two classes or more",
                 kb_model_fit(ctx, options, same, &model));
    assert_null(model);
    assert_fails(ctx, KB_ERR_ARGUMENT, "--sigma: 3 numbers for 2 features",
                 kb_model_fit(ctx, wide, good, &model));
    assert_null(model);
    assert_int_equal(kb_model_fit(ctx, table, good, &model), KB_ERR_IO);
    kb_data_free(none);
    kb_data_free(same);
    kb_data_free(good);
    kb_options_free(options);
    kb_options_free(wide);
    kb_options_free(table);
    kb_context_free(ctx);
}

/* A model file is UTF-8: names that it cannot hold are refused before the work, not after. */
static void names_that_a_model_cannot_keep_are_refused(void **unused) {
    static const char *const features[] = {"a", "gr\xF6\xDF"
                                                "e"};
    static const char *const classes[] = {"gr\xFCn", "rot"};
    static const double x[] = {1, 2, 2, 3}, y[] = {0, 1};
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "4");
    (void)unused;
    for (int k = 0; k < 2; k++) {
        kb_arrays a = KB_ARRAYS_INIT;
        kb_data *data;
        kb_model *model = NULL;
        a.rows = a.features = 2;
        a.values = x;
        a.labels = y;
        a.feature_names = k == 0 ? features : NULL;
        a.class_names = k == 1 ? classes : NULL;
        a.classes = k == 1 ? 2 : 0;
        assert_ok(ctx, kb_data_from_arrays(ctx, &a, &data));
        assert_int_equal(kb_model_fit(ctx, options, data, &model), KB_ERR_DATA);
        assert_non_null(strstr(kb_context_message(ctx), "UTF-8"));
        assert_null(model);
        kb_data_free(data);
    }
    kb_options_free(options);
    kb_context_free(ctx);
}

static void options_that_contradict_each_other_are_refused(void **unused) {
    static const struct {
        labels kind;
        const char *name[2], *value[2], *message;
    } cases[] = {
        {REAL,
         {"loss", "tol"},
         {"logistic", "1e-3"},
         "--loss logistic: is for classification, and this is regression"},
        {REAL,
         {"loss", "tol"},
         {"squared-hinge", "1e-3"},
         "--loss squared-hinge: is for classification, and this is regression"},
        {TWO,
         {"loss", "solver"},
         {"logistic", "cg"},
         "--solver cg: does not solve --loss logistic"},
        {TWO,
         {"loss", "solver"},
         {"squared-hinge", "gmres"},
         "--solver gmres: does not solve --loss squared-hinge"},
        {TWO,
         {"loss", "solver"},
         {"square", "newton"},
         "--solver newton: does not solve --loss square"},
        {THREE,
         {"loss", "multiclass"},
         {"square", "softmax"},
         "--multiclass softmax: needs --loss logistic"},
        {THREE,
         {"loss", "multiclass"},
         {"squared-hinge", "softmax"},
         "--multiclass softmax: needs --loss logistic"},
        {REAL,
         {"class-weight", "loss"},
         {"balanced", "square"},
         "--class-weight balanced: is for classification"},
        {REAL, {"penalty", "solver"}, {"l1", "cg"}, "--solver cg: does not solve --penalty l1"},
        {REAL,
         {"penalty", "solver"},
         {"l1", "gmres"},
         "--solver gmres: does not solve --penalty l1"},
        {TWO,
         {"penalty", "solver"},
         {"l1", "newton"},
         "--solver newton: does not solve --penalty l1"},
        {REAL,
         {"penalty", "solver"},
         {"l2", "grid-cd"},
         "--solver grid-cd: does not solve --penalty l2"},
        {TWO, {"loss", "solver"}, {"logistic", "cd"}, "--solver cd: does not solve --penalty l2"},
        {TWO,
         {"loss", "solver"},
         {"square", "parallel-cd"},
         "--solver parallel-cd: does not solve --penalty l2"},
        {TWO, {"group-grids", "loss"}, {"on", "square"}, "--group-grids: needs --penalty l1"},
        {TWO, {"lambda-path", "loss"}, {"5", "square"}, "--lambda-path: needs --penalty l1"},
        {THREE,
         {"penalty", "multiclass"},
         {"l1", "softmax"},
         "--multiclass softmax: needs --penalty l2"},
        {REAL,
         {"penalty", "loss"},
         {"l1", "logistic"},
         "--loss logistic: is for classification, and this is regression"},
    };
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        kb_options *options =
            OPTIONS(ctx, cases[k].name[0], cases[k].value[0], cases[k].name[1], cases[k].value[1]);
        kb_data *data = data_of(ctx, 60, 2, cases[k].kind);
        kb_model *model;
        assert_fails(ctx, KB_ERR_ARGUMENT, cases[k].message,
                     kb_model_fit(ctx, options, data, &model));
        assert_null(model);
        kb_data_free(data);
        kb_options_free(options);
    }
    kb_context_free(ctx);
}

static void only_grid_cd_drops_whole_grids(void **unused) {
    static const char *const solvers[] = {"cd", "parallel-cd"};
    kb_context *ctx = test_context();
    kb_data *data = data_of(ctx, 60, 2, TWO);
    (void)unused;
    for (int s = 0; s < 2; s++) {
        kb_options *options =
            OPTIONS(ctx, "penalty", "l1", "group-grids", "on", "solver", solvers[s]);
        kb_model *model;
        assert_fails(ctx, KB_ERR_ARGUMENT, "--group-grids: needs --solver grid-cd",
                     kb_model_fit(ctx, options, data, &model));
        assert_null(model);
        kb_options_free(options);
    }
    kb_data_free(data);
    kb_context_free(ctx);
}

static void too_much_memory_is_refused(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    kb_data *data = data_of(ctx, 2000, 2, THREE);
    (void)unused;
    /* Before any work by what is needed at least; later, when the bins are many, by the
     * forecast. */
    static const struct {
        const char *grids, *sigma, *limit, *message;
    } cases[] = {{"100000", "1", "1M", "need at least"}, {"64", "1e-6", "2M", "bins need"}};
    for (int k = 0; k < 2; k++) {
        kb_options *options = OPTIONS(ctx, "grids", cases[k].grids, "sigma", cases[k].sigma,
                                      "max-memory", cases[k].limit);
        long before = state.live;
        kb_model *model;
        assert_int_equal(kb_model_fit(ctx, options, data, &model), KB_ERR_MEMORY);
        assert_null(model);
        assert_non_null(strstr(kb_context_message(ctx), cases[k].message));
        assert_non_null(strstr(kb_context_message(ctx), "--max-memory"));
        assert_int_equal(state.live, before);
        kb_options_free(options);
    }
    kb_data_free(data);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

/* ---- when things go wrong ---------------------------------------------- */

static fit_inputs tiny(kb_context *ctx, labels kind, const char *solver) {
    return (fit_inputs){OPTIONS(ctx, "grids", "9", "solver", solver, "max-iter", "3", "sigma",
                                "default", "intercept", "on"),
                        data_of(ctx, 30, 2, kind)};
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (labels kind = REAL; kind <= WORDS; kind++)
        for (int gmres = 0; gmres < 2; gmres++) {
            fit_inputs in = tiny(ctx, kind, gmres ? "gmres" : "cg");
            run_with_allocation_failures(fit_once, &in);
            fit_inputs_free(&in);
        }
    kb_context_free(ctx);
}

static void the_callback_may_cancel_at_any_call(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int threads = 1; threads <= 3; threads++)
        for (int gmres = 0; gmres < 2; gmres++) {
            fit_inputs in = tiny(ctx, THREE, gmres ? "gmres" : "cg");
            run_with_cancellations(fit_once, &in, threads, 4);
            fit_inputs_free(&in);
        }
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silly_data_are_fitted),
        cmocka_unit_test(features_as_large_as_a_double_make_no_broken_model),
        cmocka_unit_test(labels_far_from_zero_are_learned),
        cmocka_unit_test(data_that_cannot_be_learned_are_refused),
        cmocka_unit_test(names_that_a_model_cannot_keep_are_refused),
        cmocka_unit_test(options_that_contradict_each_other_are_refused),
        cmocka_unit_test(only_grid_cd_drops_whole_grids),
        cmocka_unit_test(too_much_memory_is_refused),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(the_callback_may_cancel_at_any_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
