/* GMRES for ridge: the residual it finds, its restarts, and what its steps cost. */
#include "solve/ridgeproblem.h"

/* After k < 30 steps both have the same Krylov space, in which GMRES takes the least
 * residual: never above that of CG (1e-9 for rounding), and seldom equal to it. */
static void gmres_has_the_least_residual_of_its_space(void **unused) {
    kb_context *ctx = test_context();
    problem p = problem_create(ctx, 100, 20, 1, 0);
    double last = INFINITY;
    int below = 0;
    (void)unused;
    for (size_t steps = 1; steps <= 25; steps++) {
        kb_ridge r = ridge_of(&p, 0.01, 1e-15, steps);
        assert_ok(ctx, kb_ridge_cg(ctx, &r));
        double cg = true_residual(&p, 0.01);
        assert_ok(ctx, kb_ridge_gmres(ctx, &r));
        double gmres = true_residual(&p, 0.01);
        assert_true(gmres <= cg * (1 + 1e-9));
        assert_true(gmres <= last * (1 + 1e-9));
        below += gmres < 0.999 * cg;
        last = gmres;
    }
    assert_true(below > 10);
    problem_free(&p);
    kb_context_free(ctx);
}

static void gmres_restarts(void **unused) {
    kb_context *ctx = test_context();
    problem p = problem_create(ctx, 150, 37, 2, 0);
    kb_ridge r = ridge_of(&p, 1e-3, 1e-8, 1000);
    (void)unused;
    assert_ok(ctx, kb_ridge_gmres(ctx, &r));
    assert_int_equal(r.converged, 1);
    assert_true(r.steps > 2 * KB_GMRES_RESTART);
    problem_free(&p);
    kb_context_free(ctx);
}

/* The least |Z'(y - A V c)| over c by LAPACK, V being an orthonormal basis of y, A y, .. */
static double least_residual(const problem *p, double lambda, size_t steps) {
    size_t N = p->N, D = p->D;
    double *V = malloc(N * steps * sizeof *V), *left = malloc(D * steps * sizeof *left);
    double *next = malloc(N * sizeof *next), *right = bins_of(p, p->y), size = 0, rest = 0;
    memcpy(next, p->y, N * sizeof *next);
    for (size_t b = 0; b < D; b++)
        size += right[b] * right[b];
    for (size_t k = 0; k < steps; k++) {
        double square = 0;
        for (size_t j = 0; j < k; j++) {
            double dot = 0;
            for (size_t i = 0; i < N; i++)
                dot += V[j * N + i] * next[i];
            for (size_t i = 0; i < N; i++)
                next[i] -= dot * V[j * N + i];
        }
        for (size_t i = 0; i < N; i++)
            square += next[i] * next[i];
        for (size_t i = 0; i < N; i++)
            V[k * N + i] = next[i] / sqrt(square);
        double *w = bins_of(p, V + k * N), *f = rows_of(p, w);
        for (size_t i = 0; i < N; i++)
            next[i] = f[i] + lambda * V[k * N + i];
        free(w);
        w = bins_of(p, next);
        for (size_t b = 0; b < D; b++)
            left[b * steps + k] = w[b];
        free(w), free(f);
    }
    assert_int_equal(LAPACKE_dgels(LAPACK_ROW_MAJOR, 'N', (lapack_int)D, (lapack_int)steps, 1, left,
                                   (lapack_int)steps, right, 1),
                     0);
    for (size_t b = steps; b < D; b++)
        rest += right[b] * right[b];
    free(V), free(left), free(next), free(right);
    return sqrt(rest / size);
}

static void the_residual_is_the_one_of_least_squares(void **unused) {
    kb_context *ctx = test_context();
    problem p = problem_create(ctx, 100, 20, 1, 0);
    (void)unused;
    for (size_t steps = 1; steps <= 12; steps++) {
        kb_ridge r = ridge_of(&p, 0.01, 1e-15, steps);
        assert_ok(ctx, kb_ridge_gmres(ctx, &r));
        double mine = true_residual(&p, 0.01), want = least_residual(&p, 0.01, steps);
        if (!(fabs(mine - want) <= 1e-8 * want))
            fail_msg("%zu steps: %.12g, not %.12g", steps, mine, want);
    }
    problem_free(&p);
    kb_context_free(ctx);
}

/* 30 + k steps are 30 steps, and k more for what they left. */
static void a_restart_begins_with_the_residual(void **unused) {
    kb_context *ctx = test_context();
    problem p = problem_create(ctx, 150, 37, 1, 0);
    size_t N = p.N;
    double *first = malloc(N * sizeof *first), *y = malloc(N * sizeof *y);
    (void)unused;
    memcpy(y, p.y, N * sizeof *y);
    for (size_t more = 1; more <= 7; more += 3) {
        kb_ridge r = ridge_of(&p, 1e-3, 1e-15, KB_GMRES_RESTART);
        assert_ok(ctx, kb_ridge_gmres(ctx, &r));
        memcpy(first, p.alpha, N * sizeof *first);
        for (size_t i = 0; i < N; i++)
            p.y[i] = p.y[i] - 1e-3 * p.alpha[i] - p.f[i];
        r.max_steps = more;
        assert_ok(ctx, kb_ridge_gmres(ctx, &r));
        for (size_t i = 0; i < N; i++)
            first[i] += p.alpha[i];
        memcpy(p.y, y, N * sizeof *y);
        r.max_steps = KB_GMRES_RESTART + more;
        assert_ok(ctx, kb_ridge_gmres(ctx, &r));
        assert_true(distance(p.alpha, first, N, 1, 0) < 1e-13);
    }
    free(first), free(y);
    problem_free(&p);
    kb_context_free(ctx);
}

static void there_are_as_many_steps_as_eigenvalues(void **unused) {
    (void)unused;
    check_steps_are_eigenvalues(kb_ridge_gmres);
}

static void no_step_is_too_many(void **unused) {
    (void)unused;
    check_no_step_is_too_many(kb_ridge_gmres);
}

static void arrived_outputs_stand_still(void **unused) {
    (void)unused;
    check_arrived_outputs_stand_still(kb_ridge_gmres);
}

static void targets_that_the_kernel_does_not_see_are_left(void **unused) {
    (void)unused;
    check_unseen_targets(kb_ridge_gmres);
}

/* One to begin, one a step, and two at every end of a round: for the residual and its length. */
static void a_step_takes_one_product(void **unused) {
    enum { N = 90, D = 80 };
    kb_context *ctx = test_context();
    double e[D], *y = test_numbers(3, N), out[2 * N];
    (void)unused;
    for (size_t j = 0; j < D; j++)
        e[j] = exp(-0.1 * (double)j);
    for (size_t most = 1; most <= 2 * KB_GMRES_RESTART + 1; most++) {
        spectral k = spectral_create(N, D, e);
        kb_ridge r = spectral_ridge(&k, 1, y, out);
        r.lambda = 1e-5;
        r.max_steps = most;
        assert_ok(ctx, kb_ridge_gmres(ctx, &r));
        assert_int_equal(r.converged, 0);
        assert_int_equal(r.steps, most);
        size_t rounds = (most + KB_GMRES_RESTART - 1) / KB_GMRES_RESTART;
        assert_int_equal(k.products, 1 + most + 2 * rounds);
        spectral_free(&k);
    }
    free(y);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gmres_has_the_least_residual_of_its_space),
        cmocka_unit_test(the_residual_is_the_one_of_least_squares),
        cmocka_unit_test(gmres_restarts),
        cmocka_unit_test(a_restart_begins_with_the_residual),
        cmocka_unit_test(there_are_as_many_steps_as_eigenvalues),
        cmocka_unit_test(no_step_is_too_many),
        cmocka_unit_test(arrived_outputs_stand_still),
        cmocka_unit_test(targets_that_the_kernel_does_not_see_are_left),
        cmocka_unit_test(a_step_takes_one_product),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
