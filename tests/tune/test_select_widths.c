/* Selection between learned and equal widths. */
#include "tune/stages.h"

#include "tune/select_widths.h"

static void try_all(kb_context *ctx, tuning *u) {
    for (int k = 0; k < KB_CANDIDATES; k++) {
        kb_candidate *c = &u->t.candidate[k];
        if (c->widths.width)
            assert_ok(ctx, kb_tuner_try(ctx, &u->t, &u->t.rows.first, c, KB_RULE_SCALE_GRIDS,
                                        KB_RULE_SCALE_STEPS, &c->search));
    }
}

/* The grids of the best are kept, for another loss; all others are released. */
static void assert_best(const tuning *u, int best) {
    assert_int_equal(u->t.best, best);
    for (int k = 0; k < KB_CANDIDATES; k++)
        assert_int_equal(u->t.candidate[k].drawn.z != NULL, k == best);
}

/* ---- learning ---------------------------------------------------------- */

/* Rows, columns and options, each of which prevents learning; the last allows it. */
static void widths_are_learned_where_allowed(void **unused) {
    static const struct {
        size_t rows, columns;
        const char *name, *value;
    } way[] = {{200, 3, "widths", "equal"},    {200, 3, "sigma", "0.5"},
               {200, 3, "kernel", "triangle"}, {200, 1, "widths", "auto"},
               {74, 3, "widths", "auto"},      {75, 3, "widths", "auto"}};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < 6; k++) {
        tuning *u = tuning_create(ctx, wave(ctx, way[k].rows, way[k].columns, 0),
                                  TUNING(ctx, way[k].name, way[k].value));
        put(ctx, u, KB_CANDIDATE_EQUAL, "equal", 1, 1)->sigma = 1;
        try_all(ctx, u);
        assert_ok(ctx, kb_learn_candidates(ctx, &u->t));
        assert_int_equal(u->t.candidate[KB_CANDIDATE_LEARNED].widths.width != NULL, k == 5);
        assert_null(u->t.candidate[KB_CANDIDATE_SELECTIVE].widths.width); /* few columns */
        assert_null(u->t.candidate[KB_CANDIDATE_RELEVANCE].widths.width);
        if (k == 4) { /* and the selection has one candidate */
            assert_ok(ctx, kb_select_widths(ctx, &u->t));
            assert_best(u, KB_CANDIDATE_EQUAL);
        }
        tuning_free(ctx, u);
    }
    kb_context_free(ctx);
}

/* Where equal widths are clearly better than the first learned ones, no others are learned. */
static void many_columns_are_screened_and_left_uncut(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 2; k++) {
        tuning *u = tuning_create(ctx, wave(ctx, 150, 40, 0), TUNING(ctx, "folds", "0"));
        kb_candidate *equal = put(ctx, u, KB_CANDIDATE_EQUAL, "equal", 10, 10);
        equal->sigma = 10;
        try_all(ctx, u);
        for (size_t h = 0; k && h < equal->search.held; h++)
            equal->search.each[h] = 0; /* as good as can be */
        assert_ok(ctx, kb_learn_candidates(ctx, &u->t));
        assert_non_null(u->t.candidate[KB_CANDIDATE_RELEVANCE].widths.width);
        assert_non_null(u->t.candidate[KB_CANDIDATE_LEARNED].widths.width);
        assert_int_equal(u->t.candidate[KB_CANDIDATE_SELECTIVE].widths.width != NULL, !k);
        tuning_free(ctx, u);
    }
    kb_context_free(ctx);
}

/* For classes, learned widths must save more than two errors: there must be as many. */
static void few_errors_are_not_worth_learning(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    /* No errors, many, none where learning is asked for, and regression. */
    for (int k = 0; k < 4; k++) {
        kb_options *o = TUNING(ctx, "widths", k == 2 ? "learned" : "auto", "folds", "0");
        tuning *u = tuning_create(ctx, wave(ctx, 200, 3, k < 3), o);
        kb_candidate *equal = put(ctx, u, KB_CANDIDATE_EQUAL, "equal", 1, 1);
        equal->sigma = 1;
        try_all(ctx, u);
        equal->search.error = k == 1 ? 0.3 : 0;
        assert_ok(ctx, kb_learn_candidates(ctx, &u->t));
        assert_int_equal(u->t.candidate[KB_CANDIDATE_LEARNED].widths.width != NULL, k > 0);
        tuning_free(ctx, u);
    }
    kb_context_free(ctx);
}

static int cuts_all(const kb_widths *w) {
    for (size_t k = 0; k < w->vectors * w->features; k++)
        if (w->width[k].q < 1)
            return 0;
    return 1;
}

/* Where equal widths are clearly better than the first learned ones, no others are learned.  With
 * categories the first ones are sparse. */
static void sparse_widths_need_enough_columns(void **unused) {
    static const unsigned char level[KB_RULE_SPARSE_COLUMNS] = {[2] = 1};
    static const struct {
        size_t columns;
        int categories, equal_is_better, at_once, later;
    } way[] = {
        {KB_RULE_SPARSE_COLUMNS, 0, 0, 0, 1},     {KB_RULE_SPARSE_COLUMNS, 0, 1, 0, 0},
        {KB_RULE_SPARSE_COLUMNS - 1, 0, 0, 0, 0}, {KB_RULE_SPARSE_COLUMNS_LEVELS, 1, 0, 1, 0},
        {KB_RULE_SPARSE_COLUMNS, 1, 1, 1, 0},     {KB_RULE_SPARSE_COLUMNS_LEVELS - 1, 1, 0, 0, 0}};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < sizeof way / sizeof *way; k++) {
        kb_data *data = wave(ctx, 150, way[k].columns, 0);
        data->level = way[k].categories ? level : NULL;
        tuning *u = tuning_create(ctx, data, TUNING(ctx, "folds", "0", "linear", "off"));
        kb_candidate *equal = put(ctx, u, KB_CANDIDATE_EQUAL, "equal", 10, 10);
        equal->sigma = 10;
        try_all(ctx, u);
        for (size_t h = 0; way[k].equal_is_better && h < equal->search.held; h++)
            equal->search.each[h] = 0;
        assert_ok(ctx, kb_learn_candidates(ctx, &u->t));
        int later = u->t.candidate[KB_CANDIDATE_SELECTIVE].widths.width != NULL;
        int at_once = !cuts_all(&u->t.candidate[KB_CANDIDATE_LEARNED].widths);
        if (later != way[k].later || at_once != way[k].at_once)
            fail_msg("way %zu", k);
        tuning_free(ctx, u);
    }
    kb_context_free(ctx);
}

static void refused_learned_widths_have_a_reason(void **unused) {
    static const size_t rows[] = {60, 200, 200}, columns[] = {3, 1, 3};
    static const char *const why[] = {"there are too few rows to learn from\n",
                                      "one column only varies\n", "the budget is spent\n"};
    (void)unused;
    for (int k = 0; k < 3; k++) {
        test_state state = {0};
        kb_context *ctx = test_context_with(&state, 1);
        tuning *u =
            tuning_create(ctx, wave(ctx, rows[k], columns[k], 0), TUNING(ctx, "widths", "learned"));
        put(ctx, u, KB_CANDIDATE_EQUAL, "equal", 1, 1)->sigma = 1;
        if (k == 2)
            u->given.budget = 0;
        assert_ok(ctx, kb_learn_candidates(ctx, &u->t));
        assert_non_null(strstr(state.log, why[k]));
        assert_null(u->t.candidate[KB_CANDIDATE_LEARNED].widths.width);
        tuning_free(ctx, u);
        kb_context_free(ctx);
    }
}

/* ---- final trials ------------------------------------------------------ */

/* Bins for the useful column, for the useless ones, and for all. */
static const double GOOD[] = {0.5, 200}, BAD[] = {200, 1}, FAIR[] = {2, 2};

static tuning *contenders(kb_context *ctx, size_t columns, const char *name, const char *value,
                          const double *equal, const double *dense) {
    tuning *u = tuning_create(ctx, wave(ctx, 300, columns, 0), TUNING(ctx, name, value));
    put(ctx, u, KB_CANDIDATE_EQUAL, "equal", equal[0], equal[1]);
    put(ctx, u, KB_CANDIDATE_LEARNED, "learned", dense[0], dense[1]);
    try_all(ctx, u);
    return u;
}

static void the_better_widths_win_unless_some_were_asked_for(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 3; k++) {
        tuning *u = contenders(ctx, 3, "widths", k == 2 ? "learned" : "auto", k ? GOOD : FAIR,
                               k ? FAIR : GOOD);
        assert_ok(ctx, kb_select_widths(ctx, &u->t));
        assert_best(u, k == 1 ? KB_CANDIDATE_EQUAL : KB_CANDIDATE_LEARNED);
        tuning_free(ctx, u);
    }
    /* Equal scores are not better. */
    tuning *u = contenders(ctx, 3, "widths", "auto", GOOD, GOOD);
    assert_ok(ctx, kb_select_widths(ctx, &u->t));
    assert_best(u, KB_CANDIDATE_EQUAL);
    tuning_free(ctx, u);
    kb_context_free(ctx);
}

/* Equal widths that were far behind get no final trial, except in the folds of wide tables. */
static void what_is_far_behind_gets_no_final_trial(void **unused) {
    static const size_t columns[] = {3, 3, 3, 40, 40};
    static const char *const folds[] = {"0", "0", "5", "0", "5"};
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 5; k++) {
        tuning *u = contenders(ctx, columns[k], "folds", folds[k], k ? BAD : GOOD, GOOD);
        assert_ok(ctx, kb_select_widths(ctx, &u->t));
        assert_int_equal(u->t.candidate[KB_CANDIDATE_EQUAL].final.each == NULL, k % 4 != 0);
        assert_best(u, k ? KB_CANDIDATE_LEARNED : KB_CANDIDATE_EQUAL);
        tuning_free(ctx, u);
    }
    kb_context_free(ctx);
}

static void sparse_widths_must_beat_dense_ones(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 2; k++) {
        tuning *u = contenders(ctx, 3, "widths", "auto", BAD, k ? GOOD : FAIR);
        put(ctx, u, KB_CANDIDATE_SELECTIVE, "learned, sparse", k ? BAD[0] : GOOD[0],
            k ? BAD[1] : GOOD[1]);
        assert_ok(ctx, kb_select_widths(ctx, &u->t));
        assert_best(u, k ? KB_CANDIDATE_LEARNED : KB_CANDIDATE_SELECTIVE);
        assert_true(times_tried(u, "learned, both", NULL) > 0); /* once a lambda and solver */
        assert_int_equal(u->t.candidate[KB_CANDIDATE_BOTH].widths.vectors, 2);
        tuning_free(ctx, u);
    }
    kb_context_free(ctx);
}

/* Most folds contain rows that widths were learned from: in wide tables these do not decide.  A
 * validation part does, and folds by time, which are learned from earlier rows. */
static void folds_that_refuse_dense_widths_are_not_asked_again(void **unused) {
    static const size_t columns[] = {40, 40, 40, 3};
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 4; k++) {
        tuning *u = contenders(ctx, columns[k], "folds", k ? "5" : "0", FAIR, BAD);
        put(ctx, u, KB_CANDIDATE_SELECTIVE, "learned, sparse", GOOD[0], GOOD[1]);
        u->t.rows.held.ordered = k == 2;
        assert_ok(ctx, kb_select_widths(ctx, &u->t));
        assert_int_equal(times_tried(u, "learned, sparse", NULL) > 0, k != 1);
        assert_best(u, k == 1 ? KB_CANDIDATE_EQUAL : KB_CANDIDATE_SELECTIVE);
        tuning_free(ctx, u);
    }
    kb_context_free(ctx);
}

/* In the first fold it is the reverse. */
static void the_first_fold_must_agree_in_wide_tables(void **unused) {
    static const size_t columns[] = {3, 40};
    kb_context *ctx = test_context();
    (void)unused;
    for (int wide = 0; wide < 2; wide++) {
        tuning *u = contenders(ctx, columns[wide], "folds", "5", BAD, GOOD);
        kb_subsample *s = &u->t.rows.first;
        for (size_t i = 0; i < s->x->rows; i++)
            if (kb_folds_holds(&s->folds, i, 0))
                s->y[i] = -s->y[i];
        assert_ok(ctx, kb_select_widths(ctx, &u->t));
        assert_best(u, wide ? KB_CANDIDATE_EQUAL : KB_CANDIDATE_LEARNED);
        if (wide) { /* though all folds together favour the learned ones */
            const kb_candidate *c = u->t.candidate;
            assert_true(c[KB_CANDIDATE_LEARNED].final.score <
                        0.9 * c[KB_CANDIDATE_EQUAL].final.score);
        }
        tuning_free(ctx, u);
    }
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widths_are_learned_where_allowed),
        cmocka_unit_test(many_columns_are_screened_and_left_uncut),
        cmocka_unit_test(few_errors_are_not_worth_learning),
        cmocka_unit_test(sparse_widths_need_enough_columns),
        cmocka_unit_test(refused_learned_widths_have_a_reason),
        cmocka_unit_test(the_better_widths_win_unless_some_were_asked_for),
        cmocka_unit_test(what_is_far_behind_gets_no_final_trial),
        cmocka_unit_test(sparse_widths_must_beat_dense_ones),
        cmocka_unit_test(folds_that_refuse_dense_widths_are_not_asked_again),
        cmocka_unit_test(the_first_fold_must_agree_in_wide_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
