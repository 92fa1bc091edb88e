/* decode.c - see decode.h. */
#include "lines/decode.h"
#include "core/memory.h"

#include <string.h>

/* Bytes that tell UTF-16 without a mark. */
enum { SAMPLE_BYTES = 256 };
/* The most bytes of UTF-8 that come from one byte, or from half of a unit. */
enum { GROWTH = 3 };

static const char UTF32[] = "this is UTF-32 text: convert it to UTF-8";
static const char LONE[] = "half of a surrogate pair: this is not valid UTF-16 text";
static const char ZERO[] = "a zero byte: this is not plain text";
static const char TRUNCATED[] = "the UTF-16 text ends in the middle of a character";

/* ---- characters -------------------------------------------------------- */

/* Bytes of the UTF-8 character at p, of which n are there; 0: there is none, -1: its beginning. */
static inline int character_at(const uint8_t *p, size_t n) {
    if (n >= 2 && *p >= 0xC2 && *p < 0xE0)
        return (p[1] & 0xC0) == 0x80 ? 2 : 0;
    uint8_t lowest = *p == 0xE0 ? 0xA0 : *p == 0xF0 ? 0x90 : 0x80;
    uint8_t highest = *p == 0xED ? 0x9F : *p == 0xF4 ? 0x8F : 0xBF;
    int length = *p < 0x80 ? 1 : *p < 0xC2 ? 0 : *p < 0xE0 ? 2 : *p < 0xF0 ? 3 : *p < 0xF5 ? 4 : 0;
    for (int i = 1; i < length; i++) {
        if ((size_t)i == n)
            return -1;
        if (p[i] < lowest || p[i] > highest)
            return 0;
        lowest = 0x80;
        highest = 0xBF;
    }
    return length;
}

int kb_is_utf8(const char *text) {
    const uint8_t *p = (const uint8_t *)text;
    size_t left = strlen(text);
    while (left > 0) {
        int length = character_at(p, left);
        if (length <= 0)
            return 0;
        p += length;
        left -= (size_t)length;
    }
    return 1;
}

static char *put_character(uint32_t code, char *to) {
    if (code < 0x80) {
        *to++ = (char)code;
        return to;
    }
    int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const uint8_t lead[] = {0, 0xC0, 0xE0, 0xF0};
    *to++ = (char)(lead[more] | code >> 6 * more);
    while (more-- > 0)
        *to++ = (char)(0x80 | (code >> 6 * more & 0x3F));
    return to;
}

/* Windows-1252 is Latin-1 but for these; the five that it leaves open are controls, as there. */
static uint32_t windows_1252(uint8_t byte) {
    static const uint16_t known[32] = {
        0x20AC, 0x0081, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
        0x2039, 0x0152, 0x008D, 0x017D, 0x008F, 0x0090, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
        0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x009D, 0x017E, 0x0178};
    return byte >= 0x80 && byte < 0xA0 ? known[byte - 0x80] : byte;
}

static inline size_t ascii_length(const uint8_t *p, size_t n) {
    size_t i = 0;
    for (uint64_t eight; i + sizeof eight <= n; i += sizeof eight) {
        memcpy(&eight, p + i, sizeof eight);
        if (eight & 0x8080808080808080u)
            break;
    }
    while (i < n && p[i] < 0x80)
        i++;
    return i;
}

/* ---- lines ------------------------------------------------------------- */

/* Both inner loops are ones of vectors, because their sums fit in a byte. */
enum { STEP = 240 };

size_t kb_count_byte(const char *text, size_t length, char byte) {
    size_t count = 0, step;
    for (; length > 0; text += step, length -= step) {
        uint8_t part = 0;
        step = length < STEP ? length : STEP;
        for (size_t i = 0; i < step; i++)
            part = (uint8_t)(part + (text[i] == byte));
        count += part;
    }
    return count;
}

/* Whether a text is ASCII with no line ends but '\n', of which *lines is the count. */
static int is_plain(const char *text, size_t length, size_t *lines) {
    uint8_t other = 0;
    size_t step;
    *lines = 0;
    for (; length > 0; text += step, length -= step) {
        uint8_t part = 0;
        step = length < STEP ? length : STEP;
        for (size_t i = 0; i < step; i++) {
            part = (uint8_t)(part + (text[i] == '\n'));
            other |= (uint8_t)(((uint8_t)text[i] & 0x80) | (text[i] == '\r'));
        }
        *lines += part;
        if (other)
            return 0;
    }
    return 1;
}

/* Line ends in a text that has all kinds of them. */
static size_t count_ends(const char *text, size_t length, int after_cr) {
    size_t count = 0;
    for (size_t i = 0; i < length; i++) {
        count += text[i] == '\r' || (text[i] == '\n' && !after_cr);
        after_cr = text[i] == '\r';
    }
    return count;
}

/* All line ends become '\n', in place; returns the new length. */
static size_t unify_ends(kb_decoder *d, char *text, size_t length) {
    char *from = text, *to = text, *end = text + length;
    while (from < end) {
        if (d->after_cr && *from == '\n')
            from++;
        char *cr = memchr(from, '\r', (size_t)(end - from)), *stop = cr ? cr : end;
        if (to != from)
            memmove(to, from, (size_t)(stop - from));
        to += stop - from;
        from = stop;
        if ((d->after_cr = cr != NULL)) {
            *to++ = '\n';
            from++;
        }
    }
    return (size_t)(to - text);
}

/* ---- encodings --------------------------------------------------------- */

/* Where a byte order mark is missing: one half of the units is never zero, the other mostly. */
static kb_charset guess(const uint8_t *raw, size_t n) {
    size_t zeros[2] = {0};
    n = (n < SAMPLE_BYTES ? n : SAMPLE_BYTES) / 2 * 2;
    for (size_t i = 0; i < n; i++)
        zeros[i % 2] += raw[i] == 0;
    if (n >= 4 && zeros[0] == 0 && 4 * zeros[1] >= 3 * (n / 2))
        return KB_CHARSET_UTF16LE;
    if (n >= 4 && zeros[1] == 0 && 4 * zeros[0] >= 3 * (n / 2))
        return KB_CHARSET_UTF16BE;
    return KB_CHARSET_UTF8;
}

/* Finds the encoding; returns the bytes of the mark. */
static size_t start(kb_decoder *d, const uint8_t *raw, size_t n) {
    d->started = 1;
    if (n >= 3 && memcmp(raw, "\xEF\xBB\xBF", 3) == 0)
        return 3;
    if (n >= 4 && (memcmp(raw, "\xFF\xFE\0\0", 4) == 0 || memcmp(raw, "\0\0\xFE\xFF", 4) == 0))
        d->fault = UTF32;
    else if (n >= 2 && memcmp(raw, "\xFF\xFE", 2) == 0)
        d->charset = KB_CHARSET_UTF16LE;
    else if (n >= 2 && memcmp(raw, "\xFE\xFF", 2) == 0)
        d->charset = KB_CHARSET_UTF16BE;
    else {
        d->charset = guess(raw, n);
        return 0;
    }
    return 2;
}

static void keep(kb_decoder *d, const uint8_t *raw, size_t n) {
    memcpy(d->left, raw, n);
    d->left_count = n;
}

/* Bytes that are UTF-8 as they are.  What may be a character that is cut at the end is kept, and
 * counts in *n no longer. */
static size_t valid_length(kb_decoder *d, const uint8_t *raw, size_t *n) {
    size_t i = 0;
    while (i < *n) {
        if (raw[i] < 0x80) {
            i += ascii_length(raw + i, *n - i);
            continue;
        }
        int length = character_at(raw + i, *n - i);
        if (length < 0) {
            keep(d, raw + i, *n - i);
            *n = i;
        }
        if (length <= 0)
            break;
        i += (size_t)length;
    }
    return i;
}

/* UTF-8 with other bytes in between.  `text` is where the decoded text of this step begins. */
static char *convert_bytes(kb_decoder *d, const uint8_t *raw, size_t n, int last, const char *text,
                           char *to) {
    for (size_t i = 0; i < n;) {
        size_t plain = ascii_length(raw + i, n - i);
        memcpy(to, raw + i, plain);
        to += plain;
        i += plain;
        if (i == n)
            break;
        int length = character_at(raw + i, n - i);
        if (length < 0 && !last) {
            keep(d, raw + i, n - i);
            break;
        }
        if (length > 0) {
            memcpy(to, raw + i, (size_t)length);
            to += length;
            i += (size_t)length;
        } else {
            if (d->foreign == 0)
                d->foreign = d->lines + 1 + count_ends(text, (size_t)(to - text), d->after_cr);
            to = put_character(windows_1252(raw[i++]), to);
        }
    }
    return to;
}

static uint32_t unit_at(const kb_decoder *d, const uint8_t *p) {
    return d->charset == KB_CHARSET_UTF16LE ? (uint32_t)(p[1] << 8 | p[0])
                                            : (uint32_t)(p[0] << 8 | p[1]);
}

static char *convert_utf16(kb_decoder *d, const uint8_t *raw, size_t n, int last, char *to) {
    size_t i = 0;
    for (; i + 2 <= n; i += 2) {
        uint32_t code = unit_at(d, raw + i);
        if (code >= 0xD800 && code < 0xE000) {
            if (i + 4 > n && code < 0xDC00)
                break;
            uint32_t low = code < 0xDC00 ? unit_at(d, raw + i + 2) : 0;
            if (low < 0xDC00 || low >= 0xE000) {
                d->fault = LONE;
                return to;
            }
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
            i += 2;
        }
        to = put_character(code, to);
    }
    keep(d, raw + i, n - i);
    if (last && i < n)
        d->fault = TRUNCATED;
    return to;
}

/* The bytes that were left and `n` more at `from` behind the block, which are copied first. */
static kb_status convert(kb_context *ctx, kb_decoder *d, size_t from, size_t n, int last,
                         kb_block *block, size_t *length) {
    kb_status status;
    size_t left = d->left_count, all = left + n;
    TRY(kb_reserve(ctx, all + 1, 1, &d->raw_capacity, &d->raw));
    memcpy(d->raw, d->left, left);
    memcpy(d->raw + left, block->text + block->length + from, n);
    d->left_count = 0;
    TRY(kb_reserve(ctx, block->length + from + GROWTH * all + 1, 1, &block->capacity,
                   &block->text));
    char *text = block->text + block->length, *to = text + from;
    to = d->charset == KB_CHARSET_UTF8 ? convert_bytes(d, d->raw, all, last, text, to)
                                       : convert_utf16(d, d->raw, all, last, to);
    *length = (size_t)(to - text);
done:
    return status;
}

/* Text of the decoder stands behind that of the block: adds it, up to a zero byte. */
static void add_text(kb_decoder *d, kb_block *block, size_t length, size_t lines) {
    const char *text = block->text + block->length, *zero = memchr(text, '\0', length);
    if (zero) {
        length = (size_t)(zero - text);
        lines = kb_count_byte(text, length, '\n');
        d->fault = ZERO;
    }
    d->lines += lines;
    block->length += length;
}

kb_status kb_decode(kb_context *ctx, kb_decoder *d, size_t got, kb_block *block) {
    kb_status status = KB_OK;
    char *text = block->text + block->length;
    size_t length = got, valid = 0, lines;
    int plain;
    if (!d->started && got > 0) {
        size_t mark = start(d, (const uint8_t *)text, got);
        length = d->fault ? 0 : got - mark;
        memmove(text, text + mark, length);
    }
    if (d->fault)
        return KB_OK;
    plain = d->left_count == 0 && d->charset == KB_CHARSET_UTF8;
    if (plain && !d->after_cr && is_plain(text, length, &lines)) {
        add_text(d, block, length, lines);
        return KB_OK;
    }
    if (plain)
        valid = valid_length(d, (const uint8_t *)text, &length);
    if (!plain || valid < length)
        TRY(convert(ctx, d, valid, length - valid, got == 0, block, &length));
    text = block->text + block->length;
    length = unify_ends(d, text, length);
    add_text(d, block, length, kb_count_byte(text, length, '\n'));
done:
    return status;
}

void kb_decoder_clear(kb_context *ctx, kb_decoder *d) {
    kb_release(ctx, d->raw);
    d->raw = NULL;
    d->raw_capacity = 0;
}
