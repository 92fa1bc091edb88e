/* log and exp by fixed operations, against libm. */
#include "support.h"

#include "core/fixed_math.h"
#include "core/random.h"

#include <math.h>

/* libm is within an ulp (1.1e-16 relative), ours promises 1e-15. */
static void logarithm_agrees_with_libm(void **unused) {
    (void)unused;
    for (uint64_t i = 0; i < 200000; i++) {
        kb_uniform2 p = kb_random_uniform(1, KB_STREAM_SYNTHETIC, i, 0);
        double near_one = 1 + (p.u - 0.5) * 1e-3, wide = ldexp(p.u, (int)(2000 * p.v) - 1000);
        assert_true(fabs(kb_log_fixed(p.u) - log(p.u)) <= 1e-15 * fabs(log(p.u)));
        assert_true(fabs(kb_log_fixed(wide) - log(wide)) <= 1e-15 * fabs(log(wide)));
        assert_true(fabs(kb_log_fixed(near_one) - log(near_one)) <= 1e-15 * fabs(log(near_one)));
    }
    assert_true(kb_log_fixed(1) == 0);
}

static void expm1_agrees_with_libm(void **unused) {
    (void)unused;
    for (uint64_t i = 0; i < 200000; i++) {
        kb_uniform2 p = kb_random_uniform(2, KB_STREAM_SYNTHETIC, i, 0);
        double x[] = {p.u, 700 * p.v, ldexp(p.u, -(int)(100 * p.v))};
        for (int k = 0; k < 3; k++)
            assert_true(fabs(kb_expm1_fixed(x[k]) - expm1(x[k])) <= 1e-15 * expm1(x[k]));
    }
    assert_true(kb_expm1_fixed(0) == 0);
}

static void exp_minus_agrees_with_libm(void **unused) {
    (void)unused;
    for (uint64_t i = 0; i < 200000; i++) {
        kb_uniform2 p = kb_random_uniform(3, KB_STREAM_SYNTHETIC, i, 0);
        double x[] = {p.u, 700 * p.v, ldexp(p.u, -(int)(100 * p.v))};
        for (int k = 0; k < 3; k++)
            assert_true(fabs(kb_exp_minus_fixed(x[k]) - exp(-x[k])) <= 1e-15 * exp(-x[k]));
    }
    for (int k = 0; k <= 1009; k++) /* about the places where the power of two changes */
        for (int side = -1; side <= 1; side++) {
            double x = (k + 0.5) * 0x1.62e42fefa39efp-1 + side * 1e-13;
            assert_true(fabs(kb_exp_minus_fixed(x) - exp(-x)) <= 1e-15 * exp(-x));
        }
    assert_true(kb_exp_minus_fixed(0) == 1);
    assert_true(fabs(kb_exp_minus_fixed(700) - exp(-700)) <= 1e-15 * exp(-700));
}

/* It promises 0.51 of the last place; the long double of libm is good to 0.001 of it. */
static void powers_are_rounded_nearly_right(void **unused) {
    (void)unused;
    for (uint64_t i = 0; i < 3000; i++) {
        kb_uniform2 p = kb_random_uniform(4, KB_STREAM_SYNTHETIC, i, 0);
        double x = i % 2 ? p.u : 1 - 0.01 * p.v;
        for (unsigned n = 1; n < 500; n += 1 + n / 5) {
            long double want = powl(x, n);
            double place = nextafter((double)want, 2) - (double)want;
            if (want > 1e-290L)
                assert_true(fabsl(kb_power_fixed(x, n) - want) <= 0.511L * place);
        }
        assert_true(kb_power_fixed(x, 0) == 1 && kb_power_fixed(x, 1) == x);
    }
    assert_true(kb_power_fixed(0, 3) == 0 && kb_power_fixed(1, 1000) == 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logarithm_agrees_with_libm),
        cmocka_unit_test(expm1_agrees_with_libm),
        cmocka_unit_test(exp_minus_agrees_with_libm),
        cmocka_unit_test(powers_are_rounded_nearly_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
