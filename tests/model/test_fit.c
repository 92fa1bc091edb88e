/* From data to a model, through the public interface. */
#include "model/fitted.h"

#include <fcntl.h>
#include <lapacke.h>

/* f = K alpha + b of  min lambda/2 |w|^2 + 1/2 sum (f - y)^2  with b free, or 0: the bordered
 * system  (K + lambda I) alpha + b 1 = y,  1'alpha = 0. */
static double *dense_ridge(const double *K, size_t N, double lambda, int free_b, const double *y,
                           double *objective) {
    size_t n = N + (free_b ? 1 : 0);
    double *A = calloc(n * n, sizeof *A), *x = calloc(n, sizeof *x), *f = calloc(N, sizeof *f);
    lapack_int *pivot = malloc(n * sizeof *pivot);
    assert_non_null(A);
    for (size_t i = 0; i < N; i++) {
        memcpy(A + i * n, K + i * N, N * sizeof *A);
        A[i * n + i] += lambda;
        if (free_b)
            A[i * n + N] = A[N * n + i] = 1;
        x[i] = y[i];
    }
    assert_int_equal(
        LAPACKE_dsysv(LAPACK_ROW_MAJOR, 'U', (lapack_int)n, 1, A, (lapack_int)n, pivot, x, 1), 0);
    *objective = 0;
    for (size_t i = 0; i < N; i++) {
        f[i] = free_b ? x[N] : 0;
        double k_alpha = 0;
        for (size_t k = 0; k < N; k++)
            k_alpha += K[i * N + k] * x[k];
        f[i] += k_alpha;
        *objective += lambda / 2 * x[i] * k_alpha + (f[i] - y[i]) * (f[i] - y[i]) / 2;
    }
    free(A), free(x), free(pivot);
    return f;
}

/* Decisions of a model fitted with these options against the dense solutions, column by
 * column.  Weights are floats: each is off by 6e-8 of itself, and a decision adds R of them. */
static void check_fit(kb_context *ctx, const kb_options *options, const kb_data *data) {
    kb_model *model = model_of(ctx, options, data);
    const kb_fit_info *info = kb_model_info(model);
    size_t N = kb_data_rows(data), C = info->outputs;
    double *K = kernel_of(ctx, kb_model_map(model), data), *f = decisions_of(ctx, model, data);
    double *y = malloc(N * sizeof *y), objective = 0;
    assert_int_equal(info->converged, 1);
    for (size_t c = 0; c < C; c++) {
        double mine = 0, most = 0;
        for (size_t i = 0; i < N; i++)
            y[i] = info->classes == 0                                       ? data->label[i]
                   : data->label[i] == kb_model_class(model, C > 1 ? c : 1) ? 1
                                                                            : -1;
        double *want = dense_ridge(K, N, info->lambda, info->intercept, y, &mine);
        objective += mine;
        for (size_t i = 0; i < N; i++)
            most = fmax(most, fabs(want[i]));
        for (size_t i = 0; i < N; i++)
            if (!(fabs(f[i * C + c] - want[i]) <= 1e-6 * most))
                fail_msg("row %zu, output %zu: %.9g, not %.9g", i, c, f[i * C + c], want[i]);
        free(want);
    }
    assert_true(fabs(info->objective - objective) <= 1e-6 * objective);
    free(K), free(f), free(y);
    kb_model_free(model);
}

static void fits_agree_with_dense_ridge(void **unused) {
    static const char *const lambdas[] = {"0.001", "0.1", "10"};
    static const char *const intercepts[] = {"on", "off"};
    static const char *const solvers[] = {"cg", "gmres"};
    kb_context *ctx = test_context();
    (void)unused;
    for (labels kind = REAL; kind <= WORDS; kind++)
        for (int l = 0; l < 3; l++)
            for (int b = 0; b < 2; b++)
                for (int s = 0; s < 2; s++) {
                    kb_options *options = OPTIONS(ctx, "grids", "19", "sigma", "0.8", "tol",
                                                  "1e-10", "max-iter", "5000", "lambda", lambdas[l],
                                                  "intercept", intercepts[b], "solver", solvers[s]);
                    kb_data *data = data_of(ctx, 90, 2, kind);
                    check_fit(ctx, options, data);
                    kb_data_free(data);
                    kb_options_free(options);
                }
    kb_context_free(ctx);
}

/* More outputs than are solved at once. */
static void many_classes_agree_with_dense_ridge(void **unused) {
    enum { N = 120 };
    static const char *const solvers[] = {"cg", "gmres"};
    kb_context *ctx = test_context();
    (void)unused;
    for (int s = 0; s < 2; s++) {
        kb_options *options = OPTIONS(ctx, "grids", "19", "sigma", "0.8", "tol", "1e-10", "lambda",
                                      "0.5", "task", "classification", "solver", solvers[s]);
        kb_data *data = data_of(ctx, N, 2, REAL);
        for (size_t i = 0; i < N; i++)
            data->label[i] = (double)(i % 40) * 3 - 7;
        check_fit(ctx, options, data);
        kb_data_free(data);
        kb_options_free(options);
    }
    kb_context_free(ctx);
}

static void three_hundred_classes_can_be_told_apart(void **unused) {
    enum { N = 900, CLASSES = 300 };
    kb_context *ctx = test_context();
    kb_options *options =
        OPTIONS(ctx, "grids", "64", "sigma", "0.02", "lambda", "0.01", "task", "classification");
    double x[N], y[N], label[N];
    kb_data *data;
    (void)unused;
    for (int i = 0; i < N; i++) {
        y[i] = 1000 - (i * 7 % CLASSES);
        x[i] = y[i] + 0.001 * (i % 3);
    }
    assert_ok(ctx, kb_data_from_dense(ctx, N, 1, x, y, &data));
    kb_model *model = model_of(ctx, options, data);
    assert_int_equal(kb_model_info(model)->classes, CLASSES);
    assert_int_equal(kb_model_info(model)->outputs, CLASSES);
    double *decision = decisions_of(ctx, model, data), right = 0;
    kb_model_label(model, N, decision, label);
    for (int i = 0; i < N; i++)
        right += label[i] == y[i];
    assert_true(right > 0.9 * N); /* chance is 1 in 300 */
    assert_true(fabs(kb_model_info(model)->train_score - right / N) < 1e-12);
    free(decision);
    kb_model_free(model);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* Whatever two numbers or words name the classes, the decisions are the same. */
static void the_names_of_the_classes_do_not_matter(void **unused) {
    static const double names[][2] = {{-1, 1}, {3, 7}, {0, 1e9}, {-2.5, -2.25}};
    kb_context *ctx = test_context();
    double *first = NULL;
    (void)unused;
    for (int k = 0; k < 4; k++) {
        kb_options *options = OPTIONS(ctx, "grids", "8", "task", "classification");
        kb_data *data = data_of(ctx, 100, 2, TWO);
        for (int i = 0; i < 100; i++)
            data->label[i] = names[k][data->label[i] == 7];
        kb_model *model = model_of(ctx, options, data);
        assert_true(kb_model_class(model, 0) == names[k][0]);
        assert_true(kb_model_class(model, 1) == names[k][1]);
        double *f = decisions_of(ctx, model, data);
        if (first)
            assert_same_bits(f, first, 100);
        if (first)
            free(f);
        else
            first = f;
        kb_model_free(model);
        kb_data_free(data);
        kb_options_free(options);
    }
    free(first);
    kb_context_free(ctx);
}

static void words_come_through_csv(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "32", "sigma", "0.5", "scale", "none");
    char text[2000] = "width,height,kind\n";
    kb_data *data;
    (void)unused;
    for (int i = 0; i < 40; i++)
        snprintf(text + strlen(text), 50, "%d,%g,%s\n", i % 4, 0.01 * i,
                 i % 4 < 2 ? "low" : "high");
    test_path path = file_with("words.csv", text);
    assert_ok(ctx, kb_data_read(ctx, options, path.text, NULL, &data));
    kb_model *model = model_of(ctx, options, data);
    assert_string_equal(kb_model_info(model)->task, "classification");
    assert_string_equal(kb_model_class_name(model, 0), "high");
    assert_string_equal(kb_model_class_name(model, 1), "low");
    assert_true(kb_model_info(model)->train_score == 1);
    unlink(path.text);
    kb_model_free(model);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* What fit.c says of its floats: the decisions of double weights, recomputed through the
 * kernel, differ by less than 1e-6 of the largest. */
static void float_weights_are_safe(void **unused) {
    static const char *const lambdas[] = {"1e-6", "0.1"};
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 2; k++) {
        kb_options *options = OPTIONS(ctx, "grids", "200", "sigma", "1", "tol", "1e-9", "max-iter",
                                      "2000", "lambda", lambdas[k], "task", "regression");
        kb_data *data = data_of(ctx, 120, 2, REAL);
        kb_model *model = model_of(ctx, options, data);
        double *K = kernel_of(ctx, kb_model_map(model), data), objective;
        double *want =
            dense_ridge(K, 120, kb_model_info(model)->lambda, 1, data->label, &objective);
        double *f = decisions_of(ctx, model, data), most = 0, off = 0;
        for (int i = 0; i < 120; i++) {
            most = fmax(most, fabs(want[i]));
            off = fmax(off, fabs(f[i] - want[i]));
        }
        assert_true(off <= 1e-6 * most);
        free(K), free(want), free(f);
        kb_model_free(model);
        kb_data_free(data);
        kb_options_free(options);
    }
    kb_context_free(ctx);
}

/* ---- what a fit says of itself ----------------------------------------- */

static void the_record_tells_what_was_done(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "10", "sigma", "0.8", "seed", "9", "lambda", "0.5",
                                  "scale", "standard", "kernel", "power:2", "solver", "gmres");
    kb_data *data = data_of(ctx, 80, 2, THREE);
    kb_model *model = model_of(ctx, options, data);
    const kb_fit_info *i = kb_model_info(model);
    (void)unused;
    assert_string_equal(i->task, "classification");
    assert_string_equal(i->loss, "square");
    assert_string_equal(i->penalty, "l2");
    assert_string_equal(i->map, "binning");
    assert_string_equal(i->kernel, "power:2");
    assert_string_equal(i->sigma, "0.8");
    assert_string_equal(i->solver, "gmres");
    assert_string_equal(i->scale, "standard");
    assert_true(i->lambda == 0.5);
    assert_int_equal(i->intercept, 0);
    assert_int_equal(i->seed, 9);
    assert_int_equal(i->rows, 80);
    assert_int_equal(i->features, 2);
    assert_int_equal(i->classes, 3);
    assert_int_equal(i->outputs, 3);
    assert_int_equal(i->grids, 10);
    assert_int_equal(i->bins, kb_map_bins(kb_model_map(model)));
    assert_true(i->kappa >= 1 && i->kappa <= 80);
    assert_true(i->steps > 0 && i->converged == 1);
    assert_true(i->nonzeros > 0 && i->nonzeros <= 3 * i->bins);
    assert_true(i->id_bytes == 80 * 12); /* three groups of four grids, one byte each */
    assert_true(i->forecast_bytes > i->id_bytes);
    kb_model_free(model);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

static void auto_is_an_intercept_for_numbers_only(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "4", "intercept", "auto");
    (void)unused;
    for (labels kind = REAL; kind <= THREE; kind++) {
        kb_data *data = data_of(ctx, 40, 2, kind);
        kb_model *model = model_of(ctx, options, data);
        assert_int_equal(kb_model_info(model)->intercept, kind == REAL);
        kb_model_free(model);
        kb_data_free(data);
    }
    kb_options_free(options);
    kb_context_free(ctx);
}

static void too_few_steps_are_a_result_not_an_error(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "20", "max-iter", "2", "tol", "1e-9", "sigma", "1");
    kb_data *data = data_of(ctx, 100, 2, REAL);
    kb_model *model = model_of(ctx, options, data);
    (void)unused;
    assert_int_equal(kb_model_info(model)->converged, 0);
    assert_int_equal(kb_model_info(model)->steps, 2);
    kb_model_free(model);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* ---- promises ---------------------------------------------------------- */

static void threads_change_no_byte_of_the_model_file(void **unused) {
    static const int teams[] = {1, 2, 5};
    kb_context *ctx = test_context();
    (void)unused;
    for (labels kind = REAL; kind <= WORDS; kind++) {
        char *first = NULL;
        size_t length = 0;
        for (int t = 0; t < 3; t++) {
            test_state state = {0};
            kb_context *team = test_context_with(&state, teams[t]);
            kb_options *options = OPTIONS(team, "grids", "50", "sigma", "default");
            kb_data *data = data_of(team, 3000, 2, kind);
            kb_model *model = model_of(team, options, data);
            test_path path = path_of("team.kerbin");
            size_t count;
            assert_ok(team, kb_model_write(team, model, path.text));
            char *bytes = bytes_of(path.text, &count);
            if (first) {
                assert_int_equal(count, length);
                assert_memory_equal(bytes, first, count);
                free(bytes);
            } else {
                first = bytes;
                length = count;
            }
            unlink(path.text);
            kb_model_free(model);
            kb_data_free(data);
            kb_options_free(options);
            kb_context_free(team);
            assert_int_equal(state.live, 0);
        }
        free(first);
    }
    kb_context_free(ctx);
}

static void inputs_are_not_changed(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "5");
    kb_data *data = data_of(ctx, 60, 2, REAL), *copy = data_of(ctx, 60, 2, REAL);
    (void)unused;
    kb_model_free(model_of(ctx, options, data));
    assert_same_bits(data->dense, copy->dense, 120);
    assert_same_bits(data->label, copy->label, 60);
    kb_data_free(data);
    kb_data_free(copy);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* A fit, a prediction and a failure with both streams turned into a file. */
static void nothing_is_printed(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "5");
    kb_data *data = data_of(ctx, 60, 2, TWO);
    test_path path = path_of("printed.txt");
    kb_model *model, *none;
    size_t count;
    double decision[60];
    int out = dup(1), err = dup(2), file = open(path.text, O_CREAT | O_RDWR | O_TRUNC, 0600);
    (void)unused;
    fflush(NULL);
    dup2(file, 1);
    dup2(file, 2);
    kb_status fit = kb_model_fit(ctx, options, data, &model);
    kb_status decide = fit == KB_OK ? kb_model_decide(ctx, model, data, decision) : fit;
    kb_status read = kb_model_read(ctx, "/nowhere.kerbin", &none);
    fflush(NULL);
    dup2(out, 1);
    dup2(err, 2);
    close(out), close(err), close(file);
    assert_int_equal(fit, KB_OK);
    assert_int_equal(decide, KB_OK);
    assert_int_equal(read, KB_ERR_IO);
    free(bytes_of(path.text, &count));
    assert_int_equal(count, 0);
    unlink(path.text);
    kb_model_free(model);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* ---- silly data -------------------------------------------------------- */

/* Fits and predicts; every decision must be finite. */
static double *fit_silly(kb_context *ctx, const kb_options *options, size_t N, size_t d,
                         const double *x, const double *y) {
    kb_data *data;
    assert_ok(ctx, kb_data_from_dense(ctx, N, d, x, y, &data));
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

/* A large constant in the labels is the intercept's business and costs no accuracy. */
static void labels_far_from_zero_are_learnt(void **unused) {
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

static void data_that_cannot_be_learnt_are_refused(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "4"), *wide = OPTIONS(ctx, "sigma", "1,2,3");
    kb_options *table = OPTIONS(ctx, "kernel", "table:/nowhere/k.txt");
    const double x[] = {1, 2, 3}, y[] = {1, 1, 1};
    kb_data *none, *same, *good = data_of(ctx, 20, 2, TWO);
    kb_model *model;
    (void)unused;
    assert_ok(ctx, kb_data_from_dense(ctx, 3, 1, x, NULL, &none));
    assert_ok(ctx, kb_data_from_dense(ctx, 3, 1, x, y, &same));
    assert_fails(ctx, KB_ERR_DATA, "the data have no labels to learn from",
                 kb_model_fit(ctx, options, none, &model));
    assert_null(model);
    assert_fails(ctx, KB_ERR_DATA, "all 3 labels are the same: there is nothing to tell apart",
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

/* A model file is UTF-8: what it could not keep is refused before the work, not after. */
static void names_that_a_model_cannot_keep_are_refused(void **unused) {
    static const char *const texts[] = {"a,gr\xF6\xDF"
                                        "e,y\n1,2,3.5\n2,3,4\n",
                                        "a,b,y\n1,2,gr\xFCn\n2,3,rot\n"};
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "4");
    (void)unused;
    for (int k = 0; k < 2; k++) {
        test_path path = file_with("latin1.csv", texts[k]);
        kb_data *data;
        kb_model *model = NULL;
        assert_ok(ctx, kb_data_read(ctx, options, path.text, NULL, &data));
        assert_int_equal(kb_model_fit(ctx, options, data, &model), KB_ERR_DATA);
        assert_non_null(strstr(kb_context_message(ctx), "UTF-8"));
        assert_null(model);
        kb_data_free(data);
        unlink(path.text);
    }
    kb_options_free(options);
    kb_context_free(ctx);
}

/* ---- other losses and probabilities ------------------------------------ */

typedef struct way {
    labels kind;
    const char *loss, *multiclass, *probability, *rule;
} way;

static const way WAYS[] = {
    {TWO, "square", "ovr", "on", "sigmoid"},
    {TWO, "logistic", "ovr", "auto", "sigmoid"},
    {TWO, "logistic", "softmax", "auto", "sigmoid"},
    {TWO, "logistic", "ovr", "on", "sigmoid"},
    {TWO, "squared-hinge", "ovr", "on", "sigmoid"},
    {WORDS, "square", "ovr", "on", "softmax"},
    {WORDS, "logistic", "ovr", "auto", "sigmoid"},
    {WORDS, "logistic", "softmax", "auto", "softmax"},
    {WORDS, "logistic", "softmax", "on", "softmax"},
    {WORDS, "squared-hinge", "ovr", "on", "softmax"},
    {TWO, "square", "ovr", "auto", "none"},
    {TWO, "squared-hinge", "ovr", "off", "none"},
    {THREE, "logistic", "softmax", "off", "none"},
    {REAL, "square", "ovr", "on", "none"},
};
enum { COUNT_OF_WAYS = sizeof WAYS / sizeof *WAYS };

static kb_options *options_for(kb_context *ctx, const way *w, const char *intercept) {
    return OPTIONS(ctx, "grids", "40", "sigma", "0.8", "lambda", "0.3", "loss", w->loss,
                   "multiclass", w->multiclass, "probability", w->probability, "intercept",
                   intercept);
}

/* The file keeps every bit of the decisions and the probabilities, and the record. */
static void every_loss_comes_through_a_file(void **unused) {
    enum { N = 300 };
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 2 * COUNT_OF_WAYS; k++) {
        const way *w = &WAYS[k / 2];
        kb_options *options = options_for(ctx, w, k % 2 ? "on" : "off");
        kb_data *data = data_of(ctx, N, 2, w->kind);
        kb_model *model = model_of(ctx, options, data), *again;
        const kb_fit_info *info = kb_model_info(model);
        test_path path = path_of("loss.kerbin");
        assert_int_equal(info->converged, 1);
        assert_string_equal(info->loss, w->loss);
        assert_string_equal(info->probability, w->rule);
        assert_string_equal(info->solver, strcmp(w->loss, "square") ? "newton" : "cg");
        assert_true(info->train_score > 0.8);
        assert_ok(ctx, kb_model_write(ctx, model, path.text));
        assert_ok(ctx, kb_model_read(ctx, path.text, &again));
        assert_string_equal(kb_model_info(again)->probability, w->rule);
        double *f = decisions_of(ctx, model, data), *g = decisions_of(ctx, again, data);
        assert_same_bits(f, g, N * info->outputs);
        /* What the record says of the training data, the model does. */
        kb_score score;
        assert_ok(ctx, kb_model_score(ctx, again, data, f, &score));
        assert_true(fabs(info->train_score - (info->classes ? score.accuracy : score.r2)) < 1e-6);
        double p[3 * N], q[3 * N];
        if (strcmp(w->rule, "none") == 0) {
            assert_fails(ctx, KB_ERR_ARGUMENT,
                         "the model gives no probabilities: train it with --loss logistic or "
                         "--probability on",
                         kb_model_probability(ctx, again, N, f, p));
            assert_true(isnan(score.log_loss));
        } else {
            assert_ok(ctx, kb_model_probability(ctx, model, N, f, p));
            assert_ok(ctx, kb_model_probability(ctx, again, N, g, q));
            assert_same_bits(p, q, N * info->classes);
            for (size_t i = 0; i < N; i++)
                for (size_t c = 0; c < info->classes; c++)
                    assert_true(
                        p[i * info->classes + c] <=
                        p[i * info->classes + kb_model_winner(model, f + i * info->outputs)]);
            assert_true(score.log_loss < 0.5); /* chance has log 2 or log 3 */
        }
        unlink(path.text);
        free(f), free(g);
        kb_model_free(model);
        kb_model_free(again);
        kb_data_free(data);
        kb_options_free(options);
    }
    kb_context_free(ctx);
}

static void threads_change_no_byte_for_any_loss(void **unused) {
    static const int teams[] = {1, 2, 5};
    (void)unused;
    for (int k = 0; k < COUNT_OF_WAYS; k++) {
        char *first = NULL;
        size_t length = 0;
        for (int t = 0; t < 3; t++) {
            test_state state = {0};
            kb_context *team = test_context_with(&state, teams[t]);
            kb_options *options = options_for(team, &WAYS[k], "on");
            kb_data *data = data_of(team, 2100, 2, WAYS[k].kind);
            assert_ok(team, kb_alloc(team, 2100, sizeof(double), &data->weight));
            for (size_t i = 0; i < 2100; i++)
                data->weight[i] = 0.5 + (double)(i % 3);
            kb_model *model = model_of(team, options, data);
            test_path path = path_of("team.kerbin");
            size_t count;
            assert_ok(team, kb_model_write(team, model, path.text));
            char *bytes = bytes_of(path.text, &count);
            if (first) {
                assert_int_equal(count, length);
                assert_memory_equal(bytes, first, count);
                free(bytes);
            } else {
                first = bytes;
                length = count;
            }
            unlink(path.text);
            kb_model_free(model);
            kb_data_free(data);
            kb_options_free(options);
            kb_context_free(team);
            assert_int_equal(state.live, 0);
        }
        free(first);
    }
}

/* A sample that meets no known bin gets the share of its class. */
static void unknown_samples_get_the_shares(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < COUNT_OF_WAYS; k++) {
        if (strcmp(WAYS[k].loss, "logistic") != 0 || strcmp(WAYS[k].probability, "auto") != 0)
            continue;
        kb_options *options = options_for(ctx, &WAYS[k], "off");
        kb_data *data = data_of(ctx, 300, 2, WAYS[k].kind), *far;
        kb_model *model = model_of(ctx, options, data);
        size_t classes = kb_model_info(model)->classes;
        double p[3], f[3], count[3] = {0};
        for (size_t i = 0; i < 300; i++)
            for (size_t c = 0; c < classes; c++)
                count[c] += data->label[i] == kb_model_class(model, c);
        assert_ok(ctx, kb_data_from_dense(ctx, 1, 2, (const double[]){1e6, -1e6}, NULL, &far));
        assert_ok(ctx, kb_model_decide(ctx, model, far, f));
        assert_ok(ctx, kb_model_probability(ctx, model, 1, f, p));
        for (size_t c = 0; c < classes; c++)
            assert_true(fabs(p[c] - count[c] / 300) < 1e-9);
        kb_data_free(far);
        kb_data_free(data);
        kb_model_free(model);
        kb_options_free(options);
    }
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

/* So few samples that a fold leaves none, or none of a class. */
static void few_samples_have_probabilities_too(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int l = 0; l < 3; l++)
        for (int seed = 0; seed < 20; seed++)
            for (size_t N = 2; N <= 3; N++) {
                static const char *const losses[] = {"square", "logistic", "squared-hinge"};
                char text[8];
                double p[9], f[3], x[3] = {0, 1, 2}, y[3] = {1, 2, 3};
                kb_data *data;
                snprintf(text, sizeof text, "%d", seed);
                kb_options *options =
                    OPTIONS(ctx, "grids", "9", "seed", text, "loss", losses[l], "probability", "on",
                            "intercept", seed % 2 ? "on" : "off", "task", "classification");
                assert_ok(ctx, kb_data_from_dense(ctx, N, 1, x, y, &data));
                kb_model *model = model_of(ctx, options, data);
                double *decision = decisions_of(ctx, model, data);
                memcpy(f, decision, kb_model_info(model)->outputs * sizeof *f);
                assert_ok(ctx, kb_model_probability(ctx, model, 1, f, p));
                for (size_t c = 0; c < N; c++)
                    assert_true(p[c] >= 0 && p[c] <= 1);
                free(decision);
                kb_model_free(model);
                kb_data_free(data);
                kb_options_free(options);
            }
    kb_context_free(ctx);
}

/* ---- when things go wrong ---------------------------------------------- */

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

typedef struct inputs {
    kb_options *options;
    kb_data *data;
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

static inputs tiny(kb_context *ctx, labels kind, const char *solver) {
    return (inputs){OPTIONS(ctx, "grids", "9", "solver", solver, "max-iter", "3", "sigma",
                            "default", "intercept", "on"),
                    data_of(ctx, 30, 2, kind)};
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (labels kind = REAL; kind <= WORDS; kind++)
        for (int gmres = 0; gmres < 2; gmres++) {
            inputs in = tiny(ctx, kind, gmres ? "gmres" : "cg");
            run_with_allocation_failures(fit, &in);
            kb_data_free(in.data);
            kb_options_free(in.options);
        }
    kb_context_free(ctx);
}

/* A few steps of each way to a model, with weights. */
static inputs tiny_way(kb_context *ctx, const way *w) {
    inputs in = {OPTIONS(ctx, "grids", "9", "max-iter", "3", "sigma", "1", "loss", w->loss,
                         "multiclass", w->multiclass, "probability", w->probability, "intercept",
                         "on", "class-weight", w->kind == REAL ? "none" : "balanced"),
                 data_of(ctx, 30, 2, w->kind)};
    assert_ok(ctx, kb_alloc(ctx, 30, sizeof(double), &in.data->weight));
    for (size_t i = 0; i < 30; i++)
        in.data->weight[i] = 1 + (double)(i % 2);
    return in;
}

static void every_allocation_may_fail_for_any_loss(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < COUNT_OF_WAYS; k++) {
        inputs in = tiny_way(ctx, &WAYS[k]);
        run_with_allocation_failures(fit, &in);
        kb_data_free(in.data);
        kb_options_free(in.options);
    }
    kb_context_free(ctx);
}

static void the_callback_may_cancel_at_any_call(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int threads = 1; threads <= 3; threads++)
        for (int gmres = 0; gmres < 2; gmres++) {
            inputs in = tiny(ctx, THREE, gmres ? "gmres" : "cg");
            for (long k = 1;; k++) {
                test_state state = {.cancel_after = k};
                kb_context *mine = test_context_with(&state, threads);
                int status = fit(mine, &in);
                assert_int_equal(status, state.progress < k ? KB_OK : KB_ERR_CANCELLED);
                kb_context_free(mine);
                assert_int_equal(state.live, 0);
                if (state.progress < k) {
                    assert_true(k > 4);
                    break;
                }
            }
            kb_data_free(in.data);
            kb_options_free(in.options);
        }
    kb_context_free(ctx);
}

/* Two of the three words occur, as may happen in a part of a set: the model has their names. */
static void words_that_do_not_occur_are_no_classes(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "8", "sigma", "0.5");
    kb_data *data = data_of(ctx, 60, 2, WORDS);
    kb_score score;
    (void)unused;
    for (size_t i = 0; i < data->rows; i++)
        data->label[i] = data->label[i] == 0 ? 1 : data->label[i];
    kb_model *model = model_of(ctx, options, data);
    assert_int_equal(kb_model_info(model)->classes, 2);
    assert_string_equal(kb_model_class_name(model, 0), "bee");
    assert_string_equal(kb_model_class_name(model, 1), "cow");
    double *decision = decisions_of(ctx, model, data);
    assert_ok(ctx, kb_model_score(ctx, model, data, decision, &score));
    assert_true(score.accuracy == kb_model_info(model)->train_score);
    free(decision);
    kb_model_free(model);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fits_agree_with_dense_ridge),
        cmocka_unit_test(many_classes_agree_with_dense_ridge),
        cmocka_unit_test(three_hundred_classes_can_be_told_apart),
        cmocka_unit_test(the_names_of_the_classes_do_not_matter),
        cmocka_unit_test(words_come_through_csv),
        cmocka_unit_test(float_weights_are_safe),
        cmocka_unit_test(the_record_tells_what_was_done),
        cmocka_unit_test(auto_is_an_intercept_for_numbers_only),
        cmocka_unit_test(too_few_steps_are_a_result_not_an_error),
        cmocka_unit_test(threads_change_no_byte_of_the_model_file),
        cmocka_unit_test(inputs_are_not_changed),
        cmocka_unit_test(nothing_is_printed),
        cmocka_unit_test(silly_data_are_fitted),
        cmocka_unit_test(labels_far_from_zero_are_learnt),
        cmocka_unit_test(data_that_cannot_be_learnt_are_refused),
        cmocka_unit_test(names_that_a_model_cannot_keep_are_refused),
        cmocka_unit_test(words_that_do_not_occur_are_no_classes),
        cmocka_unit_test(every_loss_comes_through_a_file),
        cmocka_unit_test(threads_change_no_byte_for_any_loss),
        cmocka_unit_test(unknown_samples_get_the_shares),
        cmocka_unit_test(options_that_contradict_each_other_are_refused),
        cmocka_unit_test(only_grid_cd_drops_whole_grids),
        cmocka_unit_test(few_samples_have_probabilities_too),
        cmocka_unit_test(too_much_memory_is_refused),
        cmocka_unit_test(every_allocation_may_fail_for_any_loss),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(the_callback_may_cancel_at_any_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
