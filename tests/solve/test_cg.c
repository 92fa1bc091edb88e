/* Conjugate gradients for ridge: the steps it takes, and what each of them costs. */
#include "solve/ridgeproblem.h"

/* Plain CG on (Z'Z + lambda I) w = Z'y. */
static double *primal_cg(const problem *p, double lambda, size_t steps) {
    size_t D = p->D;
    double *w = calloc(D, sizeof *w), *r = bins_of(p, p->y), *d = bins_of(p, p->y);
    double norm = 0;
    for (size_t b = 0; b < D; b++)
        norm += r[b] * r[b];
    for (size_t k = 0; k < steps; k++) {
        double *zd = rows_of(p, d), *a = bins_of(p, zd), curve = 0, after = 0;
        for (size_t b = 0; b < D; b++) {
            a[b] += lambda * d[b];
            curve += d[b] * a[b];
        }
        for (size_t b = 0; b < D; b++) {
            w[b] += norm / curve * d[b];
            r[b] -= norm / curve * a[b];
            after += r[b] * r[b];
        }
        for (size_t b = 0; b < D; b++)
            d[b] = r[b] + after / norm * d[b];
        norm = after;
        free(zd), free(a);
    }
    free(r), free(d);
    return w;
}

/* Both make the same steps; their rounding drifts apart by a factor of about ten a step, from
 * 1e-16. */
static void cg_takes_the_steps_of_the_primal_system(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int centred = 0; centred < 2; centred++) {
        problem p = problem_create(ctx, 100, 20, 1, centred);
        for (size_t steps = 1; steps <= 8; steps++) {
            kb_ridge r = ridge_of(&p, 0.1, 1e-15, steps);
            assert_ok(ctx, kb_ridge_cg(ctx, &r));
            double *mine = bins_of(&p, p.alpha), *w = primal_cg(&p, 0.1, steps);
            assert_true(distance(mine, w, p.D, 1, 0) < 1e-9);
            free(mine), free(w);
        }
        problem_free(&p);
    }
    kb_context_free(ctx);
}

static void there_are_as_many_steps_as_eigenvalues(void **unused) {
    (void)unused;
    check_steps_are_eigenvalues(kb_ridge_cg);
}

static void no_step_is_too_many(void **unused) {
    (void)unused;
    check_no_step_is_too_many(kb_ridge_cg);
}

static void arrived_outputs_stand_still(void **unused) {
    (void)unused;
    check_arrived_outputs_stand_still(kb_ridge_cg);
}

static void targets_that_the_kernel_does_not_see_are_left(void **unused) {
    (void)unused;
    check_unseen_targets(kb_ridge_cg);
}

/* One to begin, one a step, and for a tight tolerance two for every true residual. */
static void a_step_takes_one_product(void **unused) {
    enum { N = 60, D = 25 };
    kb_context *ctx = test_context();
    double e[D], *y = test_numbers(3, N), out[2 * N];
    (void)unused;
    for (size_t j = 0; j < D; j++)
        e[j] = exp(-0.4 * (double)j);
    for (double tol = 3e-2; tol > 1e-11; tol /= 10) {
        spectral k = spectral_create(N, D, e);
        kb_ridge r = spectral_ridge(&k, 1, y, out);
        r.tol = tol;
        assert_ok(ctx, kb_ridge_cg(ctx, &r));
        assert_int_equal(r.converged, 1);
        if (tol > 1e-7) {
            assert_int_equal(k.products, r.steps + 1);
        } else {
            assert_true(k.products >= r.steps + 3);
            assert_int_equal((k.products - r.steps) % 2, 1);
        }
        spectral_free(&k);
    }
    free(y);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cg_takes_the_steps_of_the_primal_system),
        cmocka_unit_test(there_are_as_many_steps_as_eigenvalues),
        cmocka_unit_test(no_step_is_too_many),
        cmocka_unit_test(arrived_outputs_stand_still),
        cmocka_unit_test(targets_that_the_kernel_does_not_see_are_left),
        cmocka_unit_test(a_step_takes_one_product),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
