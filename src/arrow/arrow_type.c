/* arrow_type.c - see arrow_type.h. */
#include "arrow/arrow_type.h"

#include <stdlib.h>
#include <string.h>

enum { SECONDS_A_DAY = 86400 };

/* Units a second of the letters s, m, u and n; 0 for others. */
static int64_t units_of(char letter) {
    switch (letter) {
    case 's':
        return 1;
    case 'm':
        return 1000;
    case 'u':
        return 1000000;
    case 'n':
        return 1000000000;
    default:
        return 0;
    }
}

/* What begins with t: dates, timestamps, times and durations. */
static int read_time(const char *format, kb_arrow_type *out) {
    if (strcmp(format, "tdD") == 0) {
        *out = (kb_arrow_type){.kind = KB_ARROW_DATES, .layout = 'i', .per_unit = 1};
        return 1;
    }
    if (format[1] == '\0' || format[2] == '\0')
        return 0;
    int64_t units = units_of(format[2]);
    *out = (kb_arrow_type){.kind = KB_ARROW_NUMBERS, .layout = 'l', .per_unit = units};
    if (units == 0)
        return 0;
    switch (format[1]) {
    case 'd': /* tdm: milliseconds of whole days */
    case 's': /* tsu:Europe/Berlin */
        out->kind = KB_ARROW_DATES;
        out->per_unit *= SECONDS_A_DAY;
        return format[1] == 'd' ? strcmp(format, "tdm") == 0 : format[3] == ':';
    case 't': /* a time of day, in 4 bytes for s and ms */
        out->layout = units <= 1000 ? 'i' : 'l';
        return format[3] == '\0';
    case 'D':
        return format[3] == '\0';
    default:
        return 0;
    }
}

/* d:precision,scale or d:precision,scale,bits. */
static int read_decimal(const char *format, kb_arrow_type *out) {
    char *end;
    *out = (kb_arrow_type){.kind = KB_ARROW_NUMBERS, .layout = 'd', .per_unit = 1, .bits = 128};
    if (format[1] != ':')
        return 0;
    strtol(format + 2, &end, 10);
    if (*end != ',')
        return 0;
    out->digits = (int)strtol(end + 1, &end, 10);
    if (*end == ',')
        out->bits = (int)strtol(end + 1, &end, 10);
    return *end == '\0' && abs(out->digits) <= 300 &&
           (out->bits == 32 || out->bits == 64 || out->bits == 128);
}

static int read_format(const char *format, kb_arrow_type *out) {
    *out = (kb_arrow_type){.kind = KB_ARROW_NUMBERS, .layout = format[0], .per_unit = 1};
    if (format[0] == 't')
        return read_time(format, out);
    if (format[0] == 'd')
        return read_decimal(format, out);
    if (strcmp(format, "vu") == 0) {
        out->kind = KB_ARROW_TEXTS;
        return 1;
    }
    if (format[0] == '\0' || format[1] != '\0')
        return 0;
    if (format[0] == 'n')
        out->kind = KB_ARROW_NOTHING;
    else if (format[0] == 'b')
        out->kind = KB_ARROW_BOOLEANS;
    else if (format[0] == 'u' || format[0] == 'U')
        out->kind = KB_ARROW_TEXTS;
    else
        return strchr("cCsSiIlLefg", format[0]) != NULL;
    return 1;
}

/* "lists", "binary data", ..: what kerbin does not take. */
static const char *in_words(const char *format) {
    static const struct {
        const char *begins, *words;
    } KNOWN[] = {
        {"+s", "structs"},
        {"+m", "maps"},
        {"+u", "unions"},
        {"+r", "run-end encoded values"},
        {"+", "lists"},
        {"z", "binary data"},
        {"Z", "binary data"},
        {"vz", "binary data"},
        {"w:", "binary data"},
        {"ti", "intervals"},
        {"d:", "decimals of more than 128 bits"},
    };
    for (size_t k = 0; k < sizeof KNOWN / sizeof *KNOWN; k++)
        if (strncmp(format, KNOWN[k].begins, strlen(KNOWN[k].begins)) == 0)
            return KNOWN[k].words;
    return "values of a type that kerbin does not know";
}

static kb_status refuse(kb_context *ctx, const char *name, const char *format) {
    return kb_fail(ctx, KB_ERR_DATA,
                   "%s holds %s (Arrow type '%.20s'): turn it into numbers, strings, dates or "
                   "categories, or leave it out",
                   name, in_words(format), format);
}

kb_status kb_arrow_type_read(kb_context *ctx, const struct ArrowSchema *schema, const char *name,
                             kb_arrow_type *out) {
    kb_arrow_type index;
    if (!schema->format)
        return kb_fail(ctx, KB_ERR_DATA, "%s: its Arrow schema has no format", name);
    if (!read_format(schema->format, out))
        return refuse(ctx, name, schema->format);
    if (!schema->dictionary)
        return KB_OK;
    index = *out;
    if (index.kind != KB_ARROW_NUMBERS || !strchr("cCsSiIlL", index.layout) || index.per_unit != 1)
        return kb_fail(ctx, KB_ERR_DATA, "%s: the indices of its dictionary are no integers", name);
    const char *format = schema->dictionary->format;
    if (!format || schema->dictionary->dictionary || !read_format(format, out))
        return refuse(ctx, name, format ? format : "");
    out->index = index.layout;
    return KB_OK;
}
