/* Scales of the widths, and lambdas up and down, for a loss other than the square one. */
#include "tune/stages.h"

#include "trial/loss_trial.h"
#include "tune/select_loss.h"

enum { MOST_WIDER = 3, MOST_LAMBDAS = 5 };

/* A tuner with grids of the best kernel; `noise`: the share of rows with another class. */
static tuning *with_grids(kb_context *ctx, double noise, double sigma, kb_options *options) {
    tuning *u = tuning_create(ctx, wave(ctx, 300, 2, 1), options);
    kb_candidate *c = put(ctx, u, KB_CANDIDATE_EQUAL, "equal", sigma, sigma);
    kb_subsample *s = &u->t.rows.first;
    c->sigma = sigma;
    for (size_t i = 0; i < s->x->rows; i++)
        if (test_uniform(77, i) < noise) {
            s->class_of[i] = !s->class_of[i];
            s->y[i] = -s->y[i];
        }
    assert_ok(ctx,
              kb_tuner_try_on(ctx, &u->t, s, c, KB_RULE_FIRST_GRIDS, 40, &c->drawn, &c->final));
    u->tuning.count = 0;
    return u;
}

static kb_loss_found search(kb_context *ctx, tuning *u, const char *loss, double lambda,
                            const kb_trial *rival) {
    kb_loss_found found = {.loss = kb_loss_find(loss)};
    kb_loss_search s;
    assert_ok(ctx, kb_loss_search_begin(ctx, &u->t, 1e-3, &s));
    s.rival = rival;
    assert_ok(ctx, kb_loss_search_run(ctx, &s, lambda, &found));
    kb_loss_search_take(&u->t, &found);
    assert_true(s.factor == found.factor || rival);
    kb_loss_search_release(ctx, &s);
    return found;
}

static int is_near(double a, double b) {
    return fabs(a / b - 1) < 1e-9;
}

/* From far too small or large lambdas towards the others, by factors of 3; what is taken has the
 * least error of these or as good as that. */
static void lambdas_are_tried_up_and_down(void **unused) {
    static const double first[] = {0.03, 30};
    kb_context *ctx = test_context();
    (void)unused;
    for (int down = 0; down < 2; down++) {
        tuning *u = with_grids(ctx, 0.3, 0.7, TUNING(ctx, "seed", "1"));
        kb_loss_found found = search(ctx, u, "logistic", first[down], NULL);
        const kb_trial_info *tried = u->tuning.trial;
        size_t count = u->tuning.count, from = down ? 2 : 1;
        assert_true(count > from && count <= from + MOST_LAMBDAS);
        assert_true(is_near(tried[0].lambda, first[down]));
        assert_true(is_near(tried[1].lambda, 3 * first[down]));
        for (size_t k = from; k < count; k++)
            assert_true(is_near(tried[k].lambda,
                                tried[k == from ? 0 : k - 1].lambda * (down ? 1.0 / 3 : 3)));
        assert_true(down ? found.trial.lambda < first[down] : found.trial.lambda > first[down]);
        assert_true(found.factor == 1); /* there is much noise */
        kb_trial_release(ctx, &found.trial);
        tuning_free(ctx, u);
    }
    kb_context_free(ctx);
}

/* Too narrow bins grow by factors of 1.5, unless sigma is given; those of the kernel follow. */
static void widths_grow_where_there_is_little_noise(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int given = 0; given < 2; given++) {
        kb_options *options =
            given ? TUNING(ctx, "lambda", "0.01", "sigma", "0.1") : TUNING(ctx, "lambda", "0.01");
        tuning *u = with_grids(ctx, 0, 0.1, options);
        kb_loss_found found = search(ctx, u, "squared-hinge", 0.01, NULL);
        const kb_candidate *c = &u->t.candidate[KB_CANDIDATE_EQUAL];
        assert_true(given ? u->tuning.count == 1 : u->tuning.count >= 2);
        assert_true(u->tuning.count <= 1 + MOST_WIDER);
        for (size_t k = 0; k < u->tuning.count; k++) {
            assert_true(u->tuning.trial[k].lambda == 0.01);
            assert_true(is_near(u->tuning.trial[k].sigma, 0.1 * pow(1.5, (double)k)));
        }
        assert_true(given ? found.factor == 1 : found.factor > 1);
        assert_true(c->sigma == 0.1 * found.factor);
        assert_true(c->widths.width[1].sigma == 0.1 * found.factor);
        kb_trial_release(ctx, &found.trial);
        tuning_free(ctx, u);
    }
    kb_context_free(ctx);
}

/* A trial on other grids that starts from the solution on those before is one on its own. */
static void the_trial_of_a_wider_kernel_is_one_of_its_own(void **unused) {
    kb_context *ctx = test_context();
    tuning *u = with_grids(ctx, 0, 0.1, TUNING(ctx, "lambda", "0.01"));
    (void)unused;
    u->given.tol = 1e-9;
    kb_loss_found found = {.loss = kb_loss_find("logistic")};
    kb_loss_search s;
    assert_ok(ctx, kb_loss_search_begin(ctx, &u->t, 1e-9, &s));
    assert_ok(ctx, kb_loss_search_run(ctx, &s, 0.01, &found));
    assert_true(found.factor > 1);
    kb_trial alone = {.max_steps = 2000, .given_lambda = 0.01};
    kb_loss_trial on = {
        .sample = &u->t.rows.first, .drawn = &s.scaled.drawn, .loss = found.loss, .tol = 1e-9};
    assert_ok(ctx, kb_loss_trial_begin(ctx, &on));
    assert_ok(ctx, kb_loss_trial_run(ctx, &on, &alone));
    assert_true(fabs(alone.across / found.trial.across - 1) < 1e-3); /* of the limit of steps */
    assert_true(alone.error == found.trial.error);
    kb_loss_trial_release(ctx, &on);
    kb_loss_search_release(ctx, &s);
    kb_trial_release(ctx, &alone);
    kb_trial_release(ctx, &found.trial);
    tuning_free(ctx, u);
    kb_context_free(ctx);
}

/* One trial is enough where it is clearly behind, by errors or by the score. */
static void a_loss_that_is_behind_is_given_up(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 2; k++) {
        tuning *u = with_grids(ctx, 0.2, 0.7, TUNING(ctx, "seed", "1"));
        kb_trial *rival = &u->t.candidate[KB_CANDIDATE_EQUAL].final;
        for (size_t h = 0; h < rival->held; h++)
            *(k ? &rival->miss[h] : &rival->each_across[h]) = 0;
        kb_loss_found found = search(ctx, u, "logistic", 0.1, rival);
        assert_int_equal(u->tuning.count, 1);
        assert_true(kb_loss_is_behind(&u->t, &found.trial, rival));
        assert_false(kb_loss_is_behind(&u->t, rival, &found.trial));
        kb_trial_release(ctx, &found.trial);
        tuning_free(ctx, u);
    }
    kb_context_free(ctx);
}

/* With little noise not before wider bins were tried; the next loss begins from the best of them.
 */
static void wider_bins_are_tried_before_a_loss_is_given_up(void **unused) {
    kb_context *ctx = test_context();
    tuning *u = with_grids(ctx, 0, 0.1, TUNING(ctx, "seed", "1"));
    kb_trial *rival = &u->t.candidate[KB_CANDIDATE_EQUAL].final;
    kb_loss_found found = {.loss = kb_loss_find("logistic")};
    kb_loss_search s;
    (void)unused;
    for (size_t h = 0; h < rival->held; h++)
        rival->miss[h] = rival->each_across[h] = 0;
    assert_ok(ctx, kb_loss_search_begin(ctx, &u->t, 1e-3, &s));
    s.rival = rival;
    assert_ok(ctx, kb_loss_search_run(ctx, &s, 0.01, &found));
    assert_true(kb_loss_is_behind(&u->t, &found.trial, rival));
    assert_true(u->tuning.count >= 2 && u->tuning.count <= 1 + MOST_WIDER);
    for (size_t k = 0; k < u->tuning.count; k++)
        assert_true(u->tuning.trial[k].lambda == 0.01);
    assert_true(found.factor > 1 && s.factor == found.factor);
    kb_loss_search_release(ctx, &s);
    kb_trial_release(ctx, &found.trial);
    tuning_free(ctx, u);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lambdas_are_tried_up_and_down),
        cmocka_unit_test(widths_grow_where_there_is_little_noise),
        cmocka_unit_test(the_trial_of_a_wider_kernel_is_one_of_its_own),
        cmocka_unit_test(a_loss_that_is_behind_is_given_up),
        cmocka_unit_test(wider_bins_are_tried_before_a_loss_is_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
