/* Numbers with separators, decimal commas and percent signs. */
#include "support.h"

#include "table/number_style.h"

static int reads(kb_number_style style, const char *text, double want) {
    double x = 0;
    return kb_number_style_read(style, text, strlen(text), &x) && x == want;
}

static int refuses(kb_number_style style, const char *text) {
    double x;
    return !kb_number_style_read(style, text, strlen(text), &x);
}

static void thousands_stand_in_groups_of_three(void **unused) {
    (void)unused;
    assert_true(reads(KB_WRITTEN_THOUSANDS, "1,234", 1234));
    assert_true(reads(KB_WRITTEN_THOUSANDS, "-1,234,567.25", -1234567.25));
    assert_true(reads(KB_WRITTEN_THOUSANDS, "12", 12));
    assert_true(reads(KB_WRITTEN_THOUSANDS, "1234.5", 1234.5));
    assert_true(refuses(KB_WRITTEN_THOUSANDS, "1,23"));
    assert_true(refuses(KB_WRITTEN_THOUSANDS, "1234,567"));
    assert_true(refuses(KB_WRITTEN_THOUSANDS, ",234"));
    assert_true(refuses(KB_WRITTEN_THOUSANDS, "1,234x"));
}

static void a_comma_may_be_the_point(void **unused) {
    (void)unused;
    assert_true(reads(KB_WRITTEN_DECIMAL_COMMA, "3,14", 3.14));
    assert_true(reads(KB_WRITTEN_DECIMAL_COMMA, "1.234,5", 1234.5));
    assert_true(reads(KB_WRITTEN_DECIMAL_COMMA, "1 234,5", 1234.5));
    assert_true(reads(KB_WRITTEN_DECIMAL_COMMA, "-7", -7));
    assert_true(reads(KB_WRITTEN_DECIMAL_COMMA, "2,5e3", 2500));
    assert_true(refuses(KB_WRITTEN_DECIMAL_COMMA, "1,2,3"));
    assert_true(refuses(KB_WRITTEN_DECIMAL_COMMA, "1.23,4"));
    assert_true(refuses(KB_WRITTEN_DECIMAL_COMMA, "x"));
}

static void percent_is_the_number_before_the_sign(void **unused) {
    (void)unused;
    assert_true(reads(KB_WRITTEN_PERCENT, "12.5%", 12.5));
    assert_true(reads(KB_WRITTEN_PERCENT, "12 %", 12));
    assert_true(refuses(KB_WRITTEN_PERCENT, "12"));
    assert_true(refuses(KB_WRITTEN_PERCENT, "%"));
    assert_true(refuses(KB_WRITTEN_PERCENT, ""));
}

static void a_plain_number_is_as_ever(void **unused) {
    char longer[200];
    (void)unused;
    memset(longer, '1', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_true(reads(KB_WRITTEN_PLAIN, "1e3", 1000));
    assert_true(refuses(KB_WRITTEN_PLAIN, "1,000"));
    assert_true(refuses(KB_WRITTEN_THOUSANDS, longer));
    assert_string_equal(kb_number_style_name(KB_WRITTEN_DECIMAL_COMMA), "decimal comma");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thousands_stand_in_groups_of_three),
        cmocka_unit_test(a_comma_may_be_the_point),
        cmocka_unit_test(percent_is_the_number_before_the_sign),
        cmocka_unit_test(a_plain_number_is_as_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
