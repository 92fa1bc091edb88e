/* The curve from decisions to logits: against the rule that drew the classes, and a dense search.
 */
#include "features/world.h"

#include "solve/loss.h"
#include "validation/curve.h"

static double mean_log_loss(size_t N, const double *f, const uint32_t *class_of,
                            const kb_curve *curve, double slope) {
    double sum = 0;
    for (size_t i = 0; i < N; i++) {
        double m = curve ? kb_curve_at(curve, f[i]) : slope * f[i];
        sum -= log(kb_logistic(class_of[i] ? m : -m));
    }
    return sum / (double)N;
}

/* Decisions that estimate the mean of -1 and 1: the probability is (1 + f) / 2, which no one slope
 * gives.  The curve is within 0.02 of it, and a line is not within 0.04. */
static void the_curve_bends_where_a_line_cannot(void **unused) {
    enum { N = 40000 };
    kb_context *ctx = test_context();
    double *f = malloc(N * sizeof *f), worst = 0, line = 0;
    uint32_t *class_of = malloc(N * sizeof *class_of);
    kb_curve c;
    (void)unused;
    for (size_t i = 0; i < N; i++) {
        f[i] = 1.96 * test_uniform(1, i) - 0.98;
        class_of[i] = test_uniform(2, i) < (1 + f[i]) / 2;
    }
    assert_ok(ctx, kb_curve_fit(ctx, N, 1, f, class_of, NULL, 2.4, &c));
    assert_true(kb_curve_is_sound(&c) && c.knots == KB_CURVE_KNOTS);
    assert_true(kb_curve_at(&c, 0) == 0);
    for (double x = -0.95; x < 0.96; x += 0.05) {
        worst = fmax(worst, fabs(kb_logistic(kb_curve_at(&c, x)) - (1 + x) / 2));
        line = fmax(line, fabs(kb_logistic(2.4 * x) - (1 + x) / 2));
    }
    assert_true(worst < 0.02 && line > 0.04);
    assert_true(mean_log_loss(N, f, class_of, &c, 0) < mean_log_loss(N, f, class_of, NULL, 2.4));
    free(f), free(class_of);
    kb_context_free(ctx);
}

/* Where the logits are a line, so is the curve, whatever slope it began from. */
static void a_line_stays_a_line(void **unused) {
    enum { N = 60000 };
    static const double begin[] = {0.5, 1.5, 4};
    kb_context *ctx = test_context();
    double *f = malloc(N * sizeof *f);
    uint32_t *class_of = malloc(N * sizeof *class_of);
    (void)unused;
    for (size_t i = 0; i < N; i++) {
        f[i] = 4 * test_uniform(3, i) - 2;
        class_of[i] = test_uniform(4, i) < kb_logistic(1.5 * f[i]);
    }
    for (int k = 0; k < 3; k++) {
        kb_curve c;
        assert_ok(ctx, kb_curve_fit(ctx, N, 1, f, class_of, NULL, begin[k], &c));
        for (double x = -1.9; x < 2; x += 0.1)
            assert_true(fabs(kb_logistic(kb_curve_at(&c, x)) - kb_logistic(1.5 * x)) < 0.02);
    }
    free(f), free(class_of);
    kb_context_free(ctx);
}

/* The value of the penalised likelihood of several classes, for slopes of two pieces. */
static double objective(size_t N, size_t C, const double *f, const uint32_t *class_of,
                        const kb_curve *c, double slope) {
    double value = 0, smooth = 2 / ((double)N + 2);
    for (size_t i = 0; i < N; i++) {
        double sum = 0;
        for (size_t k = 0; k < C; k++)
            sum += exp(kb_curve_at(c, f[i * C + k]));
        for (size_t k = 0; k < C; k++) {
            double t = (k == class_of[i] ? 1 - smooth : 0) + smooth / (double)C;
            value -= t * (kb_curve_at(c, f[i * C + k]) - log(sum));
        }
    }
    for (size_t k = 0; k + 1 < c->knots; k++) {
        double off = (c->y[k + 1] - c->y[k]) / (c->x[k + 1] - c->x[k]) / slope - 1;
        value += off * off / 2;
    }
    return value;
}

/* No slope of a piece can be moved, up or down by a thousandth, for a better likelihood. */
static void several_classes_are_at_the_minimum(void **unused) {
    enum { N = 400, C = 3 };
    kb_context *ctx = test_context();
    double f[N * C];
    uint32_t class_of[N];
    kb_curve c;
    (void)unused;
    for (size_t i = 0; i < N; i++) {
        double sum = 0, at = test_uniform(7, i), before = 0;
        for (size_t k = 0; k < C; k++)
            sum += exp(2 * (f[i * C + k] = 3 * test_uniform(6, i * C + k)));
        for (class_of[i] = 0; class_of[i] + 1 < C; class_of[i]++) {
            before += exp(2 * f[i * C + class_of[i]]) / sum;
            if (at < before)
                break;
        }
    }
    assert_ok(ctx, kb_curve_fit(ctx, N, C, f, class_of, NULL, 1.5, &c));
    double best = objective(N, C, f, class_of, &c, 1.5);
    assert_int_equal(c.knots, N / 50 + 1);
    for (size_t k = 0; k + 1 < c.knots; k++)
        for (int up = 0; up < 2; up++) {
            kb_curve moved = c;
            double by = (up ? 1e-3 : -1e-3) * (c.y[k + 1] - c.y[k]);
            for (size_t j = k + 1; j < c.knots; j++)
                moved.y[j] += by;
            assert_true(objective(N, C, f, class_of, &moved, 1.5) > best - 1e-8);
        }
    kb_context_free(ctx);
}

static void weights_are_repeated_rows(void **unused) {
    enum { N = 200 };
    kb_context *ctx = test_context();
    double f[N], twice[2 * N], weight[N];
    uint32_t class_of[N], both[2 * N];
    kb_curve a, b;
    (void)unused;
    for (size_t i = 0; i < N; i++) {
        f[i] = twice[2 * i] = twice[2 * i + 1] = 2 * test_uniform(8, i) - 1;
        class_of[i] = both[2 * i] = both[2 * i + 1] = test_uniform(9, i) < kb_logistic(3 * f[i]);
        weight[i] = 2;
    }
    assert_ok(ctx, kb_curve_fit(ctx, N, 1, f, class_of, weight, 3, &a));
    assert_ok(ctx, kb_curve_fit(ctx, 2 * N, 1, twice, both, NULL, 3, &b));
    for (double x = -1; x <= 1 && a.knots == b.knots; x += 0.1)
        assert_true(fabs(kb_curve_at(&a, x) - kb_curve_at(&b, x)) < 0.3);
    kb_context_free(ctx);
}

static void separable_and_few_rows_are_no_trouble(void **unused) {
    enum { N = 100 };
    kb_context *ctx = test_context();
    double f[N], same[N];
    uint32_t class_of[N];
    kb_curve c;
    (void)unused;
    for (size_t i = 0; i < N; i++) {
        class_of[i] = i % 2;
        f[i] = i % 2 ? 1 + 0.001 * (double)i : -1 - 0.001 * (double)i;
        same[i] = 0.5;
    }
    assert_ok(ctx, kb_curve_fit(ctx, N, 1, f, class_of, NULL, 4, &c));
    assert_true(kb_curve_is_sound(&c) && c.knots >= 2);
    assert_true(kb_logistic(kb_curve_at(&c, 1)) > 0.9 && kb_curve_at(&c, 2) < 100);
    assert_ok(ctx, kb_curve_fit(ctx, 20, 1, f, class_of, NULL, 4, &c));
    assert_int_equal(c.knots, 0);
    assert_ok(ctx, kb_curve_fit(ctx, N, 1, same, class_of, NULL, 4, &c));
    assert_true(kb_curve_is_sound(&c));
    kb_context_free(ctx);
}

static void the_inverse_undoes_it(void **unused) {
    kb_curve c = {3, {-1, 0, 2}, {-5, 0, 1}};
    (void)unused;
    for (double x = -3; x < 5; x += 0.25)
        assert_true(fabs(kb_curve_inverse(&c, kb_curve_at(&c, x)) - x) < 1e-12);
    assert_true(kb_curve_at(&c, -2) == -10 && kb_curve_at(&c, 4) == 2);
    c.y[1] = -5;
    assert_false(kb_curve_is_sound(&c));
}

typedef struct rows {
    double f[90];
    uint32_t class_of[30];
} rows;

static int fit(kb_context *ctx, void *arg) {
    const rows *r = arg;
    kb_curve c;
    return (int)kb_curve_fit(ctx, 30, 3, r->f, r->class_of, NULL, 1, &c);
}

static void every_allocation_may_fail(void **unused) {
    rows r = {{0}, {0}};
    (void)unused;
    for (size_t i = 0; i < 90; i++)
        r.f[i] = test_uniform(10, i);
    run_with_allocation_failures(fit, &r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_curve_bends_where_a_line_cannot),
        cmocka_unit_test(a_line_stays_a_line),
        cmocka_unit_test(several_classes_are_at_the_minimum),
        cmocka_unit_test(weights_are_repeated_rows),
        cmocka_unit_test(separable_and_few_rows_are_no_trouble),
        cmocka_unit_test(the_inverse_undoes_it),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
