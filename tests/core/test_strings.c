/* Arrays of texts. */
#include "support.h"

#include "core/strings.h"

static char *const TEXTS[] = {"one", "", "three"};

static int copies(kb_context *ctx, void *unused) {
    char **out;
    (void)unused;
    kb_status status = kb_strings_copy(ctx, 3, TEXTS, &out);
    if (status != KB_OK) {
        assert_null(out);
        return (int)status;
    }
    for (int i = 0; i < 3; i++) {
        assert_string_equal(out[i], TEXTS[i]);
        assert_ptr_not_equal(out[i], TEXTS[i]);
    }
    kb_strings_free(kb_allocator_of(ctx), 3, out);
    return KB_OK;
}

static void a_copy_has_the_same_texts_or_fails_cleanly(void **unused) {
    (void)unused;
    run_with_allocation_failures(copies, NULL);
}

static void no_texts_stay_no_texts(void **unused) {
    char *some = NULL, **out = &some;
    kb_context *ctx = test_context();
    (void)unused;
    assert_ok(ctx, kb_strings_copy(ctx, 3, NULL, &out));
    assert_null(out);
    kb_strings_free(kb_allocator_of(ctx), 3, NULL);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_has_the_same_texts_or_fails_cleanly),
        cmocka_unit_test(no_texts_stay_no_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
