#include "support.h"

#include "options/say.h"

static kb_context *context_of(kb_option_style style) {
    kb_context *ctx;
    assert_int_equal(
        kb_context_create(
            &(kb_context_config){.size = sizeof(kb_context_config), .option_style = style}, &ctx),
        KB_OK);
    return ctx;
}

static void an_option_is_named_as_the_caller_writes_it(void **unused) {
    static const char *const name[] = {"max-memory", "--max-memory", "max_memory"};
    static const char *const value[] = {"class-weight=balanced", "--class-weight balanced",
                                        "class_weight='balanced'"};
    static const char *const number[] = {"lambda=-1.5", "--lambda -1.5", "lambda_=-1.5"};
    (void)unused;
    for (int style = KB_STYLE_NAME; style <= KB_STYLE_KEYWORD; style++) {
        kb_context *ctx = context_of((kb_option_style)style);
        assert_string_equal(kb_say(ctx, KB_OPT_MAX_MEMORY).text, name[style]);
        assert_string_equal(kb_say_value(ctx, KB_OPT_CLASS_WEIGHT, "balanced").text, value[style]);
        assert_string_equal(kb_say_value(ctx, KB_OPT_LAMBDA, "-1.5").text, number[style]);
        kb_context_free(ctx);
    }
}

static void a_value_reads_as_the_caller_writes_it(void **unused) {
    static const char *const word[] = {"exact", "exact", "'exact'"};
    static const char *const number[] = {"lambda=-1.5", "--lambda -1.5", "lambda_=-1.5"};
    static const char *const nothing[] = {"label=''", "--label ''", "label=''"};
    static const char *const seed[] = {"seed", "--seed", "random_state"};
    (void)unused;
    for (int style = KB_STYLE_NAME; style <= KB_STYLE_KEYWORD; style++) {
        kb_context *ctx = context_of((kb_option_style)style);
        assert_string_equal(kb_say_word(ctx, "exact").text, word[style]);
        assert_string_equal(kb_say_value(ctx, KB_OPT_LAMBDA, "-1.5").text, number[style]);
        assert_string_equal(kb_say_value(ctx, KB_OPT_LABEL, "").text, nothing[style]);
        assert_string_equal(kb_say(ctx, KB_OPT_SEED).text, seed[style]);
        kb_context_free(ctx);
    }
}

static void a_long_value_is_cut(void **unused) {
    char value[1000];
    kb_context *ctx = context_of(KB_STYLE_FLAG);
    (void)unused;
    memset(value, 'x', sizeof value);
    value[sizeof value - 1] = '\0';
    kb_said said = kb_say_value(ctx, KB_OPT_KERNEL, value);
    assert_true(strlen(said.text) < sizeof said.text);
    assert_memory_equal(said.text, "--kernel xxx", 12);
    assert_memory_equal(said.text + strlen(said.text) - 3, "x..", 3);
    kb_context_free(ctx);
    ctx = context_of(KB_STYLE_KEYWORD);
    said = kb_say_value(ctx, KB_OPT_KERNEL, value);
    assert_memory_equal(said.text + strlen(said.text) - 4, "x..'", 4);
    kb_context_free(ctx);
}

static void an_unknown_style_is_refused(void **unused) {
    kb_context *ctx;
    (void)unused;
    assert_int_equal(kb_context_create(&(kb_context_config){.size = sizeof(kb_context_config),
                                                            .option_style = (kb_option_style)3},
                                       &ctx),
                     KB_ERR_ARGUMENT);
    assert_null(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_option_is_named_as_the_caller_writes_it),
        cmocka_unit_test(a_value_reads_as_the_caller_writes_it),
        cmocka_unit_test(a_long_value_is_cut),
        cmocka_unit_test(an_unknown_style_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
