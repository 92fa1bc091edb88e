/* Kernel ridge regression: both solvers against dense Cholesky, and the residuals that they
 * report. */
#include "solve/ridgeproblem.h"

static const struct {
    const char *name;
    solver *solve;
} SOLVERS[] = {{"cg", kb_ridge_cg}, {"gmres", kb_ridge_gmres}};
enum { METHODS = 2 };

/* ---- the solution ------------------------------------------------------ */

/* With |Z' rho| <= tol |Z'y|, f = Z w is off by tol |Z'y| / (2 sqrt(lambda)) at most and w by tol
 * |Z'y| / lambda, |Z'y| being about |w|: 1e-9 is what tol = 1e-12 promises of w at lambda
 * 1e-3.  Cholesky itself is good to its condition, 1e5 roundings. */
static void tight_solutions_agree_with_cholesky(void **unused) {
    static const double lambdas[] = {1e-3, 0.1, 1, 10};
    kb_context *ctx = test_context();
    (void)unused;
    for (int centred = 0; centred < 2; centred++) {
        problem p = problem_create(ctx, 120, 37, 3, centred);
        for (size_t k = 0; k < sizeof lambdas / sizeof *lambdas; k++) {
            double *alpha = cholesky(&p, lambdas[k]);
            double *w = bins_of(&p, alpha), *f = rows_of(&p, w);
            for (int m = 0; m < METHODS; m++) {
                kb_ridge r = ridge_of(&p, lambdas[k], 1e-12, 2000);
                assert_ok(ctx, SOLVERS[m].solve(ctx, &r));
                assert_int_equal(r.converged, 1);
                double *mine = bins_of(&p, p.alpha);
                for (size_t c = 0; c < p.C; c++) {
                    double off_f = distance(p.f, f, p.N, p.C, c);
                    double off_w = distance(mine, w, p.D, p.C, c);
                    if (!(off_f < 1e-10 && off_w < (lambdas[k] < 0.1 ? 1e-9 : 1e-10)))
                        fail_msg("%s, lambda %g, output %zu: f off by %g, w by %g", SOLVERS[m].name,
                                 lambdas[k], c, off_f, off_w);
                }
                free(mine);
            }
            free(alpha), free(w), free(f);
        }
        problem_free(&p);
    }
    kb_context_free(ctx);
}

/* At the return, by a recomputation from the matrix; a millionth more is the rounding of that,
 * and for tolerances of 1e-10 a tenth. */
static void what_is_called_converged_has_converged(void **unused) {
    static const double tols[] = {1e-2, 1e-3, 1e-6, 1e-8, 1e-10};
    kb_context *ctx = test_context();
    (void)unused;
    for (int centred = 0; centred < 2; centred++) {
        problem p = problem_create(ctx, 150, 37, 4, centred);
        for (size_t k = 0; k < sizeof tols / sizeof *tols; k++)
            for (int m = 0; m < METHODS; m++) {
                size_t before = 0;
                for (double lambda = 10; lambda > 1e-4; lambda /= 100) {
                    kb_ridge r = ridge_of(&p, lambda, tols[k], 5000);
                    assert_ok(ctx, SOLVERS[m].solve(ctx, &r));
                    assert_int_equal(r.converged, 1);
                    double residual = true_residual(&p, lambda);
                    if (!(residual <= tols[k] * (tols[k] < 1e-9 ? 1.1 : 1 + 1e-6)))
                        fail_msg("%s, lambda %g: %g is not below %g", SOLVERS[m].name, lambda,
                                 residual, tols[k]);
                    assert_true(r.steps > before); /* a smaller lambda is harder */
                    before = r.steps;
                    /* f is K alpha. */
                    double *w = bins_of(&p, p.alpha), *f = rows_of(&p, w);
                    for (size_t c = 0; c < p.C; c++)
                        assert_true(distance(p.f, f, p.N, p.C, c) < 1e-10);
                    free(w), free(f);
                }
            }
        problem_free(&p);
    }
    kb_context_free(ctx);
}

static void too_few_steps_are_told(void **unused) {
    kb_context *ctx = test_context();
    problem p = problem_create(ctx, 100, 20, 2, 0);
    (void)unused;
    for (int m = 0; m < METHODS; m++)
        for (size_t most = 1; most <= 35; most += 17) {
            kb_ridge r = ridge_of(&p, 1e-4, 1e-12, most);
            assert_ok(ctx, SOLVERS[m].solve(ctx, &r));
            assert_int_equal(r.converged, 0);
            assert_int_equal(r.steps, most);
        }
    problem_free(&p);
    kb_context_free(ctx);
}

/* A tolerance that rounding puts out of reach is not reached with fewer steps either, also
 * where the recursion believes so at the very last of them. */
static void the_last_step_is_no_exception(void **unused) {
    kb_context *ctx = test_context();
    problem p = problem_create(ctx, 100, 20, 2, 0);
    (void)unused;
    for (int m = 0; m < METHODS; m++) {
        kb_ridge r = ridge_of(&p, 1e-3, 1e-14, 5000);
        assert_ok(ctx, SOLVERS[m].solve(ctx, &r));
        assert_int_equal(r.converged, 0);
        for (size_t most = r.steps + 5; most > 100; most--) {
            kb_ridge again = ridge_of(&p, 1e-3, 1e-14, most);
            assert_ok(ctx, SOLVERS[m].solve(ctx, &again));
            assert_int_equal(again.converged, 0);
        }
    }
    problem_free(&p);
    kb_context_free(ctx);
}

/* An output finds the same solution together with others and alone, and takes the steps of the
 * slowest.  Not the same bits: one column is summed in four chains. */
static void outputs_do_not_disturb_each_other(void **unused) {
    enum { C = 4 };
    kb_context *ctx = test_context();
    problem p = problem_create(ctx, 120, 20, C, 0), one = problem_create(ctx, 120, 20, 1, 0);
    (void)unused;
    for (size_t i = 0; i < p.N; i++) {
        p.y[i * C + 1] = 0;
        p.y[i * C + 2] *= 1e6;
        p.y[i * C + 3] = 1e-9 * (double)(i % 2);
    }
    for (int m = 0; m < METHODS; m++) {
        size_t most = 0;
        kb_ridge all = ridge_of(&p, 10, 1e-4, 1000);
        assert_ok(ctx, SOLVERS[m].solve(ctx, &all));
        for (size_t c = 0; c < C; c++) {
            for (size_t i = 0; i < p.N; i++)
                one.y[i] = p.y[i * C + c];
            kb_ridge alone = ridge_of(&one, 10, 1e-4, 1000);
            assert_ok(ctx, SOLVERS[m].solve(ctx, &alone));
            most = alone.steps > most ? alone.steps : most;
            double off = 0, size = 0;
            for (size_t i = 0; i < p.N; i++) {
                off = fmax(off, fabs(p.alpha[i * C + c] - one.alpha[i]));
                size = fmax(size, fabs(one.alpha[i]));
            }
            assert_true(off <= 1e-8 * size); /* rounding, after some eight steps */
        }
        assert_int_equal(all.steps, most);
    }
    problem_free(&p);
    problem_free(&one);
    kb_context_free(ctx);
}

/* ---- silly problems ---------------------------------------------------- */

static void zero_targets_take_no_steps(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int centred = 0; centred < 2; centred++) {
        problem p = problem_create(ctx, 30, 5, 2, centred);
        memset(p.y, 0, p.N * p.C * sizeof(double));
        for (int m = 0; m < METHODS; m++) {
            kb_ridge r = ridge_of(&p, 0.1, 1e-3, 100);
            assert_ok(ctx, SOLVERS[m].solve(ctx, &r));
            assert_int_equal(r.converged, 1);
            assert_int_equal(r.steps, 0);
            for (size_t k = 0; k < p.N * p.C; k++)
                assert_true(p.alpha[k] == 0 && p.f[k] == 0);
        }
        problem_free(&p);
    }
    kb_context_free(ctx);
}

static void one_sample_is_solved(void **unused) {
    kb_context *ctx = test_context();
    problem p = problem_create(ctx, 1, 3, 2, 0);
    (void)unused;
    for (int m = 0; m < METHODS; m++) {
        kb_ridge r = ridge_of(&p, 0.5, 1e-12, 100);
        assert_ok(ctx, SOLVERS[m].solve(ctx, &r));
        assert_int_equal(r.converged, 1);
        for (size_t c = 0; c < 2; c++) { /* K = 1 */
            assert_true(fabs(p.alpha[c] - p.y[c] / 1.5) < 1e-12);
            assert_true(fabs(p.f[c] - p.y[c] / 1.5) < 1e-12);
        }
    }
    problem_free(&p);
    kb_context_free(ctx);
}

/* All samples in one bin: K = 11', and f is the mean shrunk by N / (N + lambda). */
static void equal_samples_are_solved(void **unused) {
    enum { N = 40 };
    kb_context *ctx = test_context();
    problem p = problem_create(ctx, N, 4, 1, 0);
    double mean = 0;
    (void)unused;
    memset(p.w.data->dense, 0, N * 2 * sizeof(double));
    kb_operator_free(p.base);
    kb_binmat_free(p.w.z);
    p.w.z = world_bin(ctx, &p.w, NULL);
    assert_ok(ctx, kb_operator_binmat(ctx, p.w.z, &p.base));
    for (int i = 0; i < N; i++)
        mean += p.y[i] / N;
    for (int m = 0; m < METHODS; m++) {
        kb_ridge r = ridge_of(&p, 2, 1e-10, 100);
        assert_ok(ctx, SOLVERS[m].solve(ctx, &r));
        assert_int_equal(r.converged, 1);
        for (int i = 0; i < N; i++)
            assert_true(fabs(p.f[i] - mean * N / (N + 2)) < 1e-10);
    }
    problem_free(&p);
    kb_context_free(ctx);
}

/* The least tolerance that the options take, with a lambda at which rounding does not allow it:
 * it ends, and does not report convergence. */
static void an_impossible_tolerance_ends(void **unused) {
    kb_context *ctx = test_context();
    problem p = problem_create(ctx, 100, 20, 2, 1);
    (void)unused;
    for (int m = 0; m < METHODS; m++) {
        kb_ridge r = ridge_of(&p, 1e-6, 1e-15, 1000000000);
        assert_ok(ctx, SOLVERS[m].solve(ctx, &r));
        assert_int_equal(r.converged, 0);
        assert_true(r.steps < 100000);
    }
    problem_free(&p);
    kb_context_free(ctx);
}

/* ---- promises ---------------------------------------------------------- */

static void threads_change_no_bit(void **unused) {
    static const int teams[] = {1, 2, 5};
    kb_context *ctx = test_context();
    (void)unused;
    for (int m = 0; m < METHODS; m++)
        for (int centred = 0; centred < 2; centred++)
            for (size_t C = 1; C <= 3; C += 2) {
                enum { N = 5000 };
                world w = world_build(ctx, N, 2, 20, 0.3);
                double *first = NULL, *y = test_numbers(3, N * C);
                for (int t = 0; t < 3; t++) {
                    test_state state = {0};
                    kb_context *team = test_context_with(&state, teams[t]);
                    kb_operator *base, *op;
                    double *out = malloc(2 * N * C * sizeof *out), *mean = malloc(C * sizeof *mean);
                    assert_ok(team, kb_operator_binmat(team, w.z, &base));
                    assert_ok(team, kb_operator_centred(team, base, NULL, &op));
                    if (centred)
                        assert_ok(team, kb_centre(team, N, C, NULL, y, mean));
                    kb_ridge r = {.op = centred ? op : base,
                                  .lambda = 0.1,
                                  .tol = 1e-5,
                                  .max_steps = 45,
                                  .C = C,
                                  .y = y,
                                  .alpha = out,
                                  .f = out + N * C};
                    assert_ok(team, SOLVERS[m].solve(team, &r));
                    kb_operator_free(op);
                    kb_operator_free(base);
                    kb_context_free(team);
                    assert_int_equal(state.live, 0);
                    if (first)
                        assert_same_bits(out, first, 2 * N * C);
                    if (first)
                        free(out);
                    else
                        first = out;
                    if (centred) { /* centred twice is not the same */
                        free(y);
                        y = test_numbers(3, N * C);
                    }
                    free(mean);
                }
                free(first), free(y);
                world_free(&w);
            }
    kb_context_free(ctx);
}

static void progress_runs_from_0_to_1(void **unused) {
    const kb_ridge p = {.tol = 1e-4, .max_steps = 100};
    (void)unused;
    assert_true(kb_solve_progress(p.tol, p.max_steps, 1, 0) == 0);
    assert_true(fabs(kb_solve_progress(p.tol, p.max_steps, 1e-2, 1) - 0.5) < 1e-12);
    assert_true(kb_solve_progress(p.tol, p.max_steps, 1, 50) == 0.5);
    assert_true(kb_solve_progress(p.tol, p.max_steps, 1e-5, 3) == 1);
    assert_true(kb_solve_progress(p.tol, p.max_steps, 0, 3) == 1);
    assert_true(kb_solve_progress(p.tol, p.max_steps, 10, 100) == 1);
    const kb_ridge loose = {.tol = 1, .max_steps = 10};
    assert_true(kb_solve_progress(loose.tol, loose.max_steps, 0.5, 1) <= 1);
}

typedef struct attempt {
    problem *p;
    solver *solve;
    double lambda, tol;
    size_t max_steps;
} attempt;

static int solve_once(kb_context *ctx, void *arg) {
    attempt *a = arg;
    kb_status status;
    kb_operator *op = NULL;
    TRY(kb_operator_binmat(ctx, a->p->w.z, &op));
    kb_ridge r = ridge_of(a->p, a->lambda, a->tol, a->max_steps);
    r.op = op;
    TRY(a->solve(ctx, &r));
done:
    kb_operator_free(op);
    return (int)status;
}

static void the_callback_may_cancel_at_any_call(void **unused) {
    kb_context *ctx = test_context();
    problem p = problem_create(ctx, 60, 10, 2, 0);
    (void)unused;
    for (int m = 0; m < METHODS; m++) {
        attempt a = {&p, SOLVERS[m].solve, 0.01, 1e-6, 1000};
        run_with_cancellations(solve_once, &a, 1, 5);
    }
    problem_free(&p);
    kb_context_free(ctx);
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    problem p = problem_create(ctx, 30, 4, 2, 0);
    (void)unused;
    for (int m = 0; m < METHODS; m++) {
        attempt a = {&p, SOLVERS[m].solve, 0.1, 1e-9, 40};
        run_with_allocation_failures(solve_once, &a);
    }
    problem_free(&p);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tight_solutions_agree_with_cholesky),
        cmocka_unit_test(what_is_called_converged_has_converged),
        cmocka_unit_test(too_few_steps_are_told),
        cmocka_unit_test(the_last_step_is_no_exception),
        cmocka_unit_test(outputs_do_not_disturb_each_other),
        cmocka_unit_test(zero_targets_take_no_steps),
        cmocka_unit_test(one_sample_is_solved),
        cmocka_unit_test(equal_samples_are_solved),
        cmocka_unit_test(an_impossible_tolerance_ends),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(the_callback_may_cancel_at_any_call),
        cmocka_unit_test(progress_runs_from_0_to_1),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
