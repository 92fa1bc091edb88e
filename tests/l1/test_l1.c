/* The L1 solvers: the conditions of the optimum by plain loops, each other, and the gap that
 * they report. */
#include "l1/l1problem.h"
#include "meter.h"

static kb_l1_solver *const SOLVER[] = {kb_l1_grid_cd, kb_l1_cd, kb_l1_parallel_cd};

/* |pull| <= lambda, and lambda times the sign where w is not zero.  The gap is quadratic in how
 * far they are from it: 1e-10 of the objective leaves 1e-5 or so. */
static void check_conditions(const problem *q, double tolerance) {
    double sum, *pull = pulls_of(q, &sum);
    for (size_t j = 0; j < q->D; j++) {
        double w = q->weights[j];
        if (w != 0 ? fabs(pull[j] - copysign(q->p.lambda, w)) > tolerance
                   : fabs(pull[j]) > q->p.lambda + tolerance)
            fail_msg("%s: column %zu, w %g, pull %g, lambda %g", kb_loss_name(q->p.loss), j, w,
                     pull[j], q->p.lambda);
    }
    if (q->p.intercept)
        assert_true(fabs(sum) <= 1e-9 * (double)q->N);
    free(pull);
}

static void solutions_meet_the_conditions_and_agree(void **unused) {
    (void)unused;
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 2);
    for (size_t l = 0; l < 3; l++)
        for (int kind = 0; kind < 4; kind += TEST_LIGHT ? 3 : 1) { /* weights, intercept */
            problem q = problem_create(ctx, LOSS[l], 150, 6);
            double best = 0;
            q.p.s = kind % 2 ? q.s : NULL;
            q.p.intercept = kind / 2;
            for (size_t k = 0; k < 3; k++) {
                from_zero(&q);
                assert_ok(ctx, SOLVER[k](ctx, &q.p));
                if (!q.p.converged)
                    fail_msg("%s, kind %d, solver %zu: gap %g after %zu", LOSS[l], kind, k, q.p.gap,
                             q.p.epochs);
                check_word(&q);
                check_conditions(&q, 2e-4);
                if (k == 0)
                    best = q.p.objective;
                assert_true(fabs(q.p.objective - best) <= 1e-9 * best);
            }
            problem_free(&q);
        }
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

/* One column, one row: by bisection on the slope. */
static void one_weight_is_right(void **unused) {
    (void)unused;
    kb_context *ctx = test_context();
    for (size_t l = 0; l < 3; l++) {
        double Z[] = {1.5}, y[] = {1}, w[1] = {0}, f[1];
        kb_zcolumns *c;
        const kb_loss *loss = kb_loss_find(LOSS[l]);
        assert_ok(ctx, kb_zcolumns_from_dense(ctx, 1, 1, Z, &c));
        kb_l1 p = {.columns = c,
                   .loss = loss,
                   .lambda = 0.1,
                   .tol = 1e-12,
                   .max_epochs = 10000,
                   .y = y,
                   .w = w,
                   .f = f};
        double low = 0, high = 10;
        for (int k = 0; k < 200; k++) {
            double middle = (low + high) / 2;
            if (1.5 * loss->at(loss, 1.5 * middle, 1).slope + 0.1 > 0)
                high = middle;
            else
                low = middle;
        }
        for (size_t k = 0; k < 3; k++) {
            w[0] = 0;
            assert_ok(ctx, SOLVER[k](ctx, &p));
            assert_true(p.converged);
            assert_true(fabs(w[0] - low) <= 1e-5);
        }
        kb_zcolumns_free(c);
    }
    kb_context_free(ctx);
}

static void lambda_max_is_where_the_first_weight_appears(void **unused) {
    (void)unused;
    kb_context *ctx = test_context();
    for (size_t l = 0; l < 3; l++)
        for (int kind = 0; kind < 8; kind++) {
            double most;
            problem q = problem_create(ctx, LOSS[l], 100, 4);
            q.p.s = kind % 2 ? q.s : NULL;
            q.p.intercept = kind / 2 % 2;
            q.p.group = kind / 4;
            assert_ok(ctx, kb_l1_lambda_max(ctx, &q.p, &most));
            q.p.lambda = most * (1 + 1e-9);
            assert_ok(ctx, kb_l1_grid_cd(ctx, &q.p));
            assert_int_equal(q.p.nonzeros, 0);
            assert_true(q.p.converged);
            q.p.lambda = most * 0.99;
            assert_ok(ctx, kb_l1_grid_cd(ctx, &q.p));
            assert_true(q.p.nonzeros > 0);
            problem_free(&q);
        }
    kb_context_free(ctx);
}

/* Columns of one each are groups of one each. */
static void dense_columns_give_the_same_answer(void **unused) {
    (void)unused;
    kb_context *ctx = test_context();
    for (size_t l = 0; l < 3; l++) {
        problem q = problem_create(ctx, LOSS[l], 90, 4);
        kb_zcolumns *sparse = q.columns, *dense;
        assert_ok(ctx, kb_l1_grid_cd(ctx, &q.p));
        double least = q.p.objective;
        assert_ok(ctx, kb_zcolumns_from_dense(ctx, q.N, q.D, q.Z, &dense));
        q.p.columns = q.columns = dense;
        for (size_t k = 0; k < 4; k++) {
            from_zero(&q);
            q.p.group = k == 3;
            assert_ok(ctx, SOLVER[k % 3](ctx, &q.p));
            assert_true(q.p.converged);
            assert_true(fabs(q.p.objective - least) <= 1e-9 * least);
            check_word(&q);
            check_conditions(&q, 2e-4);
        }
        kb_zcolumns_free(dense);
        q.columns = sparse;
        problem_free(&q);
    }
    kb_context_free(ctx);
}

/* The bins of rows that were left out stay, empty: their weights end at zero. */
static void empty_columns_are_harmless(void **unused) {
    (void)unused;
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 2);
    for (size_t l = 0; l < 3; l++)
        for (size_t k = 0; k < 4; k++) {
            problem q = problem_create(ctx, LOSS[l], 150, 6);
            kb_binmat *few;
            uint32_t rows[150];
            size_t count = 0;
            for (uint32_t i = 0; i < 150; i += 4) /* none of the last bin */
                if (q.Z[i * q.D + q.D - 1] == 0)
                    rows[count++] = i;
            kb_zcolumns_free(q.columns);
            free(q.Z);
            assert_ok(ctx, kb_binmat_subset(ctx, q.w.z, count, rows, &few));
            assert_ok(ctx, kb_zcolumns_from_binmat(ctx, few, &q.columns));
            q.Z = test_matrix(few);
            q.N = count;
            q.p.columns = q.columns;
            q.p.group = k == 3;
            q.p.tol = k == 3 ? 1e-7 : 1e-10;
            assert_int_equal(kb_column_count(q.columns, q.D - 1), 0);
            for (size_t j = 0; j < q.D; j++)
                q.weights[j] = 1;
            assert_ok(ctx, SOLVER[k % 3](ctx, &q.p));
            if (!q.p.converged)
                fail_msg("%s, solver %zu: gap %g of %g after %zu", LOSS[l], k, q.p.gap,
                         q.p.objective, q.p.epochs);
            check_word(&q);
            for (size_t j = 0; j < q.D; j++)
                assert_true(q.weights[j] == 0 || kb_column_count(q.columns, j) > 0);
            if (k < 3)
                check_conditions(&q, 2e-4);
            kb_binmat_free(few);
            problem_free(&q);
        }
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

/* Also where a block has nearly as many columns as there are rows. */
static void bytes_are_told_in_advance(void **unused) {
    (void)unused;
    enum { N = 1000 };
    static const size_t grids[] = {1, 4, 16, 64};
    for (size_t k = 0; k < 4; k++) {
        meter m = {0};
        kb_context *ctx = metered_context(&m);
        world w = world_build(ctx, N, 3, grids[k], 0.02);
        kb_zcolumns *c;
        double y[N], f[N], *weights = calloc(w.z->bins, sizeof *weights);
        for (size_t i = 0; i < N; i++)
            y[i] = test_uniform(7, i) > 0.5 ? 1 : -1;
        assert_ok(ctx, kb_zcolumns_from_binmat(ctx, w.z, &c));
        kb_l1 p = {.columns = c,
                   .loss = kb_loss_find("squared-hinge"),
                   .lambda = 0.2,
                   .tol = 1e-10,
                   .max_epochs = 3,
                   .y = y,
                   .w = weights,
                   .f = f};
        size_t before = m.peak = m.now;
        assert_ok(ctx, kb_l1_grid_cd(ctx, &p));
        double taken = (double)(m.peak - before), told = kb_l1_bytes(N, grids[k], c->columns);
        if (!(taken <= told + 4096 && told <= 2 * taken))
            fail_msg("%zu grids: %g bytes, and %g were told", grids[k], taken, told);
        kb_zcolumns_free(c);
        world_free(&w);
        free(weights);
        kb_context_free(ctx);
    }
}

/* A weight of k is k copies; a weight of 0 is none. */
static void weights_are_repeated_rows(void **unused) {
    (void)unused;
    enum { N = 40, D = 6 };
    kb_context *ctx = test_context();
    for (size_t l = 0; l < 3; l++) {
        double *Z = test_numbers(2, N * D), Z2[3 * N * D], y[N], y2[3 * N], s[N], w[D], w2[D];
        double f[N], f2[3 * N];
        size_t rows = 0;
        kb_zcolumns *c, *c2;
        for (size_t i = 0; i < N; i++) {
            s[i] = (double)(i % 4);
            y[i] = Z[i * D] + Z[i * D + 1] + 0.3 * test_uniform(5, i) > 0 ? 1 : -1;
            for (size_t k = 0; k < i % 4 && rows < 3 * N; k++) {
                memcpy(Z2 + rows * D, Z + i * D, D * sizeof *Z);
                y2[rows++] = y[i];
            }
        }
        assert_ok(ctx, kb_zcolumns_from_dense(ctx, N, D, Z, &c));
        assert_ok(ctx, kb_zcolumns_from_dense(ctx, rows, D, Z2, &c2));
        for (size_t k = 0; k < 3; k++) {
            kb_l1 p = {.columns = c,
                       .loss = kb_loss_find(LOSS[l]),
                       .lambda = 0.5,
                       .tol = 1e-11,
                       .max_epochs = 20000,
                       .intercept = 1,
                       .y = y,
                       .s = s,
                       .w = w,
                       .f = f};
            memset(w, 0, sizeof w);
            memset(w2, 0, sizeof w2);
            assert_ok(ctx, SOLVER[k](ctx, &p));
            double objective = p.objective;
            p.columns = c2, p.y = y2, p.s = NULL, p.w = w2, p.f = f2, p.b = 0;
            assert_ok(ctx, SOLVER[k](ctx, &p));
            assert_true(fabs(p.objective - objective) <= 1e-9 * objective);
            assert_close(w, w2, D, 1e-4);
        }
        kb_zcolumns_free(c);
        kb_zcolumns_free(c2);
        free(Z);
    }
    kb_context_free(ctx);
}

static void a_warm_start_arrives_at_once(void **unused) {
    (void)unused;
    kb_context *ctx = test_context();
    for (size_t l = 0; l < 3; l++)
        for (size_t k = 0; k < 3; k++) {
            problem q = problem_create(ctx, LOSS[l], 100, 5);
            q.p.intercept = 1;
            assert_ok(ctx, SOLVER[k](ctx, &q.p));
            q.p.tol = 2e-10;
            assert_ok(ctx, SOLVER[k](ctx, &q.p));
            assert_true(q.p.converged);
            assert_int_equal(q.p.epochs, 0);
            problem_free(&q);
        }
    kb_context_free(ctx);
}

static void a_path_ends_where_a_single_solve_does(void **unused) {
    (void)unused;
    kb_context *ctx = test_context();
    problem q = problem_create(ctx, "logistic", 150, 6);
    double lambda[8], most;
    assert_ok(ctx, kb_l1_lambda_max(ctx, &q.p, &most));
    kb_l1_lambdas(most, most / 50, 8, lambda);
    assert_true(lambda[0] == most && lambda[7] == most / 50);
    for (size_t k = 1; k < 8; k++)
        assert_true(fabs(lambda[k] / lambda[k - 1] - pow(0.02, 1.0 / 7)) < 1e-12);
    for (size_t k = 0; k < 8; k++) {
        q.p.lambda = lambda[k];
        assert_ok(ctx, kb_l1_grid_cd(ctx, &q.p));
        assert_true(q.p.converged);
    }
    double objective = q.p.objective;
    from_zero(&q);
    assert_ok(ctx, kb_l1_grid_cd(ctx, &q.p));
    assert_true(fabs(q.p.objective - objective) <= 1e-9 * objective);
    problem_free(&q);
    kb_context_free(ctx);
}

/* All of one class; all separable; lambda tiny or huge. */
static void odd_problems_end(void **unused) {
    (void)unused;
    kb_context *ctx = test_context();
    for (size_t l = 0; l < 3; l++)
        for (size_t k = 0; k < 3; k++)
            for (int kind = 0; kind < 5; kind++) {
                problem q = problem_create(ctx, LOSS[l], 30, 5);
                q.p.tol = 1e-4;
                q.p.intercept = kind % 2;
                q.p.lambda = kind < 2 ? 0.1 : kind == 2 ? 1e9 : 0.02;
                for (size_t i = 0; i < q.N; i++)
                    q.y[i] = kind < 2 ? 1 : q.w.x[2 * i] > 0 ? 1 : -1;
                assert_ok(ctx, SOLVER[k](ctx, &q.p));
                if (!q.p.converged)
                    fail_msg("%s, solver %zu, kind %d: gap %g of %g", LOSS[l], k, kind, q.p.gap,
                             q.p.objective);
                check_word(&q);
                if (kind == 2)
                    assert_int_equal(q.p.nonzeros, 0);
                problem_free(&q);
            }
    kb_context_free(ctx);
}

static int solve_all(kb_context *ctx, void *arg) {
    problem *q = arg;
    kb_status status = KB_OK;
    double most;
    for (size_t k = 0; k < 3; k++) {
        from_zero(q);
        TRY(SOLVER[k](ctx, &q->p));
    }
    TRY(kb_l1_lambda_max(ctx, &q->p, &most));
done:
    return status;
}

static void every_allocation_may_fail(void **unused) {
    (void)unused;
    kb_context *ctx = test_context();
    problem q = problem_create(ctx, "squared-hinge", 20, 3);
    q.p.tol = 1e-2;
    run_with_allocation_failures(solve_all, &q);
    q.p.s = q.s;
    run_with_allocation_failures(solve_all, &q);
    problem_free(&q);
    kb_context_free(ctx);
}

static void solvers_can_be_cancelled(void **unused) {
    (void)unused;
    for (size_t k = 0; k < 3; k++) {
        test_state state = {.cancel_after = 2};
        kb_context *ctx = test_context_with(&state, 2);
        problem q = problem_create(ctx, "logistic", 100, 5);
        state.cancel_after = state.progress + 2;
        assert_int_equal(SOLVER[k](ctx, &q.p), KB_ERR_CANCELLED);
        problem_free(&q);
        kb_context_free(ctx);
        assert_int_equal(state.live, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_weight_is_right),
        cmocka_unit_test(solutions_meet_the_conditions_and_agree),
        cmocka_unit_test(lambda_max_is_where_the_first_weight_appears),
        cmocka_unit_test(dense_columns_give_the_same_answer),
        cmocka_unit_test(empty_columns_are_harmless),
        cmocka_unit_test(bytes_are_told_in_advance),
        cmocka_unit_test(weights_are_repeated_rows),
        cmocka_unit_test(a_warm_start_arrives_at_once),
        cmocka_unit_test(a_path_ends_where_a_single_solve_does),
        cmocka_unit_test(odd_problems_end),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(solvers_can_be_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
