/* What the option budget leaves time for, with a clock that tests set. */
#include "tune/tuned.h"

#include "budget/pilot.h"
#include "tune/tune.h"

/* A clock that stands still but where a test moves it, or goes on by a step with every look. */
typedef struct hand {
    double now, step;
} hand;

static double look(void *arg) {
    hand *h = arg;
    h->now += h->step;
    return h->now;
}

static void assert_near(double a, double b, double most) {
    assert_true(fabs(a - b) <= most);
}

static kb_budget budget_of(hand *h, double seconds, kb_costs costs) {
    return (kb_budget){.clock = {look, h}, .began = h->now, .seconds = seconds, .costs = costs};
}

/* ---- the object ---------------------------------------------------------- */

static void a_budget_counts_from_the_start_of_the_clock(void **unused) {
    kb_context *ctx = test_context();
    hand h = {.now = 100};
    (void)unused;
    ctx->clock = (kb_clock){look, &h};
    kb_context_start_clock(ctx);
    h.now = 103;
    kb_budget first = kb_budget_begin(ctx, 10);
    assert_near(kb_budget_left(&first), 7, 1e-12);
    assert_near(kb_budget_end(&first), 110, 1e-12);
    kb_budget second = kb_budget_begin(ctx, 10); /* the start counts once */
    assert_near(kb_budget_left(&second), 10, 1e-12);
    kb_context_free(ctx);
}

static void what_is_cut_has_a_name(void **unused) {
    hand h = {0};
    kb_budget b = budget_of(&h, 1, (kb_costs){0});
    (void)unused;
    for (int k = 0; k < KB_CUTBACKS; k++) {
        assert_true(strlen(kb_cutback_name((kb_cutback)k)) > 0);
        assert_false(kb_budget_has_cut(&b, (kb_cutback)k));
        kb_budget_cut(&b, (kb_cutback)k);
        assert_true(kb_budget_has_cut(&b, (kb_cutback)k));
    }
    kb_budget_cut(NULL, KB_CUT_GRIDS);
    assert_false(kb_budget_has_cut(NULL, KB_CUT_GRIDS));
}

/* ---- forecasts ----------------------------------------------------------- */

static void two_fits_tell_the_cost_of_others(void **unused) {
    kb_sample_cost few = {
        .grids = 16, .before = 3, .grid = 2 * 16, .pass = 5 + 0.5 * 16, .write = 1};
    kb_sample_cost many = {
        .grids = 64, .before = 3, .grid = 2 * 64, .pass = 5 + 0.5 * 64, .write = 1};
    (void)unused;
    kb_costs c = kb_costs_of(&few, &many);
    assert_near(c.fixed, 3, 1e-9);
    assert_near(c.grid, 3, 1e-9);
    assert_near(c.pass, 5, 1e-9);
    assert_near(c.grid_pass, 0.5, 1e-9);
    /* Noise never makes a cost negative. */
    many.grid = 1;
    many.pass = 0.1;
    c = kb_costs_of(&few, &many);
    assert_true(c.fixed >= 0 && c.grid >= 0 && c.pass >= 0 && c.grid_pass >= 0);
    /* One alone: all binning is of the grids, and some of a pass is not. */
    c = kb_costs_of(&few, &(kb_sample_cost){0});
    assert_near(c.grid, 3, 1e-9);
    assert_true(c.pass > 0 && c.grid_pass > 0);
    assert_near(c.pass + 16 * c.grid_pass, few.pass, 1e-9);
}

static const kb_costs COSTS = {.fixed = 1, .grid = 0.01, .pass = 0.02, .grid_pass = 0.001};

static void a_fit_has_as_many_grids_as_end_in_time(void **unused) {
    hand h = {0};
    (void)unused;
    for (double seconds = 0.5; seconds < 60; seconds *= 1.3) {
        kb_budget b = budget_of(&h, seconds, COSTS);
        size_t grids = kb_budget_grids(&b, 1024, 20, seconds);
        assert_true(grids >= 32 && grids <= 1024);
        /* With 6 passes at least. */
        if (grids > 32)
            assert_true(kb_budget_fit(&b, grids, 6, 1) <= seconds);
        if (grids > 128) /* no passes are given up for these */
            assert_true(kb_budget_fit(&b, grids, 20, 1) <= seconds);
        if (grids < 1024)
            assert_true(kb_budget_fit(&b, grids + 16, 20, 1) > seconds);
    }
    kb_budget b = budget_of(&h, 1, (kb_costs){0}); /* nothing is known */
    assert_int_equal(kb_budget_grids(&b, 512, 20, 1), 512);
    b.costs = COSTS;
    assert_int_equal(kb_budget_grids(&b, 8, 20, 0), 8); /* never more than asked for */
}

static void the_tuner_leaves_time_for_the_fit_but_not_all(void **unused) {
    hand h = {0};
    kb_budget ample = budget_of(&h, 1000, COSTS), tight = budget_of(&h, 20, COSTS);
    kb_budget tiny = budget_of(&h, 0.5, COSTS);
    (void)unused;
    assert_near(kb_budget_reserve(&ample, 512, 10, 1), kb_budget_fit(&ample, 512, 10, 1), 1e-9);
    double wanted = kb_budget_fit(&tight, 1024, 20, 2);
    assert_true(wanted > 20);
    double reserve = kb_budget_reserve(&tight, 1024, 20, 2);
    assert_true(reserve < 0.5 * 20 && reserve > 0.3 * 20);
    assert_true(kb_budget_reserve(&tiny, 1024, 20, 2) < 0.5);
}

static void passes_and_held_out_fits_are_those_of_the_plan(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = TUNING(ctx, "solver", "cg", "loss", "square", "tune", "off");
    kb_plan plan = {.config = kb_config_of(options), .early = 1};
    kb_targets two = {.classes = 2, .outputs = 1};
    (void)unused;
    kb_config_set_untuned(&plan.config);
    plan.config.max_iter = 37;
    assert_near(kb_plan_passes(&plan), 37, 0);
    plan.config.solver = KB_SOLVER_SWEEPS;
    assert_true(kb_plan_passes(&plan) < 37);
    assert_near(kb_plan_held_fits(&plan, &two, 500), 5, 0);
    assert_near(kb_plan_held_fits(&plan, &two, 5000), 1, 0);
    assert_near(kb_plan_held_fits(&plan, &two, 50000), 0, 0); /* the stop rows serve */
    plan.config.holdout = 0;
    assert_near(kb_plan_held_fits(&plan, &two, 500), 0, 0);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* ---- whole runs ---------------------------------------------------------- */

static int has_word(const kb_model *model, const char *word) {
    size_t count;
    const char *const *all = kb_model_shortened(model, &count);
    for (size_t k = 0; k < count; k++)
        if (strcmp(all[k], word) == 0)
            return 1;
    return 0;
}

/* A fit whose clock goes on by `step` with every look, after `before` seconds of reading. */
static kb_model *fit_by_clock(kb_data *data, const char *budget, double before, double step,
                              double *spent) {
    hand h = {0};
    kb_context *ctx = test_context();
    kb_options *options = TUNING(ctx, "budget", budget);
    kb_model *model;
    ctx->clock = (kb_clock){look, &h};
    kb_context_start_clock(ctx);
    h.now += before;
    h.step = step;
    assert_ok(ctx, kb_model_fit(ctx, options, data, &model));
    *spent = h.now;
    assert_true(isinf(ctx->cut_at) && isinf(ctx->stop_at) && !ctx->cut);
    kb_options_free(options);
    kb_context_free(ctx);
    return model;
}

static void a_clock_that_stands_still_changes_nothing(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = generated(ctx, "friedman", "600", "1", "0.1");
    kb_options *options = TUNING(ctx, "seed", "1");
    double spent;
    size_t count;
    (void)unused;
    kb_model *plain = model_of(ctx, options, data);
    kb_model *bounded = fit_by_clock(data, "5s", 1, 0, &spent);
    kb_model_shortened(bounded, &count);
    assert_int_equal(count, 0);
    kb_model_shortened(plain, &count);
    assert_int_equal(count, 0);
    assert_int_equal(trials_of(plain), trials_of(bounded));
    double *f = decisions_of(ctx, plain, data), *g = decisions_of(ctx, bounded, data);
    assert_memory_equal(f, g, 600 * sizeof *f);
    assert_int_equal(kb_model_info(plain)->grids, kb_model_info(bounded)->grids);
    free(f), free(g);
    kb_model_free(plain);
    kb_model_free(bounded);
    kb_options_free(options);
    kb_data_free(data);
    kb_context_free(ctx);
}

static void fewer_looks_at_the_clock_leave_less_out(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = generated(ctx, "friedman", "800", "1", "0.1");
    static const char *const budget[] = {"20s", "100s", "500s", "1000000s"};
    size_t before = 0;
    (void)unused;
    for (size_t k = 0; k < 4; k++) {
        double spent;
        kb_model *model = fit_by_clock(data, budget[k], 0, 0.25, &spent);
        assert_true(trials_of(model) >= before);
        before = trials_of(model);
        assert_int_equal(k == 3 ? 0 : 1, has_word(model, "importance"));
        if (k == 0) /* even the first trials would not end in time */
            assert_true(kb_model_info(model)->grids < 256 || has_word(model, "tuning"));
        if (k == 2)
            assert_true(spent <= 1.2 * 500);
        kb_model_free(model);
    }
    assert_true(before > 8);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* Forty outputs, in batches: each has its part of the steps, the last one too. */
static void many_classes_end_in_time(void **unused) {
    enum { N = 400, CLASSES = 40 };
    kb_context *ctx = test_context(), *bounded = test_context();
    kb_options *options = TUNING(bounded, "tune", "off", "budget", "20s", "grids", "64", "sigma",
                                 "0.05", "lambda", "1e-12", "loss", "square", "solver", "cg", "tol",
                                 "1e-15", "max-iter", "100000", "task", "classification");
    double *x = test_values(N, 2, 5), y[N];
    hand h = {.step = 0.1};
    kb_data *data;
    kb_model *model;
    (void)unused;
    for (size_t i = 0; i < N; i++)
        y[i] = (double)(i % CLASSES);
    assert_ok(ctx, data_from_dense(ctx, N, 2, x, y, &data));
    bounded->clock = (kb_clock){look, &h};
    kb_context_start_clock(bounded);
    assert_ok(bounded, kb_model_fit(bounded, options, data, &model));
    assert_true(h.now > 0.5 * 20 && h.now <= 20);
    double *f = decisions_of(ctx, model, data);
    for (size_t c = 0; c < CLASSES; c++) {
        double highest = 0;
        for (size_t i = c; i < N; i += CLASSES)
            highest = fmax(highest, f[i * CLASSES + c]);
        assert_true(highest > 0.5);
    }
    free(f), free(x);
    kb_model_free(model);
    kb_options_free(options);
    kb_data_free(data);
    kb_context_free(bounded);
    kb_context_free(ctx);
}

/* Reading took all of it: the least fit, and one line that says so. */
static void a_budget_that_is_spent_gives_the_least_fit_and_a_warning(void **unused) {
    test_state state = {0};
    hand h = {.now = 50};
    kb_context *ctx = test_context_with(&state, 1);
    kb_data *data = generated(ctx, "checkers", "1200", "1", "0.1");
    kb_options *options = TUNING(ctx, "budget", "2s");
    kb_model *model;
    (void)unused;
    ctx->clock = (kb_clock){look, &h};
    kb_context_start_clock(ctx);
    h.now = 60;
    h.step = 1e-6;
    assert_ok(ctx, kb_model_fit(ctx, options, data, &model));
    assert_non_null(strstr(state.log, "2 s were not enough for the least fit; it took 10 s\n"));
    assert_true(has_word(model, "tuning") && has_word(model, "importance") &&
                has_word(model, "rows held out") && has_word(model, "grids"));
    assert_int_equal(kb_model_info(model)->grids, 32);
    assert_int_equal(trials_of(model), 0);
    kb_model_free(model);
    kb_options_free(options);
    kb_data_free(data);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_budget_counts_from_the_start_of_the_clock),
        cmocka_unit_test(what_is_cut_has_a_name),
        cmocka_unit_test(two_fits_tell_the_cost_of_others),
        cmocka_unit_test(a_fit_has_as_many_grids_as_end_in_time),
        cmocka_unit_test(the_tuner_leaves_time_for_the_fit_but_not_all),
        cmocka_unit_test(passes_and_held_out_fits_are_those_of_the_plan),
        cmocka_unit_test(a_clock_that_stands_still_changes_nothing),
        cmocka_unit_test(fewer_looks_at_the_clock_leave_less_out),
        cmocka_unit_test(many_classes_end_in_time),
        cmocka_unit_test(a_budget_that_is_spent_gives_the_least_fit_and_a_warning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
