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

path_words path_in_words(const char *path) {
    path_words out;
    size_t used = 0;
    for (; *path && used + 5 < sizeof out.text; path++) {
        unsigned char c = (unsigned char)*path;
        const char *format = c >= ' ' && c != 127 ? "%c"
                             : c == '\n'          ? "\\n"
                             : c == '\t'          ? "\\t"
                                                  : "\\x%02x";
        used += (size_t)snprintf(out.text + used, 5, format, c);
    }
    out.text[used] = '\0';
    return out;
}

static int silent;

void put_nothing(int nothing) {
    silent = nothing;
}

void put_message(const char *before, const char *format, va_list list) {
    char text[sizeof((path_words *)0)->text];
    vsnprintf(text, sizeof text, format, list);
    if (!silent)
        fprintf(stderr, "%s%s\n", before, path_in_words(text).text);
}

void put_sentence(const char *format, ...) {
    va_list list;
    va_start(list, format);
    put_message("", format, list);
    va_end(list);
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
