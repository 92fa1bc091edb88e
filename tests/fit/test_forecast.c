/* Forecasts of memory against what is taken. */
#include "model/fitted.h"
#include "meter.h"

#include "fit/forecast.h"

/* The peak of a fit is no more than its forecast, and not far below, for every kind of problem. */
static void check_forecasts(const char *sigma, size_t from) {
    static const struct {
        labels kind;
        const char *name, *value;
    } cases[] = {{REAL, "solver", "cg"},         {REAL, "solver", "gmres"},
                 {THREE, "solver", "cg"},        {TWO, "loss", "logistic"},
                 {TWO, "loss", "squared-hinge"}, {TWO, "probability", "on"},
                 {TWO, "penalty", "l1"},         {THREE, "class-weight", "balanced"},
                 {REAL, "solver", "sweeps"},     {THREE, "solver", "sweeps"}};
    enum { ROWS = 20000 };
    for (size_t k = from; k < sizeof cases / sizeof *cases; k++) {
        meter m = {0, 0};
        kb_context *ctx = metered_context(&m);
        kb_data *data = data_of(ctx, ROWS, 3, cases[k].kind);
        kb_options *options = OPTIONS(ctx, "grids", "16", "sigma", sigma, "max-iter", "3",
                                      cases[k].name, cases[k].value);
        size_t before = m.peak = m.now;
        kb_model *model = model_of(ctx, options, data);
        double taken = (double)(m.peak - before);
        double forecast = (double)kb_model_cost(model)->forecast_bytes;
        if (!(taken <= 1.05 * forecast + (1 << 20) && forecast <= 4.5 * taken))
            fail_msg("%s %s: %.0f taken, %.0f forecast", cases[k].name, cases[k].value, taken,
                     forecast);
        kb_model_free(model);
        kb_options_free(options);
        kb_data_free(data);
        kb_context_free(ctx);
    }
}

static void a_fit_takes_what_was_forecast(void **unused) {
    (void)unused;
    check_forecasts("0.7", 0);
}

/* Sweeps have arrays of the bins, which are nearly as many as the rows here. */
static void sweeps_over_many_bins_take_what_was_forecast(void **unused) {
    (void)unused;
    check_forecasts("0.0005", 8);
}

/* What a part reports is in the sum. */
static void every_part_is_in_the_sum(void **unused) {
    kb_context *ctx = test_context();
    kb_config c = {.loss = KB_LOSS_SQUARE, .grids = 16, .max_memory = 1 << 20};
    kb_targets two = {.classes = 2, .outputs = 1}, ten = {.classes = 10, .outputs = 10};
    (void)unused;
    kb_memory_plan plain = kb_forecast_fit(ctx, &c, 1000, &two, 0);
    assert_int_equal(plain.limit, 1 << 20);
    assert_true(kb_forecast_fit(ctx, &c, 2000, &two, 0).fixed == 2 * plain.fixed);
    assert_true(kb_forecast_fit(ctx, &c, 1000, &two, 1).fixed > plain.fixed);
    assert_true(kb_forecast_fit(ctx, &c, 1000, &ten, 0).fixed > 5 * plain.fixed);
    assert_true(kb_forecast_fit(ctx, &c, 1000, &ten, 0).per_bin > plain.per_bin);
    c.probability = KB_PROBABILITY_ON;
    assert_true(kb_forecast_fit(ctx, &c, 1000, &two, 0).fixed > plain.fixed);
    c.probability = KB_PROBABILITY_AUTO;
    c.solver = KB_SOLVER_GMRES;
    assert_true(kb_forecast_fit(ctx, &c, 1000, &two, 0).fixed > 5 * plain.fixed);
    c.solver = KB_SOLVER_AUTO;
    c.penalty = KB_PENALTY_L1;
    assert_true(kb_forecast_fit(ctx, &c, 1000, &two, 0).per_bin > plain.per_bin);
    kb_memory_plan one = kb_forecast_fit(ctx, &c, 1000, &two, 0);
    c.lambda_path = 5;
    assert_true(kb_forecast_fit(ctx, &c, 1000, &two, 0).per_bin == one.per_bin + 8);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fit_takes_what_was_forecast),
        cmocka_unit_test(sweeps_over_many_bins_take_what_was_forecast),
        cmocka_unit_test(every_part_is_in_the_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
