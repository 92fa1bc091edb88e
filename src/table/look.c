/* look.c - see look.h. */
#include "table/look.h"
#include "core/number.h"
#include "table/date.h"
#include "table/number_style.h"

#include <string.h>

enum { LONGEST_SIGN = 4, LONGEST_UNIT = 8, LONGEST_DATE = 40 };

/* A text in three parts: a currency sign, a number, a unit. */
typedef struct parts {
    const char *begin, *number, *unit, *end;
} parts;

static int is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

/* A sign is no letter, so that A12 and A13 stay codes. */
static int is_sign(char c) {
    return c == '$' || c == ' ' || (unsigned char)c >= 0x80;
}

static int cut(const char *text, size_t length, parts *out) {
    const char *p = text, *end = text + length, *last = end;
    double x;
    while (p < end && is_sign(*p))
        p++;
    while (last > p && !kb_is_digit(last[-1]))
        last--;
    *out = (parts){text, p, last, end};
    if (p - text > LONGEST_SIGN || end - last > LONGEST_UNIT || (p == text && last == end))
        return 0;
    for (const char *u = last; u < end; u++)
        if (!is_letter(*u) && !is_sign(*u) && *u != '%' && *u != '/')
            return 0;
    return kb_number_style_read(KB_WRITTEN_THOUSANDS, p, (size_t)(last - p), &x) ||
           kb_number_style_read(KB_WRITTEN_DECIMAL_COMMA, p, (size_t)(last - p), &x);
}

static int same(const char *a, const char *a_end, const char *b, const char *b_end) {
    return a_end - a == b_end - b && memcmp(a, b, (size_t)(a_end - a)) == 0;
}

static int all_have_unit(const kb_text_ids *text) {
    parts first = {0}, p;
    for (size_t k = 0; k < text->count; k++) {
        if (!cut(text->text + text->start[k], text->start[k + 1] - text->start[k], &p))
            return 0;
        if (k == 0)
            first = p;
        if (!same(p.begin, p.number, first.begin, first.number) ||
            !same(p.unit, p.end, first.unit, first.end))
            return 0;
    }
    return 1;
}

/* With dots in place of strokes it is a date that is known to have the day first. */
static int is_day_first(const char *text, size_t length) {
    char copy[LONGEST_DATE];
    double days;
    if (length > sizeof copy || !memchr(text, '/', length))
        return 0;
    for (size_t k = 0; k < length; k++)
        copy[k] = text[k] == '/' ? '.' : text[k];
    return kb_date_read(copy, length, &days);
}

kb_texts_look kb_texts_look_of(const kb_text_ids *text) {
    int dates = text->count > 0, day_first = dates;
    double days;
    for (size_t k = 0; k < text->count && (dates || day_first); k++) {
        const char *word = text->text + text->start[k];
        size_t length = text->start[k + 1] - text->start[k];
        dates = dates && kb_date_read(word, length, &days);
        day_first = day_first && is_day_first(word, length);
    }
    if (dates || day_first)
        return dates ? KB_LOOK_DATES : KB_LOOK_DAY_FIRST;
    return text->count > 0 && all_have_unit(text) ? KB_LOOK_UNITS : KB_LOOK_WORDS;
}
