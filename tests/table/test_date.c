/* Dates as days since 2000-01-01; the C library's calendar is the oracle. */
#include "support.h"

#include "table/date.h"

#include <math.h>
#include <time.h>

static double days_of(const char *text) {
    double days = NAN;
    return kb_date_read(text, strlen(text), &days) ? days : NAN;
}

static void every_form_reads(void **unused) {
    (void)unused;
    assert_true(days_of("2000-01-01") == 0);
    assert_true(days_of("2000/03/01") == 60);
    assert_true(days_of("1999-12-31") == -1);
    assert_true(days_of("1/2/2000") == 1);   /* month first */
    assert_true(days_of("02.01.2000") == 1); /* day first */
    assert_true(days_of("2000-01-01 12:00") == 0.5);
    assert_true(days_of("2000-01-01T06:00:00Z") == 0.25);
    assert_true(days_of("2000-01-01T18:00:00.000+02:00") == 0.75);
    assert_true(days_of("1/1/2000 0:30") == 0.5 / 24);
}

static void what_is_no_date_is_refused(void **unused) {
    static const char *const bad[] = {"",           "2000",           "2000-13-01",
                                      "2000-02-30", "2001-02-29",     "2000-01-01x",
                                      "20-1-2000",  "2000-01-01 25",  "2000-01-01 10:60",
                                      "1-2-3",      "2000-01-01 1:2", "2000-1"};
    (void)unused;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_true(isnan(days_of(bad[i])));
}

static void parts_agree_with_the_c_library(void **unused) {
    (void)unused;
    for (long day = -40000; day < 40000; day += 7) {
        time_t seconds = (time_t)(day * 86400 + 946684800 + 5 * 3600 + 1800);
        struct tm tm;
        tm = *gmtime(&seconds);
        double days = kb_date_of(tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
        assert_true(days == (double)day);
        days += 5.5 / 24;
        assert_int_equal(kb_date_part_of(days, KB_DATE_MONTH), tm.tm_mon + 1);
        assert_int_equal(kb_date_part_of(days, KB_DATE_WEEKDAY), (tm.tm_wday + 6) % 7);
        assert_int_equal(kb_date_part_of(days, KB_DATE_DAY_OF_YEAR), tm.tm_yday + 1);
        assert_true(fabs(kb_date_part_of(days, KB_DATE_HOUR) - 5.5) < 1e-6);
        assert_true(kb_date_part_of(days, KB_DATE_DAYS) == days);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_reads),
        cmocka_unit_test(what_is_no_date_is_refused),
        cmocka_unit_test(parts_agree_with_the_c_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
