/* Selects another loss where it is asked for or clearly better. */
#include "tune/stages.h"

#include "tune/select_loss.h"

/* A tuner whose best kernel has had its final trial. */
static tuning *with_final_trial(kb_context *ctx, int classes, kb_options *options) {
    tuning *u = tuning_create(ctx, wave(ctx, 300, 2, classes), options);
    kb_candidate *c = put(ctx, u, KB_CANDIDATE_EQUAL, "equal", 0.7, 0.7);
    assert_ok(ctx, kb_tuner_try_on(ctx, &u->t, &u->t.rows.first, c, KB_RULE_FIRST_GRIDS, 40,
                                   &c->drawn, &c->final));
    u->tuning.count = 0;
    return u;
}

static const char *loss_of(const tuning *u) {
    return kb_choice_word(KB_OPT_LOSS, (int)u->tuning.plan.config.loss);
}

static void some_know_the_square_loss_alone(void **unused) {
    static const char *const given[][2] = {{"seed", "1"}, {"loss", "square"}, {"penalty", "l1"}};
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 4; k++) {
        const char *const *pair = given[k % 3];
        tuning *u = with_final_trial(ctx, k > 0, TUNING(ctx, pair[0], pair[1]));
        if (k == 3)
            u->given.budget = 0;
        assert_ok(ctx, kb_select_loss(ctx, &u->t));
        assert_int_equal(u->tuning.count, 0);
        assert_string_equal(loss_of(u), k == 1 ? "square" : "auto");
        tuning_free(ctx, u);
    }
    kb_context_free(ctx);
}

/* A solver that was asked for and does not solve another loss would refuse it in the end. */
static void a_given_solver_excludes_losses(void **unused) {
    static const char *const solver[] = {"cg", "gmres", "auto"};
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 3; k++) {
        tuning *u = with_final_trial(ctx, 1, TUNING(ctx, "solver", solver[k]));
        assert_ok(ctx, kb_select_loss(ctx, &u->t));
        assert_int_equal(u->tuning.count > 0, k == 2);
        tuning_free(ctx, u);
    }
    kb_context_free(ctx);
}

/* The first lambda is a tenth of that of the square loss, or of 0.01; then up by factors of 3, and
 * down only if that did not help.  The selected lambda is not the last that was tried, except where
 * the search ends at its limit. */
static void lambdas_are_tried_up_and_down(void **unused) {
    static const double square[] = {1e-9, 300}, first[] = {1e-3, 30};
    kb_context *ctx = test_context();
    (void)unused;
    for (int down = 0; down < 2; down++) {
        tuning *u = with_final_trial(ctx, 1, TUNING(ctx, "loss", "logistic"));
        u->t.candidate[KB_CANDIDATE_EQUAL].final.lambda = square[down];
        assert_ok(ctx, kb_select_loss(ctx, &u->t));
        const kb_trial_info *tried = u->tuning.trial;
        size_t count = u->tuning.count, from = down ? 2 : 1, taken = 0;
        assert_true(count > from && count <= from + 5);
        assert_true(fabs(tried[0].lambda / first[down] - 1) < 1e-12); /* rounding */
        assert_true(fabs(tried[1].lambda / first[down] - 3) < 1e-9);
        for (size_t k = from; k < count; k++) {
            double factor = tried[k].lambda / tried[k == from ? 0 : k - 1].lambda;
            assert_true(fabs(factor / (down ? 1.0 / 3 : 3) - 1) < 1e-9);
            taken = tried[k].lambda == u->tuning.plan.config.lambda ? k : taken;
            assert_string_equal(tried[k].loss, "logistic");
        }
        assert_int_equal(taken, count == from + 5 && taken + 1 == count ? count - 1 : count - 2);
        assert_true(taken >= from);
        assert_string_equal(loss_of(u), "logistic");
        tuning_free(ctx, u);
    }
    kb_context_free(ctx);
}

static void a_given_lambda_is_the_only_one(void **unused) {
    kb_context *ctx = test_context();
    tuning *u = with_final_trial(ctx, 1, TUNING(ctx, "loss", "squared-hinge", "lambda", "0.37"));
    (void)unused;
    assert_ok(ctx, kb_select_loss(ctx, &u->t));
    assert_int_equal(u->tuning.count, 1);
    assert_true(u->tuning.trial[0].lambda == 0.37);
    assert_string_equal(u->tuning.trial[0].loss, "squared-hinge");
    assert_string_equal(loss_of(u), "squared-hinge");
    assert_true(u->tuning.plan.config.lambda == 0.37);
    tuning_free(ctx, u);
    kb_context_free(ctx);
}

/* Left at auto, it is taken where the square loss misses many more rows, and dropped after its
 * first lambda where it is much worse. */
static void fewer_errors_speak_for_it(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 3; k++) { /* all rows are missed, one row is not, or none is */
        tuning *u = with_final_trial(ctx, 1, TUNING(ctx, "loss", "auto"));
        kb_trial *final = &u->t.candidate[KB_CANDIDATE_EQUAL].final;
        if (k != 1)
            for (size_t h = 0; h < final->held; h++)
                final->miss[h] = k == 0;
        assert_ok(ctx, kb_select_loss(ctx, &u->t));
        assert_string_equal(loss_of(u), k == 0 ? "logistic" : "auto");
        assert_int_equal(u->tuning.count == 1, k == 2);
        tuning_free(ctx, u);
    }
    kb_context_free(ctx);
}

/* With as many errors its score decides: that of the square loss is 1, next to nothing, or 1 while
 * it misses no row. */
static void a_better_score_speaks_for_it(void **unused) {
    kb_context *ctx = test_context();
    double error = 0;
    (void)unused;
    for (int k = -1; k < 3; k++) { /* at first only to see how many rows it misses */
        tuning *u = with_final_trial(ctx, 1, TUNING(ctx, "loss", "auto", "lambda", "0.01"));
        kb_trial *final = &u->t.candidate[KB_CANDIDATE_EQUAL].final;
        for (size_t h = 0; k >= 0 && h < final->held; h++) {
            final->each[h] = k == 1 ? 1e-9 : 1;
            final->miss[h] = k == 2 ? 0 : error + 1e-9; /* rounding */
        }
        final->score = k == 1 ? 1e-9 : 1;
        final->error = k == 2 ? 0 : error;
        assert_ok(ctx, kb_select_loss(ctx, &u->t));
        assert_int_equal(u->tuning.count, 1);
        error = u->tuning.trial[0].error;
        assert_true(error > 0);
        if (k >= 0)
            assert_string_equal(loss_of(u), k == 0 ? "logistic" : "auto");
        tuning_free(ctx, u);
    }
    kb_context_free(ctx);
}

/* Solved no more closely than helps, where the fit may stop early, unless asked for. */
static void the_tolerance_is_what_helps(void **unused) {
    static const char *const given[][2] = {
        {"auto", "1e-3"}, {"auto", "0.1"}, {"auto", "1e-4"}, {"off", "1e-3"}};
    static const double tol[] = {3e-3, 0.1, 1e-4, 1e-3};
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 4; k++) {
        kb_options *o = TUNING(ctx, "early-stop", given[k][0], "tol", given[k][1]);
        kb_tuner t = {.given = CONFIG(o)};
        assert_true(kb_loss_tol(&t) == tol[k]);
        kb_options_free(o);
    }
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(some_know_the_square_loss_alone),
        cmocka_unit_test(a_given_solver_excludes_losses),
        cmocka_unit_test(lambdas_are_tried_up_and_down),
        cmocka_unit_test(a_given_lambda_is_the_only_one),
        cmocka_unit_test(fewer_errors_speak_for_it),
        cmocka_unit_test(a_better_score_speaks_for_it),
        cmocka_unit_test(the_tolerance_is_what_helps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
