/* Intervals, sets and novelty: against fresh rows of the same kind. */
#include "features/world.h"

#include "validation/conformal.h"

static double normal(uint64_t seed, size_t i) {
    return sqrt(-2 * log(test_uniform(seed, 2 * i))) *
           cos(2 * 3.14159265358979 * test_uniform(seed, 2 * i + 1));
}

/* Decisions in 0 .. 10, residuals as large as 0.1 + the decision, and twice that for rows that miss
 * bins. */
static double residual(uint64_t seed, size_t i, double f, double known) {
    return (0.1 + f) * (known < 0.9 ? 2 : 1) * normal(seed, i);
}

static kb_validation numbers(kb_context *ctx, size_t rows, uint64_t seed) {
    kb_validation v;
    assert_ok(ctx, kb_validation_create(ctx, rows, 1, 0, 0, 1, &v));
    for (size_t h = 0; h < rows; h++) {
        v.decision[h] = 10 * test_uniform(seed, h);
        v.known[h] = 0.8 + 0.2 * test_uniform(seed + 1, h);
        v.label[h] = v.decision[h] + residual(seed + 2, h, v.decision[h], v.known[h]);
    }
    return v;
}

/* 4000 rows have a standard error of 0.6 points at 90 %, 4000 to test as much: 3 points are four of
 * both.  Width follows the spread: it is several times larger at 9 than at 1. */
static void intervals_cover_what_they_promise_and_follow_the_spread(void **unused) {
    static const double coverages[] = {0.5, 0.8, 0.9, 0.95};
    kb_context *ctx = test_context();
    kb_validation v = numbers(ctx, 4000, 30), fresh = numbers(ctx, 4000, 60);
    kb_conformal c;
    (void)unused;
    assert_ok(ctx, kb_conformal_build(ctx, &v, &(kb_calibration){0}, &c));
    assert_true(kb_conformal_is_sound(&c, 0));
    for (int k = 0; k < 4; k++) {
        double inside = 0, low, high;
        for (size_t h = 0; h < fresh.rows; h++) {
            kb_conformal_interval(&c, fresh.decision[h], fresh.known[h], coverages[k], &low, &high);
            inside += low <= fresh.label[h] && fresh.label[h] <= high;
        }
        assert_true(fabs(inside / (double)fresh.rows - coverages[k]) < 0.03);
    }
    double at[4], low, high;
    for (int k = 0; k < 4; k++) {
        kb_conformal_interval(&c, k % 2 ? 9 : 1, k < 2 ? 0.99 : 0.82, 0.9, &low, &high);
        at[k] = high - low;
    }
    assert_true(at[1] > 4 * at[0] && at[2] > 1.4 * at[0] && at[3] > 1.4 * at[1]);
    kb_validation_release(kb_allocator_of(ctx), &v);
    kb_validation_release(kb_allocator_of(ctx), &fresh);
    kb_context_free(ctx);
}

/* Three rows cannot promise 90 %: the interval is as wide as they are. */
static void few_rows_give_their_extremes(void **unused) {
    kb_context *ctx = test_context();
    kb_validation v = numbers(ctx, 3, 30);
    kb_conformal c;
    double low, high, least = INFINITY, most = -INFINITY;
    (void)unused;
    assert_ok(ctx, kb_conformal_build(ctx, &v, &(kb_calibration){0}, &c));
    for (int h = 0; h < 3; h++) {
        least = fmin(least, v.label[h] - v.decision[h]);
        most = fmax(most, v.label[h] - v.decision[h]);
    }
    kb_conformal_interval(&c, 5, 1, 0.9, &low, &high);
    assert_true(fabs(low - 5 - least) < 1e-12 && fabs(high - 5 - most) < 1e-12);
    kb_validation_release(kb_allocator_of(ctx), &v);
    kb_context_free(ctx);
}

/* Logits of 2 f for the second class: the share of rows whose class has at least the threshold. */
static void sets_hold_the_class_as_often_as_they_promise(void **unused) {
    enum { N = 5000 };
    kb_context *ctx = test_context();
    kb_validation v;
    kb_conformal c;
    kb_calibration rule = {.kind = KB_CALIBRATION_SIGMOID, .slope = 2};
    (void)unused;
    assert_ok(ctx, kb_validation_create(ctx, N, 1, 2, 0, 0, &v));
    for (size_t h = 0; h < N; h++) {
        v.decision[h] = 4 * test_uniform(70, h) - 2;
        v.class_of[h] = test_uniform(71, h) < 1 / (1 + exp(-2 * v.decision[h]));
    }
    assert_ok(ctx, kb_conformal_build(ctx, &v, &rule, &c));
    double least = kb_conformal_threshold(&c, 0.9), inside = 0;
    for (size_t h = 0; h < N; h++) {
        double f = 4 * test_uniform(80, h) - 2, p = 1 / (1 + exp(-2 * f));
        inside += (test_uniform(81, h) < p ? p : 1 - p) >= least;
    }
    assert_true(fabs(inside / N - 0.9) < 0.025);
    assert_int_equal(c.known.count, 0);
    kb_validation_release(kb_allocator_of(ctx), &v);
    kb_context_free(ctx);
}

static void novelty_is_a_rank_among_the_rows(void **unused) {
    kb_context *ctx = test_context();
    kb_validation v = numbers(ctx, 100, 5);
    kb_conformal c;
    (void)unused;
    for (size_t h = 0; h < 100; h++)
        v.known[h] = 0.01 * (double)h; /* 0 .. 0.99 */
    assert_ok(ctx, kb_conformal_build(ctx, &v, &(kb_calibration){0}, &c));
    assert_true(kb_conformal_novelty(&c, 1) == 0);
    assert_true(kb_conformal_novelty(&c, -1) == 1);
    assert_true(fabs(kb_conformal_novelty(&c, 0.505) - 0.49) < 1e-12);
    kb_validation_release(kb_allocator_of(ctx), &v);
    kb_context_free(ctx);
}

/* A row of weight 0 might as well not be there. */
static void weights_count(void **unused) {
    kb_context *ctx = test_context();
    kb_validation all, some = numbers(ctx, 1000, 12);
    kb_conformal a, b;
    (void)unused;
    assert_ok(ctx, kb_validation_create(ctx, 2000, 1, 0, 1, 1, &all));
    for (size_t h = 0; h < 2000; h++) {
        all.decision[h] = some.decision[h / 2];
        all.known[h] = some.known[h / 2];
        all.label[h] = h % 2 ? some.label[h / 2] : 1e6;
        all.weight[h] = (double)(h % 2);
    }
    assert_ok(ctx, kb_conformal_build(ctx, &all, &(kb_calibration){0}, &a));
    assert_ok(ctx, kb_conformal_build(ctx, &some, &(kb_calibration){0}, &b));
    double low[2], high[2];
    kb_conformal_interval(&a, 5, 0.95, 0.8, &low[0], &high[0]);
    kb_conformal_interval(&b, 5, 0.95, 0.8, &low[1], &high[1]);
    assert_true(fabs(low[0] - low[1]) < 0.05 * fabs(low[1]));
    assert_true(fabs(high[0] - high[1]) < 0.05 * fabs(high[1]));
    kb_validation_release(kb_allocator_of(ctx), &all);
    kb_validation_release(kb_allocator_of(ctx), &some);
    kb_context_free(ctx);
}

static int build(kb_context *ctx, void *arg) {
    kb_conformal c;
    return (int)kb_conformal_build(ctx, arg, &(kb_calibration){KB_CALIBRATION_SIGMOID, 1, 0, {0}},
                                   &c);
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    kb_validation v;
    (void)unused;
    assert_ok(ctx, kb_validation_create(ctx, 5, 1, 2, 0, 1, &v));
    memset(v.class_of, 0, 5 * sizeof *v.class_of);
    memset(v.decision, 0, 5 * sizeof *v.decision);
    run_with_allocation_failures(build, &v);
    kb_validation_release(kb_allocator_of(ctx), &v);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_cover_what_they_promise_and_follow_the_spread),
        cmocka_unit_test(few_rows_give_their_extremes),
        cmocka_unit_test(sets_hold_the_class_as_often_as_they_promise),
        cmocka_unit_test(novelty_is_a_rank_among_the_rows),
        cmocka_unit_test(weights_count),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
