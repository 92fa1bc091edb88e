/*
 * date.h - dates and times of day as days since 2000-01-01, and their parts.
 *
 * YYYY-MM-DD or YYYY/MM/DD, M/D/YYYY, D.M.YYYY; each alone or followed by a blank or T and hh:mm,
 * hh:mm:ss or hh:mm:ss.fff, and that by Z or an offset such as +02:00, which is not looked at: the
 * time is the local one.
 */
#ifndef KB_TABLE_DATE_H
#define KB_TABLE_DATE_H

#include <stddef.h>

/* Whether all of the text is a date. */
int kb_date_read(const char *text, size_t length, double *days);
/* Days since 2000-01-01 of a day of the Gregorian calendar. */
double kb_date_of(int year, int month, int day);

typedef enum kb_date_part {
    KB_DATE_DAYS,        /* since 2000-01-01, with the time of day as a fraction */
    KB_DATE_MONTH,       /* 1 to 12 */
    KB_DATE_WEEKDAY,     /* 0, Monday, to 6 */
    KB_DATE_DAY_OF_YEAR, /* 1 to 366 */
    KB_DATE_HOUR,        /* 0 to 24, with minutes as a fraction */
    KB_DATE_PARTS
} kb_date_part;
/* "days", "month", .. */
const char *kb_date_part_name(kb_date_part part);
double kb_date_part_of(double days, kb_date_part part);

#endif
