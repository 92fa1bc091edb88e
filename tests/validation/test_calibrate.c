/* From decisions to probabilities. */
#include "features/world.h"

#include "validation/calibrate.h"
#include "solve/loss.h"

/* N decisions, spread as `spread`, of two classes drawn with the odds slope f + offset. */
static void draw_two(size_t N, double spread, double slope, double offset, double *f,
                     uint32_t *class_of) {
    for (size_t i = 0; i < N; i++) {
        f[i] = spread * (6 * test_uniform(51, i) - 3);
        class_of[i] = test_uniform(52, i) < kb_logistic(slope * f[i] + offset);
    }
}

/* The deviations of the estimates are those of the inverse Fisher information: about 2.2 /
 * sqrt(N) for the slope at spread 1 and 2.3 / sqrt(N) for the offset, 0.007 for N = 100000. Five
 * of them are not chance; larger and smaller decisions need slopes in inverse proportion. */
static void slope_and_offset_are_recovered(void **unused) {
    enum { N = 100000 };
    static const double spreads[] = {1, 1e-3, 1e3, 1e6}, offsets[] = {0.7, -1.5};
    double *f = malloc(N * sizeof *f);
    uint32_t *class_of = malloc(N * sizeof *class_of);
    (void)unused;
    for (size_t k = 0; k < sizeof spreads / sizeof *spreads; k++)
        for (int o = 0; o < 2; o++) {
            double slope = 1.8 / spreads[k];
            draw_two(N, spreads[k], slope, offsets[o], f, class_of);
            kb_calibration c = kb_calibrate(N, 1, f, class_of, NULL);
            assert_int_equal(c.kind, KB_CALIBRATION_SIGMOID);
            if (!(fabs(c.slope / slope - 1) < 0.035 && fabs(c.offset - offsets[o]) < 0.06))
                fail_msg("spread %g: slope %g, not %g; offset %g, not %g", spreads[k], c.slope,
                         slope, c.offset, offsets[o]);
        }
    free(f), free(class_of);
}

/* Platt's targets are 1/(n+2) and (n+1)/(n+2): at the minimum the gradient of the likelihood
 * with these is zero, to what 1e-12 of the likelihood allows. */
static void the_fit_is_the_minimum(void **unused) {
    enum { N = 500 };
    double f[N], count[2] = {0, 0}, g[2] = {0, 0};
    uint32_t class_of[N];
    (void)unused;
    draw_two(N, 1, 2, 0.5, f, class_of);
    for (int i = 0; i < N; i++)
        count[class_of[i]]++;
    kb_calibration c = kb_calibrate(N, 1, f, class_of, NULL);
    for (int i = 0; i < N; i++) {
        double t = class_of[i] ? (count[1] + 1) / (count[1] + 2) : 1 / (count[0] + 2);
        double p = 1 / (1 + exp(-(c.slope * f[i] + c.offset)));
        g[0] += (p - t) * f[i];
        g[1] += p - t;
    }
    assert_true(fabs(g[0]) < 1e-3 && fabs(g[1]) < 1e-3);
}

/* Deviation about 1 / sqrt(N) or less. */
static void the_slope_of_several_classes_is_recovered(void **unused) {
    enum { N = 40000, C = 4 };
    static const double slopes[] = {0.5, 3};
    double *f = malloc(N * C * sizeof *f);
    uint32_t *class_of = malloc(N * sizeof *class_of);
    (void)unused;
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < N; i++) {
            double p[C], sum = 0, u = test_uniform(61, i);
            for (size_t c = 0; c < C; c++) {
                f[i * C + c] = 4 * test_uniform(62, i * C + c) - 2;
                sum += p[c] = exp(slopes[k] * f[i * C + c]);
            }
            class_of[i] = 0;
            for (size_t c = 0; c + 1 < C && u > p[c] / sum; c++) {
                u -= p[c] / sum;
                class_of[i]++;
            }
        }
        kb_calibration c = kb_calibrate(N, C, f, class_of, NULL);
        assert_int_equal(c.kind, KB_CALIBRATION_SOFTMAX);
        assert_true(fabs(c.slope / slopes[k] - 1) < 0.05);
        assert_true(c.offset == 0);
    }
    free(f), free(class_of);
}

static void separable_decisions_give_a_finite_slope(void **unused) {
    enum { N = 200 };
    double f[N], several[N * 3];
    uint32_t class_of[N], class_3[N];
    (void)unused;
    for (int i = 0; i < N; i++) {
        class_of[i] = i % 2;
        f[i] = (i % 2 ? 1 : -1) * (1 + 0.01 * i);
        class_3[i] = (uint32_t)i % 3;
        for (int c = 0; c < 3; c++)
            several[i * 3 + c] = i % 3 == c ? 1 : -1;
    }
    kb_calibration c = kb_calibrate(N, 1, f, class_of, NULL);
    assert_true(c.slope > 1 && c.slope < 100 && fabs(c.offset) < 10);
    c = kb_calibrate(N, 3, several, class_3, NULL);
    assert_true(c.slope > 1 && c.slope < 100);
}

/* Decisions without information, or with the wrong sign, keep a positive slope and give the
 * class shares. */
static void useless_decisions_tell_the_shares(void **unused) {
    enum { N = 1000 };
    double f[N];
    uint32_t class_of[N];
    (void)unused;
    for (int kind = 0; kind < 3; kind++) { /* constant, zero, reversed */
        for (int i = 0; i < N; i++) {
            class_of[i] = i % 4 == 0;
            f[i] = kind == 0 ? 0.3 : kind == 1 ? 0 : (class_of[i] ? -1.0 : 1.0);
        }
        kb_calibration c = kb_calibrate(N, 1, f, class_of, NULL);
        assert_true(c.slope > 0 && isfinite(c.slope) && isfinite(c.offset));
        double p = 1 / (1 + exp(-(c.slope * f[0] + c.offset)));
        assert_true(fabs(p - 0.25) < 0.01);
    }
}

/* A weight counts as so many samples; both stop within 1e-12 of the least likelihood. */
static void weights_are_repeated_samples(void **unused) {
    enum { N = 400, C = 3 };
    double f[N], weight[N], wide[N * C], *repeated = malloc(3 * N * C * sizeof *repeated);
    uint32_t class_of[N], class_3[N], *again = malloc(3 * N * sizeof *again);
    (void)unused;
    draw_two(N, 1, 1.5, -0.4, f, class_of);
    for (size_t i = 0; i < N; i++) {
        weight[i] = (double)(i % 3); /* 0, 1, 2 */
        class_3[i] = (uint32_t)(test_uniform(71, i) * C);
        for (size_t c = 0; c < C; c++)
            wide[i * C + c] = test_uniform(72, i * C + c) + (class_3[i] == c);
    }
    for (size_t outputs = 1; outputs <= C; outputs += C - 1) {
        const double *from = outputs == 1 ? f : wide;
        const uint32_t *class = outputs == 1 ? class_of : class_3;
        size_t count = 0;
        for (size_t i = 0; i < N; i++)
            for (size_t k = 0; k < i % 3; k++) {
                memcpy(repeated + count * outputs, from + i * outputs, outputs * sizeof *repeated);
                again[count++] = class[i];
            }
        kb_calibration a = kb_calibrate(N, outputs, from, class, weight);
        kb_calibration b = kb_calibrate(count, outputs, repeated, again, NULL);
        kb_calibration without = kb_calibrate(N, outputs, from, class, NULL);
        assert_true(fabs(a.slope / b.slope - 1) < 1e-6);
        assert_true(fabs(a.offset - b.offset) < 1e-6);
        assert_true(fabs(a.slope - without.slope) + fabs(a.offset - without.offset) > 1e-3);
    }
    free(repeated), free(again);
}

/* ---- probabilities ----------------------------------------------------- */

static size_t winner_of(size_t C, const double *decision) {
    size_t best = 0;
    if (C == 1)
        return decision[0] > 0;
    for (size_t c = 1; c < C; c++)
        if (decision[c] > decision[best])
            best = c;
    return best;
}

/* Sum, bounds, and that no class is more probable than the predicted one; large decisions
 * may leave several equally so. */
static void check_row(const kb_calibration *c, size_t C, const double *decision) {
    double p[16], sum = 0;
    size_t classes = C == 1 ? 2 : C, winner = winner_of(C, decision);
    kb_calibration_apply(c, C, decision, p);
    for (size_t k = 0; k < classes; k++) {
        assert_true(p[k] >= 0 && p[k] <= 1);
        assert_true(p[k] <= p[winner]);
        sum += p[k];
    }
    assert_true(fabs(sum - 1) <= 1e-14);
}

static void the_most_probable_class_is_the_predicted_one(void **unused) {
    static const double scales[] = {1e-9, 1e-3, 1, 30, 1e4}, slopes[] = {1e-6, 1, 7};
    static const kb_calibration_rule kinds[] = {KB_CALIBRATION_SIGMOID, KB_CALIBRATION_SOFTMAX};
    double decision[16];
    (void)unused;
    for (int kind = 0; kind < 2; kind++)
        for (int s = 0; s < 3; s++)
            for (size_t C = 1; C <= 16; C = C == 1 ? 3 : C + 13)
                for (int scale = 0; scale < 5; scale++)
                    for (size_t i = 0; i < 500; i++) {
                        kb_calibration c = {kinds[kind], slopes[s], 0, {0}};
                        for (size_t k = 0; k < C; k++)
                            decision[k] = scales[scale] * (2 * test_uniform(81, i * 16 + k) - 1);
                        check_row(&c, C, decision);
                    }
}

/* Neighbouring numbers, whose logistic functions differ by rounding alone, if at all. */
static void close_decisions_keep_their_order(void **unused) {
    (void)unused;
    for (size_t i = 0; i < 20000; i++) {
        double decision[3] = {40 * test_uniform(91, i) - 20};
        decision[1] = nextafter(decision[0], i % 2 ? 100 : -100);
        decision[2] = nextafter(decision[1], i % 4 < 2 ? 100 : -100);
        for (kb_calibration_rule kind = KB_CALIBRATION_SIGMOID; kind <= KB_CALIBRATION_SOFTMAX;
             kind++)
            check_row(&(kb_calibration){kind, 1, 0, {0}}, 3, decision);
    }
}

static void probabilities_are_the_formulas(void **unused) {
    double two[2], several[3], f[3] = {0.4, -1.1, 2.3}, sum = 0, all = 0;
    (void)unused;
    kb_calibration_apply(&(kb_calibration){KB_CALIBRATION_SIGMOID, 1.7, 0, {0}}, 1, f, two);
    assert_true(fabs(two[1] - 1 / (1 + exp(-1.7 * 0.4))) < 1e-15);
    assert_true(fabs(two[0] + two[1] - 1) < 1e-15);
    for (int c = 0; c < 3; c++) {
        sum += 1 / (1 + exp(-1.7 * f[c]));
        all += exp(1.7 * f[c]);
    }
    kb_calibration_apply(&(kb_calibration){KB_CALIBRATION_SIGMOID, 1.7, 0, {0}}, 3, f, several);
    for (int c = 0; c < 3; c++)
        assert_true(fabs(several[c] - 1 / (1 + exp(-1.7 * f[c])) / sum) < 1e-15);
    kb_calibration_apply(&(kb_calibration){KB_CALIBRATION_SOFTMAX, 1.7, 0, {0}}, 3, f, several);
    for (int c = 0; c < 3; c++)
        assert_true(fabs(several[c] - exp(1.7 * f[c]) / all) < 1e-15);
}

static void probabilities_grow_with_the_decision(void **unused) {
    double before = 0, p[3];
    (void)unused;
    for (double f = -20; f <= 20; f += 0.01) {
        kb_calibration_apply(&(kb_calibration){KB_CALIBRATION_SIGMOID, 1.3, 0, {0}}, 1, &f, p);
        assert_true(p[1] > before);
        before = p[1];
    }
    for (kb_calibration_rule kind = KB_CALIBRATION_SIGMOID; kind <= KB_CALIBRATION_SOFTMAX;
         kind++) {
        before = 0;
        for (double f = -10; f <= 10; f += 0.01) {
            double decision[3] = {0.5, f, -0.5};
            kb_calibration_apply(&(kb_calibration){kind, 1, 0, {0}}, 3, decision, p);
            assert_true(p[1] > before);
            before = p[1];
        }
    }
}

static void kinds_have_names(void **unused) {
    (void)unused;
    for (kb_calibration_rule kind = KB_CALIBRATION_NONE; kind <= KB_CALIBRATION_SOFTMAX; kind++)
        assert_int_equal(kb_calibration_kind(kb_calibration_name(kind)), kind);
    assert_string_equal(kb_calibration_name(KB_CALIBRATION_SIGMOID), "sigmoid");
    assert_int_equal(kb_calibration_kind("isotonic"), KB_CALIBRATION_NONE);
    assert_int_equal(kb_calibration_kind(NULL), KB_CALIBRATION_NONE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slope_and_offset_are_recovered),
        cmocka_unit_test(the_fit_is_the_minimum),
        cmocka_unit_test(the_slope_of_several_classes_is_recovered),
        cmocka_unit_test(separable_decisions_give_a_finite_slope),
        cmocka_unit_test(useless_decisions_tell_the_shares),
        cmocka_unit_test(weights_are_repeated_samples),
        cmocka_unit_test(the_most_probable_class_is_the_predicted_one),
        cmocka_unit_test(close_decisions_keep_their_order),
        cmocka_unit_test(probabilities_are_the_formulas),
        cmocka_unit_test(probabilities_grow_with_the_decision),
        cmocka_unit_test(kinds_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
