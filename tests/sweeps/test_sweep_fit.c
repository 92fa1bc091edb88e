/* Sweeps with an end: by rows held out, or by a tolerance. */
#define _POSIX_C_SOURCE 200809L
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

/* ---- checkpoints ------------------------------------------------------- */

static char checkpoint[] = "/tmp/kerbin-checkpoint-XXXXXX";

/* A fit that is stopped at the report `stop_at` (0: none); a later one goes on from the file. */
static kb_status fit_with(const problem *p, size_t count, const uint32_t *row, const char *path,
                          long stop_at, answer *a, double *stop_f, test_state *state) {
    *state = (test_state){.cancel_after = stop_at};
    kb_context *ctx = test_context_with(state, 1);
    kb_operator *op;
    assert_ok(ctx, kb_operator_binmat(ctx, p->w.z, &op));
    assert_ok(ctx, kb_context_set_checkpoint(ctx, path, 0));
    memset(a->b, 0, p->C * sizeof *a->b);
    kb_sweep_fit fit = fit_of(p, op, a, 20);
    fit.intercept = 1;
    fit.stop_rows = count;
    fit.stop_row = row;
    fit.stop_f = stop_f;
    kb_status status = kb_sweep_fit_run(ctx, &fit);
    kb_operator_free(op);
    kb_context_free(ctx);
    assert_int_equal(state->live, 0);
    return status;
}

static void a_fit_goes_on_from_its_checkpoint_to_the_same_bits(void **unused) {
    enum { N = 400 };
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 6; k++) {
        problem p = problem_create(ctx, N, 40, 1 + (size_t)k % 3, 0.3);
        uint32_t row[N];
        size_t count = k < 4 ? sixths(N, row) : 0;
        double f[2][N * 3];
        test_state state;
        int resumed = 0;
        p.lambda = 0.1;
        p.s = weights_of(N, (weighing)(k % WEIGHINGS));
        answer want = answer_create(&p), got = answer_create(&p);
        assert_int_equal(fit_with(&p, count, row, NULL, 0, &want, f[0], &state), KB_OK);
        long reports = state.progress;
        for (long at = 1; at <= reports; at++) {
            unlink(checkpoint);
            assert_int_equal(fit_with(&p, count, row, checkpoint, at, &got, f[1], &state),
                             KB_ERR_CANCELLED);
            assert_int_equal(fit_with(&p, count, row, checkpoint, 0, &got, f[1], &state), KB_OK);
            resumed += strstr(state.log, "goes on after sweep") != NULL;
            assert_same_bits(got.w, want.w, p.D * p.C);
            assert_same_bits(got.b, want.b, p.C);
            assert_same_bits(f[1], f[0], count * p.C);
        }
        assert_true(resumed > 1);
        answer_free(&want);
        answer_free(&got);
        problem_free(&p);
    }
    unlink(checkpoint);
    kb_context_free(ctx);
}

static void a_file_that_is_no_checkpoint_is_left_alone(void **unused) {
    kb_context *ctx = test_context();
    char text[64] = "", message[200];
    (void)unused;
    FILE *file = fopen(checkpoint, "w");
    assert_true(file && fputs("a table of my own, which took long", file) >= 0);
    fclose(file);
    snprintf(message, sizeof message, "%s: is no checkpoint of kerbin: give another file",
             checkpoint);
    assert_fails(ctx, KB_ERR_DATA, message, kb_context_set_checkpoint(ctx, checkpoint, 1));
    assert_int_equal(kb_context_set_checkpoint(ctx, NULL, -1), KB_ERR_ARGUMENT);
    file = fopen(checkpoint, "r");
    assert_true(file && fgets(text, sizeof text, file));
    fclose(file);
    assert_string_equal(text, "a table of my own, which took long");
    unlink(checkpoint);
    kb_context_free(ctx);
}

/* A bit of the rows or of the bins that was changed. */
static void a_damaged_checkpoint_is_told(void **unused) {
    kb_context *ctx = test_context();
    problem p = problem_create(ctx, 200, 20, 1, 0.3);
    answer a = answer_create(&p);
    test_state state;
    (void)unused;
    for (long from_end = 1; from_end < 6000; from_end += 1999) {
        unlink(checkpoint);
        assert_int_equal(fit_with(&p, 0, NULL, checkpoint, 3, &a, NULL, &state), KB_ERR_CANCELLED);
        FILE *file = fopen(checkpoint, "r+");
        assert_non_null(file);
        assert_int_equal(fseek(file, -from_end, SEEK_END), 0);
        int byte = fgetc(file);
        assert_int_equal(fseek(file, -from_end, SEEK_END), 0);
        fputc(byte ^ 4, file);
        fclose(file);
        assert_int_equal(fit_with(&p, 0, NULL, checkpoint, 0, &a, NULL, &state), KB_ERR_DATA);
    }
    unlink(checkpoint);
    answer_free(&a);
    problem_free(&p);
    kb_context_free(ctx);
}

static int name_checkpoint(void **unused) {
    (void)unused;
    int fd = mkstemp(checkpoint);
    return fd < 0 ? -1 : close(fd) || unlink(checkpoint);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tolerance_is_reached),
        cmocka_unit_test(steps_are_counted_together),
        cmocka_unit_test(rows_held_out_tell_when_to_stop),
        cmocka_unit_test(few_rows_held_out_stay_out),
        cmocka_unit_test(residuals_out_of_range_are_left_to_cg),
        cmocka_unit_test(a_fit_goes_on_from_its_checkpoint_to_the_same_bits),
        cmocka_unit_test(a_file_that_is_no_checkpoint_is_left_alone),
        cmocka_unit_test(a_damaged_checkpoint_is_told),
    };
    return cmocka_run_group_tests(tests, name_checkpoint, NULL);
}
