/* Vectors of widths, made from others. */
#include "model/fitted.h"

#include "trial/width_vectors.h"

enum { FEATURES = 3 };

static void equal_widths_are_equal(void **unused) {
    kb_context *ctx = test_context();
    kb_law *law;
    kb_widths w;
    (void)unused;
    assert_ok(ctx, kb_law_parse(ctx, "laplace", &law));
    assert_ok(ctx, kb_widths_equal(ctx, FEATURES, NULL, law, 0.7, &w));
    assert_int_equal(w.vectors, 1);
    assert_int_equal(w.features, FEATURES);
    for (size_t j = 0; j < FEATURES; j++)
        assert_true(w.width[j].law == law && w.width[j].sigma == 0.7 && w.width[j].q == 1);
    kb_release(ctx, w.width);
    kb_law_free(law);
    kb_context_free(ctx);
}

static void vectors_are_joined_in_their_order(void **unused) {
    kb_context *ctx = test_context();
    kb_width one[2 * FEATURES], two[FEATURES];
    kb_widths a = {2, FEATURES, one}, b = {1, FEATURES, two}, w;
    (void)unused;
    for (size_t k = 0; k < 3 * FEATURES; k++)
        *(k < 2 * FEATURES ? one + k : two + k - 2 * FEATURES) = (kb_width){NULL, 1 + (double)k, 1};
    assert_ok(ctx, kb_widths_join(ctx, &a, &b, &w));
    assert_int_equal(w.vectors, 3);
    kb_widths_multiply(&w, 2);
    for (size_t k = 0; k < 3 * FEATURES; k++)
        assert_true(w.width[k].sigma == 2 + 2 * (double)k);
    assert_true(one[0].sigma == 1); /* a copy */
    kb_release(ctx, w.width);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_widths_are_equal),
        cmocka_unit_test(vectors_are_joined_in_their_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
