/* Paths of lambda: each model is that of a separate fit, and any of them can be taken. */
#include "tune/tuned.h"

#include <stdint.h>

typedef struct way {
    labels kind;
    const char *loss, *intercept, *group;
} way;

static const way WAYS[] = {
    {REAL, "square", "on", "off"},   {REAL, "square", "off", "off"},
    {TWO, "logistic", "on", "off"},  {TWO, "squared-hinge", "off", "off"},
    {THREE, "square", "off", "off"}, {WORDS, "logistic", "on", "off"},
    {REAL, "square", "on", "on"},    {THREE, "squared-hinge", "off", "on"},
};
enum { COUNT_OF_WAYS = sizeof WAYS / sizeof *WAYS, N = 150, POINTS = 6 };

static kb_options *options_for(kb_context *ctx, const way *w, const char *lambda) {
    return OPTIONS(ctx, "penalty", "l1", "grids", "17", "sigma", "0.8", "tol", "1e-7", "max-iter",
                   "20000", "lambda-path", "6", "loss", w->loss, "intercept", w->intercept,
                   "group-grids", w->group, "lambda", lambda);
}

/* What the callback sees: the decisions of each model on some rows. */
typedef struct seen {
    kb_context *ctx;
    const kb_data *data;
    size_t count, stop_at; /* that call is answered with `answer` */
    kb_status answer;
    double *decision[POINTS];
    double lambda[POINTS], objective[POINTS];
    size_t nonzeros[POINTS];
} seen;

static kb_status look(void *user, const kb_model *model) {
    seen *s = user;
    assert_true(s->count < POINTS);
    s->decision[s->count] = decisions_of(s->ctx, model, s->data);
    s->lambda[s->count] = kb_model_info(model)->lambda;
    s->objective[s->count] = kb_model_info(model)->objective;
    s->nonzeros[s->count] = kb_model_info(model)->nonzeros;
    return ++s->count == s->stop_at ? s->answer : KB_OK;
}

static void seen_free(seen *s) {
    for (size_t k = 0; k < s->count; k++)
        free(s->decision[k]);
}

static kb_path *path_with(kb_context *ctx, const kb_options *options, const kb_data *data,
                          seen *s) {
    kb_path *path;
    *s = (seen){.ctx = ctx, .data = data};
    assert_ok(ctx, kb_path_fit(ctx, options, data, look, s, &path));
    return path;
}

/* From no weight at all, in equal ratios, to the option lambda. */
static void lambda_falls_from_no_weights_to_the_option(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < COUNT_OF_WAYS; k++) {
        kb_options *options = options_for(ctx, &WAYS[k], "0.3");
        kb_data *data = data_of(ctx, N, 2, WAYS[k].kind);
        seen s;
        kb_path *path = path_with(ctx, options, data, &s);
        assert_int_equal(kb_path_count(path), POINTS);
        assert_int_equal(s.count, POINTS);
        assert_int_equal(kb_path_info(path, 0)->nonzeros, 0);
        assert_true(kb_path_info(path, 1)->nonzeros > 0);
        assert_true(kb_path_info(path, POINTS - 1)->lambda == 0.3);
        double ratio = kb_path_info(path, 1)->lambda / kb_path_info(path, 0)->lambda;
        assert_true(ratio < 1);
        for (size_t p = 0; p < POINTS; p++) {
            const kb_fit_info *info = kb_path_info(path, p);
            assert_true(info->lambda == s.lambda[p] && info->objective == s.objective[p]);
            assert_int_equal(info->nonzeros, s.nonzeros[p]);
            assert_int_equal(info->converged, 1);
            assert_true(info->gap >= 0 && info->gap <= 1e-7 * 3 * info->objective);
            if (p == 0)
                continue;
            const kb_fit_info *before = kb_path_info(path, p - 1);
            assert_true(fabs(info->lambda / before->lambda - ratio) < 1e-9 * ratio);
            assert_true(info->objective < before->objective);
        }
        kb_path_free(path);
        seen_free(&s);
        kb_data_free(data);
        kb_options_free(options);
    }
    kb_context_free(ctx);
}

/* The start values do not matter: the objectives differ by no more than the gaps. */
static void each_point_is_as_good_as_a_fit_of_its_own(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < COUNT_OF_WAYS; k++) {
        kb_options *options = options_for(ctx, &WAYS[k], "0.3");
        kb_data *data = data_of(ctx, N, 2, WAYS[k].kind);
        kb_path *path;
        assert_ok(ctx, kb_path_fit(ctx, options, data, NULL, NULL, &path));
        for (size_t p = 0; p < POINTS; p++) {
            const kb_fit_info *info = kb_path_info(path, p);
            char lambda[32];
            snprintf(lambda, sizeof lambda, "%.17g", info->lambda);
            kb_options *alone = options_for(ctx, &WAYS[k], lambda);
            kb_model *model = model_of(ctx, alone, data);
            const kb_fit_info *own = kb_model_info(model);
            assert_true(own->lambda == info->lambda);
            assert_true(fabs(own->objective - info->objective) <=
                        own->gap + info->gap + 1e-12 * own->objective);
            assert_true(fabs(own->train_score - info->train_score) < 2e-2);
            kb_model_free(model);
            kb_options_free(alone);
        }
        kb_path_free(path);
        kb_data_free(data);
        kb_options_free(options);
    }
    kb_context_free(ctx);
}

static void a_model_taken_is_the_one_that_was_told(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < COUNT_OF_WAYS; k++)
        for (size_t p = 0; p < POINTS; p++) {
            kb_options *options = options_for(ctx, &WAYS[k], "0.3");
            kb_data *data = data_of(ctx, N, 2, WAYS[k].kind);
            seen s;
            kb_path *path = path_with(ctx, options, data, &s);
            const kb_fit_info want = *kb_path_info(path, p);
            kb_model *model, *none = (kb_model *)&s, *back;
            test_path file = path_of("taken.kerbin");
            assert_ok(ctx, kb_path_take(path, p, &model));
            assert_fails(ctx, KB_ERR_ARGUMENT, "the model of the path has been taken",
                         kb_path_take(path, p, &none));
            assert_null(none);
            kb_path_free(path); /* the model is the caller's */
            const kb_fit_info *info = kb_model_info(model);
            size_t C = info->outputs;
            assert_true(info->lambda == want.lambda && info->objective == want.objective);
            assert_true(info->gap == want.gap && info->train_score == want.train_score);
            assert_true(info->nonzeros == want.nonzeros && info->steps == want.steps);
            assert_string_equal(info->penalty, "l1");
            assert_string_equal(info->kernel, "laplace");
            if (C == 1)
                assert_int_equal(info->kept_bins, want.nonzeros ? want.nonzeros : 1);
            double *f = decisions_of(ctx, model, data);
            assert_same_bits(f, s.decision[p], N * C);
            assert_ok(ctx, kb_model_write(ctx, model, file.text));
            assert_ok(ctx, kb_model_read(ctx, file.text, &back));
            assert_ok(ctx, kb_model_decide(ctx, back, data, f));
            assert_same_bits(f, s.decision[p], N * C);
            unlink(file.text);
            free(f);
            kb_model_free(model);
            kb_model_free(back);
            seen_free(&s);
            kb_data_free(data);
            kb_options_free(options);
        }
    kb_context_free(ctx);
}

/* One lambda is that of the option, and a fit of its own to the bit. */
static void a_path_of_one_is_a_plain_fit(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < COUNT_OF_WAYS; k++) {
        kb_options *options = options_for(ctx, &WAYS[k], "0.3");
        kb_data *data = data_of(ctx, N, 2, WAYS[k].kind);
        kb_path *path;
        kb_model *model, *plain = model_of(ctx, options, data);
        assert_ok(ctx, kb_options_set(ctx, options, "lambda-path", "1"));
        assert_ok(ctx, kb_path_fit(ctx, options, data, NULL, NULL, &path));
        assert_int_equal(kb_path_count(path), 1);
        assert_ok(ctx, kb_path_take(path, 0, &model));
        kb_path_free(path);
        double *f = decisions_of(ctx, plain, data), *g = decisions_of(ctx, model, data);
        assert_same_bits(f, g, N * kb_model_info(model)->outputs);
        assert_true(kb_model_info(model)->lambda == 0.3);
        free(f), free(g);
        kb_model_free(model);
        kb_model_free(plain);
        kb_data_free(data);
        kb_options_free(options);
    }
    kb_context_free(ctx);
}

/* The option lambda is above the smallest at which all weights are zero: the path has only that
 * one. */
static void a_large_lambda_is_the_whole_path(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = options_for(ctx, &WAYS[0], "1e9");
    kb_data *data = data_of(ctx, N, 2, REAL);
    kb_path *path;
    (void)unused;
    assert_ok(ctx, kb_path_fit(ctx, options, data, NULL, NULL, &path));
    for (size_t p = 0; p < POINTS; p++) {
        assert_true(kb_path_info(path, p)->lambda == 1e9);
        assert_int_equal(kb_path_info(path, p)->nonzeros, 0);
    }
    kb_path_free(path); /* with its model */
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* As after a plain fit. */
static void a_path_has_its_trials(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = TUNING(ctx, "penalty", "l1", "lambda-path", "3", "widths", "equal");
    kb_data *data = data_of(ctx, N, 2, REAL);
    kb_path *path;
    kb_model *model;
    size_t count;
    (void)unused;
    assert_ok(ctx, kb_path_fit(ctx, options, data, NULL, NULL, &path));
    assert_ok(ctx, kb_path_take(path, 1, &model));
    kb_path_free(path);
    const kb_trial_info *tried = kb_model_trials(model, &count);
    assert_true(count > 1);
    assert_string_equal(tried[count - 1].widths, "equal");
    assert_true(kb_model_cost(model)->tune_seconds > 0);
    kb_model_free(model);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* What is known of the fits stays, whoever has the model. */
static void infos_outlive_the_model(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = options_for(ctx, &WAYS[0], "0.1");
    kb_data *data = data_of(ctx, N, 2, REAL);
    kb_path *path;
    kb_model *model;
    (void)unused;
    assert_ok(ctx, kb_path_fit(ctx, options, data, NULL, NULL, &path));
    assert_ok(ctx, kb_path_take(path, 0, &model));
    kb_model_free(model);
    for (size_t k = 0; k < kb_path_count(path); k++) {
        const kb_fit_info *info = kb_path_info(path, k);
        assert_string_equal(info->kernel, "laplace");
        assert_true(strlen(info->sigma_text) > 0 && strlen(info->scale) > 0);
        assert_string_equal(info->solver, "grid-cd");
    }
    kb_path_free(path);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* Labels that the intercept alone explains: the objective is 0. */
static void constant_labels_have_a_path(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = options_for(ctx, &WAYS[0], "0.1");
    kb_data *data = data_of(ctx, N, 2, REAL);
    kb_path *path;
    kb_model *model;
    (void)unused;
    for (size_t i = 0; i < N; i++)
        data->label[i] = 2.5;
    assert_ok(ctx, kb_options_set(ctx, options, "task", "regression"));
    assert_ok(ctx, kb_path_fit(ctx, options, data, NULL, NULL, &path));
    assert_true(kb_path_info(path, POINTS - 1)->objective == 0);
    assert_int_equal(kb_path_info(path, POINTS - 1)->converged, 1);
    assert_ok(ctx, kb_path_take(path, POINTS - 1, &model));
    double *f = decisions_of(ctx, model, data);
    for (size_t i = 0; i < N; i++)
        assert_true(f[i] == 2.5);
    free(f);
    kb_model_free(model);
    kb_path_free(path);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* Each output's weights are kept, in double, as start values of the next lambda. */
static void the_forecast_counts_the_weights_of_all_outputs(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = options_for(ctx, &WAYS[4], "0.3"); /* three classes */
    kb_data *data = data_of(ctx, N, 2, THREE);
    kb_path *path;
    (void)unused;
    assert_ok(ctx, kb_path_fit(ctx, options, data, NULL, NULL, &path));
    assert_ok(ctx, kb_options_set(ctx, options, "lambda-path", "0"));
    kb_model *model = model_of(ctx, options, data);
    const kb_fit_cost *one = kb_model_cost(model), *many = kb_path_cost(path, 0);
    assert_true(many->forecast_bytes >= one->forecast_bytes + 3 * 8 * kb_model_info(model)->bins);
    kb_model_free(model);
    kb_path_free(path);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* ---- threads ----------------------------------------------------------- */

static void threads_change_no_bit(void **unused) {
    enum { MANY = 6000 }; /* enough for a grid to be shared among three */
    (void)unused;
    for (int k = 0; k < COUNT_OF_WAYS; k += 3) {
        seen first = {0};
        for (int threads = 1; threads <= 3; threads++) {
            test_state state = {0};
            kb_context *ctx = test_context_with(&state, threads);
            kb_options *options = options_for(ctx, &WAYS[k], "3");
            kb_data *data = data_of(ctx, MANY, 2, WAYS[k].kind);
            seen s;
            assert_ok(ctx, kb_options_set(ctx, options, "tol", "1e-2"));
            kb_path *path = path_with(ctx, options, data, &s);
            size_t C = kb_path_info(path, 0)->outputs;
            for (size_t p = 0; threads > 1 && p < POINTS; p++) {
                assert_same_bits(s.decision[p], first.decision[p], MANY * C);
                assert_true(s.lambda[p] == first.lambda[p]);
                assert_true(s.objective[p] == first.objective[p]);
            }
            kb_path_free(path);
            if (threads > 1)
                seen_free(&s);
            else
                first = s;
            kb_data_free(data);
            kb_options_free(options);
            kb_context_free(ctx);
            assert_int_equal(state.live, 0);
        }
        seen_free(&first);
    }
}

/* ---- when things go wrong ---------------------------------------------- */

static void the_callback_can_stop_the_work(void **unused) {
    static const kb_status answers[] = {KB_ERR_DATA, KB_ERR_CANCELLED, KB_ERR_IO};
    (void)unused;
    for (size_t stop = 1; stop <= POINTS; stop++)
        for (int a = 0; a < 3; a++) {
            test_state state = {0};
            kb_context *ctx = test_context_with(&state, 1);
            kb_options *options = options_for(ctx, &WAYS[2], "0.3");
            kb_data *data = data_of(ctx, N, 2, TWO);
            seen s = {.ctx = ctx, .data = data, .stop_at = stop, .answer = answers[a]};
            kb_path *path = (kb_path *)&s;
            assert_int_equal(kb_path_fit(ctx, options, data, look, &s, &path), answers[a]);
            assert_null(path);
            assert_int_equal(s.count, stop);
            seen_free(&s);
            kb_data_free(data);
            kb_options_free(options);
            kb_context_free(ctx);
            assert_int_equal(state.live, 0);
        }
}

static void a_path_can_be_cancelled(void **unused) {
    (void)unused;
    for (long k = 1;; k += 1 + k / 2) {
        test_state state = {0};
        kb_context *ctx = test_context_with(&state, 1);
        kb_options *options = options_for(ctx, &WAYS[0], "0.3");
        kb_data *data = data_of(ctx, N, 2, REAL);
        kb_path *path;
        state.progress = 0;
        state.cancel_after = k;
        kb_status status = kb_path_fit(ctx, options, data, NULL, NULL, &path);
        int met = state.progress >= k;
        assert_int_equal(status, met ? KB_ERR_CANCELLED : KB_OK);
        kb_path_free(path);
        kb_data_free(data);
        kb_options_free(options);
        kb_context_free(ctx);
        assert_int_equal(state.live, 0);
        if (!met)
            return;
    }
}

static void what_has_no_path_is_refused(void **unused) {
    static const struct {
        const char *name, *value, *message;
    } cases[] = {
        {"penalty", "l2", "--lambda-path: needs --penalty l1"},
        {"lambda-path", "0", "--lambda-path: how many?"},
        {"probability", "on",
         "--probability on: not along a --lambda-path; train again with the lambda that is "
         "chosen"},
        {"solver", "cg", "--solver cg: does not solve --penalty l1"},
        {"multiclass", "softmax", "--multiclass softmax: needs --penalty l2"},
    };
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    (void)unused;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        kb_options *options = options_for(ctx, &WAYS[4], "0.3");
        kb_data *data = data_of(ctx, N, 2, THREE);
        kb_path *path = (kb_path *)&state;
        assert_ok(ctx, kb_options_set(ctx, options, cases[k].name, cases[k].value));
        assert_fails(ctx, KB_ERR_ARGUMENT, cases[k].message,
                     kb_path_fit(ctx, options, data, NULL, NULL, &path));
        assert_null(path);
        kb_data_free(data);
        kb_options_free(options);
    }
    kb_path_free(NULL);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

static int fit_and_take(kb_context *ctx, void *arg) {
    fit_inputs *in = arg;
    kb_path *path;
    kb_model *model = NULL;
    kb_status status = kb_path_fit(ctx, in->options, in->data, NULL, NULL, &path);
    if (status == KB_OK)
        status = kb_path_take(path, 1, &model);
    kb_path_free(path);
    kb_model_free(model);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (labels kind = REAL; kind <= WORDS; kind++) {
        fit_inputs in = {OPTIONS(ctx, "penalty", "l1", "lambda-path", "3", "grids", "9", "sigma",
                                 "1", "max-iter", "3", "intercept", "on"),
                         data_of(ctx, 30, 2, kind)};
        run_with_allocation_failures(fit_and_take, &in);
        fit_inputs_free(&in);
    }
    kb_context_free(ctx);
}

/* A model that could not be taken for lack of memory can be taken later. */
static void a_failed_take_can_be_repeated(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    kb_options *options = options_for(ctx, &WAYS[5], "0.3");
    kb_data *data = data_of(ctx, N, 2, WORDS);
    kb_status status;
    kb_model *model;
    seen s;
    kb_path *path = path_with(ctx, options, data, &s);
    long failures = -1;
    (void)unused;
    do {
        state.fail_at = state.allocations + ++failures + 1;
        status = kb_path_take(path, 3, &model);
        assert_true(status == KB_OK ? model != NULL : status == KB_ERR_MEMORY && !model);
    } while (status != KB_OK);
    state.fail_at = 0;
    assert_true(failures > 5);
    double *f = decisions_of(ctx, model, data);
    assert_same_bits(f, s.decision[3], N * 3);
    free(f);
    kb_model_free(model);
    kb_path_free(path);
    seen_free(&s);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lambda_falls_from_no_weights_to_the_option),
        cmocka_unit_test(each_point_is_as_good_as_a_fit_of_its_own),
        cmocka_unit_test(a_model_taken_is_the_one_that_was_told),
        cmocka_unit_test(a_path_of_one_is_a_plain_fit),
        cmocka_unit_test(a_large_lambda_is_the_whole_path),
        cmocka_unit_test(a_path_has_its_trials),
        cmocka_unit_test(infos_outlive_the_model),
        cmocka_unit_test(constant_labels_have_a_path),
        cmocka_unit_test(the_forecast_counts_the_weights_of_all_outputs),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(the_callback_can_stop_the_work),
        cmocka_unit_test(a_path_can_be_cancelled),
        cmocka_unit_test(what_has_no_path_is_refused),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(a_failed_take_can_be_repeated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
