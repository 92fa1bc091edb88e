/* Weighted fits: against a dense solution, and weights as repeated rows. */
#include "fit/bench.h"

/* tol = 1e-10 promises 1e-8 of f at these lambdas and more. */
static void weighted_ridge_agrees_with_the_normal_equations(void **unused) {
    static const char *const lambdas[] = {"0.01", "1"}, *const solvers[] = {"cg", "gmres",
                                                                            "sweeps"};
    kb_context *ctx = test_context();
    (void)unused;
    for (labels kind = REAL; kind <= THREE; kind++)
        for (int k = 0; k < 12; k++)
            for (int weighted = 0; weighted < 2; weighted++) {
                bench t;
                bench_create(ctx, &t, 80, kind, k & 1,
                             OPTIONS(ctx, "lambda", lambdas[k >> 1 & 1], "solver", solvers[k >> 2],
                                     "tol", "1e-10", "max-iter", "5000"));
                double objective = 0;
                size_t C = t.targets.outputs;
                if (!weighted)
                    t.learner.weight = NULL;
                bench_learn(ctx, &t);
                assert_int_equal(t.learner.converged, 1);
                for (size_t c = 0; c < C; c++) {
                    double *f = dense_ridge(&t, c, &objective);
                    for (size_t i = 0; i < t.w.N; i++)
                        assert_true(fabs(t.f[i * C + c] - f[i]) <= 1e-7 * (1 + fabs(f[i])));
                    assert_true(t.learner.intercept ? t.b[c] != 0 : t.b[c] == 0);
                    free(f);
                }
                assert_true(fabs(t.learner.objective - objective) <= 1e-9 * objective);
                bench_free(ctx, &t);
            }
    kb_context_free(ctx);
}

/* f is K alpha + b for every loss. */
static void decisions_are_those_of_alpha_and_b(void **unused) {
    static const char *const losses[] = {"square", "logistic", "squared-hinge"};
    kb_context *ctx = test_context();
    (void)unused;
    for (int l = 0; l < 3; l++)
        for (int intercept = 0; intercept < 2; intercept++)
            for (int softmax = 0; softmax <= (l == 1); softmax++) {
                bench t;
                bench_create(ctx, &t, 80, THREE, intercept,
                             OPTIONS(ctx, "loss", losses[l], "multiclass",
                                     softmax ? "softmax" : "ovr", "tol", "1e-6"));
                bench_learn(ctx, &t);
                assert_int_equal(t.learner.converged, 1);
                double *f = malloc(t.w.N * 3 * sizeof *f);
                assert_ok(ctx, t.op->apply_k(t.op, ctx, 3, t.alpha, f, NULL));
                for (size_t k = 0; k < t.w.N * 3; k++)
                    f[k] += t.b[k % 3];
                assert_close(t.f, f, t.w.N * 3, 1e-9);
                assert_true((t.b[0] != 0) == intercept);
                free(f);
                bench_free(ctx, &t);
            }
    kb_context_free(ctx);
}

/* The same rows repeated, in the same grids.  x of the first rows are those of data_of. */
static kb_data *repeated(kb_context *ctx, const kb_data *data, int times(size_t i)) {
    size_t d = data->features, count = 0;
    double *x = malloc(data->rows * 3 * d * sizeof *x), *y = malloc(data->rows * 3 * sizeof *y);
    kb_data *out;
    for (size_t i = 0; i < data->rows; i++)
        for (int k = 0; k < times(i); k++) {
            memcpy(x + count * d, data->dense + i * d, d * sizeof *x);
            y[count++] = data->label[i];
        }
    assert_ok(ctx, data_from_dense(ctx, count, d, x, y, &out));
    free(x), free(y);
    return out;
}

static int one_to_three(size_t i) {
    return 1 + (int)(i * 7 % 3);
}

static void give_weights(kb_context *ctx, kb_data *data, int times(size_t i)) {
    assert_ok(ctx, kb_alloc(ctx, data->rows, sizeof(double), &data->weight));
    for (size_t i = 0; i < data->rows; i++)
        data->weight[i] = times(i);
}

/* Whole weights are repeated rows: the same objective, decisions and score.  The grids come from
 * the seed and the ranges of the features, which repetition does not change. */
static void whole_weights_are_repeated_rows(void **unused) {
    static const char *const losses[] = {"square", "logistic", "squared-hinge", "logistic"};
    kb_context *ctx = test_context();
    (void)unused;
    for (labels kind = REAL; kind <= THREE; kind++)
        for (int l = 0; l < (kind == REAL ? 1 : 4); l++)
            for (int intercept = 0; intercept < 2; intercept++)
                for (int balanced = 0; balanced <= (kind != REAL); balanced++) {
                    kb_options *options =
                        OPTIONS(ctx, "grids", "19", "sigma", "0.8", "tol", "1e-10", "max-iter",
                                "20000", "lambda", "0.3", "loss", losses[l], "multiclass",
                                l == 3 ? "softmax" : "ovr", "intercept", intercept ? "on" : "off",
                                "class-weight", balanced ? "balanced" : "none");
                    kb_data *data = data_of(ctx, 90, 2, kind);
                    kb_data *more = repeated(ctx, data, one_to_three);
                    kb_model *plain = model_of(ctx, options, data);
                    give_weights(ctx, data, one_to_three);
                    kb_model *a = model_of(ctx, options, data), *b = model_of(ctx, options, more);
                    const kb_fit_info *i = kb_model_info(a), *j = kb_model_info(b);
                    double *f = decisions_of(ctx, a, data), *g = decisions_of(ctx, b, data);
                    assert_int_equal(i->converged && j->converged, 1);
                    assert_int_equal(i->bins, j->bins);
                    assert_true(fabs(i->objective - j->objective) <= 1e-9 * j->objective);
                    assert_true(fabs(i->train_score - j->train_score) <= 1e-9);
                    assert_true(fabs(i->objective - kb_model_info(plain)->objective) >
                                1e-3 * j->objective);                  /* they matter */
                    assert_close(f, g, data->rows * i->outputs, 1e-5); /* weights are floats */
                    free(f), free(g);
                    kb_model_free(a);
                    kb_model_free(b);
                    kb_model_free(plain);
                    kb_data_free(data);
                    kb_data_free(more);
                    kb_options_free(options);
                }
    kb_context_free(ctx);
}

/* `balanced` is the same as sample weights N / (2 N_c). */
static void balanced_classes_are_weights(void **unused) {
    enum { N = 90 };
    kb_context *ctx = test_context();
    (void)unused;
    for (int l = 0; l < 2; l++) {
        kb_options *none = OPTIONS(ctx, "grids", "19", "sigma", "0.8", "tol", "1e-9", "loss",
                                   l ? "logistic" : "square");
        kb_options *balanced = OPTIONS(ctx, "grids", "19", "sigma", "0.8", "tol", "1e-9", "loss",
                                       l ? "logistic" : "square", "class-weight", "balanced");
        kb_data *data = data_of(ctx, N, 2, TWO);
        double count[2] = {0, 0};
        for (size_t i = 0; i < N; i++)
            count[data->label[i] == 7]++;
        assert_true(count[0] != count[1]);
        kb_model *a = model_of(ctx, balanced, data);
        assert_ok(ctx, kb_alloc(ctx, N, sizeof(double), &data->weight));
        for (size_t i = 0; i < N; i++)
            data->weight[i] = N / (2 * count[data->label[i] == 7]);
        kb_model *b = model_of(ctx, none, data);
        assert_true(fabs(kb_model_info(a)->objective - kb_model_info(b)->objective) <=
                    1e-12 * kb_model_info(b)->objective);
        kb_model_free(a);
        kb_model_free(b);
        kb_data_free(data);
        kb_options_free(none);
        kb_options_free(balanced);
    }
    kb_context_free(ctx);
}

/* ---- the L1 penalty ---------------------------------------------------- */

typedef struct sparse_way {
    labels kind;
    const char *loss, *solver, *intercept, *group;
} sparse_way;

static const sparse_way SPARSE[] = {
    {REAL, "square", "grid-cd", "on", "off"},       {REAL, "square", "cd", "on", "off"},
    {TWO, "logistic", "grid-cd", "off", "off"},     {TWO, "logistic", "parallel-cd", "on", "off"},
    {TWO, "squared-hinge", "grid-cd", "on", "off"}, {THREE, "logistic", "grid-cd", "on", "off"},
    {THREE, "square", "cd", "off", "off"},          {TWO, "logistic", "grid-cd", "off", "on"},
};
enum { COUNT_OF_SPARSE = sizeof SPARSE / sizeof *SPARSE };

static kb_options *sparse_options(kb_context *ctx, const sparse_way *w, const char *probability) {
    return OPTIONS(ctx, "penalty", "l1", "grids", "19", "sigma", "0.8", "scale", "none", "tol",
                   "1e-8", "max-iter", "100000", "lambda", "0.3", "loss", w->loss, "solver",
                   w->solver, "intercept", w->intercept, "group-grids", w->group, "probability",
                   probability);
}

/* Two models of the same problem: the objectives differ by no more than the gaps, and the
 * decisions by what those leave open. */
static void assert_same_fit(kb_context *ctx, const kb_model *a, const kb_model *b,
                            const kb_data *data) {
    const kb_fit_info *i = kb_model_info(a), *j = kb_model_info(b);
    double *f = decisions_of(ctx, a, data), *g = decisions_of(ctx, b, data);
    assert_int_equal(i->converged && j->converged, 1);
    assert_true(fabs(i->objective - j->objective) <= i->gap + j->gap + 1e-12 * j->objective);
    assert_true(fabs(i->train_score - j->train_score) <= 1e-3);
    for (size_t k = 0; k < data->rows * i->outputs && strcmp(i->loss, "squared-hinge") == 0; k++) {
        f[k] = fmax(fmin(f[k], 1), -1); /* beyond the margin it is flat */
        g[k] = fmax(fmin(g[k], 1), -1);
    }
    /* Bins that differ only in rows of weight 0 may share a weight in any proportion. */
    for (size_t k = 0; k < data->rows * i->outputs && data->weight; k++)
        if (data->weight[k / i->outputs] == 0)
            f[k] = g[k];
    assert_close(f, g, data->rows * i->outputs, 2e-2);
    free(f), free(g);
}

static void whole_weights_are_repeated_rows_for_l1_too(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < COUNT_OF_SPARSE; k++) {
        kb_options *options = sparse_options(ctx, &SPARSE[k], "auto");
        kb_data *data = data_of(ctx, 90, 2, SPARSE[k].kind);
        kb_data *more = repeated(ctx, data, one_to_three);
        kb_model *plain = model_of(ctx, options, data);
        give_weights(ctx, data, one_to_three);
        kb_model *a = model_of(ctx, options, data), *b = model_of(ctx, options, more);
        assert_int_equal(kb_model_info(a)->bins, kb_model_info(b)->bins);
        assert_same_fit(ctx, a, b, data);
        assert_true(fabs(kb_model_info(a)->objective - kb_model_info(plain)->objective) >
                    1e-3 * kb_model_info(b)->objective); /* they matter */
        kb_model_free(a);
        kb_model_free(b);
        kb_model_free(plain);
        kb_data_free(data);
        kb_data_free(more);
        kb_options_free(options);
    }
    kb_context_free(ctx);
}

static int two_of_three(size_t i) {
    return i % 3 != 0;
}

/* A row of weight 0 has no effect; its bins get no weight.  Except for groups, whose penalty counts
 * the bins of a grid. */
static void a_weight_of_zero_leaves_a_row_out(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < COUNT_OF_SPARSE; k++) {
        if (strcmp(SPARSE[k].group, "on") == 0)
            continue;
        kb_options *options = sparse_options(ctx, &SPARSE[k], "auto");
        kb_data *data = data_of(ctx, 90, 2, SPARSE[k].kind);
        kb_data *less = repeated(ctx, data, two_of_three);
        give_weights(ctx, data, two_of_three);
        for (size_t i = 0; i < 90; i += 3) /* whatever its label says */
            data->label[i] = SPARSE[k].kind == REAL ? 1e6 : data->label[0];
        kb_model *a = model_of(ctx, options, data), *b = model_of(ctx, options, less);
        assert_true(kb_model_info(a)->bins > kb_model_info(b)->bins);
        assert_same_fit(ctx, a, b, data);
        kb_model_free(a);
        kb_model_free(b);
        kb_data_free(data);
        kb_data_free(less);
        kb_options_free(options);
    }
    kb_context_free(ctx);
}

/* The logistic loss has probabilities of its own: 1 / (1 + exp(-f)), shared out among classes. */
static void sparse_logistic_decisions_are_log_odds(void **unused) {
    enum { N = 200 };
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < COUNT_OF_SPARSE; k++) {
        if (strcmp(SPARSE[k].loss, "logistic") != 0)
            continue;
        kb_options *options = sparse_options(ctx, &SPARSE[k], "auto");
        kb_data *data = data_of(ctx, N, 2, SPARSE[k].kind);
        kb_model *model = model_of(ctx, options, data);
        size_t classes = kb_model_info(model)->classes;
        double *f = decisions_of(ctx, model, data), p[3 * N];
        assert_string_equal(kb_model_info(model)->probability, "sigmoid");
        assert_ok(ctx, kb_model_probability(ctx, model, N, f, p));
        for (size_t i = 0; i < N; i++) {
            double want[3], sum = 0;
            for (size_t c = 0; c < classes; c++) {
                double g = classes > 2 ? f[i * classes + c] : c ? f[i] : -f[i];
                sum += want[c] = 1 / (1 + exp(-g));
            }
            for (size_t c = 0; c < classes; c++)
                assert_true(fabs(p[i * classes + c] - want[c] / sum) < 1e-12);
        }
        free(f);
        kb_model_free(model);
        kb_data_free(data);
        kb_options_free(options);
    }
    kb_context_free(ctx);
}

/* Probabilities from out-of-fold decisions, for every loss, also after a file and with weights. */
static void out_of_fold_probabilities_suit_sparse_models(void **unused) {
    enum { N = 150 };
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < COUNT_OF_SPARSE; k++) {
        if (SPARSE[k].kind == REAL)
            continue;
        kb_options *options = sparse_options(ctx, &SPARSE[k], "on");
        kb_data *data = data_of(ctx, N, 2, SPARSE[k].kind);
        assert_ok(ctx, kb_options_set(ctx, options, "tol", "1e-3"));
        if (k % 2)
            give_weights(ctx, data, one_to_three);
        kb_model *model = model_of(ctx, options, data), *back;
        size_t classes = kb_model_info(model)->classes;
        double *f = decisions_of(ctx, model, data), p[3 * N], q[3 * N];
        test_path path = path_of("sparse.kerbin");
        kb_score score = KB_SCORE_INIT;
        assert_string_equal(kb_model_info(model)->probability, classes > 2 ? "softmax" : "sigmoid");
        assert_true(kb_model_info(model)->kept_bins < kb_model_info(model)->bins);
        assert_ok(ctx, kb_model_write(ctx, model, path.text));
        assert_ok(ctx, kb_model_read(ctx, path.text, &back));
        assert_ok(ctx, kb_model_probability(ctx, model, N, f, p));
        assert_ok(ctx, kb_model_probability(ctx, back, N, f, q));
        assert_same_bits(p, q, N * classes);
        assert_ok(ctx, kb_model_score(ctx, back, data, f, &score));
        assert_true(score.log_loss < 0.5); /* random guessing has log 2 or log 3 */
        assert_true(fabs(score.accuracy - kb_model_info(model)->train_score) < 1e-9);
        unlink(path.text);
        free(f);
        kb_model_free(model);
        kb_model_free(back);
        kb_data_free(data);
        kb_options_free(options);
    }
    kb_context_free(ctx);
}

static int learn_once(kb_context *ctx, void *arg) {
    bench *t = arg;
    kb_status status;
    kb_learner l = t->learner;
    kb_operator *op = NULL;
    TRY(kb_operator_binmat(ctx, t->w.z, &op));
    l.op = op;
    TRY(kb_learner_prepare(ctx, &l));
    TRY(kb_learn(ctx, &l, 0, t->targets.outputs, t->y, t->alpha, t->f, t->b));
done:
    kb_learner_release(ctx, &l);
    kb_operator_free(op);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    static const char *const losses[] = {"square", "logistic"};
    kb_context *ctx = test_context();
    (void)unused;
    for (int l = 0; l < 2; l++) {
        bench t;
        bench_create(ctx, &t, 30, THREE, 1, OPTIONS(ctx, "loss", losses[l], "max-iter", "4"));
        kb_targets_fill(&t.targets, t.w.N, 0, 3, t.y);
        run_with_allocation_failures(learn_once, &t);
        bench_free(ctx, &t);
    }
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weighted_ridge_agrees_with_the_normal_equations),
        cmocka_unit_test(decisions_are_those_of_alpha_and_b),
        cmocka_unit_test(whole_weights_are_repeated_rows),
        cmocka_unit_test(balanced_classes_are_weights),
        cmocka_unit_test(whole_weights_are_repeated_rows_for_l1_too),
        cmocka_unit_test(a_weight_of_zero_leaves_a_row_out),
        cmocka_unit_test(sparse_logistic_decisions_are_log_odds),
        cmocka_unit_test(out_of_fold_probabilities_suit_sparse_models),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
