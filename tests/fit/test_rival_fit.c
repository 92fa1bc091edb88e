/* Fits with the rival maps: against dense algebra, and what weights mean. */
#include "model/rivals.h"
#include "model/ridge.h"

/* ---- against dense algebra --------------------------------------------- */

static double table_at(double t) {
    return t < 0.5   ? 1 - t
           : t < 1.5 ? 0.5 - 0.4 * (t - 0.5)
           : t < 3   ? 0.1 - 0.1 * (t - 1.5) / 1.5
                     : 0;
}

/* k(x, y) by its formula. */
static double plain(const char *kernel, size_t d, const double *sigma, const double *x,
                    const double *y) {
    double square = 0, product = 1;
    for (size_t j = 0; j < d; j++) {
        double t = fabs(x[j] - y[j]) / sigma[j];
        square += t * t;
        product *= strcmp(kernel, "laplace") == 0    ? exp(-t)
                   : strcmp(kernel, "triangle") == 0 ? fmax(0, 1 - t)
                   : strcmp(kernel, "table") == 0    ? table_at(t)
                                                     : pow(1 + t, -1.5);
    }
    return strcmp(kernel, "gauss") == 0         ? exp(-square / 2)
           : strcmp(kernel, "exponential") == 0 ? exp(-sqrt(square))
                                                : product;
}

/* K of the training rows: by formula, within the blocks that the model has made; for the
 * others Z Z', Z being what the model decides with the unit matrix for weights. */
static double *kernel_matrix(kb_context *ctx, const kb_model *model, const char *kernel,
                             const double *sigma, const kb_data *data) {
    size_t N = data->rows, d = data->features;
    const kb_rival *r = kb_model_map(model)->rival;
    double *K = calloc(N * N, sizeof *K);
    assert_non_null(K);
    if (kb_rival_is_direct(r->kind)) {
        size_t *block = calloc(N, sizeof *block), block_count = 0;
        assert_non_null(block);
        for (size_t b = 0; b < r->blocks; b++, block_count++)
            for (size_t k = r->start[b]; k < r->start[b + 1]; k++)
                block[r->order ? r->order[k] : k] = b;
        assert_true(r->kind == KB_RIVAL_EXACT ? block_count == 1 : block_count > 2);
        for (size_t i = 0; i < N; i++)
            for (size_t k = 0; k < N; k++)
                if (block[i] == block[k])
                    K[i * N + k] =
                        plain(kernel, d, sigma, data->dense + i * d, data->dense + k * d);
        free(block);
        return K;
    }
    size_t D = r->columns;
    double *unit = calloc(D * D, sizeof *unit), *z = calloc(N * D, sizeof *z);
    assert_true(unit && z);
    for (size_t k = 0; k < D; k++)
        unit[k * D + k] = 1;
    assert_ok(ctx, kb_rival_decide(ctx, r, data, D, unit, z));
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < N; k++)
            for (size_t j = 0; j < D; j++)
                K[i * N + k] += z[i * D + j] * z[k * D + j];
    free(unit), free(z);
    return K;
}

static void check_fit(kb_context *ctx, const kb_options *options, const char *kernel,
                      const double *sigma, const kb_data *data) {
    kb_model *model = model_of(ctx, options, data);
    double *K = kernel_matrix(ctx, model, kernel, sigma, data);
    check_ridge(ctx, model, K, data, 1e-8); /* the condition is below 1e4, tol 1e-12 */
    free(K);
    kb_model_free(model);
}

static void fits_agree_with_dense_ridge(void **unused) {
    static const char *const solvers[] = {"auto", "cg", "gmres"};
    static const double weights[] = {0.5, 2, 1};
    kb_context *ctx = test_context();
    int turn = 0;
    (void)unused;
    for (int map = 0; map < MAP_COUNT; map++)
        for (int k = 0; k < KERNEL_COUNT; k++)
            for (labels kind = REAL; kind <= THREE; kind++)
                for (int b = 0; b < 2; b++, turn++) {
                    test_path table;
                    int weighted = turn % 3 == 0;
                    kb_options *options =
                        RIVAL(ctx, map, "scale", "none", "sigma", "0.8,1.1", "tol", "1e-12",
                              "max-iter", "5000", "kernel", kernel_text(KERNELS[k], &table),
                              "intercept", b ? "on" : "off", "solver", solvers[turn % 3], "grids",
                              "24", "landmarks", turn % 2 ? "uniform" : "kmeans++");
                    kb_data *data = data_of(ctx, 90, 2, kind);
                    if (weighted)
                        weigh_rows(ctx, data, weights, 3);
                    check_fit(ctx, options, KERNELS[k], (const double[]){0.8, 1.1}, data);
                    unlink(table.text);
                    kb_data_free(data);
                    kb_options_free(options);
                }
    kb_context_free(ctx);
}

/* More rows than a tile, more outputs than are solved at once. */
static void cholesky_agrees_with_conjugate_gradients(void **unused) {
    enum { N = 420 };
    static const double weights[] = {1, 3, 0, 0.25};
    static const char *const solvers[] = {"cholesky", "auto", "cg"};
    kb_context *ctx = test_context();
    (void)unused;
    for (int map = BLOCKS; map <= EXACT; map++)
        for (int b = 0; b < 2; b++) {
            double *f[3];
            kb_data *data = data_of(ctx, N, 3, REAL);
            for (size_t i = 0; i < N; i++)
                data->label[i] = (double)(i % 35);
            weigh_rows(ctx, data, weights, 4);
            for (int s = 0; s < 3; s++) {
                kb_options *options =
                    RIVAL(ctx, map, "solver", solvers[s], "tol", "1e-13", "max-iter", "2000",
                          "intercept", b ? "on" : "off", "task", "classification");
                kb_model *model = model_of(ctx, options, data);
                assert_string_equal(kb_model_info(model)->solver, s == 2 ? "cg" : "cholesky");
                assert_int_equal(kb_model_info(model)->outputs, 35);
                assert_int_equal(kb_model_info(model)->bins, N);
                f[s] = decisions_of(ctx, model, data);
                kb_model_free(model);
                kb_options_free(options);
            }
            assert_same_bits(f[0], f[1], N * 35);
            assert_close(f[0], f[2], N * 35, 1e-9);
            for (int s = 0; s < 3; s++)
                free(f[s]);
            kb_data_free(data);
        }
    kb_context_free(ctx);
}

/* With all samples as landmarks, or all in one block, it is the kernel itself. */
static void the_largest_ranks_are_exact(void **unused) {
    enum { N = 120 };
    kb_context *ctx = test_context();
    kb_data *data = data_of(ctx, N, 3, REAL), *test = data_of(ctx, 2 * N, 3, REAL);
    (void)unused;
    for (int k = 0; k < 2; k++) {
        double *f[MAP_COUNT];
        for (int map = NYSTROM; map <= EXACT; map++) {
            kb_options *options = RIVAL(ctx, map, "grids", "500", "tol", "1e-12", "max-iter",
                                        "5000", "kernel", k ? "exponential" : "laplace");
            kb_model *model = model_of(ctx, options, data);
            assert_int_equal(kb_model_info(model)->bins, N);
            f[map] = decisions_of(ctx, model, test);
            kb_model_free(model);
            kb_options_free(options);
        }
        assert_close(f[NYSTROM], f[EXACT], 2 * N, 1e-8); /* L^-1 loses some digits */
        assert_close(f[BLOCKS], f[EXACT], 2 * N, 1e-12);
        for (int map = NYSTROM; map <= EXACT; map++)
            free(f[map]);
    }
    kb_data_free(data);
    kb_data_free(test);
    kb_context_free(ctx);
}

/* ---- weights ----------------------------------------------------------- */

/* Rows of weight 2 against rows that are there twice, and of weight 0 against none.  It holds
 * for the frequencies, which no sample decides, and for the kernel itself; for landmarks and
 * blocks, which are drawn from the rows, where all rows are landmarks or in one block. */
static void a_weight_counts_a_row(void **unused) {
    enum { N = 60 };
    static const double counts[] = {1, 2, 0, 1, 2};
    kb_context *ctx = test_context();
    (void)unused;
    for (int map = 0; map < MAP_COUNT; map++)
        for (int k = 0; k < RIVAL_WAYS; k++)
            for (int b = 0; b < 2; b++) {
                const way *w = &WAYS[k];
                if (strcmp(w->probability, "on") == 0)
                    continue; /* folds are drawn from the rows */
                kb_options *options = rival_options(ctx, map, w, b ? "on" : "off");
                set_pairs(ctx, options,
                          (const char *const[]){"scale", "none", "kernel", "laplace", "tol",
                                                "1e-11", "max-iter", "20000", "grids", "200",
                                                NULL});
                kb_data *once = data_of(ctx, N, 2, w->kind), *repeated;
                double *x = malloc(2 * N * 2 * sizeof *x), *y = malloc(2 * N * sizeof *y);
                size_t rows = 0;
                assert_true(x && y);
                weigh_rows(ctx, once, counts, 5);
                for (size_t i = 0; i < N; i++)
                    for (int time = 0; time < (int)counts[i % 5]; time++, rows++) {
                        memcpy(x + 2 * rows, once->dense + 2 * i, 2 * sizeof *x);
                        y[rows] = once->label[i];
                    }
                assert_ok(ctx, data_from_dense(ctx, rows, 2, x, y, &repeated));
                if (w->kind != REAL)
                    assert_ok(ctx, kb_options_set(ctx, options, "task", "classification"));
                if (w->kind == WORDS) {
                    assert_ok(ctx,
                              kb_strings_copy(ctx, 3, once->class_name, &repeated->class_name));
                    repeated->class_count = 3;
                }
                kb_model *a = model_of(ctx, options, once), *c = model_of(ctx, options, repeated);
                double *f = decisions_of(ctx, a, once), *g = decisions_of(ctx, c, once);
                assert_true(fabs(kb_model_info(a)->objective - kb_model_info(c)->objective) <=
                            1e-7 * kb_model_info(c)->objective);
                assert_true(fabs(kb_model_info(a)->train_score - kb_model_info(c)->train_score) <
                            1e-7);
                assert_close(f, g, N * kb_model_info(a)->outputs, 1e-6);
                free(f), free(g), free(x), free(y);
                kb_model_free(a);
                kb_model_free(c);
                kb_data_free(once);
                kb_data_free(repeated);
                kb_options_free(options);
            }
    kb_context_free(ctx);
}

/* The weight of a class is that of each of its samples. */
static void class_weights_are_sample_weights(void **unused) {
    enum { N = 100 };
    static const char *const losses[] = {"square", "logistic", "squared-hinge"};
    kb_context *ctx = test_context();
    test_path path = file_with("classes.txt", "3 2.5\n7 0.5\n");
    (void)unused;
    for (int map = 0; map < MAP_COUNT; map++)
        for (int l = 0; l < 3; l++) {
            kb_options *plain = RIVAL(ctx, map, "loss", losses[l]);
            kb_options *by_class = RIVAL(ctx, map, "loss", losses[l], "class-weight", path.text);
            kb_data *data = data_of(ctx, N, 2, TWO), *weighted = data_of(ctx, N, 2, TWO);
            assert_ok(ctx, kb_alloc(ctx, N, sizeof(double), &weighted->weight));
            for (size_t i = 0; i < N; i++)
                weighted->weight[i] = data->label[i] == 3 ? 2.5 : 0.5;
            kb_model *a = model_of(ctx, by_class, data), *b = model_of(ctx, plain, weighted);
            kb_model *c = model_of(ctx, plain, data);
            double *f = decisions_of(ctx, a, data), *g = decisions_of(ctx, b, data);
            double *h = decisions_of(ctx, c, data);
            assert_same_bits(f, g, N);
            assert_memory_not_equal(f, h, N * sizeof *f);
            free(f), free(g), free(h);
            kb_model_free(a);
            kb_model_free(b);
            kb_model_free(c);
            kb_data_free(data);
            kb_data_free(weighted);
            kb_options_free(plain);
            kb_options_free(by_class);
        }
    unlink(path.text);
    kb_context_free(ctx);
}

/* ---- the L1 penalty ---------------------------------------------------- */

/* At the least of  lambda |w|_1 + 1/2 sum (f - y)^2  no column of Z has more than lambda of the
 * residual, and one with a weight has that much. */
static void sparse_fits_are_optimal(void **unused) {
    enum { N = 150, R = 40 };
    static const char *const solvers[] = {"grid-cd", "cd", "parallel-cd"};
    kb_context *ctx = test_context();
    (void)unused;
    for (int map = FOURIER; map <= NYSTROM; map++)
        for (int s = 0; s < 3; s++) {
            kb_options *options = RIVAL(ctx, map, "penalty", "l1", "lambda", "2", "solver",
                                        solvers[s], "tol", "1e-10", "max-iter", "200000");
            kb_data *data = data_of(ctx, N, 2, REAL);
            kb_model *model = model_of(ctx, options, data), *back;
            const kb_fit_info *info = kb_model_info(model);
            const kb_rival *r = kb_model_map(model)->rival;
            double *f = decisions_of(ctx, model, data), objective = 0;
            double unit[R * R] = {0}, *z = malloc(sizeof *z * N * R);
            assert_non_null(z);
            assert_int_equal(info->converged, 1);
            assert_string_equal(info->solver, solvers[s]);
            assert_int_equal(info->bins, R);
            assert_true(info->nonzeros > 0 && info->nonzeros < R);
            for (size_t k = 0; k < R; k++) {
                unit[k * R + k] = 1;
                objective += 2 * fabs(model->rival_weight[k]);
            }
            assert_ok(ctx, kb_rival_decide(ctx, r, data, R, unit, z));
            for (size_t k = 0; k < R; k++) {
                double gradient = 0, w = model->rival_weight[k];
                for (size_t i = 0; i < N; i++)
                    gradient += z[i * R + k] * (data->label[i] - f[i]);
                assert_true(fabs(gradient) <= 2 + 1e-3); /* as the gap allows */
                assert_true(w == 0 || fabs(gradient - (w > 0 ? 2 : -2)) <= 1e-3);
            }
            for (size_t i = 0; i < N; i++)
                objective += (f[i] - data->label[i]) * (f[i] - data->label[i]) / 2;
            assert_true(fabs(objective - info->objective) <= 1e-9 * objective);
            assert_true(info->gap <= 1e-10 * objective);
            test_path path = written(ctx, model);
            assert_ok(ctx, kb_model_read(ctx, path.text, &back));
            double *g = decisions_of(ctx, back, data);
            assert_same_bits(f, g, N);
            assert_int_equal(kb_model_info(back)->nonzeros, info->nonzeros);
            unlink(path.text);
            free(f), free(g), free(z);
            kb_model_free(model);
            kb_model_free(back);
            kb_data_free(data);
            kb_options_free(options);
        }
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fits_agree_with_dense_ridge),
        cmocka_unit_test(cholesky_agrees_with_conjugate_gradients),
        cmocka_unit_test(the_largest_ranks_are_exact),
        cmocka_unit_test(a_weight_counts_a_row),
        cmocka_unit_test(class_weights_are_sample_weights),
        cmocka_unit_test(sparse_fits_are_optimal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
