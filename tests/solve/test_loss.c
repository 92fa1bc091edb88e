/* Every loss of the table: its derivatives against differences, its bound, its conjugate. */
#include "support.h"

#include "solve/loss.h"

#include <math.h>

static const char *const NAMES[] = {"square",   "logistic", "squared-hinge",
                                    "quantile", "absolute", "poisson"};
enum { LOSSES = 6, POISSON = 5 };

/* Targets that the loss takes. */
static size_t targets_of(const kb_loss *loss, const double **out) {
    static const double any[] = {-1, 1, 0, 0.3, -7.5}, classes[] = {-1, 1};
    static const double counts[] = {0, 1, 0.3, 2, 7};
    *out = loss->for_classes ? classes : loss->kind == KB_LOSS_POISSON ? counts : any;
    return loss->for_classes ? 2 : 5;
}

static void the_table_has_every_loss(void **unused) {
    static const double beta[] = {1, 0.25, 2, 0.25, 0.5, INFINITY};
    (void)unused;
    for (int k = 0; k < LOSSES; k++) {
        const kb_loss *loss = kb_loss_find(NAMES[k]);
        assert_non_null(loss);
        assert_string_equal(kb_loss_name(loss), NAMES[k]);
        assert_true(loss->beta == beta[k]);
        assert_int_equal(loss->for_classes, k == 1 || k == 2);
        assert_int_equal(loss->in_units, k > 2);
    }
    assert_null(kb_loss_find("hinge"));
    assert_null(kb_loss_find(""));
    assert_null(kb_loss_find("squar"));
}

/* The formulas as they are written in loss.c, by libm. */
static double plain_value(int k, double z, double y) {
    double gap = fmax(1 - y * z, 0);
    return k == 0   ? (z - y) * (z - y) / 2
           : k == 1 ? (y * z < 0 ? -y * z + log1p(exp(y * z)) : log1p(exp(-y * z)))
           : k == 2 ? gap * gap
           : k < POISSON
               ? (k == 3 ? 1 : 2) * (fmax(z - y, 0) + log1p(exp(-fabs(z - y))) + (y - z) / 2)
               : exp(z) - y * z;
}

/* 1 + exp(-m) is rounded before its logarithm is taken: 2e-16, of whatever size the loss is. */
static void values_agree_with_the_formulas(void **unused) {
    (void)unused;
    for (int k = 0; k < LOSSES; k++) {
        const kb_loss *loss = kb_loss_find(NAMES[k]);
        const double *y;
        size_t count = targets_of(loss, &y);
        for (double z = -40; z <= 40; z += 0.17)
            for (size_t t = 0; t < count; t++) {
                double want = plain_value(k, z, y[t]);
                assert_true(fabs(loss->at(loss, z, y[t]).value - want) <=
                            3e-15 * (1 + fabs(want) + fabs(z * y[t])));
            }
    }
}

/* The same numbers in every form. */
static void one_many_and_slopes_alone_agree(void **unused) {
    enum { N = 1001 };
    static const char *const names[] = {"square",   "logistic", "squared-hinge",
                                        "quantile", "absolute", "poisson"};
    static double z[N], y[N], value[N], slope[N], curvature[N];
    (void)unused;
    for (size_t k = 0; k < 6; k++) {
        const kb_loss *loss = kb_loss_find(names[k]);
        for (size_t i = 0; i < N; i++) {
            z[i] = ((double)i - 500) * (i % 3 ? 0.01 : k == POISSON ? 0.02 : 3);
            y[i] = i % 2 ? 1 : -1;
        }
        loss->rows(loss, N, z, y, (kb_loss_rows){value, slope, curvature});
        double total = 0, unread[KB_LOSS_SUM], slopes[KB_LOSS_SUM], curvatures[KB_LOSS_SUM];
        for (size_t i = 0; i < KB_LOSS_SUM - 3; i++)
            total += value[i];
        kb_loss_rows out = {unread, slopes, curvatures};
        assert_true(fabs(loss->sum(loss, KB_LOSS_SUM - 3, z, y, out) - total) <=
                    1e-13 * fabs(total));
        assert_memory_equal(slopes, slope, (KB_LOSS_SUM - 3) * sizeof *slope);
        assert_memory_equal(curvatures, curvature, (KB_LOSS_SUM - 3) * sizeof *slope);
        for (size_t i = 0; i < N; i++) {
            kb_loss_point at = loss->at(loss, z[i], y[i]);
            assert_true(at.value == value[i] && at.slope == slope[i]);
            assert_true(at.curvature == curvature[i]);
            assert_true(fabs(loss->slope(loss, z[i], y[i]) - at.slope) <=
                        2e-15 * (k < 3 ? fabs(at.slope) : 1 + fabs(at.slope)));
        }
    }
}

/* Central differences with h = 1e-4 are off by h^2/6 times the third derivative of what is
 * differentiated, which is at most 1/8, and by 1e-16 |L| / h.  The squared hinge bends at y z = 1:
 * a difference there sees both sides. */
static void slopes_and_curvatures_are_differences(void **unused) {
    const double h = 1e-4;
    (void)unused;
    for (int k = 0; k < LOSSES; k++) {
        const kb_loss *loss = kb_loss_find(NAMES[k]);
        const double *y;
        size_t count = targets_of(loss, &y);
        for (double z = -20; z <= (k == POISSON ? 3 : 20); z += 0.0371)
            for (size_t t = 0; t < count; t++) {
                kb_loss_point at = loss->at(loss, z, y[t]), more = loss->at(loss, z + h, y[t]),
                              less = loss->at(loss, z - h, y[t]);
                if (k == 2 && fabs(1 - y[t] * z) <= h)
                    continue;
                double slope = (more.value - less.value) / (2 * h);
                double curvature = (more.slope - less.slope) / (2 * h);
                if (!(fabs(at.slope - slope) <= 1e-8 * (1 + at.curvature + fabs(at.slope)) &&
                      fabs(at.curvature - curvature) <= 1e-8 * (1 + at.curvature + fabs(at.slope))))
                    fail_msg("%s at %g, %g: slope %g, not %g; curvature %g, not %g",
                             kb_loss_name(loss), z, y[t], at.slope, slope, at.curvature, curvature);
            }
    }
}

/* And somewhere it comes near: a bound twice too large would make steps too short. */
static void curvatures_stay_below_their_bound(void **unused) {
    (void)unused;
    for (int k = 0; k < LOSSES; k++) {
        const kb_loss *loss = kb_loss_find(NAMES[k]);
        double most = 0;
        for (double z = -50; z <= 50; z += 0.01)
            for (double y = -1; y <= 1; y += 2) {
                double curvature = loss->at(loss, z, y).curvature;
                assert_true(curvature >= 0 && curvature <= loss->beta);
                most = fmax(most, curvature);
            }
        assert_true(most > (k == POISSON ? 1e20 : 0.999 * loss->beta));
    }
}

static double conjugate(const kb_loss *loss, double u, double y) {
    double value;
    loss->conjugate(loss, 1, &u, &y, &value);
    return value;
}

/* L(z) + L*(u) >= u z for all u, with equality at u = L'(z).  Both sides are rounded. */
static void conjugates_satisfy_fenchel_and_young(void **unused) {
    (void)unused;
    for (int k = 0; k < LOSSES; k++) {
        const kb_loss *loss = kb_loss_find(NAMES[k]);
        const double *y;
        size_t count = targets_of(loss, &y);
        for (double z = -12; z <= (k == POISSON ? 4 : 12); z += 0.13)
            for (size_t t = 0; t < count; t++) {
                kb_loss_point at = loss->at(loss, z, y[t]);
                double rounding = 1e-14 * (1 + fabs(at.value) + fabs(at.slope * z));
                double there = conjugate(loss, at.slope, y[t]);
                assert_true(fabs(at.value + there - at.slope * z) <= rounding);
                for (double u = -3; u <= 3; u += 0.25) {
                    double dual = conjugate(loss, u, y[t]);
                    assert_true(at.value + dual >= u * z - rounding);
                    /* strictly, away from the slope: each is strictly convex there */
                    if (k < 3 && isfinite(dual) && fabs(u - at.slope) > 0.1)
                        assert_true(at.value + dual > u * z + 1e-4);
                }
            }
    }
}

static void conjugates_are_infinite_beyond_their_domain(void **unused) {
    const kb_loss *logistic = kb_loss_find("logistic"), *hinge = kb_loss_find("squared-hinge");
    (void)unused;
    for (double y = -1; y <= 1; y += 2) {
        assert_true(conjugate(logistic, 0, y) == 0);
        assert_true(conjugate(logistic, -y, y) == 0);
        assert_true(isinf(conjugate(logistic, 0.01 * y, y)));
        assert_true(isinf(conjugate(logistic, -1.01 * y, y)));
        assert_true(conjugate(hinge, 0, y) == 0);
        assert_true(isinf(conjugate(hinge, 0.01 * y, y)));
        assert_true(isfinite(conjugate(hinge, -100 * y, y)));
    }
}

static void large_decisions_do_not_overflow(void **unused) {
    static const double large[] = {700, 710, 1e4, 1e9, 1e100};
    const kb_loss *loss = kb_loss_find("logistic");
    (void)unused;
    for (size_t k = 0; k < sizeof large / sizeof *large; k++)
        for (double y = -1; y <= 1; y += 2) {
            kb_loss_point right = loss->at(loss, y * large[k], y),
                          wrong = loss->at(loss, -y * large[k], y);
            assert_true(right.value >= 0 && right.value < 1e-300);
            assert_true(right.slope * y <= 0 && fabs(right.slope) < 1e-300);
            assert_true(right.curvature >= 0 && right.curvature < 1e-300);
            assert_true(fabs(wrong.value - large[k]) <= 1e-15 * large[k]);
            assert_true(wrong.slope == -y);
            assert_true(wrong.curvature >= 0 && wrong.curvature < 1e-300);
        }
    for (int k = 0; k < LOSSES; k++)
        for (double z = -1e4; z <= 1e4; z += 2e4)
            for (double y = -1; y <= 1; y += 2) {
                kb_loss_point at = kb_loss_find(NAMES[k])->at(kb_loss_find(NAMES[k]), z, y);
                assert_true(isfinite(at.value) && isfinite(at.slope) && isfinite(at.curvature));
            }
}

/* The smoothed loss of a quantile is above the other by at most log 2, and equals it far away. */
static void quantiles_are_smoothed_by_log_2_at_most(void **unused) {
    (void)unused;
    for (double q = 0.1; q < 1; q += 0.2) {
        kb_loss loss = kb_loss_with_quantile(kb_loss_find("quantile"), q);
        for (double z = -60; z <= 60; z += 0.31) {
            double y = 1.5, plain = y > z ? q * (y - z) : (1 - q) * (z - y);
            double more = loss.at(&loss, z, y).value - plain;
            assert_true(more >= -1e-13 && more <= log(2) + 1e-13);
            assert_true(fabs(z - y) < 40 || more <= 1e-13);
            assert_true(fabs(loss.slope(&loss, z, y) - loss.at(&loss, z, y).slope) <= 1e-15);
        }
    }
}

static void the_logistic_function_agrees_with_libm(void **unused) {
    (void)unused;
    for (double z = -690; z <= 690; z += 0.0713) {
        double want = 1 / (1 + exp(-z));
        assert_true(fabs(kb_logistic(z) - want) <= 2e-15 * want);
    }
    assert_true(kb_logistic(0) == 0.5);
    assert_true(kb_logistic(1e4) == 1);
    assert_true(kb_logistic(-1e4) > 0 && kb_logistic(-1e4) < 1e-300);
    assert_true(kb_logistic(INFINITY) == 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_has_every_loss),
        cmocka_unit_test(values_agree_with_the_formulas),
        cmocka_unit_test(one_many_and_slopes_alone_agree),
        cmocka_unit_test(slopes_and_curvatures_are_differences),
        cmocka_unit_test(curvatures_stay_below_their_bound),
        cmocka_unit_test(conjugates_satisfy_fenchel_and_young),
        cmocka_unit_test(conjugates_are_infinite_beyond_their_domain),
        cmocka_unit_test(large_decisions_do_not_overflow),
        cmocka_unit_test(quantiles_are_smoothed_by_log_2_at_most),
        cmocka_unit_test(the_logistic_function_agrees_with_libm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
