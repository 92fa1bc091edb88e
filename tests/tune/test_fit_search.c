/* sigma and lambda by whole fits, on known error curves: the fits only look up their error. */
#include "tune/tuned.h"

#include "fit/fit.h"
#include "tune/tuning.h"

/* ---- fits that are none ------------------------------------------------ */

/* The known curves, and the fits so far. */
typedef struct stage {
    double (*error)(double sigma, double lambda);
    kb_fit_info info;
    double sigma[200], lambda[200]; /* of the trials */
    size_t trials;
    double now; /* the error of the last fit */
    size_t fit_rows, held_rows;
    double fit_sum, held_sum; /* of all their values */
    double tol;
    const kb_data *like;
} stage;

static stage STAGE;

static double sum_of(const kb_data *data) {
    double sum = 0;
    for (size_t k = 0; k < data->rows * data->features; k++)
        sum += data->dense[k];
    return sum;
}

static kb_status stage_fit(kb_context *ctx, const kb_plan *plan, const kb_data *data,
                           kb_model **out) {
    const kb_config *c = &plan->config;
    (void)ctx;
    *out = (kb_model *)&STAGE;
    STAGE.like = plan->transform_on;
    STAGE.tol = c->tol;
    STAGE.fit_rows = data->rows;
    STAGE.fit_sum = sum_of(data);
    if (c->sigma.kind == KB_SIGMA_DEFAULT && kb_config_is_rival(c))
        return KB_OK; /* only to find the value of the rule */
    STAGE.sigma[STAGE.trials] = c->sigma.value;
    STAGE.lambda[STAGE.trials] = c->lambda;
    STAGE.now = STAGE.error(STAGE.sigma[STAGE.trials], STAGE.lambda[STAGE.trials]);
    assert_true(++STAGE.trials < 200);
    return KB_OK;
}

static kb_status stage_decide(kb_context *ctx, const kb_model *model, const kb_data *data,
                              double *decision) {
    (void)ctx, (void)model;
    memset(decision, 0, data->rows * sizeof *decision); /* there must be room */
    STAGE.held_rows = data->rows;
    STAGE.held_sum = sum_of(data);
    return KB_OK;
}

static kb_status stage_score(kb_context *ctx, const kb_model *model, const kb_data *data,
                             const double *decision, kb_score *out) {
    (void)ctx, (void)model, (void)data, (void)decision;
    *out = (kb_score){.size = sizeof *out, .accuracy = 1 - STAGE.now, .rmse = sqrt(STAGE.now)};
    return KB_OK;
}

static const kb_fit_info *stage_info(const kb_model *model) {
    (void)model;
    return &STAGE.info;
}

static void stage_free(kb_model *model) {
    (void)model;
}

/* A second copy of the search, which calls the fake fits. */
#define kb_fit_search   search_inside
#define kb_fit_plan     stage_fit
#define kb_model_decide stage_decide
#define kb_model_score  stage_score
#define kb_model_info   stage_info
#define kb_model_free   stage_free
kb_status search_inside(kb_context *ctx, const kb_data *data, kb_tuning *tuning);
#include "tune/fit_search.c"
#undef kb_fit_search
#undef kb_fit_plan
#undef kb_model_decide
#undef kb_model_score
#undef kb_model_info
#undef kb_model_free

/* Searches with these options; kb_tuning_release, then the options. */
static kb_config GIVEN;

static kb_tuning search_on(kb_context *ctx, const kb_options *options, const kb_data *data,
                           double (*error)(double, double), double budget) {
    GIVEN = kb_config_of(options);
    GIVEN.budget = budget;
    kb_tuning tuning = kb_tuning_begin(&GIVEN);
    STAGE = (stage){
        .error = error,
        .info = {.classes = 2, .sigma_rule = "default", .sigma = 0.5, .grids = 8, .steps = 3}};
    assert_ok(ctx, search_inside(ctx, data, &tuning));
    return tuning;
}

static double lambda_of(const kb_tuning *tuning) {
    return tuning->plan.config.lambda;
}

static double sigma_of(const kb_tuning *tuning) {
    return tuning->plan.config.sigma.value;
}

/* The trials were recorded, none was made twice, and the plan has the best of them. */
static void check_trials(const kb_tuning *tuning, double start_sigma) {
    double least = INFINITY;
    size_t best = 0;
    assert_int_equal(tuning->count, STAGE.trials);
    assert_null(tuning->plan.transform_on);
    for (size_t k = 0; k < STAGE.trials; k++) {
        const kb_trial_info *t = &tuning->trial[k];
        double sigma = start_sigma > 0 ? STAGE.sigma[k] : 0;
        assert_true(t->sigma == sigma && t->lambda == STAGE.lambda[k]);
        assert_true(fabs(t->error - STAGE.error(STAGE.sigma[k], STAGE.lambda[k])) <= 1e-12);
        assert_int_equal(t->grids, 8);
        assert_int_equal(t->steps, 3);
        for (size_t other = 0; other < k; other++)
            assert_true(fabs(log(STAGE.lambda[other] / STAGE.lambda[k])) > 1e-9 ||
                        (sigma > 0 && fabs(log(STAGE.sigma[other] / sigma)) > 1e-9));
        best = t->error < least ? k : best;
        least = fmin(least, t->error);
    }
    assert_true(lambda_of(tuning) == STAGE.lambda[best]);
    assert_true(start_sigma == 0 || sigma_of(tuning) == STAGE.sigma[best]);
}

/* ---- curves ------------------------------------------------------------ */

static double LEAST_SIGMA, LEAST_LAMBDA; /* where the valley is */

static double valley(double sigma, double lambda) {
    double x = log(lambda / LEAST_LAMBDA), y = sigma > 0 ? log(sigma / LEAST_SIGMA) : 0;
    return 0.1 + 0.001 * (x * x + y * y);
}

static double flat(double sigma, double lambda) {
    (void)sigma, (void)lambda;
    return 0.25;
}

static double downhill(double sigma, double lambda) {
    (void)sigma;
    return 0.5 + 0.01 * log10(lambda);
}

static double uphill(double sigma, double lambda) {
    return 1 - downhill(sigma, lambda);
}

/* ---- lambda ------------------------------------------------------------ */

/* By factors of 10, then of 3: within half a step of the minimum, except between the two step
 * sizes. */
static void lambda_goes_to_the_least_of_a_valley(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = generated(ctx, "rings", "200", "1", "0.1");
    kb_options *options = TUNING(ctx, "penalty", "l1", "tol", "0.001");
    (void)unused;
    for (LEAST_LAMBDA = 1.1e-5; LEAST_LAMBDA < 1e5; LEAST_LAMBDA *= 1.7) {
        kb_tuning tuning = search_on(ctx, options, data, valley, 1e9);
        check_trials(&tuning, 0);
        assert_true(STAGE.lambda[0] == 0.1);
        if (!(fabs(log(lambda_of(&tuning) / LEAST_LAMBDA)) <= log(3) / 2 + 1e-9))
            fail_msg("%g, not %g", lambda_of(&tuning), LEAST_LAMBDA);
        assert_true(STAGE.tol == 0.01); /* of the trials */
        assert_true(tuning.plan.config.tol == 0.001);
        assert_ptr_equal(STAGE.like, data);
        kb_tuning_release(ctx, &tuning);
    }
    kb_options_free(options);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* Nothing helps: the start value stays, and its neighbours were tried. */
static void a_plain_is_left_where_it_was_met(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = generated(ctx, "rings", "200", "1", "0.1");
    kb_options *options = TUNING(ctx, "penalty", "l1");
    (void)unused;
    kb_tuning tuning = search_on(ctx, options, data, flat, 1e9);
    check_trials(&tuning, 0);
    assert_int_equal(STAGE.trials, 5);
    assert_true(lambda_of(&tuning) == 0.1);
    kb_tuning_release(ctx, &tuning);
    kb_options_free(options);
    kb_data_free(data);
    kb_context_free(ctx);
}

static void lambda_stays_within_bounds(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = generated(ctx, "rings", "200", "1", "0.1");
    kb_options *options = TUNING(ctx, "penalty", "l1");
    (void)unused;
    for (int up = 0; up < 2; up++) {
        kb_tuning tuning = search_on(ctx, options, data, up ? uphill : downhill, 1e9);
        check_trials(&tuning, 0);
        for (size_t k = 0; k < STAGE.trials; k++)
            assert_true(STAGE.lambda[k] >= 1e-6 && STAGE.lambda[k] <= 1e6);
        assert_true(up ? lambda_of(&tuning) > 1e5 : lambda_of(&tuning) < 1e-5);
        kb_tuning_release(ctx, &tuning);
    }
    kb_options_free(options);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* ---- sigma too --------------------------------------------------------- */

/* The rivals' sigma starts at the default rule, and moves by factors of 2, then of 1.5. */
static void sigma_is_searched_for_the_rivals(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = generated(ctx, "rings", "200", "1", "0.1");
    kb_options *options = TUNING(ctx, "map", "fourier", "grids", "8");
    (void)unused;
    for (LEAST_SIGMA = 0.02; LEAST_SIGMA < 20; LEAST_SIGMA *= 1.9)
        for (LEAST_LAMBDA = 1e-3; LEAST_LAMBDA < 100; LEAST_LAMBDA *= 23) {
            kb_tuning tuning = search_on(ctx, options, data, valley, 1e9);
            check_trials(&tuning, 0.5);
            assert_true(STAGE.sigma[0] == 0.5);
            assert_true(fabs(log(sigma_of(&tuning) / LEAST_SIGMA)) <= log(1.5) / 2 + 1e-9);
            assert_true(fabs(log(lambda_of(&tuning) / LEAST_LAMBDA)) <= log(3) / 2 + 1e-9);
            kb_tuning_release(ctx, &tuning);
        }
    kb_options_free(options);
    kb_data_free(data);
    kb_context_free(ctx);
}

static void given_values_are_kept(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = generated(ctx, "rings", "200", "1", "0.1");
    kb_options *lambda = TUNING(ctx, "map", "fourier", "grids", "8", "lambda", "7");
    kb_options *sigma = TUNING(ctx, "map", "fourier", "grids", "8", "sigma", "3");
    (void)unused;
    LEAST_SIGMA = 2;
    LEAST_LAMBDA = 0.01;
    kb_tuning tuning = search_on(ctx, lambda, data, valley, 1e9);
    for (size_t k = 0; k < STAGE.trials; k++)
        assert_true(STAGE.lambda[k] == 7);
    assert_true(lambda_of(&tuning) == 7);
    assert_true(fabs(log(sigma_of(&tuning) / 2)) <= log(1.5) / 2 + 1e-9);
    kb_tuning_release(ctx, &tuning);
    tuning = search_on(ctx, sigma, data, valley, 1e9);
    for (size_t k = 0; k < STAGE.trials; k++)
        assert_true(STAGE.sigma[k] == 3);
    assert_true(sigma_of(&tuning) == 3);
    assert_true(fabs(log(lambda_of(&tuning) / 0.01)) <= log(3) / 2 + 1e-9);
    kb_tuning_release(ctx, &tuning);
    kb_options_free(lambda);
    kb_options_free(sigma);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* ---- rows and time ----------------------------------------------------- */

/* A quarter are validation rows, all others are fitted, and no row is both; of many rows a
 * sample. */
static void a_quarter_are_validation_rows(void **unused) {
    static const struct {
        const char *rows, *map;
        size_t used;
    } cases[] = {{"200", "binning", 200},
                 {"12000", "binning", 10000},
                 {"200", "fourier", 200},
                 {"12000", "fourier", 4000}};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        kb_data *data = generated(ctx, "rings", cases[k].rows, "1", "0.1");
        kb_options *options =
            TUNING(ctx, "penalty", k < 2 ? "l1" : "l2", "map", cases[k].map, "split", "random");
        kb_tuning tuning = search_on(ctx, options, data, flat, 1e9);
        assert_int_equal(STAGE.fit_rows + STAGE.held_rows, cases[k].used);
        assert_int_equal(STAGE.held_rows, cases[k].used / 4);
        if (cases[k].used == data->rows) /* every row is in one of them */
            assert_true(fabs(STAGE.fit_sum + STAGE.held_sum - sum_of(data)) <= 1e-9);
        kb_tuning_release(ctx, &tuning);
        kb_options_free(options);
        kb_data_free(data);
    }
    kb_context_free(ctx);
}

/* There is always one trial, and no more once the budget is spent. */
static void a_spent_budget_ends_the_search(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = generated(ctx, "rings", "200", "1", "0.1");
    kb_options *options = TUNING(ctx, "map", "fourier", "grids", "8");
    (void)unused;
    kb_tuning tuning = search_on(ctx, options, data, valley, -1);
    assert_int_equal(STAGE.trials, 1);
    assert_true(sigma_of(&tuning) == 0.5 && lambda_of(&tuning) == 0.1);
    kb_tuning_release(ctx, &tuning);
    kb_options_free(options);
    kb_data_free(data);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lambda_goes_to_the_least_of_a_valley),
        cmocka_unit_test(a_plain_is_left_where_it_was_met),
        cmocka_unit_test(lambda_stays_within_bounds),
        cmocka_unit_test(sigma_is_searched_for_the_rivals),
        cmocka_unit_test(given_values_are_kept),
        cmocka_unit_test(a_quarter_are_validation_rows),
        cmocka_unit_test(a_spent_budget_ends_the_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
