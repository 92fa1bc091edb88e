/* number_style.c - see number_style.h. */
#include "table/number_style.h"
#include "core/number.h"

#include <string.h>

enum { LONGEST = 64 };

const char *kb_number_style_name(kb_number_style style) {
    static const char *const name[] = {"plain", "thousands", "decimal comma", "percent"};
    return (unsigned)style < KB_WRITTEN_STYLES ? name[style] : "?";
}

/* Copies digits in groups of three, separated by `mark`: 1,234,567; or a run of digits without
 * any.  Returns the first byte that does not belong, or NULL if a group has another length. */
static const char *read_groups(const char *p, const char *end, char mark, char **out) {
    const char *begin = p;
    int marks = 0;
    while (p < end && kb_is_digit(*p))
        *(*out)++ = *p++;
    while (p < end && *p == mark && p - begin > 0) {
        const char *group = ++p;
        if (marks++ == 0 && p - 1 - begin > 3)
            return NULL;
        while (p < end && kb_is_digit(*p))
            *(*out)++ = *p++;
        if (p - group != 3)
            return NULL;
    }
    return p;
}

/* The same number in plain form; 0 if it is not one of this style. */
static int make_plain(const char *p, const char *end, char mark, char point, char *out) {
    if (p < end && (*p == '-' || *p == '+'))
        *out++ = *p++;
    p = read_groups(p, end, mark, &out);
    if (p && mark == '.' && p < end && *p == ' ') /* never both kinds of marks */
        return 0;
    if (!p)
        return 0;
    if (p < end && *p == point) {
        *out++ = '.';
        for (p++; p < end && kb_is_digit(*p);)
            *out++ = *p++;
    }
    while (p < end && strchr("eE+-0123456789", *p)) /* an exponent, checked by who reads it */
        *out++ = *p++;
    *out = '\0';
    return p == end;
}

int kb_number_style_read(kb_number_style style, const char *text, size_t length, double *out) {
    char plain[LONGEST + 1];
    const char *end = text + length;
    if (length == 0 || length > LONGEST)
        return 0;
    switch (style) {
    case KB_WRITTEN_PLAIN:
        memcpy(plain, text, length);
        plain[length] = '\0';
        return kb_number_read(plain, out);
    case KB_WRITTEN_THOUSANDS:
        return make_plain(text, end, ',', '.', plain) && kb_number_read(plain, out);
    case KB_WRITTEN_DECIMAL_COMMA:
        return (make_plain(text, end, '.', ',', plain) || make_plain(text, end, ' ', ',', plain)) &&
               kb_number_read(plain, out);
    case KB_WRITTEN_PERCENT:
        if (*--end != '%')
            return 0;
        while (end > text && end[-1] == ' ')
            end--;
        memcpy(plain, text, (size_t)(end - text));
        plain[end - text] = '\0';
        return kb_number_read(plain, out);
    case KB_WRITTEN_STYLES:
        break;
    }
    return 0;
}
