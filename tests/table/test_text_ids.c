/* Texts numbered in the order in which they first come. */
#include "support.h"

#include "table/text_ids.h"

static uint32_t number_of(kb_context *ctx, kb_text_ids *keys, const char *text) {
    uint32_t number;
    assert_ok(ctx, kb_text_ids_number(ctx, keys, text, strlen(text), &number));
    return number;
}

static void a_text_has_one_number(void **unused) {
    kb_context *ctx = test_context();
    kb_text_ids keys = {0};
    (void)unused;
    assert_int_equal(number_of(ctx, &keys, "cow"), 0);
    assert_int_equal(number_of(ctx, &keys, "co"), 1);
    assert_int_equal(number_of(ctx, &keys, ""), 2);
    assert_int_equal(number_of(ctx, &keys, "cow"), 0);
    assert_int_equal(number_of(ctx, &keys, "Cow"), 3);
    assert_int_equal(number_of(ctx, &keys, ""), 2);
    assert_int_equal(number_of(ctx, &keys, "w"), 4);
    assert_int_equal(keys.count, 5);
    kb_text_ids_clear(ctx, &keys);
    assert_int_equal(number_of(ctx, &keys, "w"), 0);
    kb_text_ids_clear(ctx, &keys);
    kb_context_free(ctx);
}

static void many_keep_their_numbers(void **unused) {
    enum { KEYS = 20000 };
    kb_context *ctx = test_context();
    kb_text_ids keys = {0};
    char text[32];
    (void)unused;
    for (uint32_t round = 0; round < 2; round++)
        for (uint32_t k = 0; k < KEYS; k++) {
            snprintf(text, sizeof text, "patient %u", k * 7919u % KEYS);
            assert_int_equal(number_of(ctx, &keys, text), k);
        }
    kb_text_ids_clear(ctx, &keys);
    kb_context_free(ctx);
}

static int number_some(kb_context *ctx, void *unused) {
    kb_text_ids keys = {0};
    kb_status status = KB_OK;
    uint32_t number;
    char text[2] = {0};
    (void)unused;
    for (int k = 1; k < 100; k++) {
        text[0] = (char)k;
        TRY(kb_text_ids_number(ctx, &keys, text, 1, &number));
    }
done:
    kb_text_ids_clear(ctx, &keys);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    (void)unused;
    run_with_allocation_failures(number_some, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_has_one_number),
        cmocka_unit_test(many_keep_their_numbers),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
