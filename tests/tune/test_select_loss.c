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

static void a_given_lambda_is_the_only_one(void **unused) {
    kb_context *ctx = test_context();
    tuning *u = with_final_trial(ctx, 1, TUNING(ctx, "loss", "squared-hinge", "lambda", "0.37"));
    (void)unused;
    assert_ok(ctx, kb_select_loss(ctx, &u->t));
    assert_true(u->tuning.count >= 1);
    for (size_t k = 0; k < u->tuning.count; k++) {
        assert_true(u->tuning.trial[k].lambda == 0.37);
        assert_string_equal(u->tuning.trial[k].loss, "squared-hinge");
    }
    assert_string_equal(loss_of(u), "squared-hinge");
    assert_true(u->tuning.plan.config.lambda == 0.37);
    tuning_free(ctx, u);
    kb_context_free(ctx);
}

static int has(const tuning *u, const char *loss) {
    for (size_t k = 0; k < u->tuning.count; k++)
        if (strcmp(u->tuning.trial[k].loss, loss) == 0)
            return 1;
    return 0;
}

/* Sets the rows of the square loss: missed or not, and their score across losses. */
static void set_square(kb_trial *square, double miss, double across) {
    for (size_t h = 0; h < square->held; h++) {
        square->miss[h] = miss;
        square->each_across[h] = across;
    }
    square->error = miss;
    square->across = across;
}

/* Whether all trials of each loss have one lambda. */
static int lambdas_stay(const tuning *u) {
    const kb_trial_info *tried = u->tuning.trial;
    for (size_t k = 1; k < u->tuning.count; k++)
        if (strcmp(tried[k].loss, tried[k - 1].loss) == 0 && tried[k].lambda != tried[k - 1].lambda)
            return 0;
    return 1;
}

/* Left at auto, another loss is taken where the square one misses all rows; both are dropped where
 * it misses none, after wider bins at most.  The squared hinge is tried only where there is little
 * noise. */
static void fewer_errors_speak_for_it(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int all = 0; all < 2; all++) {
        tuning *u = with_final_trial(ctx, 1, TUNING(ctx, "loss", "auto"));
        set_square(&u->t.candidate[KB_CANDIDATE_EQUAL].final, all, all);
        assert_ok(ctx, kb_select_loss(ctx, &u->t));
        assert_string_equal(loss_of(u), all ? "logistic" : "auto");
        assert_int_equal(lambdas_stay(u), !all);
        assert_int_equal(has(u, "squared-hinge"), !all);
        tuning_free(ctx, u);
    }
    kb_context_free(ctx);
}

/* Where few rows are wrong, the least lambda of the square loss says little: others begin from 0.1
 * times their share of it. */
static void lambda_begins_higher_where_few_rows_are_wrong(void **unused) {
    static const double miss[] = {0.05, 0.5};
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 2; k++) {
        tuning *u = with_final_trial(ctx, 1, TUNING(ctx, "loss", "auto"));
        set_square(&u->t.candidate[KB_CANDIDATE_EQUAL].final, miss[k], miss[k]);
        u->t.candidate[KB_CANDIDATE_EQUAL].final.lambda = 1e-5;
        assert_ok(ctx, kb_select_loss(ctx, &u->t));
        assert_true(fabs(u->tuning.trial[0].lambda / (k ? 0.001 : 0.01) - 1) < 1e-9);
        tuning_free(ctx, u);
    }
    kb_context_free(ctx);
}

/* With as many errors the score across losses decides: that of the square loss is 1, or next to
 * nothing. */
static void a_better_score_speaks_for_it(void **unused) {
    static const double across[] = {1, 1e-9};
    kb_context *ctx = test_context();
    double error = 0;
    (void)unused;
    for (int k = -1; k < 2; k++) { /* at first only to see how many rows it misses */
        tuning *u =
            with_final_trial(ctx, 1, TUNING(ctx, "loss", "auto", "lambda", "0.01", "sigma", "0.7"));
        if (k >= 0)
            set_square(&u->t.candidate[KB_CANDIDATE_EQUAL].final, error + 1e-9, across[k]);
        assert_ok(ctx, kb_select_loss(ctx, &u->t));
        error = u->tuning.trial[0].error;
        assert_true(error > 0);
        if (k >= 0)
            assert_int_equal(strcmp(loss_of(u), "auto") == 0, k == 1);
        tuning_free(ctx, u);
    }
    kb_context_free(ctx);
}

/* The widths are those of the loss that is taken: as they were for the square one. */
static void the_widths_are_those_of_the_loss(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int all = 0; all < 2; all++) {
        tuning *u = with_final_trial(ctx, 1, TUNING(ctx, "loss", "auto"));
        kb_candidate *c = &u->t.candidate[KB_CANDIDATE_EQUAL];
        double factor = 1;
        c->sigma = 0.7;
        set_square(&c->final, all, all);
        assert_ok(ctx, kb_select_loss(ctx, &u->t));
        for (size_t k = 0; k < u->tuning.count; k++)
            if (all && u->tuning.trial[k].lambda == u->tuning.plan.config.lambda)
                factor = c->sigma / 0.7;
        assert_true(all || c->sigma == 0.7);
        assert_true(c->widths.width[0].sigma == 0.7 * factor);
        tuning_free(ctx, u);
    }
    kb_context_free(ctx);
}

/* How often the losses were tried with learned widths first and then with equal ones. */
static size_t tried_with_equal(kb_context *ctx, double learned, double miss, double across,
                               kb_options *options, int *best) {
    tuning *u = tuning_create(ctx, wave(ctx, 300, 2, 1), options);
    kb_candidate *c = put(ctx, u, KB_CANDIDATE_LEARNED, "learned", learned, learned);
    put(ctx, u, KB_CANDIDATE_EQUAL, "equal", 0.7, 0.7)->sigma = 0.7;
    u->t.best = KB_CANDIDATE_LEARNED;
    assert_ok(ctx, kb_tuner_try_on(ctx, &u->t, &u->t.rows.first, c, KB_RULE_FIRST_GRIDS, 40,
                                   &c->drawn, &c->final));
    set_square(&c->final, miss, across);
    u->tuning.count = 0;
    assert_ok(ctx, kb_select_loss(ctx, &u->t));
    size_t times = times_tried(u, "equal", NULL);
    *best = u->t.best;
    assert_true(times == 0 || u->tuning.trial[u->tuning.count - 1].sigma > 0);
    assert_true(*best != KB_CANDIDATE_EQUAL ||
                u->t.candidate[*best].sigma == u->t.candidate[*best].widths.width[0].sigma);
    tuning_free(ctx, u);
    return times;
}

/* With little noise the losses are tried with equal widths too.  These are taken where they are as
 * good as others with such a loss, but they must be better than the square loss. */
static void equal_widths_compete_where_few_rows_are_wrong(void **unused) {
    kb_context *ctx = test_context();
    int best;
    (void)unused;
    assert_true(tried_with_equal(ctx, 0.7, 0.1, 0.5, TUNING(ctx, "loss", "auto"), &best) > 0);
    assert_int_equal(best, KB_CANDIDATE_EQUAL);
    assert_true(tried_with_equal(ctx, 0.7, 0.05, 1e-9, TUNING(ctx, "loss", "auto"), &best) > 0);
    assert_int_equal(best, KB_CANDIDATE_LEARNED);
    assert_int_equal(tried_with_equal(ctx, 0.7, 0.5, 1, TUNING(ctx, "loss", "auto"), &best), 0);
    assert_int_equal(tried_with_equal(ctx, 0.7, 0.1, 0.5, TUNING(ctx, "widths", "learned"), &best),
                     0);
    assert_int_equal(tried_with_equal(ctx, 0.7, 0.1, 0.5, TUNING(ctx, "loss", "logistic"), &best),
                     0);
    assert_int_equal(best, KB_CANDIDATE_LEARNED);
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
        cmocka_unit_test(a_given_lambda_is_the_only_one),
        cmocka_unit_test(fewer_errors_speak_for_it),
        cmocka_unit_test(lambda_begins_higher_where_few_rows_are_wrong),
        cmocka_unit_test(a_better_score_speaks_for_it),
        cmocka_unit_test(the_widths_are_those_of_the_loss),
        cmocka_unit_test(equal_widths_compete_where_few_rows_are_wrong),
        cmocka_unit_test(the_tolerance_is_what_helps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
