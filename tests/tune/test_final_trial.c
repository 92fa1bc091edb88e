/* Final trials: lambda, the solver and its number of steps. */
#include "tune/stages.h"

#include "tune/final_trial.h"

/* The final trial of one kernel, for which the search has taken this lambda. */
static tuning *tried(kb_context *ctx, double search, kb_options *options) {
    tuning *u = tuning_create(ctx, wave(ctx, 300, 2, 0), options);
    kb_candidate *c = put(ctx, u, KB_CANDIDATE_EQUAL, "equal", 0.5, 2);
    c->search.lambda = search;
    assert_ok(ctx, kb_final_trial(ctx, &u->t, c));
    assert_non_null(c->drawn.z);
    assert_int_equal(c->drawn.z->grids, kb_tuner_last_grids(&u->t));
    assert_true(c->final.each && c->final.error < 0.2); /* of a variance of 0.5 */
    for (size_t i = 0; i < u->tuning.count; i++) {
        assert_string_equal(u->tuning.trial[i].loss, "square");
        assert_true(u->tuning.trial[i].lambda > 0);
    }
    return u;
}

static const kb_trial *final_of(const tuning *u) {
    return &u->t.candidate[KB_CANDIDATE_EQUAL].final;
}

static size_t place(double lambda) {
    for (size_t k = 0; k < sizeof KB_RULE_LAMBDAS / sizeof *KB_RULE_LAMBDAS; k++)
        if (KB_RULE_LAMBDAS[k] == lambda)
            return k;
    fail_msg("%g is not one of the lambdas", lambda);
    return 0;
}

/* One trial of the solver that was asked for, and of both without one: the table is small. */
static void a_given_lambda_is_kept(void **unused) {
    static const char *const solver[] = {"cg", "sweeps", "auto"};
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 3; k++) {
        tuning *u = tried(ctx, 0.1, TUNING(ctx, "lambda", "0.7", "solver", solver[k]));
        assert_int_equal(u->tuning.count, k == 2 ? 2 : 1);
        assert_true(final_of(u)->lambda == 0.7);
        if (k < 2)
            assert_int_equal(final_of(u)->sweeps, k == 1);
        tuning_free(ctx, u);
    }
    kb_context_free(ctx);
}

/* Lambdas of sweeps are neighbours, from that of the search on; down only if up has not helped. */
static void lambdas_of_sweeps_are_tried_up_and_down(void **unused) {
    static const double search[] = {1e-5, 0.3, 300};
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 3; k++) {
        tuning *u = tried(ctx, search[k], TUNING(ctx, "solver", "sweeps"));
        const kb_trial_info *trial = u->tuning.trial;
        size_t least = place(KB_RULE_SWEEPS_LAMBDA_LEAST), first = place(trial[0].lambda);
        int down = 0;
        assert_int_equal(first, place(search[k]) < least ? least : place(search[k]));
        for (size_t i = 1; i < u->tuning.count; i++) {
            size_t at = place(trial[i].lambda), last = place(trial[i - 1].lambda);
            if (at < first && !down) {
                down = 1;
                last = first;
            }
            assert_int_equal(at, down ? last - 1 : last + 1);
            assert_true(at >= least);
        }
        size_t taken = place(final_of(u)->lambda);
        assert_true(down ? taken <= first : taken >= first);
        assert_int_equal(final_of(u)->sweeps, 1);
        assert_true(final_of(u)->steps >= KB_RULE_SWEEPS_LEAST);
        assert_true(final_of(u)->steps <= KB_RULE_SWEEPS);
        tuning_free(ctx, u);
    }
    kb_context_free(ctx);
}

/* A small lambda of the search says that there is little noise. */
static void little_noise_is_for_cg(void **unused) {
    static const double search[] = {1e-5, KB_RULE_SWEEPS_CLEAN_LAMBDA};
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 2; k++) {
        tuning *u = tried(ctx, search[k], TUNING(ctx, "solver", "auto"));
        assert_int_equal(u->tuning.count, 1);
        assert_int_equal(final_of(u)->sweeps, 0);
        tuning_free(ctx, u);
    }
    kb_context_free(ctx);
}

/* The trial of CG comes last, and is the one that CG alone would have had. */
static void small_tables_try_both(void **unused) {
    kb_context *ctx = test_context();
    tuning *u = tried(ctx, 0.3, TUNING(ctx, "solver", "auto"));
    tuning *cg = tried(ctx, 0.3, TUNING(ctx, "solver", "cg"));
    tuning *sweeps = tried(ctx, 0.3, TUNING(ctx, "solver", "sweeps"));
    (void)unused;
    assert_int_equal(u->tuning.count, sweeps->tuning.count + 1);
    assert_true(u->tuning.trial[u->tuning.count - 1].error == final_of(cg)->error);
    int better = final_of(sweeps)->score < (1 - KB_RULE_SWEEPS_CG_GAIN) * final_of(cg)->score;
    const kb_trial *want = final_of(better ? sweeps : cg);
    assert_int_equal(final_of(u)->sweeps, better);
    assert_true(final_of(u)->score == want->score && final_of(u)->lambda == want->lambda);
    assert_int_equal(final_of(u)->steps, want->steps);
    tuning_free(ctx, u);
    tuning_free(ctx, cg);
    tuning_free(ctx, sweeps);
    kb_context_free(ctx);
}

/* Equal widths, and others that are no better, on many rows. */
static tuning *on_more_rows(kb_context *ctx, size_t rows) {
    tuning *u = tuning_create(ctx, wave(ctx, rows, 2, 0), TUNING(ctx, "solver", "sweeps"));
    for (int which = KB_CANDIDATE_EQUAL; which <= KB_CANDIDATE_LEARNED; which++) {
        kb_candidate *c = put(ctx, u, which, which == KB_CANDIDATE_EQUAL ? "equal" : "learned", 4,
                              which == KB_CANDIDATE_EQUAL ? 4 : 40);
        c->sigma = which == KB_CANDIDATE_EQUAL ? 4 : 0;
        c->search.lambda = 30;
        assert_ok(ctx, kb_final_trial(ctx, &u->t, c));
    }
    u->t.best = KB_CANDIDATE_LEARNED;
    u->tuning.count = 0;
    assert_ok(ctx, kb_more_rows(ctx, &u->t));
    return u;
}

/* The kernels are too wide by far, and lambda too large. */
static void many_rows_want_narrower_bins_and_smaller_lambdas(void **unused) {
    kb_context *ctx = test_context();
    tuning *u = on_more_rows(ctx, KB_RULE_MORE_ROWS);
    (void)unused;
    for (int which = KB_CANDIDATE_EQUAL; which <= KB_CANDIDATE_LEARNED; which++) {
        const kb_candidate *c = &u->t.candidate[which];
        assert_true(c->widths.width[0].sigma < 4 && c->final.lambda < 30);
        assert_null(c->drawn.z);
    }
    /* Of one kernel after the other; equal widths are named by their sigma. */
    kb_trial_info last;
    size_t learned = times_tried(u, "learned", &last), equal = times_tried(u, "equal", &last);
    assert_true(learned >= 6 && equal >= 6 && learned + equal == u->tuning.count);
    for (size_t i = 0; i < u->tuning.count; i++) {
        assert_string_equal(u->tuning.trial[i].widths, i < learned ? "learned" : "equal");
        assert_int_equal(u->tuning.trial[i].grids, KB_RULE_MORE_ROWS_GRIDS);
    }
    tuning_free(ctx, u);
    kb_context_free(ctx);
}

static kb_context *context_of(int threads) {
    kb_context *ctx;
    kb_context_config config = {.size = sizeof config, .threads = threads};
    assert_int_equal(kb_context_create(&config, &ctx), KB_OK);
    return ctx;
}

static void threads_change_neither_trials_nor_kernels(void **unused) {
    kb_context *one = context_of(1);
    tuning *u = on_more_rows(one, KB_RULE_MORE_ROWS);
    (void)unused;
    kb_context *ctx = context_of(9);
    tuning *v = on_more_rows(ctx, KB_RULE_MORE_ROWS);
    assert_int_equal(u->t.best, v->t.best);
    assert_int_equal(u->tuning.count, v->tuning.count);
    for (size_t i = 0; i < u->tuning.count; i++) {
        const kb_trial_info *a = &u->tuning.trial[i], *b = &v->tuning.trial[i];
        assert_string_equal(a->widths, b->widths);
        assert_true(a->lambda == b->lambda && a->sigma == b->sigma && a->error == b->error);
    }
    for (int which = KB_CANDIDATE_EQUAL; which <= KB_CANDIDATE_LEARNED; which++) {
        const kb_candidate *a = &u->t.candidate[which], *b = &v->t.candidate[which];
        assert_true(a->final.lambda == b->final.lambda);
        assert_true(a->widths.width[0].sigma == b->widths.width[0].sigma);
    }
    tuning_free(ctx, v);
    kb_context_free(ctx);
    tuning_free(one, u);
    kb_context_free(one);
}

static void fewer_rows_are_left_alone(void **unused) {
    kb_context *ctx = test_context();
    tuning *u = on_more_rows(ctx, 2000);
    (void)unused;
    assert_int_equal(u->tuning.count, 0);
    assert_int_equal(u->t.best, KB_CANDIDATE_LEARNED);
    tuning_free(ctx, u);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_given_lambda_is_kept),
        cmocka_unit_test(lambdas_of_sweeps_are_tried_up_and_down),
        cmocka_unit_test(little_noise_is_for_cg),
        cmocka_unit_test(small_tables_try_both),
        cmocka_unit_test(many_rows_want_narrower_bins_and_smaller_lambdas),
        cmocka_unit_test(threads_change_neither_trials_nor_kernels),
        cmocka_unit_test(fewer_rows_are_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
