/*
 * number.h - decimal text to double and back, exact both ways and the same in
 * every locale.
 */
#ifndef KB_CORE_NUMBER_H
#define KB_CORE_NUMBER_H

#include <stddef.h>
#include <stdint.h>

/* Reads [+-]digits[.digits][e[+-]digits] at `text`, which must end in something
 * that cannot belong to a number ('\0' will do).  Returns the first byte after it,
 * or NULL if there is no number or it is too large for a double; *out is the double
 * nearest to the decimal, ties to even.  About 10 ns up to 15 digits, 30 ns up to
 * 19, 300 ns beyond or for exponents beyond 10^+-27. */
const char *kb_number_parse(const char *text, double *out);

/* Whether all of `text` is such a number. */
static inline int kb_number_read(const char *text, double *out) {
    const char *end = kb_number_parse(text, out);
    return end && *end == '\0';
}

/* Why a whole token is not a number that kerbin takes.  Anything may follow the token. */
typedef enum kb_number_fault {
    KB_NUMBER_FINE,
    KB_NUMBER_WORD,      /* not a number at all */
    KB_NUMBER_MISSING,   /* empty, NaN, NA, N/A, null or ?, in any case */
    KB_NUMBER_INFINITE,  /* inf or infinity, with or without a sign */
    KB_NUMBER_TOO_LARGE, /* beyond the largest double */
} kb_number_fault;
kb_number_fault kb_number_check(const char *token, size_t length);
/* "is not a number", ..: what follows the token in a message. */
const char *kb_number_fault_text(kb_number_fault fault);

/* The shortest of the decimals with 15, 16 and 17 digits that reads back as x, which
 * must be finite.  Returns its length; `text` has room for KB_NUMBER_TEXT bytes. */
#define KB_NUMBER_TEXT 32
size_t kb_number_format(double x, char *text);

static inline int kb_is_digit(char c) {
    return (unsigned char)(c - '0') < 10;
}

/* Reads decimal digits; NULL if there are none.  Stays at UINT64_MAX once beyond. */
static inline const char *kb_index_parse(const char *text, uint64_t *out) {
    uint64_t n = 0;
    const char *p = text;
    for (; kb_is_digit(*p); p++)
        n = n < UINT64_MAX / 10 ? 10 * n + (uint64_t)(*p - '0') : UINT64_MAX;
    *out = n;
    return p == text ? NULL : p;
}

#endif
