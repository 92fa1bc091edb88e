/*
 * date.c - see date.h.  Days are counted as in Howard Hinnant's "chrono-compatible low-level date
 * algorithms": years that begin in March, in eras of 400 years.
 */
#include "table/date.h"
#include "core/number.h"

#include <math.h>

enum { ERA_DAYS = 146097, ERA_YEARS = 400, TO_2000 = 730425 /* from 0000-03-01 */ };

double kb_date_of(int year, int month, int day) {
    int y = month <= 2 ? year - 1 : year;
    int era = (y >= 0 ? y : y - ERA_YEARS + 1) / ERA_YEARS, of_era = y - era * ERA_YEARS;
    int of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    int days = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    return (double)era * ERA_DAYS + days - TO_2000;
}

static void civil(double days, int *year, int *month, int *day) {
    double z = floor(days) + TO_2000, era = floor(z / ERA_DAYS);
    int of_era = (int)(z - era * ERA_DAYS);
    int y = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int of_year = of_era - (365 * y + y / 4 - y / 100), m = (5 * of_year + 2) / 153;
    *day = of_year - (153 * m + 2) / 5 + 1;
    *month = m < 10 ? m + 3 : m - 9;
    *year = (int)(era * ERA_YEARS) + y + (*month <= 2);
}

static int days_in(int year, int month) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month == 2 && leap ? 29 : days[month - 1];
}

typedef struct cursor {
    const char *at, *end;
} cursor;

/* least to most digits; 0 if there are others. */
static int read_int(cursor *c, int least, int most, int *out) {
    int digits = 0;
    for (*out = 0; digits < most && c->at < c->end && kb_is_digit(*c->at); digits++)
        *out = 10 * *out + (*c->at++ - '0');
    return digits >= least && !(c->at < c->end && kb_is_digit(*c->at));
}

static int read_char(cursor *c, char wanted) {
    return c->at < c->end && *c->at == wanted ? (c->at++, 1) : 0;
}

/* hh:mm[:ss[.fff]][Z or +hh:mm] as a fraction of a day. */
static int read_time(cursor *c, double *out) {
    int hour, minute, second = 0, other;
    double fraction = 0, unit = 0.1;
    if (!read_int(c, 1, 2, &hour) || !read_char(c, ':') || !read_int(c, 2, 2, &minute))
        return 0;
    if (read_char(c, ':')) {
        if (!read_int(c, 2, 2, &second))
            return 0;
        if (read_char(c, '.'))
            for (; c->at < c->end && kb_is_digit(*c->at); unit /= 10)
                fraction += unit * (*c->at++ - '0');
    }
    if (hour > 24 || minute > 59 || second > 60)
        return 0;
    *out = (hour * 3600 + minute * 60 + second + fraction) / 86400;
    if (read_char(c, 'Z') || c->at == c->end)
        return 1;
    if (!read_char(c, '+') && !read_char(c, '-'))
        return 0;
    if (!read_int(c, 2, 4, &other))
        return 0;
    return read_char(c, ':') ? read_int(c, 2, 2, &other) : 1;
}

int kb_date_read(const char *text, size_t length, double *days) {
    cursor c = {text, text + length};
    int first, second, third, year, month, day;
    double time = 0;
    char mark;
    if (!read_int(&c, 1, 4, &first) || c.at == c.end)
        return 0;
    int year_first = c.at - text == 4;
    mark = *c.at++;
    if (!(mark == '/' || (mark == '-' && year_first) || (mark == '.' && !year_first)))
        return 0;
    if (!read_int(&c, 1, 2, &second) || !read_char(&c, mark) ||
        !read_int(&c, year_first ? 1 : 4, year_first ? 2 : 4, &third))
        return 0;
    year = year_first ? first : third;
    month = year_first || mark == '.' ? second : first;
    day = year_first ? third : mark == '.' ? first : second;
    if (month < 1 || month > 12 || day < 1 || day > days_in(year, month))
        return 0;
    if (c.at < c.end) {
        if (!read_char(&c, ' ') && !read_char(&c, 'T'))
            return 0;
        if (!read_time(&c, &time) || c.at != c.end)
            return 0;
    }
    *days = kb_date_of(year, month, day) + time;
    return 1;
}

const char *kb_date_part_name(kb_date_part part) {
    static const char *const name[] = {"days", "month", "weekday", "day of year", "hour"};
    return (unsigned)part < KB_DATE_PARTS ? name[part] : "?";
}

double kb_date_part_of(double days, kb_date_part part) {
    int year, month, day;
    double week;
    switch (part) {
    case KB_DATE_MONTH:
        civil(days, &year, &month, &day);
        return month;
    case KB_DATE_WEEKDAY: /* 2000-01-01 was a Saturday */
        week = floor(days) + 5;
        return week - 7 * floor(week / 7);
    case KB_DATE_DAY_OF_YEAR:
        civil(days, &year, &month, &day);
        return floor(days) - kb_date_of(year, 1, 1) + 1;
    case KB_DATE_HOUR:
        return (days - floor(days)) * 24;
    case KB_DATE_DAYS:
    case KB_DATE_PARTS:
        break;
    }
    return days;
}
