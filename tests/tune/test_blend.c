/* Learned widths blended with others. */
#include "tune/stages.h"

#include "trial/compare_trials.h"
#include "tune/blend.h"

static void a_table_is_wide_by_columns_and_rows(void **unused) {
    (void)unused;
    assert_true(kb_is_wide_table(40, 999));
    assert_false(kb_is_wide_table(40, 1000));
    assert_false(kb_is_wide_table(39, 100));
    assert_true(kb_is_wide_table(400, 9999));
    assert_false(kb_is_wide_table(400, 10000));
}

/* Bins that cut the useful column, some that do it less, and some that cut the useless ones. */
static const double GOOD[] = {0.5, 200}, FAIR[] = {2, 40}, CLOSE[] = {2.2, 44}, BAD[] = {200, 4};

/* Blends fair learned widths, given others for equal widths and for widths by relevance. */
static tuning *blended(kb_context *ctx, size_t rows, size_t columns, const double *equal,
                       const double *relevance) {
    tuning *u = tuning_create(ctx, wave(ctx, rows, columns, 0), TUNING(ctx, "folds", "0"));
    kb_candidate *c = put(ctx, u, KB_CANDIDATE_LEARNED, "learned", FAIR[0], FAIR[1]);
    put(ctx, u, KB_CANDIDATE_EQUAL, "equal", equal[0], equal[1]);
    put(ctx, u, KB_CANDIDATE_RELEVANCE, "screened", relevance[0], relevance[1]);
    assert_ok(ctx, kb_tuner_try(ctx, &u->t, &u->t.rows.first, c, KB_RULE_SCALE_GRIDS,
                                KB_RULE_SCALE_STEPS, &c->search));
    assert_ok(ctx, kb_blend(ctx, &u->t, c));
    return u;
}

/* In wide tables the better of the two is blended in. */
static void the_better_hedge_is_taken(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 2; k++) {
        tuning *u = blended(ctx, 200, 60, k ? GOOD : FAIR, k ? FAIR : GOOD);
        const kb_candidate *c = &u->t.candidate[KB_CANDIDATE_LEARNED];
        kb_trial_info equal, screened;
        assert_int_equal(times_tried(u, "learned and equal", &equal), 1);
        assert_int_equal(times_tried(u, "learned and screened", &screened), 1);
        assert_true(k ? equal.error < screened.error : screened.error < equal.error);
        assert_string_equal(c->what, k ? "learned and equal" : "learned and screened");
        assert_true(c->search.error == fmin(equal.error, screened.error));
        assert_int_equal(c->widths.vectors, 2);
        assert_true(c->widths.width[0].sigma == FAIR[0]);
        assert_true(c->widths.width[60].sigma == GOOD[0]);
        tuning_free(ctx, u);
    }
    kb_context_free(ctx);
}

/* Widths by slopes, where there are any, compete with equal ones in tables of any shape. */
static void widths_by_slopes_are_blended_if_better(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 2; k++) {
        tuning *u = tuning_create(ctx, wave(ctx, 1000, 3, 0), TUNING(ctx, "folds", "0"));
        kb_candidate *c = put(ctx, u, KB_CANDIDATE_LEARNED, "learned", FAIR[0], FAIR[1]);
        const double *equal = k ? GOOD : FAIR, *slopes = k ? FAIR : GOOD;
        put(ctx, u, KB_CANDIDATE_EQUAL, "equal", equal[0], equal[1]);
        kb_candidate *s = put(ctx, u, KB_CANDIDATE_SLOPES, "by slopes", slopes[0], slopes[1]);
        assert_ok(ctx, kb_tuner_try(ctx, &u->t, &u->t.rows.first, s, KB_RULE_SCALE_GRIDS,
                                    KB_RULE_SCALE_STEPS, &s->search));
        assert_ok(ctx, kb_tuner_try(ctx, &u->t, &u->t.rows.first, c, KB_RULE_SCALE_GRIDS,
                                    KB_RULE_SCALE_STEPS, &c->search));
        assert_ok(ctx, kb_blend(ctx, &u->t, c));
        assert_int_equal(times_tried(u, "learned and equal", NULL), 1);
        assert_int_equal(times_tried(u, "learned and by slopes", NULL), 1);
        assert_string_equal(c->what, k ? "learned and equal" : "learned and by slopes");
        assert_true(c->widths.width[3].sigma == GOOD[0]);
        tuning_free(ctx, u);
    }
    kb_context_free(ctx);
}

static void tables_that_are_not_wide_have_one_hedge(void **unused) {
    static const size_t rows[] = {200, 1001}, columns[] = {39, 40};
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 2; k++) {
        tuning *u = blended(ctx, rows[k], columns[k], FAIR, GOOD);
        assert_int_equal(times_tried(u, "learned and screened", NULL), 0);
        assert_string_equal(u->t.candidate[KB_CANDIDATE_LEARNED].what, "learned and equal");
        tuning_free(ctx, u);
    }
    kb_context_free(ctx);
}

/* A blend is taken even if it is a little worse, but not if by three standard errors. */
static void a_hedge_is_refused_where_rows_speak_against_it(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 2; k++) {
        tuning *u = blended(ctx, 1500, 3, k ? BAD : CLOSE, GOOD);
        kb_candidate *c = &u->t.candidate[KB_CANDIDATE_LEARNED];
        kb_trial_info alone, mixed;
        times_tried(u, "learned", &alone);
        times_tried(u, "learned and equal", &mixed);
        assert_true(alone.error < mixed.error);
        assert_string_equal(c->what, k ? "learned" : "learned and equal");
        assert_int_equal(c->widths.vectors, k ? 1 : 2);
        tuning_free(ctx, u);
    }
    kb_context_free(ctx);
}

/* The useful column is found; only wide tables get a scale search. */
static void screened_widths_are_tried_in_wide_tables(void **unused) {
    static const size_t columns[] = {10, 60};
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 2; k++) {
        tuning *u = tuning_create(ctx, wave(ctx, 300, columns[k], 0), TUNING(ctx, "folds", "0"));
        const kb_candidate *c = &u->t.candidate[KB_CANDIDATE_RELEVANCE];
        u->t.candidate[KB_CANDIDATE_EQUAL].sigma = 3;
        assert_ok(ctx, kb_relevance_candidate(ctx, &u->t));
        for (size_t j = 1; j < columns[k]; j++)
            assert_true(c->widths.width[j].sigma > 3 * c->widths.width[0].sigma);
        assert_int_equal(times_tried(u, "screened", NULL) > 1, k);
        assert_int_equal(c->search.each != NULL, k);
        tuning_free(ctx, u);
    }
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_is_wide_by_columns_and_rows),
        cmocka_unit_test(the_better_hedge_is_taken),
        cmocka_unit_test(widths_by_slopes_are_blended_if_better),
        cmocka_unit_test(tables_that_are_not_wide_have_one_hedge),
        cmocka_unit_test(a_hedge_is_refused_where_rows_speak_against_it),
        cmocka_unit_test(screened_widths_are_tried_in_wide_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
