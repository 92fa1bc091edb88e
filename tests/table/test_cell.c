/* A cell of a table as one double. */
#include "support.h"

#include "table/cell.h"

static void a_cell_is_a_number_a_text_or_nothing(void **unused) {
    static const uint32_t number[] = {0, 1, 77, 0x7fffffff, UINT32_MAX};
    static const double plain[] = {0, -0.0, 1.5, -1e300, INFINITY};
    (void)unused;
    for (size_t k = 0; k < 5; k++) {
        double text = kb_cell_text(number[k]), open = kb_cell_open(number[k]);
        assert_true(isnan(text) && isnan(open));
        assert_true(kb_cell_is_text(text) && !kb_cell_is_open(text));
        assert_true(kb_cell_is_open(open) && !kb_cell_is_text(open));
        assert_false(kb_cell_is_missing(text));
        assert_true(kb_cell_number(text) == number[k] && kb_cell_number(open) == number[k]);
        assert_false(kb_cell_is_text(plain[k]) || kb_cell_is_open(plain[k]));
        assert_false(kb_cell_is_missing(plain[k]));
    }
    assert_true(kb_cell_is_missing(KB_CELL_MISSING) && kb_cell_is_missing(-KB_CELL_MISSING));
    assert_false(kb_cell_is_text(KB_CELL_MISSING) || kb_cell_is_open(KB_CELL_MISSING));
}

static void some_texts_say_that_there_is_no_value(void **unused) {
    static const char *const missing[] = {"",     "?",   "NA",  "na",   "N/A",  "n/a",
                                          "#N/A", "NaN", "nan", "null", "NULL", "."};
    static const char *const value[] = {"0", "-", "NAN1", "N", "none", "??", "..", "nul", " "};
    (void)unused;
    for (size_t k = 0; k < sizeof missing / sizeof *missing; k++)
        if (!kb_text_is_missing(missing[k], strlen(missing[k])))
            fail_msg("'%s' is a value", missing[k]);
    for (size_t k = 0; k < sizeof value / sizeof *value; k++)
        if (kb_text_is_missing(value[k], strlen(value[k])))
            fail_msg("'%s' is missing", value[k]);
    assert_true(kb_text_is_missing("NA1", 2)); /* the length counts */
    assert_false(kb_text_is_missing("NA", 1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cell_is_a_number_a_text_or_nothing),
        cmocka_unit_test(some_texts_say_that_there_is_no_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
