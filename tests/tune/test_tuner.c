/* How the tuner tries a kernel, and which rows and grids final trials have. */
#include "tune/stages.h"

/* A try is the trial of these rows and grids, with a seed of its own, and is recorded. */
static void a_try_is_a_trial_that_is_noted(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int given = 0; given < 2; given++) {
        tuning *u = tuning_create(ctx, wave(ctx, 300, 2, given),
                                  TUNING(ctx, "seed", "7", "lambda", given ? "0.7" : "auto"));
        kb_candidate *c = put(ctx, u, KB_CANDIDATE_EQUAL, "kernel", 0.3, 0.3);
        kb_trial t = {.grids = 32, .max_steps = 10, .seed = 8, .given_lambda = given ? 0.7 : 0},
                 out = {0};
        kb_trial_info noted;
        c->sigma = 0.3;
        assert_ok(ctx, kb_tuner_try(ctx, &u->t, &u->t.rows.first, c, 32, 10, &out));
        assert_ok(ctx, kb_trial_run(ctx, &u->t.rows.first, &c->widths, &t));
        assert_true(out.score == t.score && out.lambda == t.lambda && out.steps == t.steps);
        assert_true(!given || out.lambda == 0.7);
        assert_int_equal(times_tried(u, "kernel", &noted), 1);
        assert_true(noted.error == t.error && noted.lambda == t.lambda && noted.sigma == 0.3);
        assert_int_equal(noted.grids, 32);
        assert_int_equal(noted.steps, t.steps);
        assert_string_equal(noted.loss, "square");
        kb_trial_release(ctx, &t);
        kb_trial_release(ctx, &out);
        tuning_free(ctx, u);
    }
    kb_context_free(ctx);
}

static void the_last_look_takes_the_large_sample_if_there_is_one(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int many = 0; many < 2; many++) {
        tuning *u =
            tuning_create(ctx, wave(ctx, many ? 30000 : 300, 1, 0), TUNING(ctx, "seed", "1"));
        assert_ok(ctx, kb_trial_rows_draw_large(ctx, &u->t.rows));
        assert_ptr_equal(kb_tuner_last_sample(&u->t), many ? &u->t.rows.large : &u->t.rows.first);
        assert_int_equal(kb_tuner_last_grids(&u->t),
                         many ? KB_RULE_LARGE_GRIDS : KB_RULE_FIRST_GRIDS);
        tuning_free(ctx, u);
    }
    kb_context_free(ctx);
}

/* A tuned lambda comes with a number of steps, a given one does not. */
static void a_fit_may_stop_early(void **unused) {
    static const char *const given[][2] = {
        {"auto", "auto"}, {"auto", "on"}, {"auto", "off"}, {"0.1", "auto"}, {"0.1", "on"}};
    static const int may[] = {1, 1, 0, 0, 1};
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 5; k++) {
        kb_options *o = TUNING(ctx, "lambda", given[k][0], "early-stop", given[k][1]);
        kb_tuner t = {.given = CONFIG(o)};
        assert_int_equal(kb_tuner_may_stop(&t), may[k]);
        kb_options_free(o);
    }
    kb_context_free(ctx);
}

static int prepare(kb_context *ctx, void *arg) {
    kb_tuning *made = arg;
    kb_tuner t;
    kb_trial out = {0};
    double y[40], *x = test_numbers(3, 40);
    kb_data *data = NULL;
    kb_status status;
    memcpy(y, x, sizeof y);
    TRY(data_from_dense(ctx, 40, 1, x, y, &data));
    status = kb_tuner_prepare(ctx, made, data, &t);
    if (status == KB_OK)
        status = kb_widths_equal(ctx, 1, NULL, t.law, 1, &t.candidate[KB_CANDIDATE_EQUAL].widths);
    if (status == KB_OK)
        status = kb_tuner_try(ctx, &t, &t.rows.first, &t.candidate[KB_CANDIDATE_EQUAL], 8, 4, &out);
    kb_trial_release(ctx, &out);
    kb_tuner_release(ctx, &t);
    kb_release(ctx, made->trial);
    made->trial = NULL;
    made->count = made->room = 0;
done:
    kb_data_free(data);
    free(x);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = TUNING(ctx, "scale", "minmax", "task", "regression");
    kb_tuning made = kb_tuning_begin(CONFIG(options));
    (void)unused;
    run_with_allocation_failures(prepare, &made);
    kb_options_free(options);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_try_is_a_trial_that_is_noted),
        cmocka_unit_test(the_last_look_takes_the_large_sample_if_there_is_one),
        cmocka_unit_test(a_fit_may_stop_early),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
