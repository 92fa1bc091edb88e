/*
 * number_style.h - numbers as people write them in a whole column: 1,234.5 or 3,14 or 12 %.
 */
#ifndef KB_TABLE_NUMBER_STYLE_H
#define KB_TABLE_NUMBER_STYLE_H

#include <stddef.h>

typedef enum kb_number_style {
    KB_WRITTEN_PLAIN = 0,         /* 1234.5 */
    KB_WRITTEN_THOUSANDS = 1,     /* 1,234.5 */
    KB_WRITTEN_DECIMAL_COMMA = 2, /* 1234,5 or 1.234,5 or 1 234,5 */
    KB_WRITTEN_PERCENT = 3,       /* 12.5% or 12.5 %: the number before the sign */
    KB_WRITTEN_STYLES
} kb_number_style;

/* "plain", "thousands", .. */
const char *kb_number_style_name(kb_number_style style);

/* Whether all of the text is a finite number of this style.  Numbers without separators are of
 * every style but PERCENT. */
int kb_number_style_read(kb_number_style style, const char *text, size_t length, double *out);

#endif
