/* Sweeps with an end: by rows held out, or by a tolerance. */
#include "sweeps/sweepproblem.h"

#include "sweeps/sweep_fit.h"

/* A fit without weights and intercept: Z and y of the tolerance are Z and y. */
static kb_sweep_fit fit_of(const problem *p, kb_operator *op, const answer *a, size_t max_steps) {
    return (kb_sweep_fit){.z = p->w.z,
                          .op = op,
                          .target = p->y,
                          .lambda = p->lambda,
                          .tol = 1e-7,
                          .max_steps = max_steps,
                          .C = p->C,
                          .y = p->y,
                          .s = p->s,
                          .w = a->w,
                          .b = a->b,
                          .f = a->f,
                          .steps = 12345,
                          .converged = 77};
}

/* ---- a tolerance ------------------------------------------------------- */

static void the_tolerance_is_reached(void **unused) {
    static const double zero[3];
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t C = 1; C <= 3; C++)
        for (double tol = 0.1; tol > 1e-10; tol /= 100) {
            problem p = problem_create(ctx, 150, 40, C, 0.5);
            answer a = answer_create(&p), want = dense_answer(&p);
            kb_operator *op;
            assert_ok(ctx, kb_operator_binmat(ctx, p.w.z, &op));
            kb_sweep_fit fit = fit_of(&p, op, &a, 1000);
            fit.tol = tol;
            assert_ok(ctx, kb_sweep_fit_run(ctx, &fit));
            assert_int_equal(fit.converged, 1);
            assert_true(fit.steps >= 1 && fit.steps < 1000);
            assert_true(slope_of(&p, &a, zero) <= tol * 1.01);
            assert_close(a.w, want.w, p.D * C, 100 * tol); /* times the condition */
            kb_operator_free(op);
            answer_free(&a);
            answer_free(&want);
            problem_free(&p);
        }
    kb_context_free(ctx);
}

/* Sweeps and steps of CG together are as many as allowed, and no more. */
static void steps_are_counted_together(void **unused) {
    kb_context *ctx = test_context();
    problem p = problem_create(ctx, 300, 40, 1, 0.3);
    double last = INFINITY;
    kb_operator *op;
    (void)unused;
    p.lambda = 0.01;
    assert_ok(ctx, kb_operator_binmat(ctx, p.w.z, &op));
    for (size_t most = 1; most <= 14; most++) {
        answer a = answer_create(&p);
        kb_sweep_fit fit = fit_of(&p, op, &a, most);
        assert_ok(ctx, kb_sweep_fit_run(ctx, &fit));
        assert_int_equal(fit.converged, 0);
        assert_int_equal(fit.steps, most);
        double now = objective_of(&p, &a);
        assert_true(now <= last * (1 + 1e-9)); /* CG goes on from where the sweeps end */
        last = now;
        answer_free(&a);
    }
    kb_operator_free(op);
    problem_free(&p);
    kb_context_free(ctx);
}

/* ---- rows held out ----------------------------------------------------- */

/* Every sixth row. */
static size_t sixths(size_t N, uint32_t *row) {
    size_t count = 0;
    for (size_t i = 3; i < N; i += 6)
        row[count++] = (uint32_t)i;
    return count;
}

/* The error of the stop rows after `sweeps` sweeps over the others. */
static double error_after(kb_context *ctx, const problem *p, size_t count, const uint32_t *row,
                          size_t sweeps) {
    problem rest = *p;
    double error = 0;
    rest.s = malloc(p->N * sizeof *rest.s);
    for (size_t i = 0; i < p->N; i++)
        rest.s[i] = test_weight(p, i);
    for (size_t h = 0; h < count; h++)
        rest.s[row[h]] = 0;
    answer a = swept(ctx, &rest, sweeps);
    for (size_t h = 0; h < count; h++)
        for (size_t c = 0; c < p->C; c++) {
            double e = a.f[row[h] * p->C + c] - p->y[row[h] * p->C + c];
            error += test_weight(p, row[h]) * e * e;
        }
    answer_free(&a);
    free(rest.s);
    return error;
}

/* The first sweep after which two in turn do not lower the error by a share of 1e-3. */
static size_t best_sweep(kb_context *ctx, const problem *p, size_t count, const uint32_t *row,
                         size_t most, size_t *made) {
    double best = INFINITY;
    size_t at = 0;
    for (*made = 1; *made <= most && *made < at + 3; ++*made) {
        double error = error_after(ctx, p, count, row, *made);
        if (error < (1 - 1e-3) * best) {
            best = error;
            at = *made;
        }
    }
    --*made;
    return at;
}

/* As many sweeps as were best, over all rows; both rounds are counted. */
static void rows_held_out_tell_when_to_stop(void **unused) {
    enum { N = 400 };
    static const size_t most[] = {1, 2, 1000};
    kb_context *ctx = test_context();
    int early = 0;
    (void)unused;
    for (int k = 0; k < 12; k++) {
        problem p = problem_create(ctx, N, 40, 1 + (size_t)k % 2, k < 6 ? 0.1 : 1);
        uint32_t row[N];
        size_t count = sixths(N, row), made;
        p.lambda = k % 4 < 2 ? 0.01 : 1;
        p.s = weights_of(N, (weighing)(k % WEIGHINGS));
        size_t best = best_sweep(ctx, &p, count, row, most[k % 3] < 30 ? most[k % 3] : 30, &made);
        answer a = answer_create(&p), want = swept(ctx, &p, best);
        kb_sweep_fit fit = fit_of(&p, NULL, &a, most[k % 3]);
        fit.stop_rows = count;
        fit.stop_row = row;
        assert_ok(ctx, kb_sweep_fit_run(ctx, &fit));
        assert_int_equal(fit.converged, 1);
        assert_int_equal(fit.steps, 2 * best);
        assert_same_bits(a.w, want.w, p.D * p.C);
        early += made < 30 && most[k % 3] > 30;
        answer_free(&a);
        answer_free(&want);
        problem_free(&p);
    }
    assert_true(early > 1); /* some end by themselves */
    kb_context_free(ctx);
}

/* One row in 60 or fewer may be missing: there is no second round. */
static void few_rows_held_out_stay_out(void **unused) {
    enum { N = 400 };
    static const uint32_t row[] = {5, 77, 200, 301};
    kb_context *ctx = test_context();
    problem p = problem_create(ctx, N, 40, 2, 0.3);
    size_t made, best = best_sweep(ctx, &p, 4, row, 30, &made);
    answer a = answer_create(&p);
    (void)unused;
    kb_sweep_fit fit = fit_of(&p, NULL, &a, 1000);
    fit.stop_rows = 4;
    fit.stop_row = row;
    assert_ok(ctx, kb_sweep_fit_run(ctx, &fit));
    assert_int_equal(fit.converged, 1);
    assert_int_equal(fit.steps, best);
    p.s = malloc(N * sizeof *p.s);
    for (size_t i = 0; i < N; i++)
        p.s[i] = i != 5 && i != 77 && i != 200 && i != 301;
    answer want = swept(ctx, &p, best);
    assert_close(a.w, want.w, p.D * p.C, 1e-6); /* kept as floats */
    answer_free(&a);
    answer_free(&want);
    problem_free(&p);
    kb_context_free(ctx);
}

/* ---- residuals out of range -------------------------------------------- */

/* Then conjugate gradients begin at 0, and reach the tolerance, with rows held out or without. */
static void residuals_out_of_range_are_left_to_cg(void **unused) {
    enum { N = 60 };
    static const size_t left_out[] = {0, 1};
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 2; k++) {
        problem p = far_out_problem(ctx, N);
        answer a = answer_create(&p), want = dense_answer(&p);
        kb_operator *base, *op;
        uint32_t row[SPECIAL];
        double target[N];
        for (size_t i = 0; i < N; i++)
            target[i] = p.s[i] * p.y[i];
        for (size_t h = 0; h < left_out[k]; h++)
            row[h] = (uint32_t)h + 1;
        assert_ok(ctx, kb_operator_binmat(ctx, p.w.z, &base));
        assert_ok(ctx, kb_operator_weighted(ctx, base, p.s, &op));
        kb_sweep_fit fit = fit_of(&p, op, &a, 1000);
        fit.target = target;
        fit.stop_rows = left_out[k];
        fit.stop_row = row;
        assert_ok(ctx, kb_sweep_fit_run(ctx, &fit));
        assert_int_equal(fit.converged, 1);
        assert_close(a.w, want.w, p.D, 1e-4);
        kb_operator_free(op);
        kb_operator_free(base);
        answer_free(&a);
        answer_free(&want);
        problem_free(&p);
    }
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tolerance_is_reached),
        cmocka_unit_test(steps_are_counted_together),
        cmocka_unit_test(rows_held_out_tell_when_to_stop),
        cmocka_unit_test(few_rows_held_out_stay_out),
        cmocka_unit_test(residuals_out_of_range_are_left_to_cg),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
