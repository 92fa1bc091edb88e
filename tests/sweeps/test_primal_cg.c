/* Conjugate gradients on the weights, against a dense Cholesky solution. */
#include "solve/ridgeproblem.h"

#include "sweeps/primal_cg.h"

/* From zero if `start` is 0, else from numbers of that size. */
static kb_primal primal_of(const problem *p, double lambda, double tol, double start) {
    double *w = test_numbers(51, p->D * p->C);
    for (size_t k = 0; k < p->D * p->C; k++)
        w[k] *= start;
    return (kb_primal){.op = p->centred ? p->centred : p->base,
                       .lambda = lambda,
                       .tol = tol,
                       .max_steps = 2000,
                       .C = p->C,
                       .y = p->y,
                       .w = w,
                       .steps = 12345,
                       .converged = 77};
}

/* |Z'(y - Z w) - lambda w| / |Z'y| of the worst output, from the matrix. */
static double slope_of(const problem *p, double lambda, const double *w) {
    double *r = rows_of(p, w), worst = 0;
    for (size_t k = 0; k < p->N * p->C; k++)
        r[k] = p->y[k] - r[k];
    double *left = bins_of(p, r), *right = bins_of(p, p->y);
    for (size_t c = 0; c < p->C; c++) {
        double above = 0, below = 0;
        for (size_t k = c; k < p->D * p->C; k += p->C) {
            double s = left[k] - lambda * w[k];
            above += s * s;
            below += right[k] * right[k];
        }
        worst = fmax(worst, sqrt(above / below));
    }
    free(r), free(left), free(right);
    return worst;
}

/* w = Z'alpha; 1e-8: the tolerance times the condition. */
static void any_start_leads_to_the_solution(void **unused) {
    static const double start[] = {0, 1, 1000}, lambda[] = {0.05, 2};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t C = 1; C <= 3; C++)
        for (int centred = 0; centred < 2; centred++)
            for (int k = 0; k < 6; k++) {
                problem p = problem_create(ctx, 100, 20, C, centred);
                kb_primal s = primal_of(&p, lambda[k % 2], 1e-12, start[k / 2]);
                double *alpha = cholesky(&p, s.lambda), *want = bins_of(&p, alpha);
                assert_ok(ctx, kb_primal_cg(ctx, &s));
                assert_int_equal(s.converged, 1);
                assert_true(s.steps > 1 && s.steps < 2000);
                assert_close(s.w, want, p.D * C, 1e-8);
                free(alpha), free(want), free(s.w);
                problem_free(&p);
            }
    kb_context_free(ctx);
}

static void no_step_is_too_many(void **unused) {
    kb_context *ctx = test_context();
    problem p = problem_create(ctx, 100, 20, 2, 0);
    (void)unused;
    for (double tol = 0.3; tol > 1e-7; tol /= 10) {
        kb_primal s = primal_of(&p, 0.1, tol, 0.5);
        assert_ok(ctx, kb_primal_cg(ctx, &s));
        assert_int_equal(s.converged, 1);
        assert_true(slope_of(&p, 0.1, s.w) <= tol * (1 + 1e-6));
        kb_primal less = primal_of(&p, 0.1, tol, 0.5);
        less.max_steps = s.steps - 1;
        assert_ok(ctx, kb_primal_cg(ctx, &less));
        assert_int_equal(less.converged, 0);
        assert_int_equal(less.steps, less.max_steps);
        assert_true(slope_of(&p, 0.1, less.w) > tol * (1 - 1e-6));
        free(s.w), free(less.w);
    }
    problem_free(&p);
    kb_context_free(ctx);
}

/* From the solution no step is taken, and the weights stay as they are. */
static void the_solution_stays(void **unused) {
    kb_context *ctx = test_context();
    problem p = problem_create(ctx, 100, 20, 2, 1);
    kb_primal s = primal_of(&p, 0.1, 1e-6, 0);
    double *alpha = cholesky(&p, 0.1), *want = bins_of(&p, alpha);
    (void)unused;
    memcpy(s.w, want, p.D * p.C * sizeof *want);
    assert_ok(ctx, kb_primal_cg(ctx, &s));
    assert_int_equal(s.converged, 1);
    assert_int_equal(s.steps, 0);
    assert_same_bits(s.w, want, p.D * p.C);
    free(alpha), free(want), free(s.w);
    problem_free(&p);
    kb_context_free(ctx);
}

/* An output that is zero stays so, however long the others take. */
static void outputs_of_zero_stay_zero(void **unused) {
    kb_context *ctx = test_context();
    problem p = problem_create(ctx, 80, 15, 3, 0);
    (void)unused;
    for (size_t i = 0; i < p.N; i++)
        p.y[i * 3 + 1] = 0;
    kb_primal s = primal_of(&p, 0.1, 1e-8, 0);
    assert_ok(ctx, kb_primal_cg(ctx, &s));
    assert_int_equal(s.converged, 1);
    for (size_t b = 0; b < p.D; b++)
        assert_true(s.w[b * 3 + 1] == 0 && isfinite(s.w[b * 3]));
    free(s.w);
    problem_free(&p);
    kb_context_free(ctx);
}

static void threads_give_the_same_bits(void **unused) {
    test_state state = {0};
    kb_context *one = test_context_with(&state, 1), *many = test_context_with(&state, 5);
    problem p = problem_create(one, 3000, 20, 2, 0);
    kb_primal a = primal_of(&p, 0.1, 1e-6, 1), b = primal_of(&p, 0.1, 1e-6, 1);
    (void)unused;
    assert_ok(one, kb_primal_cg(one, &a));
    assert_ok(many, kb_primal_cg(many, &b));
    assert_int_equal(a.steps, b.steps);
    assert_same_bits(a.w, b.w, p.D * p.C);
    free(a.w), free(b.w);
    problem_free(&p);
    kb_context_free(one);
    kb_context_free(many);
}

static int run_primal(kb_context *ctx, void *arg) {
    problem *p = arg;
    kb_primal s = primal_of(p, 0.1, 1e-3, 1);
    kb_operator *op = NULL; /* of this context: it keeps memory from one product to the next */
    int status = kb_operator_binmat(ctx, p->w.z, &op);
    s.op = op;
    if (status == KB_OK)
        status = kb_primal_cg(ctx, &s);
    kb_operator_free(op);
    free(s.w);
    return status;
}

static void failures_leave_nothing(void **unused) {
    kb_context *ctx = test_context();
    problem p = problem_create(ctx, 50, 10, 2, 0);
    (void)unused;
    run_with_allocation_failures(run_primal, &p);
    run_with_cancellations(run_primal, &p, 1, 2);
    problem_free(&p);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_start_leads_to_the_solution),
        cmocka_unit_test(no_step_is_too_many),
        cmocka_unit_test(the_solution_stays),
        cmocka_unit_test(outputs_of_zero_stay_zero),
        cmocka_unit_test(threads_give_the_same_bits),
        cmocka_unit_test(failures_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
