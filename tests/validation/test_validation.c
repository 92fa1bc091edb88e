/* What rows that were held out say about new ones. */
#include "features/world.h"

#include "validation/validation.h"

/* The p with |share - p| = z sqrt(p (1 - p) / n) below (side -1) or above the share, by bisection:
 * what Wilson's formula solves. */
static double wilson(double share, double n, int side) {
    double inner = share, outer = side < 0 ? 0 : 1;
    for (int k = 0; k < 200; k++) {
        double p = (inner + outer) / 2;
        if (fabs(share - p) <= 1.959963984540054 * sqrt(p * (1 - p) / n))
            inner = p;
        else
            outer = p;
    }
    return inner;
}

/* Two classes, the first `wrong` of the rows wrong. */
static kb_validation classes_of(kb_context *ctx, size_t rows, size_t wrong, int weighted) {
    kb_validation v;
    assert_ok(ctx, kb_validation_create(ctx, rows, 1, 2, weighted, 0, &v));
    for (size_t h = 0; h < rows; h++) {
        v.row[h] = (uint32_t)h;
        v.class_of[h] = h % 2;
        v.label[h] = (double)(h % 2);
        v.decision[h] = (h % 2 ? 1 : -1) * (h < wrong ? -1 : 1);
    }
    return v;
}

static void the_interval_of_a_share_is_that_of_wilson(void **unused) {
    static const size_t cases[][2] = {{100, 0}, {100, 1}, {100, 50}, {100, 100}, {20000, 460}};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        size_t n = cases[k][0];
        kb_validation v = classes_of(ctx, n, cases[k][1], 0);
        kb_expected e = kb_validation_expect(&v);
        double share = (double)cases[k][1] / (double)n;
        assert_int_equal(e.rows, n);
        assert_true(e.error == share && isnan(e.rmse));
        assert_true(fabs(e.error_low - wilson(share, (double)n, -1)) < 1e-12);
        assert_true(fabs(e.error_high - wilson(share, (double)n, 1)) < 1e-12);
        kb_validation_release(kb_allocator_of(ctx), &v);
    }
    kb_context_free(ctx);
}

/* Weights of 0 and 1 are rows that are there or not. */
static void weights_are_rows(void **unused) {
    kb_context *ctx = test_context();
    kb_validation all = classes_of(ctx, 40, 7, 1), half = classes_of(ctx, 20, 7, 0);
    (void)unused;
    for (size_t h = 0; h < 40; h++)
        all.weight[h] = h < 20;
    kb_expected a = kb_validation_expect(&all), b = kb_validation_expect(&half);
    assert_true(fabs(a.error - b.error) < 1e-15 && fabs(a.error_low - b.error_low) < 1e-15);
    assert_true(fabs(a.error_high - b.error_high) < 1e-15);
    kb_validation_release(kb_allocator_of(ctx), &all);
    kb_validation_release(kb_allocator_of(ctx), &half);
    kb_context_free(ctx);
}

/* Of 400 samples of 500 rows, the interval holds the deviation of the noise, 1, in about 95 %:
 * 361 to 397 are within four of the standard deviations of that count. */
static void the_interval_of_the_rmse_holds_it_as_often_as_it_says(void **unused) {
    enum { ROWS = 500, SAMPLES = 400 };
    kb_context *ctx = test_context();
    kb_validation v;
    size_t inside = 0;
    (void)unused;
    assert_ok(ctx, kb_validation_create(ctx, ROWS, 1, 0, 0, 0, &v));
    for (uint64_t sample = 0; sample < SAMPLES; sample++) {
        for (size_t h = 0; h < ROWS; h++) {
            double u = test_uniform(100 + sample, 2 * h),
                   angle = test_uniform(100 + sample, 2 * h + 1);
            v.label[h] = (double)h;
            v.decision[h] = (double)h + sqrt(-2 * log(u)) * cos(2 * 3.14159265358979 * angle);
        }
        kb_expected e = kb_validation_expect(&v);
        assert_true(e.rmse_low < e.rmse && e.rmse < e.rmse_high && isnan(e.error));
        inside += e.rmse_low <= 1 && e.rmse_high >= 1;
    }
    assert_in_range(inside, 361, 397);
    kb_validation_release(kb_allocator_of(ctx), &v);
    kb_context_free(ctx);
}

static void no_rows_say_nothing(void **unused) {
    kb_expected e = kb_validation_expect(&(kb_validation){.classes = 2});
    (void)unused;
    assert_int_equal(e.rows, 0);
    assert_true(isnan(e.error) && isnan(e.rmse));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_interval_of_a_share_is_that_of_wilson),
        cmocka_unit_test(weights_are_rows),
        cmocka_unit_test(the_interval_of_the_rmse_holds_it_as_often_as_it_says),
        cmocka_unit_test(no_rows_say_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
