/* Newton-CG: against dense Newton, and its guarantees. */
#include "solve/smooth.h"

/* The largest |Z'g| / |Z'g_0| of an output, or of all together for softmax, from the matrix. */
static double true_gradient(const problem *p) {
    size_t D = p->D, C = p->C;
    double *w = bins_of(p, p->alpha), *zero = calloc(D * C, sizeof *zero), worst_share = 0;
    double *g = malloc(D * C * sizeof *g), *g0 = malloc(D * C * sizeof *g0);
    dense_objective(p, w, g, NULL);
    dense_objective(p, zero, g0, NULL);
    for (size_t c = 0; c < C; c++) {
        double above = 0, below = 0;
        for (size_t b = 0; b < D; b++) {
            above += g[b * C + c] * g[b * C + c];
            below += g0[b * C + c] * g0[b * C + c];
        }
        worst_share = fmax(worst_share, sqrt(above / below));
    }
    if (p->kind == MULTINOMIAL)
        worst_share = length(g, D * C) / length(g0, D * C);
    free(w), free(zero), free(g), free(g0);
    return worst_share;
}

/* ---- the solution ------------------------------------------------------ */

/* The objective is off by |gradient|^2 / (2 lambda) at most, 1e-16 of its size or so for
 * tol = 1e-9; w by |gradient| / lambda. */
static void check_against_dense(kb_context *ctx, problem *p) {
    double least, most = 0;
    double *w = dense_newton(p, &least), *f = rows_of(p, w);
    kb_smooth mine = smooth_of(p, 1e-9, 5000);
    assert_ok(ctx, kb_newton(ctx, &mine));
    assert_int_equal(mine.converged, 1);
    if (!close_to(mine.objective, least, 1e-10))
        fail_msg("%s, lambda %g: %.15g, not %.15g", KIND[p->kind], p->lambda, mine.objective,
                 least);
    double *my_w = bins_of(p, p->alpha);
    for (size_t k = 0; k < p->D * p->C; k++)
        most = fmax(most, fabs(w[k]));
    for (size_t k = 0; k < p->D * p->C; k++)
        assert_true(fabs(my_w[k] - w[k]) <= 1e-6 * most);
    assert_close(p->f, f, p->N * p->C, 1e-6);
    free(w), free(f), free(my_w);
}

static void solutions_agree_with_dense_newton(void **unused) {
    static const double lambdas[] = {0.01, 0.3, 10};
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < KINDS; kind++)
        for (int weighted = 0; weighted < 2; weighted++)
            for (int k = 0; k < 3; k++) {
                problem p = problem_create(ctx, kind, 80, 12, kind == MULTINOMIAL ? 3 : 1);
                p.lambda = lambdas[k];
                if (weighted)
                    weigh(&p);
                check_against_dense(ctx, &p);
                problem_free(&p);
            }
    kb_context_free(ctx);
}

static void several_outputs_agree_with_dense_newton(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < KINDS; kind++) {
        problem p = problem_create(ctx, kind, 70, 7, 3);
        weigh(&p);
        check_against_dense(ctx, &p);
        problem_free(&p);
    }
    kb_context_free(ctx);
}

static void a_constant_is_one_more_feature(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < KINDS; kind++)
        for (int weighted = 0; weighted < 2; weighted++) {
            problem p = problem_create(ctx, kind, 60, 7, kind == MULTINOMIAL ? 3 : 2);
            if (weighted)
                weigh(&p);
            add_constant(ctx, &p);
            check_against_dense(ctx, &p);
            /* Its weight is the sum of alpha, and matters. */
            double *w = bins_of(&p, p.alpha);
            assert_true(fabs(w[(p.D - 1) * p.C]) > 0.01);
            free(w);
            problem_free(&p);
        }
    kb_context_free(ctx);
}

/* At the return, recomputed from the matrix; a thousandth more is the rounding of that and of
 * f, which is added up along the way.  The objective is that of the alpha that is returned, and
 * a smaller tolerance takes more products. */
static void what_is_called_converged_has_converged(void **unused) {
    static const double tols[] = {1e-2, 1e-3, 1e-5, 1e-7, 1e-9};
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < KINDS; kind++)
        for (int weighted = 0; weighted < 2; weighted++) {
            problem p = problem_create(ctx, kind, 100, 15, 3);
            if (weighted)
                weigh(&p);
            for (p.lambda = 10; p.lambda > 1e-3; p.lambda /= 30) {
                size_t before = 0;
                for (size_t k = 0; k < sizeof tols / sizeof *tols; k++) {
                    kb_smooth mine = smooth_of(&p, tols[k], 20000);
                    assert_ok(ctx, kb_newton(ctx, &mine));
                    assert_int_equal(mine.converged, 1);
                    double share = true_gradient(&p);
                    if (!(share <= tols[k] * (1 + 1e-3)))
                        fail_msg("%s, lambda %g: %g is not below %g", KIND[kind], p.lambda, share,
                                 tols[k]);
                    assert_true(mine.steps >= before && mine.steps > mine.rounds);
                    before = mine.steps;
                    double *w = bins_of(&p, p.alpha), *f = rows_of(&p, w);
                    assert_true(
                        close_to(mine.objective, dense_objective(&p, w, NULL, NULL), 1e-12));
                    assert_close(p.f, f, p.N * p.C, 1e-10);
                    free(w), free(f);
                }
                assert_true(before > 5);
            }
            problem_free(&p);
        }
    kb_context_free(ctx);
}

/* Rows of weight 0 have no influence: the solution is that without them, and they get decisions
 * like new samples. */
static void weight_0_leaves_a_sample_out(void **unused) {
    enum { ALL = 90, FEWER = 60 };
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < KINDS; kind++) {
        problem all_rows = problem_create(ctx, kind, ALL, 9, 3);
        problem fewer = problem_create(ctx, kind, FEWER, 9, 3); /* the first of the same rows */
        assert_memory_equal(all_rows.w.x, fewer.w.x, FEWER * 2 * sizeof(double));
        all_rows.s = malloc(ALL * sizeof(double));
        for (size_t i = 0; i < ALL; i++)
            all_rows.s[i] = i < FEWER;
        kb_smooth a = smooth_of(&all_rows, 1e-9, 5000), b = smooth_of(&fewer, 1e-9, 5000);
        assert_ok(ctx, kb_newton(ctx, &a));
        assert_ok(ctx, kb_newton(ctx, &b));
        assert_true(close_to(a.objective, b.objective, 1e-12));
        assert_close(all_rows.f, fewer.f, FEWER * 3, 1e-8);
        for (size_t k = FEWER * 3; k < ALL * 3; k++)
            assert_true(all_rows.alpha[k] == 0);
        assert_true(length(all_rows.f + FEWER * 3, (ALL - FEWER) * 3) > 0.1);
        problem_free(&all_rows);
        problem_free(&fewer);
    }
    kb_context_free(ctx);
}

/* From the solution for one lambda to that for another: the same place as from zero, by the same
 * rule, in fewer steps; and from the solution itself no step at all. */
static void a_start_changes_the_way_and_not_the_end(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < KINDS; kind++) {
        problem p = problem_create(ctx, kind, 80, 12, 3);
        p.lambda = 0.3;
        kb_smooth first = smooth_of(&p, 1e-9, 5000);
        assert_ok(ctx, kb_newton(ctx, &first));
        p.lambda = 0.25;
        kb_smooth warm = smooth_of(&p, 1e-9, 5000);
        warm.warm = 1;
        assert_ok(ctx, kb_newton(ctx, &warm));
        assert_int_equal(warm.converged, 1);
        assert_true(true_gradient(&p) <= 1.01e-9); /* rounding */
        double *there = malloc(p.N * p.C * sizeof *there);
        memcpy(there, p.f, p.N * p.C * sizeof *there);
        kb_smooth again = smooth_of(&p, 1e-8, 5000);
        again.warm = 1;
        assert_ok(ctx, kb_newton(ctx, &again));
        assert_true(again.rounds == 0 && again.converged);
        assert_true(close_to(again.objective, warm.objective, 1e-12));
        kb_smooth cold = smooth_of(&p, 1e-9, 5000);
        assert_ok(ctx, kb_newton(ctx, &cold));
        assert_true(close_to(cold.objective, warm.objective, 1e-10));
        assert_close(p.f, there, p.N * p.C, 1e-6);
        assert_true(warm.steps < cold.steps);
        free(there);
        problem_free(&p);
    }
    kb_context_free(ctx);
}

/* ---- several outputs --------------------------------------------------- */

/* An output finds the same solution, to the bit, whatever its neighbours are. */
static void outputs_do_not_disturb_each_other(void **unused) {
    enum { C = 4 };
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = LOGISTIC; kind <= HINGE; kind++) {
        problem p = problem_create(ctx, kind, 100, 9, C), q = problem_create(ctx, kind, 100, 9, C);
        double sum = 0;
        size_t rounds = 0;
        for (size_t i = 0; i < p.N; i++) {
            p.y[i * C + 1] = 1;              /* an easy one */
            p.y[i * C + 3] = i % 2 ? 1 : -1; /* and one that cannot be learned */
        }
        kb_smooth together = smooth_of(&p, 1e-6, 5000);
        assert_ok(ctx, kb_newton(ctx, &together));
        assert_int_equal(together.converged, 1);
        for (size_t c = 0; c < C; c++) {
            for (size_t k = 0; k < p.N * C; k++)
                q.y[k] = p.y[k / C * C + c];
            kb_smooth alone = smooth_of(&q, 1e-6, 5000);
            assert_ok(ctx, kb_newton(ctx, &alone));
            for (size_t i = 0; i < p.N; i++)
                for (size_t k = 0; k < C; k++) {
                    assert_true(q.f[i * C + k] == p.f[i * C + c]);
                    assert_true(q.alpha[i * C + k] == p.alpha[i * C + c]);
                }
            sum += alone.objective / C;
            rounds = alone.rounds > rounds ? alone.rounds : rounds;
        }
        assert_true(close_to(together.objective, sum, 1e-14));
        assert_int_equal(together.rounds, rounds);
        problem_free(&p);
        problem_free(&q);
    }
    kb_context_free(ctx);
}

/* And alone it finds the same but for rounding, which the bends of the squared hinge amplify. */
static void several_outputs_are_single_solutions(void **unused) {
    enum { C = 3 };
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = LOGISTIC; kind <= HINGE; kind++) {
        problem p = problem_create(ctx, kind, 100, 9, C),
                one = problem_create(ctx, kind, 100, 9, 1);
        double sum = 0;
        kb_smooth together = smooth_of(&p, 1e-9, 5000);
        assert_ok(ctx, kb_newton(ctx, &together));
        for (size_t c = 0; c < C; c++) {
            for (size_t i = 0; i < p.N; i++)
                one.y[i] = p.y[i * C + c];
            kb_smooth alone = smooth_of(&one, 1e-9, 5000);
            assert_ok(ctx, kb_newton(ctx, &alone));
            sum += alone.objective;
            for (size_t i = 0; i < p.N; i++)
                assert_true(fabs(p.f[i * C + c] - one.f[i]) <= 1e-7);
        }
        assert_true(close_to(together.objective, sum, 1e-12));
        problem_free(&p);
        problem_free(&one);
    }
    kb_context_free(ctx);
}

/* Twice the objective has the same minimum; the factor is exact in binary, all along. */
static void only_the_ratio_of_weights_and_lambda_matters(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < KINDS; kind++) {
        problem p = problem_create(ctx, kind, 80, 9, 3),
                twice = problem_create(ctx, kind, 80, 9, 3);
        weigh(&p);
        weigh(&twice);
        for (size_t i = 0; i < p.N; i++)
            twice.s[i] *= 2;
        twice.lambda = 2 * p.lambda;
        kb_smooth a = smooth_of(&p, 1e-6, 5000), b = smooth_of(&twice, 1e-6, 5000);
        assert_ok(ctx, kb_newton(ctx, &a));
        assert_ok(ctx, kb_newton(ctx, &b));
        assert_same_bits(p.alpha, twice.alpha, p.N * p.C);
        assert_true(b.objective == 2 * a.objective);
        problem_free(&p);
        problem_free(&twice);
    }
    kb_context_free(ctx);
}

static void too_few_steps_are_told(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < KINDS; kind++) {
        problem p = problem_create(ctx, kind, 100, 15, 3);
        double start = INFINITY;
        p.lambda = 1e-3;
        for (size_t most = 1; most <= 25; most++) {
            kb_smooth mine = smooth_of(&p, 1e-12, most);
            assert_ok(ctx, kb_newton(ctx, &mine));
            assert_int_equal(mine.converged, 0);
            assert_int_equal(mine.steps, most);
            double *w = bins_of(&p, p.alpha);
            assert_true(close_to(mine.objective, dense_objective(&p, w, NULL, NULL), 1e-12));
            if (most == 1) /* the gradient of w = 0 */
                start = mine.objective;
            else /* the steps that were allowed have helped */
                assert_true(mine.objective < start);
            free(w);
        }
        problem_free(&p);
    }
    kb_context_free(ctx);
}

/* ---- silly problems ---------------------------------------------------- */

/* All samples of one class, and a single sample. */
static void one_sided_targets_are_solved(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t N = 1; N <= 40; N += 39)
        for (int kind = LOGISTIC; kind <= HINGE; kind++) {
            problem p = problem_create(ctx, kind, N, 5, 1);
            for (size_t i = 0; i < N; i++)
                p.y[i] = -1;
            kb_smooth mine = smooth_of(&p, 1e-9, 5000);
            assert_ok(ctx, kb_newton(ctx, &mine));
            assert_int_equal(mine.converged, 1);
            for (size_t i = 0; i < N; i++)
                assert_true(p.f[i] < 0);
            check_against_dense(ctx, &p);
            problem_free(&p);
        }
    kb_context_free(ctx);
}

static void weights_that_are_all_0_take_no_rounds(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < KINDS; kind++) {
        problem p = problem_create(ctx, kind, 40, 5, 3);
        p.s = calloc(p.N, sizeof(double));
        kb_smooth mine = smooth_of(&p, 1e-9, 5000);
        assert_ok(ctx, kb_newton(ctx, &mine));
        assert_int_equal(mine.converged, 1);
        assert_int_equal(mine.rounds, 0);
        assert_true(mine.objective == 0);
        for (size_t k = 0; k < p.N * p.C; k++)
            assert_true(p.f[k] == 0 && p.alpha[k] == 0);
        problem_free(&p);
    }
    kb_context_free(ctx);
}

/* The least tolerance that the options take, beyond what rounding allows, ends. */
static void an_impossible_tolerance_ends(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < KINDS; kind++)
        for (double lambda = 1e-4; lambda < 1e3; lambda *= 1e3) {
            problem p = problem_create(ctx, kind, 100, 20, 2);
            p.lambda = lambda;
            kb_smooth mine = smooth_of(&p, 1e-15, 1000000000);
            assert_ok(ctx, kb_newton(ctx, &mine));
            assert_true(mine.steps < 100000);
            assert_true(true_gradient(&p) < 1e-8); /* as accurate as rounding allows */
            problem_free(&p);
        }
    kb_context_free(ctx);
}

/* ---- promises ---------------------------------------------------------- */

static void threads_change_no_bit(void **unused) {
    enum { N = 5000 };
    static const int teams[] = {1, 2, 5};
    kb_context *ctx = test_context();
    world w = world_build(ctx, N, 2, 20, 0.3);
    (void)unused;
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t C = kind == MULTINOMIAL ? 3 : 1; C <= 3; C += 2) {
            double *first = NULL, *y = test_numbers(3, N * C), *weight = test_numbers(4, N);
            double objective = 0;
            for (size_t k = 0; k < N * C; k++)
                y[k] = y[k] > 0 ? 1 : -1;
            for (size_t i = 0; i < N; i++)
                weight[i] = fabs(weight[i]);
            for (int t = 0; t < 3; t++) {
                test_state state = {0};
                kb_context *team = test_context_with(&state, teams[t]);
                kb_operator *base, *op;
                double *out = malloc(2 * N * C * sizeof *out);
                assert_ok(team, kb_operator_binmat(team, w.z, &base));
                assert_ok(team, kb_operator_constant(team, base, &op));
                kb_smooth p = {.op = op,
                               .loss = kb_loss_find(KIND[kind]),
                               .softmax = kind == MULTINOMIAL,
                               .lambda = 0.1,
                               .tol = 1e-5,
                               .max_steps = 30,
                               .C = C,
                               .y = y,
                               .s = weight,
                               .alpha = out,
                               .f = out + N * C};
                assert_ok(team, kb_newton(team, &p));
                kb_operator_free(op);
                kb_operator_free(base);
                kb_context_free(team);
                assert_int_equal(state.live, 0);
                if (first) {
                    assert_same_bits(out, first, 2 * N * C);
                    assert_true(p.objective == objective);
                    free(out);
                } else {
                    first = out;
                    objective = p.objective;
                }
            }
            free(first), free(y), free(weight);
        }
    world_free(&w);
    kb_context_free(ctx);
}

/* f = K alpha, where rows are cut into parts too: no row is taken twice. */
static void decisions_are_those_of_alpha(void **unused) {
    enum { N = 5000 };
    kb_context *ctx = test_context();
    (void)unused;
    problem p = problem_create(ctx, LOGISTIC, N, 20, 1);
    kb_smooth mine = smooth_of(&p, 1e-6, 60);
    assert_ok(ctx, kb_newton(ctx, &mine));
    double *w = bins_of(&p, p.alpha);
    for (size_t i = 0; i < N; i++) {
        double f = 0;
        for (size_t b = 0; b < p.D; b++)
            f += p.Z[i * p.D + b] * w[b];
        assert_true(fabs(f - p.f[i]) <= 1e-9 * (1 + fabs(f))); /* sums of steps */
    }
    free(w);
    problem_free(&p);
    kb_context_free(ctx);
}

typedef struct attempt {
    problem *p;
    double tol;
    size_t max_steps;
} attempt;

static int solve_once(kb_context *ctx, void *arg) {
    attempt *a = arg;
    kb_status status;
    kb_operator *op = NULL, *constant = NULL;
    TRY(kb_operator_binmat(ctx, a->p->w.z, &op));
    TRY(kb_operator_constant(ctx, op, &constant));
    kb_smooth r = smooth_of(a->p, a->tol, a->max_steps);
    r.op = constant;
    TRY(kb_newton(ctx, &r));
done:
    kb_operator_free(constant);
    kb_operator_free(op);
    return (int)status;
}

static void the_callback_may_cancel_at_any_call(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < KINDS; kind++) {
        problem p = problem_create(ctx, kind, 60, 10, 3);
        attempt a = {&p, 1e-6, 1000};
        p.lambda = 0.01;
        run_with_cancellations(solve_once, &a, 1, 5);
        problem_free(&p);
    }
    kb_context_free(ctx);
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < KINDS; kind++) {
        problem p = problem_create(ctx, kind, 30, 4, 2);
        attempt a = {&p, 1e-9, 10};
        run_with_allocation_failures(solve_once, &a);
        problem_free(&p);
    }
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solutions_agree_with_dense_newton),
        cmocka_unit_test(several_outputs_agree_with_dense_newton),
        cmocka_unit_test(a_constant_is_one_more_feature),
        cmocka_unit_test(what_is_called_converged_has_converged),
        cmocka_unit_test(weight_0_leaves_a_sample_out),
        cmocka_unit_test(a_start_changes_the_way_and_not_the_end),
        cmocka_unit_test(outputs_do_not_disturb_each_other),
        cmocka_unit_test(several_outputs_are_single_solutions),
        cmocka_unit_test(only_the_ratio_of_weights_and_lambda_matters),
        cmocka_unit_test(too_few_steps_are_told),
        cmocka_unit_test(one_sided_targets_are_solved),
        cmocka_unit_test(weights_that_are_all_0_take_no_rounds),
        cmocka_unit_test(an_impossible_tolerance_ends),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(decisions_are_those_of_alpha),
        cmocka_unit_test(the_callback_may_cancel_at_any_call),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
