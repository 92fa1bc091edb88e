/* csv_fields.c - see csv_fields.h. */
#include "io/csv_fields.h"

#include <string.h>

char kb_field_delimiter(const char *line) {
    static const char mark[] = "\t;,|";
    size_t found = sizeof mark - 1;
    int quoted = 0;
    for (; *line; line++) {
        const char *at = strchr(mark, *line);
        quoted ^= *line == '"';
        if (!quoted && at && (size_t)(at - mark) < found)
            found = (size_t)(at - mark);
    }
    return mark[found] ? mark[found] : ',';
}

char *kb_field_cut(char **cursor, char delimiter) {
    char *p = *cursor, *field, *end;
    while (*p == ' ')
        p++;
    if (*p != '"') {
        field = p;
        while (*p != delimiter && *p != '\0')
            p++;
        for (end = p; end > field && end[-1] == ' ';)
            end--;
    } else {
        field = end = ++p;
        for (; *p != '\0' && (*p != '"' || p[1] == '"'); p++) {
            p += *p == '"';
            *end++ = *p;
        }
        if (*p++ != '"')
            return NULL;
        while (*p == ' ')
            p++;
        if (*p != delimiter && *p != '\0')
            return NULL;
    }
    *cursor = *p == '\0' ? NULL : p + 1;
    *end = '\0';
    return field;
}
