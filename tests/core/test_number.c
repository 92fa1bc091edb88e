/* Decimal text to double and back; the oracle is the C library's strtod. */
#include "support.h"

#include "core/random.h"
#include "core/number.h"

#include <float.h>
#include <locale.h>
#include <math.h>

static void reads_as_strtod(const char *text) {
    double got = -1, want;
    char *want_end;
    want = strtod(text, &want_end);
    const char *got_end = kb_number_parse(text, &got);
    if (isinf(want)) {
        assert_null(got_end);
        return;
    }
    if (got_end != want_end || memcmp(&got, &want, sizeof got) != 0)
        fail_msg("'%s': got %.17g, want %.17g", text, got, want);
}

static uint64_t bits(uint64_t i, uint32_t use) {
    kb_random4 r = kb_random(5, KB_STREAM_SYNTHETIC, i, use);
    return ((uint64_t)r.word[0] << 32) | r.word[1];
}

static void random_doubles_at_every_precision(void **unused) {
    char text[64];
    (void)unused;
    for (uint64_t i = 0; i < 300000; i++) {
        uint64_t b = bits(i, 0);
        double x;
        memcpy(&x, &b, sizeof x);
        if (!isfinite(x))
            continue;
        snprintf(text, sizeof text, "%.*e", (int)(bits(i, 1) % 22), x);
        reads_as_strtod(text);
    }
}

/* Mantissas of 1 to 25 digits, the point anywhere, exponents around the limits of the three ways
 * in number.c. */
static void random_digits_of_every_shape(void **unused) {
    char text[128];
    (void)unused;
    for (uint64_t i = 0; i < 1000000; i++) {
        uint64_t b = bits(i, 2);
        int digits = 1 + (int)(b % 25), point = (int)((b >> 8) % 28), used = 0;
        if ((b >> 16) % 3 == 0)
            text[used++] = (b >> 17) % 2 ? '-' : '+';
        for (int k = 0; k < digits; k++) {
            if (k == point)
                text[used++] = '.';
            text[used++] = (char)('0' + (k < 18 ? bits(i, 3) >> (3 * k) : bits(i, 4) >> k) % 10);
        }
        if ((b >> 20) % 2)
            used += snprintf(text + used, 16, "%c%d", (b >> 21) % 2 ? 'e' : 'E',
                             (int)((b >> 24) % 100) - 50);
        text[used] = '\0';
        reads_as_strtod(text);
    }
}

/* Exactly between two doubles, and one unit of the last digit to either side. */
static void halfway_cases(void **unused) {
    char text[1200];
    (void)unused;
    for (uint64_t i = 0; i < 100000; i++) {
        double x = ldexp((double)(bits(i, 5) >> 11), (int)(bits(i, 6) % 130) - 100);
        double next = nextafter(x, INFINITY), half = (next - x) / 2;
        long double middle = (long double)x + (long double)half;
        int length = snprintf(text, sizeof text, "%.*Lf", (int)(bits(i, 7) % 110), middle);
        reads_as_strtod(text);
        if (text[length - 1] != '9' && text[length - 1] != '.') {
            text[length - 1]++;
            reads_as_strtod(text);
        }
        snprintf(text + length, 8, "%d", (int)(bits(i, 8) % 2));
        reads_as_strtod(text);
    }
    reads_as_strtod("9007199254740993");
    reads_as_strtod("9007199254740993.00000000000000000000000000000000000001");
    reads_as_strtod("9007199254740992.99999999999999999999999999999999999999");
}

static void odd_forms(void **unused) {
    static const char *const text[] = {"0",
                                       "-0",
                                       "+0",
                                       "0.0",
                                       "-0.0e99999",
                                       "1.",
                                       ".5",
                                       "5.e3",
                                       "1e5",
                                       "1E+05",
                                       "1e-05",
                                       "1e",
                                       "1e+",
                                       "1ex",
                                       "007",
                                       "0000000000000000000000000000000000001",
                                       "0.00000000000000000000000000000000001",
                                       "1e308",
                                       "1.7976931348623157e308",
                                       "1.7976931348623159e308",
                                       "1e309",
                                       "1e99999999999999999999",
                                       "4.9e-324",
                                       "2.4e-324",
                                       "2.5e-324",
                                       "1e-400",
                                       "1e-99999999999999999999",
                                       "2.2250738585072011e-308",
                                       "2.2250738585072014e-308",
                                       "18446744073709551615",
                                       "18446744073709551616",
                                       "9999999999999999999",
                                       "99999999999999999999",
                                       "123456789012345678901234567890e-10",
                                       "1 2",
                                       "1:2",
                                       "1,5",
                                       "1#",
                                       "1e5e5",
                                       "1.2.3",
                                       "1_000",
                                       "0e400",
                                       "10000000000000000000000000000000000000000e-40"};
    (void)unused;
    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        reads_as_strtod(text[i]);
}

static void what_is_no_number_is_refused(void **unused) {
    static const char *const text[] = {"",    " 1",  "abc", "-",    "+",        ".",   "-.",  "e5",
                                       ".e5", "nan", "inf", "-inf", "infinity", "--1", "+-1", ":1"};
    double x;
    (void)unused;
    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        assert_null(kb_number_parse(text[i], &x));
    const char *hex = "0x10";
    assert_ptr_equal(kb_number_parse(hex, &x), hex + 1);
}

static void faults_are_told_apart(void **unused) {
    static const struct {
        const char *token;
        kb_number_fault fault;
    } known[] = {{"1.5", KB_NUMBER_FINE},
                 {"abc", KB_NUMBER_WORD},
                 {"0x10", KB_NUMBER_WORD},
                 {"1.2.3", KB_NUMBER_WORD},
                 {"1e5x", KB_NUMBER_WORD},
                 {"", KB_NUMBER_MISSING},
                 {"NaN", KB_NUMBER_MISSING},
                 {"-nan", KB_NUMBER_MISSING},
                 {"NA", KB_NUMBER_MISSING},
                 {"?", KB_NUMBER_MISSING},
                 {"inf", KB_NUMBER_INFINITE},
                 {"-INF", KB_NUMBER_INFINITE},
                 {"Infinity", KB_NUMBER_INFINITE},
                 {"1e999", KB_NUMBER_TOO_LARGE},
                 {"nancy", KB_NUMBER_WORD},
                 {"1e", KB_NUMBER_WORD},
                 {".", KB_NUMBER_WORD}};
    (void)unused;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_int_equal(kb_number_check(known[i].token, strlen(known[i].token)), known[i].fault);
}

/* As in the buffers of a data frame, where one text follows the other. */
static void what_follows_a_token_does_not_belong_to_it(void **unused) {
    static const struct {
        const char *text;
        size_t length;
        kb_number_fault fault;
    } known[] = {{"12", 1, KB_NUMBER_FINE},
                 {"1e4001", 5, KB_NUMBER_TOO_LARGE},
                 {"1e9", 2, KB_NUMBER_WORD},
                 {"1e-9", 3, KB_NUMBER_WORD},
                 {"nano", 3, KB_NUMBER_MISSING},
                 {"-infinity", 4, KB_NUMBER_INFINITE},
                 {"1.5.2", 3, KB_NUMBER_FINE},
                 {"1e308999", 5, KB_NUMBER_FINE},
                 {"1e4001e500", 5, KB_NUMBER_TOO_LARGE}};
    (void)unused;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        assert_int_equal(kb_number_check(known[i].text, known[i].length), known[i].fault);
        char *exact = malloc(known[i].length); /* a sanitizer sees a read beyond */
        assert_non_null(exact);
        memcpy(exact, known[i].text, known[i].length);
        assert_int_equal(kb_number_check(exact, known[i].length), known[i].fault);
        free(exact);
    }
}

static void very_long_tokens_are_numbers_too(void **unused) {
    char text[2000];
    (void)unused;
    memset(text, '7', sizeof text);
    assert_int_equal(kb_number_check(text, sizeof text), KB_NUMBER_TOO_LARGE);
    memcpy(text + 1990, "e-1800", 6);
    assert_int_equal(kb_number_check(text, 1996), KB_NUMBER_FINE);
    text[1] = '.';
    assert_int_equal(kb_number_check(text, 1990), KB_NUMBER_FINE);
    memset(text, '0', 1);
    memset(text + 2, '0', 1900);
    assert_int_equal(kb_number_check(text, 1990), KB_NUMBER_FINE);
    text[5] = 'x';
    assert_int_equal(kb_number_check(text, 1990), KB_NUMBER_WORD);
}

static void an_index_is_digits_only(void **unused) {
    uint64_t n;
    const char *text = "123:4";
    (void)unused;
    assert_ptr_equal(kb_index_parse(text, &n), text + 3);
    assert_int_equal(n, 123);
    assert_null(kb_index_parse("-1", &n));
    assert_null(kb_index_parse("", &n));
    assert_non_null(kb_index_parse("99999999999999999999999999", &n));
    assert_true(n == UINT64_MAX);
}

static void reads_back(double x) {
    char text[KB_NUMBER_TEXT];
    double back;
    size_t length = kb_number_format(x, text);
    assert_int_equal(length, strlen(text));
    assert_true(length < KB_NUMBER_TEXT);
    assert_ptr_equal(kb_number_parse(text, &back), text + length);
    if (back != x)
        fail_msg("%.17g became '%s'", x, text);
}

static void every_double_reads_back(void **unused) {
    (void)unused;
    for (uint64_t i = 0; i < 300000; i++) {
        uint64_t b = bits(i, 9);
        double x;
        memcpy(&x, &b, sizeof x);
        if (isfinite(x))
            reads_back(x);
        reads_back((double)(int64_t)b / 1e6);
        reads_back((double)(int)b / ((b & 1) ? 100.0 : 1e7));
        reads_back((double)(int)(b % 1000));
    }
    reads_back(DBL_MAX);
    reads_back(-DBL_MIN);
    reads_back(4.9e-324);
    reads_back(1e15);
    reads_back(999999999999999);
    reads_back(9007199254740991);
}

static void short_numbers_stay_short(void **unused) {
    static const char *const text[] = {
        "0",     "1",          "-1",      "0.1",    "-0.000811",        "123456",
        "0.5",   "2.25",       "1000000", "0.0001", "3.14159265358979", "1e-05",
        "1e+20", "100000.001", "-10.5"};
    char out[KB_NUMBER_TEXT];
    (void)unused;
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        kb_number_format(strtod(text[i], NULL), out);
        assert_string_equal(out, text[i]);
    }
}

static void a_decimal_comma_changes_nothing(void **unused) {
    static const char *const locale[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "nl_NL.UTF-8"};
    char text[KB_NUMBER_TEXT];
    double x;
    size_t i = 0;
    (void)unused;
    while (i < 4 && !setlocale(LC_NUMERIC, locale[i]))
        i++;
    if (i == 4)
        skip();
    assert_non_null(kb_number_parse("1.2345678901234567890123e-200", &x));
    assert_true(x > 1.2e-200 && x < 1.3e-200);
    kb_number_format(1.0 / 3, text);
    setlocale(LC_NUMERIC, "C");
    assert_string_equal(text, "0.3333333333333333");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_doubles_at_every_precision),
        cmocka_unit_test(random_digits_of_every_shape),
        cmocka_unit_test(halfway_cases),
        cmocka_unit_test(odd_forms),
        cmocka_unit_test(what_is_no_number_is_refused),
        cmocka_unit_test(faults_are_told_apart),
        cmocka_unit_test(an_index_is_digits_only),
        cmocka_unit_test(what_follows_a_token_does_not_belong_to_it),
        cmocka_unit_test(very_long_tokens_are_numbers_too),
        cmocka_unit_test(every_double_reads_back),
        cmocka_unit_test(short_numbers_stay_short),
        cmocka_unit_test(a_decimal_comma_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
