/* Rival maps from data to a model and through its file, by the public interface. */
#include "model/forged.h"

#include "features/cloud.h"

#include <lapacke.h>

static const char *const MAPS[] = {"fourier", "nystrom", "blocks", "exact"};
enum { FOURIER, NYSTROM, BLOCKS, EXACT, MAP_COUNT };

#define RIVAL(ctx, map, ...)                                                                       \
    OPTIONS(ctx, "map", MAPS[map], "grids", "40", "sigma", "0.8", "lambda", "0.3", __VA_ARGS__)

/* The same samples, kept sparse. */
static kb_data *sparse_of(kb_context *ctx, const kb_data *data) {
    kb_data *sparse = test_sparse(ctx, data->rows, data->features, data->dense, data->label);
    if (data->class_count)
        assert_ok(ctx,
                  kb_strings_copy(ctx, data->class_count, data->class_name, &sparse->class_name));
    sparse->class_count = data->class_count;
    return sparse;
}

static void weigh(kb_context *ctx, kb_data *data, const double *of, size_t period) {
    assert_ok(ctx, kb_alloc(ctx, data->rows, sizeof(double), &data->weight));
    for (size_t i = 0; i < data->rows; i++)
        data->weight[i] = of[i % period];
}

/* ---- against dense algebra --------------------------------------------- */

static const char *const KERNELS[] = {"laplace",     "triangle", "power:1.5",
                                      "exponential", "gauss",    "table"};
enum { KERNEL_COUNT = sizeof KERNELS / sizeof *KERNELS };

/* The option's text; a table is a file of three pieces. */
static const char *kernel_text(const char *name, test_path *table) {
    if (strcmp(name, "table") != 0)
        return name;
    *table = file_with("kernel.txt", "0 1\n0.5 0.5\n1.5 0.1\n3 0\n");
    static char text[600];
    snprintf(text, sizeof text, "table:%s", table->text);
    return text;
}

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

/* f = K alpha + b of  min lambda/2 |w|^2 + 1/2 sum s (f - y)^2: the bordered system
 * (K + lambda/s) alpha + b 1 = y,  1'alpha = 0. */
static double *dense_ridge(const double *K, size_t N, double lambda, const double *s, int free_b,
                           const double *y, double *objective) {
    size_t n = N + (free_b ? 1 : 0);
    double *A = calloc(n * n, sizeof *A), *x = calloc(n, sizeof *x), *f = calloc(N, sizeof *f);
    lapack_int *pivot = malloc(n * sizeof *pivot);
    assert_true(A && x && f && pivot);
    for (size_t i = 0; i < N; i++) {
        memcpy(A + i * n, K + i * N, N * sizeof *A);
        A[i * n + i] += lambda / (s ? s[i] : 1);
        if (free_b)
            A[i * n + N] = A[N * n + i] = 1;
        x[i] = y[i];
    }
    assert_int_equal(
        LAPACKE_dsysv(LAPACK_ROW_MAJOR, 'U', (lapack_int)n, 1, A, (lapack_int)n, pivot, x, 1), 0);
    for (size_t i = 0; i < N; i++) {
        double k_alpha = 0;
        for (size_t k = 0; k < N; k++)
            k_alpha += K[i * N + k] * x[k];
        f[i] = k_alpha + (free_b ? x[N] : 0);
        *objective +=
            lambda / 2 * x[i] * k_alpha + (s ? s[i] : 1) * (f[i] - y[i]) * (f[i] - y[i]) / 2;
    }
    free(A), free(x), free(pivot);
    return f;
}

/* Decisions and objective against the dense solutions, column by column. */
static void check_ridge(kb_context *ctx, const kb_options *options, const char *kernel,
                        const double *sigma, const kb_data *data) {
    kb_model *model = model_of(ctx, options, data);
    const kb_fit_info *info = kb_model_info(model);
    size_t N = data->rows, C = info->outputs;
    double *K = kernel_matrix(ctx, model, kernel, sigma, data), *f = decisions_of(ctx, model, data);
    double *y = malloc(N * sizeof *y), *column = malloc(N * sizeof *column), objective = 0;
    assert_true(y && column);
    assert_int_equal(info->converged, 1);
    for (size_t c = 0; c < C; c++) {
        for (size_t i = 0; i < N; i++) {
            y[i] = info->classes == 0                                       ? data->label[i]
                   : data->label[i] == kb_model_class(model, C > 1 ? c : 1) ? 1
                                                                            : -1;
            column[i] = f[i * C + c];
        }
        double *want =
            dense_ridge(K, N, info->lambda, data->weight, info->intercept, y, &objective);
        assert_close(column, want, N, 1e-8); /* the condition is below 1e4, tol 1e-12 */
        free(want);
    }
    assert_true(fabs(info->objective - objective) <= 1e-8 * objective);
    free(K), free(f), free(y), free(column);
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
                        weigh(ctx, data, weights, 3);
                    check_ridge(ctx, options, KERNELS[k], (const double[]){0.8, 1.1}, data);
                    if (strcmp(KERNELS[k], "table") == 0)
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
            weigh(ctx, data, weights, 4);
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

/* With all samples for landmarks, or all in one block, it is the kernel itself. */
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

/* ---- every way to a model ---------------------------------------------- */

typedef struct way {
    labels kind;
    const char *loss, *multiclass, *probability, *rule;
} way;

static const way WAYS[] = {
    {REAL, "square", "ovr", "auto", "none"},
    {TWO, "square", "ovr", "on", "sigmoid"},
    {TWO, "logistic", "ovr", "auto", "sigmoid"},
    {TWO, "squared-hinge", "ovr", "off", "none"},
    {TWO, "squared-hinge", "ovr", "on", "sigmoid"},
    {THREE, "square", "ovr", "off", "none"},
    {WORDS, "square", "ovr", "on", "softmax"},
    {WORDS, "logistic", "ovr", "auto", "sigmoid"},
    {WORDS, "logistic", "softmax", "auto", "softmax"},
    {WORDS, "logistic", "softmax", "on", "softmax"},
    {THREE, "squared-hinge", "ovr", "on", "softmax"},
};
enum { WAY_COUNT = sizeof WAYS / sizeof *WAYS };

/* The five more fits of a slow loss: long, and much like those of the square loss. */
static int is_long(const way *w) {
    return strcmp(w->probability, "on") == 0 && strcmp(w->loss, "square") != 0;
}

static kb_options *options_for(kb_context *ctx, int map, const way *w, const char *intercept) {
    return RIVAL(ctx, map, "loss", w->loss, "multiclass", w->multiclass, "probability",
                 w->probability, "intercept", intercept, "kernel", map % 2 ? "gauss" : "laplace");
}

static void check_record(const kb_model *model, int map, const way *w, size_t N) {
    const kb_fit_info *info = kb_model_info(model);
    int direct = map >= BLOCKS;
    assert_int_equal(info->converged, 1);
    assert_string_equal(info->map, MAPS[map]);
    assert_string_equal(info->kernel, map % 2 ? "gauss" : "laplace");
    assert_string_equal(info->loss, w->loss);
    assert_string_equal(info->probability, w->rule);
    assert_string_equal(info->solver, strcmp(w->loss, "square") ? "newton"
                                      : direct                  ? "cholesky"
                                                                : "cg");
    assert_int_equal(info->grids, 40);
    assert_int_equal(info->bins, direct ? N : 40);
    assert_int_equal(info->kept_bins, info->bins);
    assert_true(info->nonzeros > 0 && info->nonzeros <= info->bins * info->outputs);
    assert_true(info->kappa == 0);
    assert_true(info->train_score > (info->classes ? 0.6 : 0.4)); /* smooth, and of low rank */
}

/* What the record says of the training rows the model does, and the file keeps every bit. */
static void every_loss_comes_through_a_file(void **unused) {
    enum { N = 200 };
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 2 * MAP_COUNT * WAY_COUNT; k++) {
        const way *w = &WAYS[k / 2 % WAY_COUNT];
        int map = k / 2 / WAY_COUNT;
        kb_options *options = options_for(ctx, map, w, k % 2 ? "on" : "off");
        kb_data *data = data_of(ctx, N, 2, w->kind);
        kb_model *model = model_of(ctx, options, data), *back;
        const kb_fit_info *info = kb_model_info(model);
        size_t C = info->outputs, a, b;
        check_record(model, map, w, N);
        test_path path = written(ctx, model), again = path_of("again.kerbin");
        assert_ok(ctx, kb_model_read(ctx, path.text, &back));
        assert_string_equal(kb_model_info(back)->map, MAPS[map]);
        assert_true(kb_model_info(back)->objective == info->objective);
        assert_ok(ctx, kb_model_write(ctx, back, again.text));
        char *one = bytes_of(path.text, &a), *two = bytes_of(again.text, &b);
        assert_int_equal(a, b);
        assert_memory_equal(one, two, a);
        unlink(path.text);
        unlink(again.text);
        double *f = decisions_of(ctx, model, data), *g = decisions_of(ctx, back, data);
        assert_same_bits(f, g, N * C);
        kb_score score;
        assert_ok(ctx, kb_model_score(ctx, back, data, f, &score));
        assert_true(fabs(info->train_score - (info->classes ? score.accuracy : score.r2)) < 1e-12);
        if (strcmp(w->rule, "none") != 0) {
            double p[3 * N], q[3 * N];
            assert_ok(ctx, kb_model_probability(ctx, model, N, f, p));
            assert_ok(ctx, kb_model_probability(ctx, back, N, g, q));
            assert_same_bits(p, q, N * info->classes);
            assert_true(score.log_loss <
                        (info->classes == 2 ? 0.65 : 1)); /* chance: log 2, log 3 */
        }
        free(f), free(g), free(one), free(two);
        kb_model_free(model);
        kb_model_free(back);
        kb_data_free(data);
        kb_options_free(options);
    }
    kb_context_free(ctx);
}

/* A model of a kernel table needs the table's file no longer. */
static void tables_come_through_a_file(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = data_of(ctx, 60, 2, REAL);
    (void)unused;
    for (int map = 0; map < MAP_COUNT; map++) {
        test_path table;
        kb_options *options = RIVAL(ctx, map, "kernel", kernel_text("table", &table));
        kb_model *model = model_of(ctx, options, data), *back;
        test_path path = written(ctx, model);
        unlink(table.text);
        assert_ok(ctx, kb_model_read(ctx, path.text, &back));
        double *f = decisions_of(ctx, model, data), *g = decisions_of(ctx, back, data);
        assert_same_bits(f, g, 60);
        unlink(path.text);
        free(f), free(g);
        kb_model_free(model);
        kb_model_free(back);
        kb_options_free(options);
    }
    kb_data_free(data);
    kb_context_free(ctx);
}

/* The same samples, dense and sparse, to train with and to decide. */
static void sparse_rows_are_like_dense_ones(void **unused) {
    enum { N = 150 };
    kb_context *ctx = test_context();
    (void)unused;
    for (int map = 0; map < MAP_COUNT; map++)
        for (int k = 0; k < WAY_COUNT; k++) {
            kb_options *options = options_for(ctx, map, &WAYS[k], "on");
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

static char *model_bytes(int threads, int map, const way *w, const char *penalty, int sparse,
                         size_t *count) {
    static const double weights[] = {0.5, 1.5, 2.5};
    test_state state = {0};
    kb_context *team = test_context_with(&state, threads);
    kb_options *options = options_for(team, map, w, "on");
    assert_ok(team, kb_options_set(team, options, "penalty", penalty));
    kb_data *data = data_of(team, 250, 3, w->kind), *other = sparse_of(team, data);
    kb_data *mine = sparse ? other : data;
    weigh(team, mine, weights, 3);
    kb_model *model = model_of(team, options, mine);
    test_path path = written(team, model);
    char *bytes = bytes_of(path.text, count);
    unlink(path.text);
    kb_model_free(model);
    kb_data_free(data);
    kb_data_free(other);
    kb_options_free(options);
    kb_context_free(team);
    assert_int_equal(state.live, 0);
    return bytes;
}

static void threads_change_no_byte_of_the_model_file(void **unused) {
    (void)unused;
    for (int map = 0; map < MAP_COUNT; map++)
        for (int k = 0; k < WAY_COUNT; k++)
            for (int l1 = 0; l1 < 2; l1++) {
                size_t first, count;
                if (l1 && (map >= BLOCKS || strcmp(WAYS[k].multiclass, "softmax") == 0 ||
                           strcmp(WAYS[k].probability, "on") == 0))
                    continue;
                if (is_long(&WAYS[k]))
                    continue;
                const char *penalty = l1 ? "l1" : "l2";
                char *want = model_bytes(1, map, &WAYS[k], penalty, k % 2, &first);
                for (int threads = 2; threads <= 3; threads++) {
                    char *bytes = model_bytes(threads, map, &WAYS[k], penalty, k % 2, &count);
                    assert_int_equal(count, first);
                    assert_memory_equal(bytes, want, count);
                    free(bytes);
                }
                free(want);
            }
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
        for (int k = 0; k < WAY_COUNT; k++)
            for (int b = 0; b < 2; b++) {
                const way *w = &WAYS[k];
                if (strcmp(w->probability, "on") == 0)
                    continue; /* folds are drawn from the rows */
                kb_options *options = options_for(ctx, map, w, b ? "on" : "off");
                assert_ok(ctx, kb_options_set(ctx, options, "scale", "none"));
                assert_ok(ctx, kb_options_set(ctx, options, "kernel", "laplace"));
                assert_ok(ctx, kb_options_set(ctx, options, "tol", "1e-11"));
                assert_ok(ctx, kb_options_set(ctx, options, "max-iter", "20000"));
                assert_ok(ctx, kb_options_set(ctx, options, "grids", "200"));
                kb_data *once = data_of(ctx, N, 2, w->kind), *repeated;
                double *x = malloc(2 * N * 2 * sizeof *x), *y = malloc(2 * N * sizeof *y);
                size_t rows = 0;
                assert_true(x && y);
                weigh(ctx, once, counts, 5);
                for (size_t i = 0; i < N; i++)
                    for (int time = 0; time < (int)counts[i % 5]; time++, rows++) {
                        memcpy(x + 2 * rows, once->dense + 2 * i, 2 * sizeof *x);
                        y[rows] = once->label[i];
                    }
                assert_ok(ctx, kb_data_from_dense(ctx, rows, 2, x, y, &repeated));
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
                objective += 2 * fabs(model->dense[k]);
            }
            assert_ok(ctx, kb_rival_decide(ctx, r, data, R, unit, z));
            for (size_t k = 0; k < R; k++) {
                double gradient = 0, w = model->dense[k];
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

/* ---- maps by themselves ------------------------------------------------ */

static void a_map_writes_its_features(void **unused) {
    enum { N = 30, R = 7 };
    kb_context *ctx = test_context();
    kb_data *data = data_of(ctx, N, 2, REAL), *back;
    test_path path = path_of("z.libsvm");
    (void)unused;
    for (int map = 0; map < MAP_COUNT; map++) {
        kb_options *options = RIVAL(ctx, map, "grids", "7", "solver", "auto");
        kb_map *m;
        int64_t columns[N * R];
        assert_ok(ctx, kb_map_fit(ctx, options, data, &m));
        assert_int_equal(kb_map_grids(m), R);
        assert_int_equal(kb_map_bins(m), map >= BLOCKS ? N : R);
        assert_fails(ctx, KB_ERR_ARGUMENT, "only --map binning has bins",
                     kb_map_apply(ctx, m, data, columns));
        if (map >= BLOCKS) {
            assert_fails(ctx, KB_ERR_ARGUMENT, "--map blocks and exact have no features to write",
                         kb_map_write_features(ctx, m, data, path.text));
            assert_false(file_exists(path.text));
            assert_fails(ctx, KB_ERR_ARGUMENT, "--map blocks and exact have no features to write",
                         kb_map_apply_dense(ctx, m, data, data->dense));
        } else {
            double unit[R * R] = {0}, z[N * R], product[N * R], dense[N * R] = {0};
            for (size_t k = 0; k < R; k++)
                unit[k * R + k] = 1;
            assert_ok(ctx, kb_map_apply_dense(ctx, m, data, z));
            /* Two ways round L^-1, whose numbers are below 1e4 here. */
            assert_ok(ctx, kb_rival_decide(ctx, m->rival, data, R, unit, product));
            for (size_t k = 0; k < N * R; k++)
                assert_true(fabs(z[k] - product[k]) < 1e-10);
            assert_ok(ctx, kb_map_write_features(ctx, m, data, path.text));
            assert_ok(ctx, kb_data_read(ctx, options, path.text, NULL, &back));
            assert_int_equal(back->rows, N);
            assert_same_bits(back->label, data->label, N);
            for (size_t i = 0; i < N; i++)
                for (size_t e = back->row_start ? back->row_start[i] : 0;
                     back->row_start && e < back->row_start[i + 1]; e++)
                    dense[i * R + back->column[e]] = back->value[e];
            assert_same_bits(back->dense ? back->dense : dense, z, N * R);
            kb_data_free(back);
            unlink(path.text);
        }
        kb_map_free(m);
        kb_options_free(options);
    }
    kb_data_free(data);
    kb_context_free(ctx);
}

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

/* The kernel of a sample far from all is 0: the intercept is left. */
static void far_samples_get_the_intercept(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = data_of(ctx, 80, 2, REAL), *far;
    double f;
    (void)unused;
    assert_ok(ctx, kb_data_from_dense(ctx, 1, 2, (const double[]){1e9, -1e9}, NULL, &far));
    for (int map = NYSTROM; map <= EXACT; map++)
        for (int k = 0; k < KERNEL_COUNT; k++) {
            test_path table;
            if (strncmp(KERNELS[k], "power", 5) == 0)
                continue;
            kb_options *options = RIVAL(ctx, map, "kernel", kernel_text(KERNELS[k], &table));
            kb_model *model = model_of(ctx, options, data);
            assert_ok(ctx, kb_model_decide(ctx, model, far, &f));
            assert_true(f == model->intercept[0] && f > 5);
            if (strcmp(KERNELS[k], "table") == 0)
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
                assert_ok(ctx, kb_data_from_dense(ctx, N, 2, x, y, &data));
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

/* ---- memory ------------------------------------------------------------ */

typedef struct meter {
    size_t now, peak;
} meter;

enum { HEAD = 64 };

/* realloc with the size of each block in front of it. */
static void *metered(void *user, void *block, size_t bytes) {
    meter *m = user;
    char *old = block ? (char *)block - HEAD : NULL;
    size_t had = 0;
    if (old)
        memcpy(&had, old, sizeof had);
    m->now -= had;
    if (bytes == 0) {
        free(old);
        return NULL;
    }
    char *grown = realloc(old, bytes + HEAD);
    assert_non_null(grown);
    memcpy(grown, &bytes, sizeof bytes);
    m->now += bytes;
    m->peak = m->now > m->peak ? m->now : m->peak;
    return grown + HEAD;
}

/* The forecast and the decisions of a fit that may take `limit` (0: no limit) of memory; the
 * fit must take no more than the forecast. */
static double *measured(const kb_data *data, int map, const way *w, const char *solver,
                        const char *penalty, size_t limit, size_t *forecast) {
    meter m = {0, 0};
    kb_context *ctx;
    kb_context_config config = {.user = &m, .reallocate = metered, .threads = 1};
    char text[32];
    assert_int_equal(kb_context_create(&config, &ctx), KB_OK);
    snprintf(text, sizeof text, "%zu", limit);
    kb_options *options = options_for(ctx, map, w, "on");
    assert_ok(ctx, kb_options_set(ctx, options, "max-memory", limit ? text : "auto"));
    assert_ok(ctx, kb_options_set(ctx, options, "solver", solver));
    assert_ok(ctx, kb_options_set(ctx, options, "penalty", penalty));
    assert_ok(ctx, kb_options_set(ctx, options, "tol", penalty[1] == '1' ? "1e-3" : "1e-11"));
    assert_ok(ctx, kb_options_set(ctx, options, "max-iter", "5000"));
    size_t before = m.now;
    kb_model *model = model_of(ctx, options, data);
    const kb_fit_info *info = kb_model_info(model);
    *forecast = info->forecast_bytes;
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
    enum { N = 220 };
    kb_context *ctx = test_context();
    (void)unused;
    for (int map = 0; map < MAP_COUNT; map++)
        for (int k = 0; k < WAY_COUNT; k++)
            for (int l1 = 0; l1 < 2; l1++) {
                if (l1 && (map >= BLOCKS || strcmp(WAYS[k].multiclass, "softmax") == 0 ||
                           strcmp(WAYS[k].probability, "on") == 0))
                    continue;
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
    kb_options *options = options_for(ctx, BLOCKS, &WAYS[0], "on");
    assert_ok(ctx, kb_options_set(ctx, options, "solver", "cholesky"));
    assert_ok(ctx, kb_options_set(ctx, options, "max-memory", text));
    kb_model *model;
    assert_int_equal(kb_model_fit(ctx, options, data, &model), KB_ERR_MEMORY);
    assert_null(model);
    kb_options_free(options);
    kb_data_free(data);
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

/* ---- hostile files ----------------------------------------------------- */

static test_path original(kb_context *ctx, int map, int sparse) {
    test_path table;
    kb_options *options = RIVAL(ctx, map, "grids", "9", "kernel", kernel_text("table", &table));
    kb_data *dense = data_of(ctx, 40, 2, THREE), *other = sparse_of(ctx, dense);
    kb_model *model = model_of(ctx, options, sparse ? other : dense);
    test_path path = written(ctx, model);
    unlink(table.text);
    kb_model_free(model);
    kb_data_free(dense);
    kb_data_free(other);
    kb_options_free(options);
    return path;
}

/* The names of all arrays of a file; the texts belong to the header. */
static size_t names_of(const parts *p, const char **name) {
    size_t count = 0;
    const char *key;
    json_t *entry;
    json_object_foreach(p->header, key, entry) if (strcmp(key, "__metadata__") != 0) name[count++] =
        key;
    assert_true(count >= 5 && count <= 32);
    return count;
}

/* One array of the file broken in one of some ways; 0 if it cannot be broken so. */
static int damage(parts *p, const char *name, int how) {
    json_t *entry = entry_of(p, name), *shape = json_object_get(entry, "shape");
    const char *type = json_string_value(json_object_get(entry, "dtype"));
    int wide = strcmp(type + 1, "64") == 0;
    size_t items = (offset_of(p, name, 1) - offset_of(p, name, 0)) / (wide ? 8 : 4);
    double *number = array_of(p, name);
    switch (how) {
    case 0:
        cut_out(p, name);
        return 1;
    case 1: /* another rank */
        if (json_array_size(shape) == 1)
            json_array_append_new(shape, json_integer(1));
        else
            json_object_set_new(entry, "shape", json_pack("[I]", (json_int_t)items));
        return 1;
    case 2: /* another type of the same size */
        json_object_set_new(
            entry, "dtype",
            json_string(type[0] == 'F' ? (wide ? "I64" : "I32") : (wide ? "F64" : "F32")));
        return 1;
    case 3: /* fewer items than bytes */
        json_object_set_new(entry, "shape", json_pack("[I]", (json_int_t)items - 1));
        return 1;
    case 4:
        json_object_set_new(entry, "dtype", json_string("BF16"));
        return 1;
    case 5:
        json_object_set_new(p->header, name, json_string("gone"));
        return 1;
    case 6:
    case 7:
        if (strcmp(type, "F64") != 0 || items == 0)
            return 0;
        number[items - 1] = how == 6 ? NAN : INFINITY;
        return 1;
    default: /* integers out of bounds */
        if (type[0] != 'I' || items == 0)
            return 0;
        if (wide)
            ((int64_t *)(void *)number)[items - 1] = how == 8 ? -1 : INT64_MAX;
        else
            ((int32_t *)(void *)number)[items - 1] = how == 8 ? INT32_MIN : INT32_MAX;
        return 1;
    }
}

static void every_array_must_be_there_and_sound(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    (void)unused;
    for (int map = 0; map < MAP_COUNT; map++)
        for (int sparse = 0; sparse < 2; sparse++) {
            test_path path = original(ctx, map, sparse);
            const char *name[32];
            parts whole = take_apart(path.text);
            size_t count = names_of(&whole, name);
            for (size_t k = 0; k < count; k++)
                for (int how = 0; how < 10; how++) {
                    parts p = take_apart(path.text);
                    if (damage(&p, name[k], how)) {
                        char what[128];
                        snprintf(what, sizeof what, "%s: %s, damage %d", MAPS[map], name[k], how);
                        refused_parts(ctx, &p, what, "damaged");
                    }
                    parts_free(&p);
                }
            parts_free(&whole);
            unlink(path.text);
        }
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

static void descriptions_that_do_not_fit_are_refused(void **unused) {
    static const char *const keys[] = {"features", "bins", "outputs", "classes"};
    static const json_int_t sizes[] = {0, -1, 1, 5, INT64_C(1) << 31, INT64_C(1) << 48, INT64_MAX};
    kb_context *ctx = test_context();
    (void)unused;
    for (int map = 0; map < MAP_COUNT; map++) {
        test_path path = original(ctx, map, map % 2);
        parts p = take_apart(path.text);
        const json_t *metadata = json_object_get(p.header, "__metadata__");
        assert_string_equal(json_string_value(json_object_get(metadata, "format_version")), "2");
        parts_free(&p);
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                p = take_apart(path.text);
                json_object_set_new(p.model, keys[k], json_integer(sizes[s]));
                refused_parts(ctx, &p, keys[k], "damaged");
                parts_free(&p);
            }
        for (int other = -2; other < MAP_COUNT; other++) { /* a map of other arrays, or none */
            p = take_apart(path.text);
            json_object_set_new(p.model, "map",
                                json_string(other == -2   ? "wavelet"
                                            : other == -1 ? "binning"
                                                          : MAPS[other]));
            if (other == -2)
                refused_parts(ctx, &p, "map", "the map 'wavelet' is not known");
            else if (other < BLOCKS && other != map)
                refused_parts(ctx, &p, "map", "damaged");
            else if (map == BLOCKS && other == EXACT)
                refused_parts(ctx, &p, "map", "damaged"); /* several blocks */
            parts_free(&p);
        }
        if (map != FOURIER)
            for (int k = 0; k < 2; k++) {
                p = take_apart(path.text);
                json_object_set_new(p.model, "kernel", json_string(k ? "power:-1" : "sinc"));
                refused_parts(ctx, &p, "kernel", "damaged");
                parts_free(&p);
            }
        unlink(path.text);
    }
    kb_context_free(ctx);
}

/* ---- when things go wrong ---------------------------------------------- */

typedef struct inputs {
    kb_options *options;
    kb_data *data;
    int map;
} inputs;

static int fit(kb_context *ctx, void *arg) {
    inputs *in = arg;
    kb_model *model;
    kb_status status = kb_model_fit(ctx, in->options, in->data, &model);
    if (status != KB_OK)
        assert_null(model);
    kb_model_free(model);
    return (int)status;
}

static int read_and_decide(kb_context *ctx, void *arg) {
    inputs *in = arg;
    test_path path = path_of("model.kerbin"), again = path_of("again.kerbin");
    kb_model *model;
    kb_map *map = NULL;
    double f[20 * 3];
    kb_status status;
    TRY(kb_model_read(ctx, path.text, &model));
    TRY(kb_model_decide(ctx, model, in->data, f));
    TRY(kb_model_write(ctx, model, again.text));
    TRY(kb_map_fit(ctx, in->options, in->data, &map));
    if (in->map < BLOCKS)
        TRY(kb_map_write_features(ctx, map, in->data, again.text));
done:
    kb_map_free(map);
    kb_model_free(model);
    unlink(again.text);
    return (int)status;
}

static inputs tiny(kb_context *ctx, int map, const way *w, int l1) {
    static const double weights[] = {1, 2};
    inputs in = {RIVAL(ctx, map, "grids", "9", "max-iter", "3", "loss", w->loss, "multiclass",
                       w->multiclass, "probability", w->probability, "intercept", "on", "penalty",
                       l1 ? "l1" : "l2", "class-weight", w->kind == REAL ? "none" : "balanced",
                       "landmarks", w->kind == REAL ? "uniform" : "kmeans++"),
                 data_of(ctx, 20, 2, w->kind), map};
    weigh(ctx, in.data, weights, 2);
    return in;
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int map = 0; map < MAP_COUNT; map++)
        for (int k = 0; k < WAY_COUNT; k++)
            for (int l1 = 0; l1 < 2; l1++) {
                int folds = strcmp(WAYS[k].probability, "on") == 0;
                if (l1 && (map >= BLOCKS || folds || strcmp(WAYS[k].multiclass, "softmax") == 0))
                    continue;
                if (is_long(&WAYS[k]))
                    continue;
                inputs in = tiny(ctx, map, &WAYS[k], l1);
                run_with_allocation_failures(fit, &in);
                kb_model *model = model_of(ctx, in.options, in.data);
                test_path path = written(ctx, model);
                if (WAYS[k].kind != TWO)
                    run_with_allocation_failures(read_and_decide, &in);
                unlink(path.text);
                kb_model_free(model);
                kb_data_free(in.data);
                kb_options_free(in.options);
            }
    kb_context_free(ctx);
}

static void the_callback_may_cancel_at_any_call(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int map = 0; map < MAP_COUNT; map++)
        for (int k = 0; k < WAY_COUNT; k++) {
            inputs in = tiny(ctx, map, &WAYS[k], 0);
            for (long call = 1;; call++) {
                test_state state = {.cancel_after = call};
                kb_context *mine = test_context_with(&state, 2);
                int status = fit(mine, &in);
                assert_int_equal(status, state.progress < call ? KB_OK : KB_ERR_CANCELLED);
                kb_context_free(mine);
                assert_int_equal(state.live, 0);
                if (state.progress < call) {
                    assert_true(call > 2);
                    break;
                }
            }
            kb_data_free(in.data);
            kb_options_free(in.options);
        }
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fits_agree_with_dense_ridge),
        cmocka_unit_test(cholesky_agrees_with_conjugate_gradients),
        cmocka_unit_test(the_largest_ranks_are_exact),
        cmocka_unit_test(every_loss_comes_through_a_file),
        cmocka_unit_test(tables_come_through_a_file),
        cmocka_unit_test(sparse_rows_are_like_dense_ones),
        cmocka_unit_test(threads_change_no_byte_of_the_model_file),
        cmocka_unit_test(a_weight_counts_a_row),
        cmocka_unit_test(class_weights_are_sample_weights),
        cmocka_unit_test(sparse_fits_are_optimal),
        cmocka_unit_test(a_map_writes_its_features),
        cmocka_unit_test(landmarks_are_chosen_as_asked),
        cmocka_unit_test(far_samples_get_the_intercept),
        cmocka_unit_test(silly_data_are_fitted),
        cmocka_unit_test(less_memory_changes_no_decision),
        cmocka_unit_test(too_little_memory_is_refused),
        cmocka_unit_test(options_that_contradict_each_other_are_refused),
        cmocka_unit_test(other_features_are_refused),
        cmocka_unit_test(every_array_must_be_there_and_sound),
        cmocka_unit_test(descriptions_that_do_not_fit_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(the_callback_may_cancel_at_any_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
