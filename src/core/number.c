/*
 * number.c - see number.h.
 *
 * A decimal is m 10^q with an integer m.  Three ways lead to the nearest double, and
 * nearly all numbers of real files take one of the first two:
 *
 *   1. m < 2^53 and |q| <= 22: m and 10^|q| are doubles, so one multiplication or
 *      division rounds correctly (Clinger, "How to read floating point numbers
 *      accurately", 1990).
 *   2. m < 2^64 and |q| <= 27: 5^|q| fits in 64 bits.  The product m 5^q is exact in
 *      128 bits; the quotient m / 5^-q comes as 63 or 64 bits and a remainder that
 *      says whether anything follows.  Either is rounded to 53 bits here.  Powers of
 *      2 only move the exponent.
 *   3. else: strtod, in the C locale.
 *
 * More than 19 digits do not fit in m.  The value then lies between m and m + 1 (times
 * 10^q), and if both round to the same double, so does it.
 */
#define _POSIX_C_SOURCE 200809L
#include "core/number.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

__extension__ typedef unsigned __int128 uint128;

enum { DIGITS_IN_64_BITS = 19, EXACT_TENS = 22, EXACT_FIVES = 27 };

static const double ten_to[EXACT_TENS + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};

/* clang-format off */
static const uint64_t five_to[EXACT_FIVES + 1] = {
    1u, 5u, 25u, 125u, 625u, 3125u, 15625u, 78125u, 390625u, 1953125u, 9765625u, 48828125u,
    244140625u, 1220703125u, 6103515625u, 30517578125u, 152587890625u, 762939453125u,
    3814697265625u, 19073486328125u, 95367431640625u, 476837158203125u, 2384185791015625u,
    11920928955078125u, 59604644775390625u, 298023223876953125u, 1490116119384765625u,
    7450580596923828125u,
};
/* clang-format on */

/* 2^e for -1022 <= e <= 1023. */
static double two_to(int e) {
    uint64_t bits = (uint64_t)(e + 1023) << 52;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Nearest double to (top + something) 2^e, where the top bit of `top` is set and
 * `something` in [0, 2) is positive if `more`; top is even where it may reach 1. */
static double round_to_even(uint64_t top, int more, int e) {
    const uint64_t half = 1u << 10;
    uint64_t kept = top >> 11, rest = top & (2 * half - 1);
    if (rest > half || (rest == half && (more || (kept & 1))))
        kept++;
    return (double)kept * two_to(e + 11);
}

/* Not inlined, so that the code of the first way stays short. */
static __attribute__((noinline)) double product(uint64_t m, int q) {
    uint128 exact = (uint128)m * five_to[q];
    uint64_t high = (uint64_t)(exact >> 64), low = (uint64_t)exact;
    if (high == 0) {
        int shift = __builtin_clzll(low);
        return round_to_even(low << shift, 0, q - shift);
    }
    int shift = __builtin_clzll(high);
    exact <<= shift;
    return round_to_even((uint64_t)(exact >> 64), (uint64_t)exact != 0, q + 64 - shift);
}

/* Both sides are shifted to use all 64 bits; then quotient 2^63 lies between 2^62 and
 * 2^64 and one 128 by 64 bit division gives it. */
static __attribute__((noinline)) double quotient(uint64_t m, int q) {
    int up = __builtin_clzll(m), down = __builtin_clzll(five_to[q]);
    uint128 numerator = (uint128)(m << up) << 63;
    uint64_t divisor = five_to[q] << down, ratio = (uint64_t)(numerator / divisor);
    int more = (uint64_t)(numerator - (uint128)ratio * divisor) != 0;
    int shift = __builtin_clzll(ratio);
    return round_to_even(ratio << shift, more, down - up - 63 - q - shift);
}

/* m 10^q for |q| <= 27, by the first or the second way. */
static inline double scale(uint64_t m, int q) {
    if (m < (1ull << 53) && q >= -EXACT_TENS && q <= EXACT_TENS)
        return q < 0 ? (double)m / ten_to[-q] : (double)m * ten_to[q];
    if (m == 0)
        return 0;
    return q < 0 ? quotient(m, -q) : product(m, q);
}

/* The C locale is a constant of the C library, so that making it costs nothing. */
static double by_strtod(const char *text) {
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t previous = c ? uselocale(c) : (locale_t)0;
    double x = strtod(text, NULL);
    if (c) {
        uselocale(previous);
        freelocale(c);
    }
    return x;
}

/* The value of digits that m cannot hold, or of an exponent that is far out: takes the
 * first 19 digits after the leading zeros.  The exponent's text follows at `end`. */
static double scale_long(const char *digits, const char *end, int64_t exponent) {
    uint64_t m = 0;
    int64_t q = exponent;
    int taken = 0, behind_point = 0, cut = 0;
    for (const char *p = digits; p < end; p++) {
        if (*p == '.') {
            behind_point = 1;
        } else if (taken < DIGITS_IN_64_BITS) {
            m = 10 * m + (uint64_t)(*p - '0');
            taken += m != 0;
            q -= behind_point;
        } else {
            cut |= *p != '0';
            q += !behind_point;
        }
    }
    if (m == 0)
        return 0;
    if (q >= -EXACT_FIVES && q <= EXACT_FIVES) {
        double x = scale(m, (int)q);
        if (!cut || scale(m + 1, (int)q) == x)
            return x;
    }
    return by_strtod(digits);
}

/* The exponent after an 'e' at p, if digits follow; else *end stays at p. */
static int64_t parse_exponent(const char *p, const char **end) {
    const char *digits = p + 1 + (p[1] == '+' || p[1] == '-');
    uint64_t e;
    *end = kb_index_parse(digits, &e);
    if (!*end) {
        *end = p;
        return 0;
    }
    int64_t size = e < 1000000000000 ? (int64_t)e : 1000000000000;
    return p[1] == '-' ? -size : size;
}

/* Signs are unpredictable, so nothing here branches on them. */
const char *kb_number_parse(const char *text, double *out) {
    static const double sign[] = {1, -1};
    int negative = *text == '-';
    const char *digits = text + (negative | (*text == '+')), *p = digits;
    uint64_t m = 0; /* wraps around beyond 19 digits, and is then not used */
    int64_t exponent = 0, behind_point = 0;
    for (; kb_is_digit(*p); p++)
        m = 10 * m + (uint64_t)(*p - '0');
    int64_t count = p - digits;
    if (*p == '.') {
        const char *point = p++;
        for (; kb_is_digit(*p); p++)
            m = 10 * m + (uint64_t)(*p - '0');
        behind_point = p - point - 1;
        count += behind_point;
    }
    if (count == 0)
        return NULL;
    const char *end = p;
    if (*p == 'e' || *p == 'E')
        exponent = parse_exponent(p, &end);

    double x;
    int64_t q = exponent - behind_point;
    if (count <= DIGITS_IN_64_BITS && q >= -EXACT_FIVES && q <= EXACT_FIVES)
        x = scale(m, (int)q);
    else
        x = scale_long(digits, p, exponent);
    *out = sign[negative] * x;
    return isinf(x) ? NULL : end;
}

/* ---- what is wrong with a token ---------------------------------------- */

enum { LONG_TOKEN = 512 };

static int is_one_of(const char *token, size_t length, const char *const *word) {
    for (; *word; word++)
        if (strlen(*word) == length && strncasecmp(token, *word, length) == 0)
            return 1;
    return 0;
}

/* The grammar of kb_number_parse, up to `end`; the number is then below 10^size. */
static int has_number_form(const char *p, const char *end, int64_t *size) {
    int64_t digits = 0, points = 0, exponent = 0;
    int begun = 0;
    *size = 0;
    if (p < end && (*p == '+' || *p == '-'))
        p++;
    for (; p < end && (kb_is_digit(*p) || *p == '.'); p++) {
        digits += *p != '.';
        points += *p == '.';
        begun |= *p > '0';
        *size += begun && points == 0;
    }
    if (end - p >= 2 && (*p == 'e' || *p == 'E')) {
        int negative = p[1] == '-';
        p += 1 + (negative || p[1] == '+');
        if (p == end)
            return 0;
        for (; p < end && kb_is_digit(*p); p++)
            exponent = exponent < 1000000000000 ? 10 * exponent + (*p - '0') : exponent;
        *size += negative ? -exponent : exponent;
    }
    return digits > 0 && points <= 1 && p == end;
}

kb_number_fault kb_number_check(const char *token, size_t length) {
    static const char *const missing[] = {"",    "nan",  "-nan", "+nan", "na",
                                          "n/a", "null", "?",    NULL};
    static const char *const infinite[] = {"inf",  "infinity",  "+inf", "+infinity",
                                           "-inf", "-infinity", NULL};
    char copy[LONG_TOKEN]; /* what follows the token may belong to a number too */
    int64_t size;
    double x;
    if (has_number_form(token, token + length, &size)) {
        if (length >= sizeof copy)
            return size > DBL_MAX_10_EXP + 1 ? KB_NUMBER_TOO_LARGE : KB_NUMBER_FINE;
        memcpy(copy, token, length);
        copy[length] = '\0';
        return kb_number_read(copy, &x) ? KB_NUMBER_FINE : KB_NUMBER_TOO_LARGE;
    }
    if (is_one_of(token, length, missing))
        return KB_NUMBER_MISSING;
    if (is_one_of(token, length, infinite))
        return KB_NUMBER_INFINITE;
    return KB_NUMBER_WORD;
}

const char *kb_number_fault_text(kb_number_fault fault) {
    switch (fault) {
    case KB_NUMBER_MISSING:
        return "is not a number (kerbin takes no missing values)";
    case KB_NUMBER_INFINITE:
        return "is infinite (kerbin takes finite numbers only)";
    case KB_NUMBER_TOO_LARGE:
        return "is too large for a double";
    default:
        return "is not a number";
    }
}

/* ---- double to text ---------------------------------------------------- */

/* Numbers that people type have few decimals.  If x = n / 10^k with n < 2^53, then
 * the division is exact rounding (way 1 above) and n with a point is the answer. */
static size_t format_few_decimals(double x, char *text) {
    double size = fabs(x);
    for (int k = 0; k <= 8; k++) {
        double n = nearbyint(size * ten_to[k]);
        if (n >= 1e15)
            return 0;
        if (n / ten_to[k] != size || (k > 0 && size < 1e-4))
            continue;
        uint64_t rest = (uint64_t)n;
        char reversed[KB_NUMBER_TEXT];
        int length = 0;
        for (int place = 0; place <= k || rest > 0; place++, rest /= 10) {
            if (k > 0 && place == k)
                reversed[length++] = '.';
            reversed[length++] = (char)('0' + rest % 10);
        }
        if (signbit(x) && n != 0)
            reversed[length++] = '-';
        for (int i = 0; i < length; i++)
            text[i] = reversed[length - 1 - i];
        text[length] = '\0';
        return (size_t)length;
    }
    return 0;
}

/* Whatever the locale writes between the digits becomes a point.  Returns the length. */
static size_t put_point(char *text) {
    char *from = text, *to = text;
    while (*from) {
        if (kb_is_digit(*from) || strchr("+-e", *from)) {
            *to++ = *from++;
        } else {
            *to++ = '.';
            while (*from && !kb_is_digit(*from))
                from++;
        }
    }
    *to = '\0';
    return (size_t)(to - text);
}

size_t kb_number_format(double x, char *text) {
    size_t length = format_few_decimals(x, text);
    double back;
    for (int digits = 15; length == 0 && digits <= 17; digits++) {
        snprintf(text, KB_NUMBER_TEXT, "%.*g", digits, x);
        size_t written = put_point(text);
        if (digits == 17 || (kb_number_read(text, &back) && back == x))
            length = written;
    }
    return length;
}
