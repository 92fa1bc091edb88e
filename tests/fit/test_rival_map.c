/* The rival maps by themselves, and what they make of samples and options. */
#include "model/rivals.h"

static void landmarks_are_chosen_as_asked(void **unused) {
    enum { N = 300 };
    kb_context *ctx = test_context();
    kb_data *data = data_of(ctx, N, 2, REAL);
    double *f[2];
    (void)unused;
    for (int k = 0; k < 2; k++) {
        kb_options *options =
            RIVAL(ctx, NYSTROM, "grids", "20", "landmarks", k ? "kmeans++" : "uniform");
        kb_model *model = model_of(ctx, options, data);
        assert_true(kb_model_info(model)->train_score > 0.5);
        f[k] = decisions_of(ctx, model, data);
        kb_model_free(model);
        kb_options_free(options);
    }
    assert_memory_not_equal(f[0], f[1], N * sizeof(double));
    free(f[0]), free(f[1]);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* ---- samples ----------------------------------------------------------- */

/* The same samples, dense and sparse, to train with and to decide. */
static void sparse_rows_are_like_dense_ones(void **unused) {
    enum { N = 150 };
    kb_context *ctx = test_context();
    (void)unused;
    for (int map = 0; map < MAP_COUNT; map++)
        for (int k = 0; k < RIVAL_WAYS; k++) {
            kb_options *options = rival_options(ctx, map, &WAYS[k], "on");
            assert_ok(ctx, kb_options_set(ctx, options, "tol", "1e-10"));
            assert_ok(ctx, kb_options_set(ctx, options, "max-iter", "5000"));
            kb_data *dense = data_of(ctx, N, 4, WAYS[k].kind), *sparse = sparse_of(ctx, dense);
            kb_model *a = model_of(ctx, options, dense), *b = model_of(ctx, options, sparse);
            size_t count = N * kb_model_info(a)->outputs;
            double *f[] = {decisions_of(ctx, a, dense), decisions_of(ctx, a, sparse),
                           decisions_of(ctx, b, dense), decisions_of(ctx, b, sparse)};
            for (int i = 1; i < 4; i++)
                assert_close(f[i], f[0], count, 1e-7); /* tol times the condition */
            for (int i = 0; i < 4; i++)
                free(f[i]);
            kb_model_free(a);
            kb_model_free(b);
            kb_data_free(dense);
            kb_data_free(sparse);
            kb_options_free(options);
        }
    kb_context_free(ctx);
}

/* The kernel of a sample far from all is 0: the intercept is left. */
static void far_samples_get_the_intercept(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = data_of(ctx, 80, 2, REAL), *far;
    double f;
    (void)unused;
    assert_ok(ctx, data_from_dense(ctx, 1, 2, (const double[]){1e9, -1e9}, NULL, &far));
    for (int map = NYSTROM; map <= EXACT; map++)
        for (int k = 0; k < KERNEL_COUNT; k++) {
            test_path table;
            if (strncmp(KERNELS[k], "power", 5) == 0)
                continue;
            kb_options *options = RIVAL(ctx, map, "kernel", kernel_text(KERNELS[k], &table));
            kb_model *model = model_of(ctx, options, data);
            assert_ok(ctx, kb_model_decide(ctx, model, far, &f));
            assert_true(f == model->intercept[0] && f > 5);
            unlink(table.text);
            kb_model_free(model);
            kb_options_free(options);
        }
    kb_data_free(data);
    kb_data_free(far);
    kb_context_free(ctx);
}

/* One row, equal rows, a constant column, the default sigma. */
static void silly_data_are_fitted(void **unused) {
    static const char *const kernels[] = {"laplace", "gauss"};
    const double x[] = {1, 5, 1, 5, 1, 5, 2, 5}, y[] = {1.5, 1.5, 2.5, 4};
    kb_context *ctx = test_context();
    (void)unused;
    for (int map = 0; map < MAP_COUNT; map++)
        for (size_t N = 1; N <= 4; N++)
            for (int k = 0; k < 2; k++) {
                kb_options *options = OPTIONS(ctx, "map", MAPS[map], "kernel", kernels[k], "grids",
                                              "3", "task", "regression");
                kb_data *data;
                assert_ok(ctx, data_from_dense(ctx, N, 2, x, y, &data));
                kb_model *model = model_of(ctx, options, data);
                double *f = decisions_of(ctx, model, data);
                for (size_t i = 0; i < N; i++)
                    assert_true(isfinite(f[i]) && f[i] > 1 && f[i] < 5);
                free(f);
                kb_model_free(model);
                kb_data_free(data);
                kb_options_free(options);
            }
    kb_context_free(ctx);
}

static void other_features_are_refused(void **unused) {
    kb_context *ctx = test_context();
    kb_data *two = data_of(ctx, 40, 2, REAL), *three = data_of(ctx, 40, 3, REAL);
    double f[40];
    (void)unused;
    for (int map = 0; map < MAP_COUNT; map++) {
        kb_options *options = RIVAL(ctx, map, "seed", "2");
        kb_model *model = model_of(ctx, options, two);
        assert_fails(ctx, KB_ERR_DATA, "the data have 3 features, the model 2",
                     kb_model_decide(ctx, model, three, f));
        kb_model_free(model);
        kb_options_free(options);
    }
    kb_data_free(two);
    kb_data_free(three);
    kb_context_free(ctx);
}

/* ---- what contradicts itself ------------------------------------------- */

static void options_that_contradict_each_other_are_refused(void **unused) {
    static const struct {
        const char *name[3], *value[3], *message;
    } cases[] = {
        {{"map", "kernel", "tol"},
         {"binning", "gauss", "1e-3"},
         "--kernel gauss: is isotropic, and --map binning has product kernels only, such as "
         "laplace"},
        {{"map", "kernel", "tol"},
         {"binning", "exponential", "1e-3"},
         "--kernel exponential: is isotropic, and --map binning has product kernels only, such as "
         "laplace"},
        {{"map", "penalty", "tol"},
         {"blocks", "l1", "1e-3"},
         "--penalty l1: --map blocks has no features to leave out"},
        {{"map", "penalty", "tol"},
         {"exact", "l1", "1e-3"},
         "--penalty l1: --map exact has no features to leave out"},
        {{"map", "penalty", "group-grids"},
         {"fourier", "l1", "on"},
         "--group-grids: needs --map binning"},
        {{"map", "penalty", "lambda-path"},
         {"nystrom", "l1", "5"},
         "--lambda-path: needs --map binning"},
        {{"map", "solver", "tol"},
         {"fourier", "cholesky", "1e-3"},
         "--solver cholesky: needs --loss square and --map blocks or exact"},
        {{"map", "solver", "tol"},
         {"nystrom", "cholesky", "1e-3"},
         "--solver cholesky: needs --loss square and --map blocks or exact"},
        {{"map", "solver", "tol"},
         {"binning", "cholesky", "1e-3"},
         "--solver cholesky: needs --loss square and --map blocks or exact"},
        {{"map", "solver", "loss"},
         {"exact", "cholesky", "logistic"},
         "--solver cholesky: needs --loss square and --map blocks or exact"},
        {{"map", "solver", "penalty"},
         {"fourier", "cholesky", "l1"},
         "--solver cholesky: does not solve --penalty l1"},
        {{"map", "solver", "tol"},
         {"exact", "newton", "1e-3"},
         "--solver newton: does not solve --loss square"},
        {{"map", "solver", "tol"},
         {"exact", "grid-cd", "1e-3"},
         "--solver grid-cd: does not solve --penalty l2"},
    };
    kb_context *ctx = test_context();
    kb_data *data = data_of(ctx, 60, 2, TWO);
    kb_model *model;
    (void)unused;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        kb_options *options = OPTIONS(ctx, cases[k].name[0], cases[k].value[0], cases[k].name[1],
                                      cases[k].value[1], cases[k].name[2], cases[k].value[2]);
        assert_fails(ctx, KB_ERR_ARGUMENT, cases[k].message,
                     kb_model_fit(ctx, options, data, &model));
        assert_null(model);
        kb_options_free(options);
    }
    test_path path = file_with("sigma.txt", "0.5,0.6\n0.7,0.8\n");
    char text[600], says[1300];
    snprintf(text, sizeof text, "@%s", path.text);
    snprintf(says, sizeof says, "--sigma %s: 2 lines; only --map binning mixes them", text);
    for (int map = 0; map < MAP_COUNT; map++) {
        kb_options *options = RIVAL(ctx, map, "sigma", text);
        assert_fails(ctx, KB_ERR_ARGUMENT, says, kb_model_fit(ctx, options, data, &model));
        assert_null(model);
        kb_options_free(options);
    }
    unlink(path.text);
    kb_data_free(data);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(landmarks_are_chosen_as_asked),
        cmocka_unit_test(sparse_rows_are_like_dense_ones),
        cmocka_unit_test(far_samples_get_the_intercept),
        cmocka_unit_test(silly_data_are_fitted),
        cmocka_unit_test(other_features_are_refused),
        cmocka_unit_test(options_that_contradict_each_other_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
