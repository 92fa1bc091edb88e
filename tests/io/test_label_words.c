/* The words of a label column: numbers of arrival, then places of the alphabet. */
#include "support.h"

#include "io/label_words.h"

enum { MANY = 500 };

/* Word k of a list with repetitions, in no order. */
static const char *word_of(size_t k) {
    static char text[32];
    size_t n = k * 7919 % 97;
    snprintf(text, sizeof text, "%s%zu", n % 3 ? "w" : "", n * n % 211);
    return text;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void strings_free(kb_context *ctx, size_t count, char **text) {
    for (size_t k = 0; k < count; k++)
        kb_release(ctx, text[k]);
    kb_release(ctx, text);
}

/* Against a list that is searched from its beginning. */
static void words_are_numbered_as_they_come_and_then_sorted(void **unused) {
    kb_context *ctx = test_context();
    kb_words words = {0};
    char text[MANY][32], *seen[MANY], **sorted;
    size_t count = 0, number;
    double label[MANY];
    (void)unused;
    for (size_t k = 0; k < MANY; k++) {
        const char *word = word_of(k);
        size_t want = 0;
        while (want < count && strcmp(seen[want], word) != 0)
            want++;
        if (want == count) {
            seen[count] = strcpy(text[count], word);
            count++;
        }
        assert_ok(ctx, kb_words_number(ctx, &words, word, &number));
        assert_int_equal(number, want);
        assert_int_equal(words.count, count);
        label[k] = (double)number;
    }
    assert_true(count > 20 && count < MANY);
    assert_ok(ctx, kb_words_sort(ctx, &words, label, MANY, &sorted));
    qsort(seen, count, sizeof *seen, by_text);
    for (size_t k = 0; k < count; k++)
        assert_string_equal(sorted[k], seen[k]);
    for (size_t k = 0; k < MANY; k++) /* each row still has its word */
        assert_string_equal(sorted[(size_t)label[k]], word_of(k));
    strings_free(ctx, words.count, sorted);
    kb_words_clear(ctx, &words);
    assert_int_equal(words.count, 0);
    kb_context_free(ctx);
}

static void no_words_and_empty_ones_are_fine(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    kb_words words = {0};
    char **sorted;
    size_t number;
    double label[] = {0, 1, 0};
    (void)unused;
    assert_ok(ctx, kb_words_sort(ctx, &words, NULL, 0, &sorted));
    kb_release(ctx, sorted);
    kb_words_clear(ctx, &words);
    assert_ok(ctx, kb_words_number(ctx, &words, "a", &number));
    assert_int_equal(number, 0);
    assert_ok(ctx, kb_words_number(ctx, &words, "", &number));
    assert_int_equal(number, 1);
    assert_ok(ctx, kb_words_number(ctx, &words, "a", &number));
    assert_int_equal(number, 0);
    assert_ok(ctx, kb_words_sort(ctx, &words, label, 3, &sorted));
    assert_string_equal(sorted[0], "");
    assert_string_equal(sorted[1], "a");
    assert_true(label[0] == 1 && label[1] == 0 && label[2] == 1);
    strings_free(ctx, 2, sorted);
    kb_words_clear(ctx, &words);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

/* The last one that fits, and the first that does not; those that are there stay known. */
static void too_many_words_are_not_taken(void **unused) {
    kb_context *ctx = test_context();
    kb_words words = {0};
    size_t number;
    char text[16];
    (void)unused;
    for (size_t k = 0; k < KB_WORDS_MAX; k++) {
        snprintf(text, sizeof text, "%06zu", k); /* in order, which costs the least */
        assert_ok(ctx, kb_words_number(ctx, &words, text, &number));
        assert_int_equal(number, k);
    }
    for (int again = 0; again < 2; again++) {
        assert_ok(ctx, kb_words_number(ctx, &words, "one more", &number));
        assert_int_equal(number, KB_WORDS_MAX);
        assert_int_equal(words.count, KB_WORDS_MAX);
    }
    assert_ok(ctx, kb_words_number(ctx, &words, "065535", &number));
    assert_int_equal(number, KB_WORDS_MAX - 1);
    kb_words_clear(ctx, &words);
    kb_context_free(ctx);
}

static int number_and_sort(kb_context *ctx, void *arg) {
    kb_status status;
    kb_words words = {0};
    char **sorted = NULL;
    double label[60];
    size_t number;
    (void)arg;
    for (size_t k = 0; k < 60; k++) {
        TRY(kb_words_number(ctx, &words, word_of(k), &number));
        label[k] = (double)number;
    }
    TRY(kb_words_sort(ctx, &words, label, 60, &sorted));
    strings_free(ctx, words.count, sorted);
done:
    kb_words_clear(ctx, &words);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    (void)unused;
    run_with_allocation_failures(number_and_sort, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_numbered_as_they_come_and_then_sorted),
        cmocka_unit_test(no_words_and_empty_ones_are_fine),
        cmocka_unit_test(too_many_words_are_not_taken),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
