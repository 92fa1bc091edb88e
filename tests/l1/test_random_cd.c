/* Randomised coordinate descent: its single steps, and its path. */
#include "l1/l1problem.h"

/* A second copy under another name, for the functions inside it. */
kb_l1_solver cd_inside;
#define kb_l1_cd cd_inside
#include "l1/random_cd.c"
#undef kb_l1_cd

/* ---- steps ------------------------------------------------------------- */

/* Somewhere: weights that are zero, small or large. */
static void put_somewhere(problem *q) {
    for (size_t j = 0; j < q->D; j++)
        q->weights[j] = j % 3 ? 2 * test_uniform(8, j) - 1 : 0;
}

/* z_j'push and beta z_j'diag(s) z_j from the matrix, at f. */
static double plain_pull(const problem *q, const double *f, size_t j, double *M) {
    double G = *M = 0;
    for (size_t i = 0; i < q->N; i++) {
        double s = q->p.s ? q->p.s[i] : 1, z = q->Z[i * q->D + j];
        G -= s * z * q->p.loss->at(q->p.loss, f[i], q->y[i]).slope;
        *M += q->p.loss->beta * s * z * z;
    }
    return G;
}

static void a_step_is_the_least_of_a_bound(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < L1_KINDS; kind++) {
        problem q = problem_of_kind(ctx, kind, 60, 4);
        kb_l1_rows r = {0};
        double *M = malloc(q.D * sizeof *M), unread;
        size_t moved = 0;
        put_somewhere(&q);
        assert_ok(ctx, kb_l1_open(ctx, &q.p, &r));
        assert_ok(ctx, kb_l1_evaluate(&r, &unread));
        kb_l1_bounds(&r, M);
        for (size_t j = 0; j < q.D; j++) {
            double *f = dense_apply(q.N, q.D, 1, q.Z, q.weights), curve, was = q.weights[j];
            for (size_t i = 0; i < q.N; i++)
                f[i] += q.p.b;
            double G = plain_pull(&q, f, j, &curve);
            double before = objective_of(&q, q.weights, q.p.b);
            step(&r, M, j);
            assert_true(fabs(M[j] - curve) <= 1e-12 * curve);
            assert_true(fabs(q.weights[j] - least_of_bound(was, G, curve, q.p.lambda)) <= 1e-10);
            assert_true(objective_of(&q, q.weights, q.p.b) <= before * (1 + 1e-14));
            moved += q.weights[j] != was;
            free(f);
        }
        assert_true(moved > q.D / 2);
        /* What the rows know is up to date. */
        double *f = dense_apply(q.N, q.D, 1, q.Z, q.weights);
        for (size_t k = 0; k < q.N; k++) {
            size_t i = r.c->order[k];
            double s = q.p.s ? q.p.s[i] : 1, at = f[i] + q.p.b;
            assert_true(fabs(r.f[k] - at) <= 1e-12);
            assert_true(fabs(r.push[k] + s * q.p.loss->at(q.p.loss, at, q.y[i]).slope) <= 1e-10);
        }
        kb_l1_close(&r);
        free(f), free(M);
        problem_free(&q);
    }
    kb_context_free(ctx);
}

/* The square loss is its own bound: no other weight of the column is better. */
static void a_step_on_squares_is_exact(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int weighted = 0; weighted < 2; weighted++) {
        problem q = problem_of_kind(ctx, 3 * weighted, 60, 4);
        kb_l1_rows r = {0};
        double *M = malloc(q.D * sizeof *M), unread;
        put_somewhere(&q);
        assert_ok(ctx, kb_l1_open(ctx, &q.p, &r));
        assert_ok(ctx, kb_l1_evaluate(&r, &unread));
        kb_l1_bounds(&r, M);
        for (size_t j = 0; j < q.D; j++) {
            step(&r, M, j);
            double least = objective_of(&q, q.weights, 0), x = q.weights[j];
            for (int k = -20; k <= 20; k++) {
                q.weights[j] = x + k * abs(k) * 1e-3;
                assert_true(objective_of(&q, q.weights, 0) >= least * (1 - 1e-13));
            }
            q.weights[j] = x;
        }
        kb_l1_close(&r);
        free(M);
        problem_free(&q);
    }
    kb_context_free(ctx);
}

/* All rows of the last column weigh nothing: its weight goes to zero, and costs no division. */
static void a_column_that_weighs_nothing_ends_at_zero(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    problem q = problem_create(ctx, "logistic", 60, 4);
    for (size_t i = 0; i < q.N; i++)
        q.s[i] = q.Z[i * q.D + q.D - 1] != 0 ? 0 : 1;
    q.p.s = q.s;
    q.weights[q.D - 1] = 5;
    assert_ok(ctx, kb_l1_cd(ctx, &q.p));
    assert_true(q.p.converged);
    assert_true(q.weights[q.D - 1] == 0);
    check_word(&q);
    problem_free(&q);
    kb_context_free(ctx);
}

/* ---- the way ----------------------------------------------------------- */

static void epochs_are_those_of_plain_loops(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    check_steps_of_plain_cd(ctx, kb_l1_cd);
    kb_context_free(ctx);
}

/* The gap costs as much as an epoch, so it is looked at every fifth; and at the end. */
static void the_gap_is_looked_at_now_and_then(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    problem q = problem_create(ctx, "squared-hinge", 100, 5);
    q.p.tol = 1e-3;
    assert_ok(ctx, kb_l1_cd(ctx, &q.p));
    assert_true(q.p.converged);
    assert_int_equal(q.p.epochs % 5, 0);
    size_t enough = q.p.epochs;
    assert_true(enough > 5);
    for (q.p.max_epochs = 1; q.p.max_epochs + 5 <= enough; q.p.max_epochs++) {
        from_zero(&q);
        assert_ok(ctx, kb_l1_cd(ctx, &q.p));
        assert_false(q.p.converged);
        assert_int_equal(q.p.epochs, q.p.max_epochs);
        check_word(&q);
    }
    problem_free(&q);
    kb_context_free(ctx);
}

static void the_seed_decides_and_not_the_threads(void **unused) {
    static const int threads[] = {1, 5, 1};
    double *first = NULL;
    (void)unused;
    for (int t = 0; t < 3; t++) {
        test_state state = {0};
        kb_context *ctx = test_context_with(&state, threads[t]);
        problem q = problem_create(ctx, "logistic", 300, 5);
        q.p.max_epochs = 3;
        q.p.seed = t == 2 ? 2 : 1;
        assert_ok(ctx, kb_l1_cd(ctx, &q.p));
        if (t == 0)
            first = q.weights, q.weights = NULL;
        else
            assert_int_equal(memcmp(first, q.weights, q.D * sizeof *first) == 0, t == 1);
        problem_free(&q);
        kb_context_free(ctx);
        assert_int_equal(state.live, 0);
    }
    free(first);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_is_the_least_of_a_bound),
        cmocka_unit_test(a_step_on_squares_is_exact),
        cmocka_unit_test(a_column_that_weighs_nothing_ends_at_zero),
        cmocka_unit_test(epochs_are_those_of_plain_loops),
        cmocka_unit_test(the_gap_is_looked_at_now_and_then),
        cmocka_unit_test(the_seed_decides_and_not_the_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
