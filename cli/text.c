/* text.c - see text.h. */
#include "text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

int utf8_length(const char *at) {
    unsigned char first = (unsigned char)*at;
    int length = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (first > 0xF4)
        return 0;
    for (int k = 1; k < length; k++)
        if (((unsigned char)at[k] & 0xC0) != 0x80)
            return 0;
    return length;
}

const char *file_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

number_words number_in_words(double x, int digits) {
    number_words words;
    if (fabs(x) >= 1000 && fabs(x) < 1e7)
        snprintf(words.text, sizeof words.text, "%.0f", x);
    else
        snprintf(words.text, sizeof words.text, "%.*g", digits, x);
    return words;
}
