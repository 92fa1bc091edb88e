/* Checked memory: sizes, growth, failure. */
#include "support.h"

static void a_count_of_zero_gives_a_block(void **unused) {
    kb_context *ctx = test_context();
    void *block;
    (void)unused;
    assert_ok(ctx, kb_alloc(ctx, 0, 8, &block));
    assert_non_null(block);
    kb_release(ctx, block);
    kb_release(ctx, NULL);
    kb_context_free(ctx);
}

static void a_size_that_overflows_is_an_error(void **unused) {
    kb_context *ctx = test_context();
    void *block = &ctx;
    (void)unused;
    assert_int_equal(kb_alloc(ctx, SIZE_MAX / 4, 8, &block), KB_ERR_MEMORY);
    assert_null(block);
    assert_non_null(strstr(kb_context_message(ctx), "out of memory"));
    kb_context_free(ctx);
}

static void zalloc_gives_zeros(void **unused) {
    kb_context *ctx = test_context();
    unsigned char *block;
    (void)unused;
    assert_ok(ctx, kb_zalloc(ctx, 1000, 3, &block));
    for (int i = 0; i < 3000; i++)
        assert_int_equal(block[i], 0);
    kb_release(ctx, block);
    kb_context_free(ctx);
}

static void reserve_keeps_what_is_there(void **unused) {
    kb_context *ctx = test_context();
    int *item = NULL;
    size_t capacity = 0;
    (void)unused;
    for (int i = 0; i < 10000; i++) {
        assert_ok(ctx, kb_reserve(ctx, (size_t)i + 1, sizeof *item, &capacity, &item));
        assert_true(capacity > (size_t)i);
        item[i] = i;
    }
    for (int i = 0; i < 10000; i++)
        assert_int_equal(item[i], i);
    kb_release(ctx, item);
    kb_context_free(ctx);
}

static void a_failed_realloc_leaves_the_block(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    char *text;
    (void)unused;
    assert_ok(ctx, kb_strdup(ctx, "still here", &text));
    state.fail_at = state.allocations + 1;
    assert_int_equal(kb_realloc(ctx, 100, 1, &text), KB_ERR_MEMORY);
    assert_string_equal(text, "still here");
    kb_release(ctx, text);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

static void format_takes_any_length(void **unused) {
    kb_context *ctx = test_context();
    char *text;
    (void)unused;
    assert_ok(ctx, kb_format(ctx, &text, "%0*d-%s", 5000, 7, "end"));
    assert_int_equal(strlen(text), 5004);
    assert_string_equal(text + 4999, "7-end");
    kb_release(ctx, text);
    kb_context_free(ctx);
}

static void sizes_are_told_in_words(void **unused) {
    (void)unused;
    assert_string_equal(kb_size_in_words(512).text, "512 bytes");
    assert_string_equal(kb_size_in_words(1024).text, "1.0 KiB");
    assert_string_equal(kb_size_in_words(1.5 * 1024 * 1024 * 1024).text, "1.5 GiB");
    assert_non_null(strstr(kb_size_in_words(1e18).text, "PiB"));
}

static void what_is_charged_may_not_exceed_its_limit(void **unused) {
    kb_context *ctx = test_context();
    char *block = NULL, *other, *before;
    size_t capacity = 0;
    (void)unused;
    assert_ok(ctx, kb_alloc(ctx, 1000000, 1, &before));
    assert_int_equal(kb_charge_left(ctx), SIZE_MAX);
    kb_charge_begin(ctx, 100000);
    assert_ok(ctx, kb_alloc(ctx, 60000, 1, &block));
    assert_in_range(kb_charge_left(ctx), 30000, 40000);
    assert_int_equal(kb_alloc(ctx, 60000, 1, &other), KB_ERR_MEMORY);
    assert_null(other);
    assert_ok(ctx, kb_realloc(ctx, 90000, 1, &block)); /* only what is more counts */
    assert_int_equal(kb_realloc(ctx, 110000, 1, &block), KB_ERR_MEMORY);
    kb_release(ctx, block);
    assert_in_range(kb_charge_left(ctx), 99000, 100000);
    block = NULL;
    /* The last step of a growing array is as small as it must be. */
    for (size_t need = 1000; need < 90000; need += 1000)
        assert_ok(ctx, kb_reserve(ctx, need, 1, &capacity, &block));
    assert_true(capacity >= 89000);
    kb_release(ctx, before); /* it was not charged, but gives room */
    assert_int_equal(kb_charge_end(ctx), 1);
    assert_ok(ctx, kb_alloc(ctx, 1000000, 1, &other));
    kb_release(ctx, other);
    kb_release(ctx, block);
    kb_charge_begin(ctx, 1 << 20);
    assert_int_equal(kb_charge_end(ctx), 0);
    kb_context_free(ctx);
}

/* An allocator of the caller does not tell the size of a block. */
static void an_allocator_of_the_caller_is_not_charged(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    char *block;
    (void)unused;
    kb_charge_begin(ctx, 10);
    assert_ok(ctx, kb_alloc(ctx, 1000, 1, &block));
    assert_int_equal(kb_charge_end(ctx), 0);
    kb_release(ctx, block);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_count_of_zero_gives_a_block),
        cmocka_unit_test(a_size_that_overflows_is_an_error),
        cmocka_unit_test(zalloc_gives_zeros),
        cmocka_unit_test(reserve_keeps_what_is_there),
        cmocka_unit_test(a_failed_realloc_leaves_the_block),
        cmocka_unit_test(format_takes_any_length),
        cmocka_unit_test(sizes_are_told_in_words),
        cmocka_unit_test(what_is_charged_may_not_exceed_its_limit),
        cmocka_unit_test(an_allocator_of_the_caller_is_not_charged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
