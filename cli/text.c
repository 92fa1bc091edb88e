/* text.c - see text.h. */
#include "text.h"

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
