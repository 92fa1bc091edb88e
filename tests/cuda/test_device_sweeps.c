/* Sweeps on a device: the same weights and decisions as on the CPU, to the bit. */
#define _POSIX_C_SOURCE 200809L
#include "cuda/on_device.h"
#include "sweeps/sweepproblem.h"

#include "sweeps/sweep_math.h"

/* The bins of a problem, there. */
static kb_binmat *bins_there(kb_context *ctx, const problem *p) {
    kb_binmat *z;
    kb_binning binning = world_binning(&p->w);
    test_device(ctx);
    assert_ok(ctx, kb_device_bin(ctx, &binning, p->w.data, p->w.R, NULL, &z));
    assert_non_null(kb_device_bins_of(z));
    return z;
}

static void same_answer(const problem *p, const answer *a, const answer *b) {
    assert_same_bits(a->w, b->w, p->D * p->C);
    assert_same_bits(a->b, b->b, p->C);
    assert_same_bits(a->f, b->f, p->N * p->C);
}

/* Runs both, from answers that are filled alike, and compares all that comes out. */
static void run_both(kb_context *ctx, const problem *p, kb_sweeps s, answer *here, answer *there) {
    kb_sweeps t = s;
    kb_binmat *z = bins_there(ctx, p);
    s.w = here->w, s.b = here->b, s.f = here->f;
    t.w = there->w, t.b = there->b, t.f = there->f;
    t.z = z;
    assert_ok(ctx, kb_sweeps_run(ctx, &s));
    assert_ok(ctx, kb_sweeps_run(ctx, &t));
    assert_int_equal(s.sweeps, t.sweeps);
    assert_int_equal(s.converged, t.converged);
    assert_int_equal(s.too_wide, t.too_wide);
    same_answer(p, here, there);
    kb_binmat_free(z);
}

static void compare(kb_context *ctx, const problem *p, size_t sweeps, double tol) {
    answer here = answer_create(p), there = answer_create(p);
    start_at_mean(p, &here);
    start_at_mean(p, &there);
    kb_sweeps s = sweeps_of(p, &here, sweeps);
    s.tol = tol;
    run_both(ctx, p, s, &here, &there);
    answer_free(&here);
    answer_free(&there);
}

static void sweeps_are_those_of_the_cpu(void **unused) {
    static const size_t outputs[] = {1, 2, 3, 5, 8};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < 5; k++)
        for (int kind = 0; kind < WEIGHINGS; kind++) {
            problem p = problem_create(ctx, 90 + 400 * (k % 2), 21 + 16 * (k % 3), outputs[k], 0.4);
            p.s = weights_of(p.N, (weighing)kind);
            p.intercept = ((int)k + kind) % 2;
            compare(ctx, &p, 1, 0);
            compare(ctx, &p, 6, 0);
            problem_free(&p);
        }
    kb_context_free(ctx);
}

/* More rows and bins than a part of a sum, more blocks of bins than a piece, and grids with more
 * bins than the shared memory holds. */
static void many_rows_and_bins(void **unused) {
    static const double sigma[] = {0.0001, 0.02, 3};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < (TEST_LIGHT ? 1 : 3); k++)
        for (size_t C = 1; C <= 8; C *= 8) {
            problem p = {.w = world_build(ctx, 14000, 2, 19, sigma[k]), .lambda = 0.3};
            p.N = p.w.N;
            p.D = p.w.z->bins;
            p.C = C;
            p.y = test_numbers(7, p.N * p.C);
            p.s = k == 1 ? weights_of(p.N, MIXED_WEIGHTS) : NULL;
            p.intercept = 1;
            compare(ctx, &p, 3, 0);
            problem_free(&p);
        }
    kb_context_free(ctx);
}

static void tolerances_are_reached_alike(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < WEIGHINGS; kind++)
        for (double tol = 0.3; tol > 1e-4; tol /= 10) {
            problem p = problem_create(ctx, 150, 30, 3, 0.6);
            p.s = weights_of(p.N, (weighing)kind);
            compare(ctx, &p, 40, tol);
            problem_free(&p);
        }
    kb_context_free(ctx);
}

static void a_warm_start_goes_on_alike(void **unused) {
    kb_context *ctx = test_context();
    problem p = problem_create(ctx, 150, 30, 3, 0.6);
    answer here = swept(ctx, &p, 2), there = answer_create(&p);
    (void)unused;
    memcpy(there.w, here.w, p.D * p.C * sizeof(double));
    memcpy(there.b, here.b, p.C * sizeof(double));
    memcpy(there.f, here.f, p.N * p.C * sizeof(double));
    kb_sweeps s = sweeps_of(&p, &here, 4);
    s.warm = 1;
    s.tol = 1e-9;
    run_both(ctx, &p, s, &here, &there);
    answer_free(&here);
    answer_free(&there);
    problem_free(&p);
    kb_context_free(ctx);
}

static void lambda_may_be_zero_and_targets_too(void **unused) {
    kb_context *ctx = test_context();
    problem p = problem_create(ctx, 200, 40, 2, 0.1);
    (void)unused;
    p.lambda = 0;
    compare(ctx, &p, 5, 0);
    memset(p.y, 0, p.N * p.C * sizeof *p.y);
    compare(ctx, &p, 2, 1e-3);
    problem_free(&p);
    kb_context_free(ctx);
}

/* Row 0 leaves the range of the whole numbers in the second sweep. */
static void residuals_out_of_range_are_told_alike(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t sweeps = 1; sweeps <= 3; sweeps++) {
        problem p = far_out_problem(ctx, 60);
        answer here = answer_create(&p), there = answer_create(&p);
        kb_sweeps s = sweeps_of(&p, &here, sweeps);
        run_both(ctx, &p, s, &here, &there);
        answer_free(&here);
        answer_free(&there);
        problem_free(&p);
    }
    kb_context_free(ctx);
}

/* ---- the watch --------------------------------------------------------- */

/* What a watch has seen, and when it keeps and stops. */
typedef struct seen {
    double sum;
    size_t keep, stop;
    size_t numbers;
    const double *f;
} seen;

static kb_status look(kb_context *ctx, void *arg, size_t sweep, kb_watch_answer *next) {
    seen *s = arg;
    (void)ctx;
    for (size_t k = 0; k < s->numbers; k++)
        s->sum += s->f[k] * (double)(sweep + k % 7);
    *next = sweep == s->stop ? KB_WATCH_STOP : sweep <= s->keep ? KB_WATCH_KEEP : KB_WATCH_ON;
    return KB_OK;
}

static void a_watch_sees_and_keeps_the_same(void **unused) {
    enum { ROWS = 40, C = 3 };
    kb_context *ctx = test_context();
    uint32_t row[ROWS];
    double f[ROWS * C];
    (void)unused;
    for (size_t h = 0; h < ROWS; h++)
        row[h] = (uint32_t)(h * 7 % 300);
    for (size_t keep = 1; keep <= 3; keep += 2) {
        problem p = problem_create(ctx, 300, 40, C, 0.5);
        p.s = weights_of(p.N, SOME_ZERO);
        kb_binmat *z = bins_there(ctx, &p);
        answer a[2];
        seen s[2];
        for (int k = 0; k < 2; k++) {
            a[k] = answer_create(&p);
            s[k] = (seen){.keep = keep, .stop = 4, .numbers = ROWS * C, .f = f};
            kb_watch watch = {.rows = ROWS, .row = row, .f = f, .look = look, .arg = &s[k]};
            kb_sweeps run = sweeps_of(&p, &a[k], 9);
            run.watch = &watch;
            run.z = k == 0 ? p.w.z : z;
            assert_ok(ctx, kb_sweeps_run(ctx, &run));
            assert_int_equal(run.sweeps, keep);
        }
        assert_true(s[0].sum == s[1].sum);
        same_answer(&p, &a[0], &a[1]);
        answer_free(&a[0]);
        answer_free(&a[1]);
        kb_binmat_free(z);
        problem_free(&p);
    }
    kb_context_free(ctx);
}

/* ---- arithmetic and failures ------------------------------------------- */

static void squares_in_parts_are_the_nearest_number(void **unused) {
    (void)unused;
    for (uint64_t k = 0; k < 200000; k++) {
        uint64_t part[3];
        for (int j = 0; j < 3; j++) {
            uint64_t x = (uint64_t)(test_uniform(90 + (uint64_t)j, k) * 0x1p63) * 2 + k % 2;
            part[j] = x >> (k * (uint64_t)(3 + j) % 64);
        }
        part[2] = k % 3 == 0 ? 0 : part[2] >> 2;
        unsigned __int128 sum =
            ((unsigned __int128)part[2] << 64) + ((unsigned __int128)part[1] << 32) + part[0];
        assert_true(kb_sweep_square(part[0], part[1], part[2]) == (double)sum);
    }
}

static int run_all(kb_context *ctx, void *arg) {
    static const uint32_t row = 1;
    const problem *p = arg;
    double f[2];
    kb_binning binning = world_binning(&p->w);
    kb_device *device;
    kb_binmat *z = NULL;
    answer a = answer_create(p);
    seen s = {.keep = 3, .numbers = 2, .f = f};
    kb_watch watch = {.rows = 1, .row = &row, .f = f, .look = look, .arg = &s};
    int status = kb_device_open(ctx, &device);
    if (status == KB_OK)
        status = kb_device_bin(ctx, &binning, p->w.data, p->w.R, NULL, &z);
    kb_sweeps run = sweeps_of(p, &a, 3);
    run.watch = &watch;
    run.z = z;
    if (status == KB_OK)
        status = kb_sweeps_run(ctx, &run);
    kb_binmat_free(z);
    if (ctx->free_device)
        ctx->free_device(ctx);
    answer_free(&a);
    return status;
}

static void failures_leave_nothing(void **unused) {
    kb_context *ctx = test_context();
    problem p = problem_create(ctx, 50, 20, 2, 0.5);
    kb_device *d = test_device(ctx);
    double before = d->call->memory_free(d->gpu);
    (void)unused;
    p.s = weights_of(p.N, MIXED_WEIGHTS);
    p.intercept = 1;
    run_with_allocation_failures(run_all, &p);
    run_with_cancellations(run_all, &p, 2, 3);
    assert_true(d->call->memory_free(d->gpu) >= before);
    problem_free(&p);
    kb_context_free(ctx);
}

/* Bins that fit, and sweeps that do not. */
static void too_little_memory_leaves_it_to_the_cpu(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    problem p = problem_create(ctx, 300, 40, 8, 0.1);
    (void)unused;
    if (test_is_emulated(ctx)) {
        kb_binmat *z = bins_there(ctx, &p);
        answer here = swept(ctx, &p, 3), there = answer_create(&p);
        kb_sweeps run = sweeps_of(&p, &there, 3);
        run.z = z;
        setenv("KB_EMULATED_MEMORY", "800000", 1); /* the numbers come here */
        assert_ok(ctx, kb_sweeps_run(ctx, &run));
        unsetenv("KB_EMULATED_MEMORY");
        assert_int_equal(state.warnings, 1);
        same_answer(&p, &here, &there);
        answer_free(&here);
        answer_free(&there);
        kb_binmat_free(z);
    }
    problem_free(&p);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sweeps_are_those_of_the_cpu),
        cmocka_unit_test(many_rows_and_bins),
        cmocka_unit_test(tolerances_are_reached_alike),
        cmocka_unit_test(a_warm_start_goes_on_alike),
        cmocka_unit_test(lambda_may_be_zero_and_targets_too),
        cmocka_unit_test(residuals_out_of_range_are_told_alike),
        cmocka_unit_test(a_watch_sees_and_keeps_the_same),
        cmocka_unit_test(squares_in_parts_are_the_nearest_number),
        cmocka_unit_test(failures_leave_nothing),
        cmocka_unit_test(too_little_memory_leaves_it_to_the_cpu),
    };
    return test_has_device() ? cmocka_run_group_tests(tests, NULL, NULL) : TEST_SKIPPED;
}
