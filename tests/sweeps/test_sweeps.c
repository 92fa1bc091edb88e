/* Ridge by sweeps, against the normal equations. */
#include "sweeps/sweepproblem.h"

static const size_t OUTPUTS[] = {1, 2, 3, 5, 8};

/* After 300 sweeps all of these have the objective to 5e-6, most of them to 1e-7, and weights to
 * the root of that. */
static void many_sweeps_come_close_to_the_solution(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < sizeof OUTPUTS / sizeof *OUTPUTS; k++)
        for (int kind = 0; kind < WEIGHINGS; kind++) {
            problem p = problem_create(ctx, 90, 21 + 16 * (k % 2), OUTPUTS[k], 0.8);
            p.s = weights_of(p.N, (weighing)kind);
            p.intercept = ((int)k + kind) % 2;
            answer want = dense_answer(&p), got = swept(ctx, &p, 300);
            double least = objective_of(&p, &want), reached = objective_of(&p, &got);
            assert_true(reached >= least * (1 - 1e-12));
            assert_true(reached <= least * (1 + 1e-5));
            assert_close(got.w, want.w, p.D * p.C, 1e-2);
            assert_close(got.b, want.b, p.C, 1e-2);
            assert_close(got.f, want.f, p.N * p.C, 1e-3);
            answer_free(&want);
            answer_free(&got);
            problem_free(&p);
        }
    kb_context_free(ctx);
}

/* f = Z w + b, and f of the samples of weight 0 as well. */
static void decisions_are_those_of_the_weights(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t sweeps = 1; sweeps <= 9; sweeps += 4)
        for (int kind = 0; kind < WEIGHINGS; kind++) {
            problem p = problem_create(ctx, 300, 40, 3, 0.5);
            p.s = weights_of(p.N, (weighing)kind);
            p.intercept = kind % 2;
            answer a = swept(ctx, &p, sweeps), b = {.w = a.w, .b = a.b};
            decide(&p, &b);
            assert_close(a.f, b.f, p.N * p.C, 1e-6); /* roundings, and floats of the steps */
            free(b.f);
            answer_free(&a);
            problem_free(&p);
        }
    kb_context_free(ctx);
}

static void the_objective_never_rises(void **unused) {
    static const double lambda[] = {0, 1e-4, 0.1, 30};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < 8; k++) {
        problem p = problem_create(ctx, 200, 70, 2, k < 4 ? 0.4 : 2);
        double last = INFINITY;
        p.lambda = lambda[k % 4];
        p.s = weights_of(p.N, (weighing)(k % WEIGHINGS));
        p.intercept = k % 3 == 0;
        for (size_t sweeps = 1; sweeps <= 12; sweeps++) {
            answer a = swept(ctx, &p, sweeps);
            double now = objective_of(&p, &a);
            assert_true(now <= last + 1e-9 * (double)p.N); /* roundings */
            last = now;
            answer_free(&a);
        }
        problem_free(&p);
    }
    kb_context_free(ctx);
}

/* Twice the weights and twice lambda are the same problem. */
static void weights_are_relative_to_lambda(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = EQUAL_WEIGHTS; kind < WEIGHINGS; kind++) {
        problem p = problem_create(ctx, 150, 30, 2, 0.6);
        p.s = weights_of(p.N, (weighing)kind);
        answer once = swept(ctx, &p, 4);
        for (size_t i = 0; i < p.N; i++)
            p.s[i] *= 2;
        p.lambda *= 2;
        answer twice = swept(ctx, &p, 4);
        assert_same_bits(once.w, twice.w, p.D * p.C);
        assert_same_bits(once.f, twice.f, p.N * p.C);
        answer_free(&once);
        answer_free(&twice);
        problem_free(&p);
    }
    kb_context_free(ctx);
}

/* Equal weights are none: all are 1, and some rows are absent. */
static void weights_of_one_are_none(void **unused) {
    kb_context *ctx = test_context();
    problem p = problem_create(ctx, 150, 30, 3, 0.6);
    (void)unused;
    answer none = swept(ctx, &p, 4);
    p.s = malloc(p.N * sizeof *p.s);
    for (size_t i = 0; i < p.N; i++)
        p.s[i] = 1;
    answer ones = swept(ctx, &p, 4);
    assert_same_bits(none.w, ones.w, p.D * p.C);
    assert_same_bits(none.f, ones.f, p.N * p.C);
    answer_free(&none);
    answer_free(&ones);
    problem_free(&p);
    kb_context_free(ctx);
}

/* Outputs do not touch each other: each is what it is alone. */
static void outputs_are_independent(void **unused) {
    enum { C = 5 };
    kb_context *ctx = test_context();
    problem p = problem_create(ctx, 150, 30, C, 0.6), one = p;
    double *y = malloc(p.N * sizeof *y);
    (void)unused;
    p.intercept = one.intercept = 1;
    answer all = swept(ctx, &p, 5);
    one.C = 1;
    one.y = y;
    for (size_t c = 0; c < C; c++) {
        for (size_t i = 0; i < p.N; i++)
            y[i] = p.y[i * C + c];
        answer a = swept(ctx, &one, 5);
        for (size_t i = 0; i < p.N; i++)
            assert_true(a.f[i] == all.f[i * C + c]);
        for (size_t b = 0; b < p.D; b++)
            assert_true(a.w[b] == all.w[b * C + c]);
        assert_true(a.b[0] == all.b[c]);
        answer_free(&a);
    }
    free(y);
    answer_free(&all);
    problem_free(&p);
    kb_context_free(ctx);
}

/* ---- starts ------------------------------------------------------------ */

/* From the solution, from halfway, and from far away. */
static void a_warm_start_goes_on_from_the_weights(void **unused) {
    static const double start[] = {1, 0.5, -40};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < 3; k++) {
        problem p = problem_create(ctx, 150, 30, 3, 0.6);
        answer best = dense_answer(&p), a = answer_create(&p), cold = swept(ctx, &p, 1);
        for (size_t e = 0; e < p.D * p.C; e++)
            a.w[e] = start[k] * best.w[e];
        decide(&p, &a);
        double before = objective_of(&p, &a), least = objective_of(&p, &best);
        for (size_t sweeps = 1; sweeps <= 50; sweeps += 49) {
            kb_sweeps s = sweeps_of(&p, &a, sweeps);
            s.warm = 1;
            assert_ok(ctx, kb_sweeps_run(ctx, &s));
            assert_int_equal(s.too_wide, 0);
            double after = objective_of(&p, &a);
            assert_true(after <= before + 1e-9 * (double)p.N); /* roundings */
            if (sweeps > 1)
                assert_true(after <= least * (start[k] > 0 ? 1 + 1e-5 : 1 + 1e-3)); /* units */
            else if (start[k] > 0)
                assert_true(after < objective_of(&p, &cold));
            before = after;
        }
        answer_free(&best);
        answer_free(&a);
        answer_free(&cold);
        problem_free(&p);
    }
    kb_context_free(ctx);
}

/* The tolerance is that of the targets, wherever the start is. */
static void a_warm_start_at_the_solution_has_converged(void **unused) {
    kb_context *ctx = test_context();
    problem p = problem_create(ctx, 150, 30, 2, 0.6);
    answer a = dense_answer(&p);
    (void)unused;
    kb_sweeps s = sweeps_of(&p, &a, 20);
    s.warm = 1;
    s.tol = 1e-4;
    assert_ok(ctx, kb_sweeps_run(ctx, &s));
    assert_int_equal(s.converged, 1);
    assert_int_equal(s.sweeps, 1);
    answer_free(&a);
    problem_free(&p);
    kb_context_free(ctx);
}

/* ---- ends -------------------------------------------------------------- */

static void the_tolerance_is_that_of_the_slopes(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < WEIGHINGS; kind++)
        for (double tol = 0.3; tol > 1e-5; tol /= 10) {
            problem p = problem_create(ctx, 150, 30, 3, 0.6);
            static const double zero[3];
            p.s = weights_of(p.N, (weighing)kind);
            answer a = answer_create(&p);
            kb_sweeps s = sweeps_of(&p, &a, 1000);
            s.tol = tol;
            assert_ok(ctx, kb_sweeps_run(ctx, &s));
            assert_int_equal(s.converged, 1);
            assert_true(s.sweeps >= 1 && s.sweeps < 1000);
            assert_true(slope_of(&p, &a, zero) <= tol * 1.01 + 1e-6); /* roundings */
            answer_free(&a);
            problem_free(&p);
        }
    kb_context_free(ctx);
}

/* What a watch saw, and what it answers: by the number of the sweep, "o", "k" or "s". */
typedef struct seen {
    const char *answers;
    size_t calls;
    const double *f;
    double first[64]; /* of the sweep that was kept last */
    size_t count;
} seen;

static kb_status look(kb_context *ctx, void *arg, size_t sweep, kb_watch_answer *next) {
    seen *s = arg;
    (void)ctx;
    assert_int_equal(sweep, ++s->calls);
    char said = s->answers[sweep - 1];
    if (said == 'k')
        memcpy(s->first, s->f, s->count * sizeof(double));
    *next = said == 'k' ? KB_WATCH_KEEP : said == 's' ? KB_WATCH_STOP : KB_WATCH_ON;
    return KB_OK;
}

/* `sweeps`: those of the result.  Weights of a kept state are floats. */
static void check_watch(kb_context *ctx, const char *answers, size_t sweeps, size_t calls) {
    static const uint32_t rows[] = {3, 0, 88, 149};
    problem p = problem_create(ctx, 150, 30, 3, 0.6);
    p.s = weights_of(p.N, SOME_ZERO);
    p.intercept = 1;
    answer want = swept(ctx, &p, sweeps), got = answer_create(&p);
    double f[4 * 3];
    seen s = {.answers = answers, .f = f, .count = 4 * 3};
    kb_watch watch = {.rows = 4, .row = rows, .f = f, .look = look, .arg = &s};
    start_at_mean(&p, &got);
    kb_sweeps run = sweeps_of(&p, &got, strlen(answers));
    run.watch = &watch;
    assert_ok(ctx, kb_sweeps_run(ctx, &run));
    assert_int_equal(run.sweeps, sweeps);
    assert_int_equal(s.calls, calls);
    assert_same_bits(got.f, want.f, p.N * p.C);
    assert_same_bits(got.b, want.b, p.C);
    assert_close(got.w, want.w, p.D * p.C, 1e-6);
    for (size_t h = 0; strchr(answers, 'k') && h < 4; h++)
        assert_same_bits(s.first + h * 3, want.f + rows[h] * 3, 3);
    answer_free(&want);
    answer_free(&got);
    problem_free(&p);
}

static void a_watch_keeps_the_best_sweep(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    check_watch(ctx, "ooooo", 5, 5);
    check_watch(ctx, "kkkkk", 5, 5);
    check_watch(ctx, "kokoo", 3, 5);
    check_watch(ctx, "kkosoo", 2, 4);
    check_watch(ctx, "koosk", 1, 4);
    check_watch(ctx, "okoook", 6, 6);
    kb_context_free(ctx);
}

/* ---- numbers of all sizes ---------------------------------------------- */

static void check_scaled(kb_context *ctx, problem *p, double factor) {
    for (size_t k = 0; k < p->N * p->C; k++)
        p->y[k] *= factor;
    answer want = dense_answer(p), got = swept(ctx, p, 300);
    for (size_t k = 0; k < p->N * p->C; k++) {
        got.f[k] /= factor;
        want.f[k] /= factor;
    }
    assert_close(got.f, want.f, p->N * p->C, 1e-5);
    answer_free(&want);
    answer_free(&got);
}

static void targets_of_any_size_are_learned(void **unused) {
    static const double factor[] = {1e-300, 1e-20, 1e20, 1e300, -1};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < 5; k++) {
        problem p = problem_create(ctx, 60, 20, 2, 0.8);
        p.intercept = k % 2 != 0;
        check_scaled(ctx, &p, factor[k]);
        problem_free(&p);
    }
    kb_context_free(ctx);
}

/* The other targets are 2^27 / 1e6 units: what is lost is relative to the largest. */
static void an_outlier_does_not_spoil_the_rest(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int intercept = 0; intercept < 2; intercept++) {
        problem p = problem_create(ctx, 90, 40, 1, 0.3);
        p.intercept = intercept;
        p.y[17] = -1e6;
        answer want = dense_answer(&p), got = swept(ctx, &p, 400);
        assert_close(got.f, want.f, p.N, 1e-5);
        assert_true(objective_of(&p, &got) <= objective_of(&p, &want) * (1 + 1e-8));
        answer_free(&want);
        answer_free(&got);
        problem_free(&p);
    }
    kb_context_free(ctx);
}

static void equal_targets_and_none(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int intercept = 0; intercept < 2; intercept++)
        for (double value = -7; value <= 0; value += 7) {
            problem p = problem_create(ctx, 60, 20, 3, 0.8);
            p.intercept = intercept;
            for (size_t k = 0; k < p.N * p.C; k++)
                p.y[k] = value;
            answer want = dense_answer(&p), got = swept(ctx, &p, 300);
            assert_close(got.f, want.f, p.N * p.C, 1e-5);
            for (size_t k = 0; value == 0 && k < p.D * p.C; k++)
                assert_true(got.w[k] == 0);
            answer_free(&want);
            answer_free(&got);
            problem_free(&p);
        }
    kb_context_free(ctx);
}

/* One row; one bin in every grid; as many bins as rows. */
static void small_matrices_are_solved(void **unused) {
    static const size_t N[] = {1, 2, 50, 50}, R[] = {1, 5, 20, 3};
    static const double sigma[] = {1, 1, 1e6, 1e-6};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < 4; k++)
        for (int intercept = 0; intercept < 2; intercept++) {
            problem p = problem_create(ctx, N[k], R[k], 2, sigma[k]);
            p.intercept = intercept;
            answer want = dense_answer(&p), got = swept(ctx, &p, 300);
            assert_close(got.f, want.f, p.N * p.C, 1e-5);
            answer_free(&want);
            answer_free(&got);
            problem_free(&p);
        }
    kb_context_free(ctx);
}

/* Not the solution of least norm, but one that fits as well as any. */
static void lambda_may_be_zero(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < WEIGHINGS; kind++) {
        problem p = problem_create(ctx, 40, 20, 2, 0.1);
        p.s = weights_of(p.N, (weighing)kind);
        p.lambda = 1e-7;
        answer want = dense_answer(&p);
        p.lambda = 0;
        answer got = swept(ctx, &p, 300);
        assert_true(objective_of(&p, &got) <= objective_of(&p, &want) + 1e-4);
        for (size_t k = 0; k < p.D * p.C; k++)
            assert_true(isfinite(got.w[k]));
        answer_free(&want);
        answer_free(&got);
        problem_free(&p);
    }
    kb_context_free(ctx);
}

/* Targets far below one are solved to their tolerance as others are. */
static void tiny_targets_are_learned_to_the_tolerance(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    size_t count[2];
    for (int k = 0; k < 2; k++) {
        problem p = problem_create(ctx, 200, 30, 2, 0.5);
        answer a = answer_create(&p);
        for (size_t i = 0; i < p.N * p.C; i++)
            p.y[i] = ldexp(p.y[i], k ? -60 : 0);
        kb_sweeps s = sweeps_of(&p, &a, 100);
        s.tol = 1e-2;
        assert_ok(ctx, kb_sweeps_run(ctx, &s));
        count[k] = s.sweeps;
        answer_free(&a);
        problem_free(&p);
    }
    assert_true(count[0] > 1);
    assert_int_equal(count[1], count[0]); /* powers of two change no bit */
    kb_context_free(ctx);
}

static void without_weight_there_is_nothing_to_learn(void **unused) {
    kb_context *ctx = test_context();
    problem p = problem_create(ctx, 40, 20, 2, 0.5);
    (void)unused;
    p.s = calloc(p.N, sizeof *p.s);
    p.intercept = 1;
    answer a = swept(ctx, &p, 3);
    for (size_t k = 0; k < p.D * p.C; k++)
        assert_true(a.w[k] == 0);
    for (size_t k = 0; k < p.N * p.C; k++)
        assert_true(fabs(a.f[k]) < 1e-6); /* the rounding of y */
    answer_free(&a);
    problem_free(&p);
    kb_context_free(ctx);
}

/* A row that no sum contains may leave the range of whole numbers: the solver says so after the
 * sweep in which it does, here the second. */
static void residuals_out_of_range_are_told(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t sweeps = 1; sweeps <= 4; sweeps++) {
        problem p = far_out_problem(ctx, 60);
        answer want = dense_answer(&p), a = answer_create(&p);
        kb_sweeps s = sweeps_of(&p, &a, sweeps);
        assert_true(fabs(want.f[0]) > 8); /* the others are 1 */
        assert_ok(ctx, kb_sweeps_run(ctx, &s));
        decide(&p, &want);
        answer b = {.w = a.w, .b = a.b};
        decide(&p, &b);
        assert_int_equal(s.too_wide, sweeps > 1);
        if (!s.too_wide)
            assert_close(a.f, b.f, p.N, 1e-6);
        free(b.f);
        answer_free(&want);
        answer_free(&a);
        problem_free(&p);
    }
    kb_context_free(ctx);
}

/* ---- threads and failures ---------------------------------------------- */

static void any_number_of_threads_gives_the_same_bits(void **unused) {
    static const int threads[] = {2, 3, 7};
    kb_context *one = test_context_with(&(test_state){0}, 1);
    (void)unused;
    for (size_t k = 0; k < 4; k++) {
        problem p = problem_create(one, 3000, 37, 1 + 2 * k, k % 2 ? 0.02 : 1);
        p.s = weights_of(p.N, (weighing)k);
        p.intercept = k % 2 == 0;
        answer want = swept(one, &p, 4);
        for (size_t t = 0; t < 3; t++) {
            test_state state = {0};
            kb_context *ctx = test_context_with(&state, threads[t]);
            answer got = swept(ctx, &p, 4);
            assert_same_bits(got.w, want.w, p.D * p.C);
            assert_same_bits(got.b, want.b, p.C);
            assert_same_bits(got.f, want.f, p.N * p.C);
            answer_free(&got);
            kb_context_free(ctx);
            assert_int_equal(state.live, 0);
        }
        answer_free(&want);
        problem_free(&p);
    }
    kb_context_free(one);
}

static kb_status keep_all(kb_context *ctx, void *arg, size_t sweep, kb_watch_answer *next) {
    (void)ctx, (void)arg, (void)sweep;
    *next = KB_WATCH_KEEP;
    return KB_OK;
}

static int run_all(kb_context *ctx, void *arg) {
    static const uint32_t row = 1;
    double f[2];
    const problem *p = arg;
    answer a = answer_create(p);
    kb_watch watch = {.rows = 1, .row = &row, .f = f, .look = keep_all};
    kb_sweeps s = sweeps_of(p, &a, 3);
    s.watch = &watch;
    int status = kb_sweeps_run(ctx, &s);
    answer_free(&a);
    return status;
}

static void failures_leave_nothing(void **unused) {
    kb_context *ctx = test_context();
    problem p = problem_create(ctx, 50, 20, 2, 0.5);
    (void)unused;
    p.s = weights_of(p.N, MIXED_WEIGHTS);
    p.intercept = 1;
    run_with_allocation_failures(run_all, &p);
    run_with_cancellations(run_all, &p, 2, 3);
    problem_free(&p);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_sweeps_come_close_to_the_solution),
        cmocka_unit_test(decisions_are_those_of_the_weights),
        cmocka_unit_test(the_objective_never_rises),
        cmocka_unit_test(weights_are_relative_to_lambda),
        cmocka_unit_test(weights_of_one_are_none),
        cmocka_unit_test(outputs_are_independent),
        cmocka_unit_test(a_warm_start_goes_on_from_the_weights),
        cmocka_unit_test(a_warm_start_at_the_solution_has_converged),
        cmocka_unit_test(the_tolerance_is_that_of_the_slopes),
        cmocka_unit_test(a_watch_keeps_the_best_sweep),
        cmocka_unit_test(targets_of_any_size_are_learned),
        cmocka_unit_test(an_outlier_does_not_spoil_the_rest),
        cmocka_unit_test(equal_targets_and_none),
        cmocka_unit_test(small_matrices_are_solved),
        cmocka_unit_test(lambda_may_be_zero),
        cmocka_unit_test(tiny_targets_are_learned_to_the_tolerance),
        cmocka_unit_test(without_weight_there_is_nothing_to_learn),
        cmocka_unit_test(residuals_out_of_range_are_told),
        cmocka_unit_test(any_number_of_threads_gives_the_same_bits),
        cmocka_unit_test(failures_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
