/*
 * target_cell.c - the texts of single cells: numbers, whole and with separators, and dates.
 *
 * A number must be what strtod makes of the same text, and must be found again from its own text.
 */
#include "fuzz.h"

#include "core/number.h"
#include "table/date.h"
#include "table/number_style.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check_number(const char *text) {
    double x = 0, again = 0;
    char shortest[KB_NUMBER_TEXT];
    const char *end = kb_number_parse(text, &x);
    if (!end)
        return;
    size_t length = (size_t)(end - text);
    fuzz_check(length <= strlen(text) && isfinite(x));
    char *copy = malloc(length + 1), *rest;
    fuzz_check(copy);
    memcpy(copy, text, length);
    copy[length] = '\0';
    double want = strtod(copy, &rest);
    fuzz_check(*rest == '\0');
    fuzz_check(memcmp(&x, &want, sizeof x) == 0);
    free(copy);
    fuzz_check(kb_number_format(x, shortest) < sizeof shortest);
    fuzz_check(kb_number_read(shortest, &again));
    fuzz_check(x == again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1), *exact = malloc(size ? size : 1);
    double x;
    if (!text || !exact)
        abort();
    if (size) {
        memcpy(text, data, size);
        memcpy(exact, data, size); /* without an end */
    }
    text[size] = '\0';
    check_number(text);
    fuzz_check(kb_number_fault_text(kb_number_check(text, strlen(text))));
    for (int style = 0; style < KB_WRITTEN_STYLES; style++)
        if (kb_number_style_read((kb_number_style)style, exact, size, &x))
            fuzz_check(isfinite(x));
    if (kb_date_read(exact, size, &x))
        for (int part = 0; part < KB_DATE_PARTS; part++)
            fuzz_check(isfinite(kb_date_part_of(x, (kb_date_part)part)));
    free(text);
    free(exact);
    return 0;
}
