/* Bytes of text files as UTF-8 lines: against iconv, however the bytes are cut. */
#include "support.h"

#include "core/random.h"
#include "lines/decode.h"

#include <iconv.h>

static const size_t CUTS[] = {1, 2, 3, 5, 7, 64, 1000, 1 << 20};
enum { CUT_CASES = 8 };

/* The text of some bytes, decoded `cut` at a time; kb_release. */
static kb_block decoded(kb_context *ctx, const char *bytes, size_t count, size_t cut,
                        kb_decoder *d) {
    kb_block block = {0};
    *d = (kb_decoder){0};
    /* The first step needs the bytes that tell the encoding. */
    for (size_t at = 0, step = cut < 256 ? 256 : cut;; at += step, step = cut) {
        step = step < count - at ? step : count - at;
        assert_ok(ctx, kb_reserve(ctx, block.length + step + 1, 1, &block.capacity, &block.text));
        memcpy(block.text + block.length, bytes + at, step);
        assert_ok(ctx, kb_decode(ctx, d, step, &block));
        if (step == 0 || d->fault)
            break;
    }
    kb_decoder_clear(ctx, d);
    return block;
}

/* Every cut gives this text. */
static void decodes_to(const char *bytes, size_t count, const char *want, size_t length) {
    kb_context *ctx = test_context();
    for (size_t k = 0; k < CUT_CASES; k++) {
        kb_decoder d;
        kb_block block = decoded(ctx, bytes, count, CUTS[k], &d);
        assert_null(d.fault);
        assert_int_equal(block.length, length);
        assert_memory_equal(block.text, want, length);
        assert_int_equal(d.lines, kb_count_byte(want, length, '\n'));
        kb_release(ctx, block.text);
    }
    kb_context_free(ctx);
}

/* Nor is what follows the zero byte looked at. */
static void ends_at_zero(const char *bytes, size_t count, const char *want) {
    kb_context *ctx = test_context();
    for (size_t k = 0; k < CUT_CASES; k++) {
        kb_decoder d;
        kb_block block = decoded(ctx, bytes, count, CUTS[k], &d);
        assert_string_equal(d.fault, "a zero byte: this is not plain text");
        assert_int_equal(block.length, strlen(want));
        assert_memory_equal(block.text, want, block.length);
        assert_int_equal(d.lines, kb_count_byte(want, block.length, '\n'));
        kb_release(ctx, block.text);
    }
    kb_context_free(ctx);
}

static size_t by_iconv(const char *from, const char *to, char *bytes, size_t count, char *out,
                       size_t room) {
    iconv_t change = iconv_open(to, from);
    size_t left = room;
    assert_true(change != (iconv_t)-1);
    assert_int_equal(iconv(change, &bytes, &count, &out, &left), 0);
    iconv_close(change);
    return room - left;
}

/* Characters of all lengths as UTF-8, with line ends; returns the bytes. */
static size_t random_text(uint64_t *state, size_t characters, char *out, int ascii) {
    static const char *const some[] = {"a", "7",      ",",      "\"",         "\n",        " ",
                                       "é", "ß",      "Ł",      "\u07FF",     "\u0800",    "日",
                                       "—", "\uFFFD", "\uE000", "\U00010000", "\U0010FFFF"};
    size_t length = 0;
    for (size_t i = 0; i < characters; i++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        const char *c = some[(*state >> 33) % (ascii ? 6 : 17)];
        memcpy(out + length, c, strlen(c));
        length += strlen(c);
    }
    return length;
}

static void utf8_and_utf16_are_the_same_text(void **unused) {
    enum { MOST = 700 };
    static const char *const name[] = {"UTF-16LE", "UTF-16BE"};
    static const char *const mark[] = {"\xFF\xFE", "\xFE\xFF"};
    char text[4 * MOST + 3], wide[4 * MOST + 2];
    uint64_t state = 5;
    (void)unused;
    for (size_t characters = 0; characters < MOST; characters += TEST_LIGHT ? 97 : 13) {
        size_t length = random_text(&state, characters, text + 3, 0);
        memcpy(text, "\xEF\xBB\xBF", 3);
        decodes_to(text, length + 3, text + 3, length);
        decodes_to(text + 3, length, text + 3, length);
        for (int e = 0; e < 2; e++) {
            memcpy(wide, mark[e], 2);
            size_t bytes = by_iconv("UTF-8", name[e], text + 3, length, wide + 2, sizeof wide - 2);
            decodes_to(wide, bytes + 2, text + 3, length);
        }
    }
}

static void utf16_without_a_mark_is_told_by_its_zeros(void **unused) {
    char text[4000], wide[8000];
    uint64_t state = 6;
    (void)unused;
    size_t length = random_text(&state, 300, text, 1);
    length += random_text(&state, 300, text + length, 0);
    size_t bytes = by_iconv("UTF-8", "UTF-16LE", text, length, wide, sizeof wide);
    decodes_to(wide, bytes, text, length);
    bytes = by_iconv("UTF-8", "UTF-16BE", text, length, wide, sizeof wide);
    decodes_to(wide, bytes, text, length);
    ends_at_zero("1\0", 2, "1"); /* too short to tell */
    decodes_to("1\0002", 4, "12", 2);
    ends_at_zero("1\00023", 5, "1"); /* zeros on one side, but in one of two only */
}

static void a_zero_byte_is_a_fault_behind_the_text_before_it(void **unused) {
    static char text[1000];
    (void)unused;
    memset(text, 'a', sizeof text - 1);
    text[100] = text[600] = '\n';
    ends_at_zero(text, sizeof text, text);
    memcpy(text + 200, "\xC3\xA9\r", 3); /* text that is not taken as it is */
    text[203] = '\n';
    text[999] = '\0';
    char want[1000];
    memcpy(want, text, sizeof want);
    memmove(want + 202, want + 203, sizeof want - 203);
    ends_at_zero(text, sizeof text, want);
}

/* Random bytes of Windows-1252 that iconv knows and that are not UTF-8 by chance. */
/* Three of four units must be as of ASCII. */
static void text_of_other_letters_needs_a_mark(void **unused) {
    enum { UNITS = 20 };
    (void)unused;
    for (int foreign = 4; foreign <= 6; foreign++)
        for (int big = 0; big < 2; big++) {
            char bytes[2 * UNITS], text[2 * UNITS + 1] = "";
            for (int i = 0; i < UNITS; i++) { /* a, or a letter of Cyrillic */
                int is_a = i < UNITS - foreign;
                bytes[2 * i + big] = is_a ? 'a' : 0x30;
                bytes[2 * i + !big] = is_a ? 0 : 4;
                strcat(text, is_a ? "a" : "\xD0\xB0");
            }
            if (foreign <= 5)
                decodes_to(bytes, sizeof bytes, text, strlen(text));
            else
                ends_at_zero(bytes, sizeof bytes, big ? "" : "a");
        }
}

static void texts_in_utf8_are_known(void **unused) {
    static const char *const yes[] = {"", "a", "\xC3\xA9", "a\xE2\x82\xAC\xF0\x9F\x98\x80"};
    static const char *const no[] = {
        "\xE9",        "a\xE9", "\xC3", "\xC0\x80", "\xE2\x82", "\xED\xA0\x80", "\xF4\x90\x80\x80",
        "\xC3\xA9\xA9"};
    (void)unused;
    for (size_t k = 0; k < sizeof yes / sizeof *yes; k++)
        assert_true(kb_is_utf8(yes[k]));
    for (size_t k = 0; k < sizeof no / sizeof *no; k++)
        assert_false(kb_is_utf8(no[k]));
}

static void other_bytes_are_windows_1252(void **unused) {
    enum { COUNT = 3000 };
    char bytes[2 * COUNT], want[6 * COUNT];
    size_t count = 0;
    uint64_t state = 7;
    (void)unused;
    while (count < COUNT) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        unsigned char c = (unsigned char)(state >> 40);
        if (c == '\r' || c == 0 || c == 0x81 || c == 0x8D || c == 0x8F || c == 0x90 || c == 0x9D)
            continue;
        bytes[count++] = (char)c;
        if (c >= 0xC0) /* what follows is not a continuation */
            bytes[count++] = 'x';
    }
    size_t length = by_iconv("CP1252", "UTF-8", bytes, count, want, sizeof want);
    decodes_to(bytes, count, want, length);
}

/* Each case is one byte after the other, in any order: what is UTF-8 stays, the rest is 1252. */
static void damaged_utf8_keeps_what_is_sound(void **unused) {
    static const struct {
        const char *bytes, *want;
    } known[] = {
        {"a\xE9", "aé"},                     /* at the end of the file */
        {"a\xE9z", "aéz"},                   /* Latin-1 */
        {"é\xE9é", "ééé"},                   /* mixed */
        {"\xC3", "Ã"},                       /* cut */
        {"\xE6\x97", "æ—"},                  /* cut */
        {"\xF0\x90\x80", "ð\xC2\x90€"},      /* cut */
        {"\xC0\xAF", "À¯"},                  /* overlong */
        {"\xE0\x80\x80", "à€€"},             /* overlong */
        {"\xED\xA0\x80", "í\u00A0€"},        /* a surrogate */
        {"\xF4\x90\x80\x80", "ô\xC2\x90€€"}, /* beyond the last character */
        {"\xF8\x88\x80\x80\x80", "øˆ€€€"},   /* five bytes */
        {"\xFF\xC3\xA9\xFF", "ÿéÿ"},         /* the byte of joints */
        {"\x80\x93\x81", "€“\xC2\x81"},      /* Windows, and one that it has not */
        {"\xE6\x97\xE6\x97\xA5", "æ—日"},    /* a new beginning within */
    };
    (void)unused;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        decodes_to(known[i].bytes, strlen(known[i].bytes), known[i].want, strlen(known[i].want));
}

static void every_line_end_is_a_newline(void **unused) {
    static const struct {
        const char *bytes, *want;
    } known[] = {
        {"a\rb\rc", "a\nb\nc"},
        {"a\rb\r", "a\nb\n"},
        {"a\r\nb\r\n", "a\nb\n"},
        {"a\nb\r\nc\rd\n\re\r\r\nf", "a\nb\nc\nd\n\ne\n\nf"},
        {"\r", "\n"},
        {"\r\n", "\n"},
        {"\n\r", "\n\n"},
        {"\r\r\r", "\n\n\n"},
        {"é\r\né\r\xE9\r\n", "é\né\né\n"},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        decodes_to(known[i].bytes, strlen(known[i].bytes), known[i].want, strlen(known[i].want));
        char wide[64] = "\xFF\xFE";
        char *bytes = (char *)known[i].bytes;
        if (i + 1 < sizeof known / sizeof *known) {
            size_t n = by_iconv("UTF-8", "UTF-16LE", bytes, strlen(bytes), wide + 2, 62);
            decodes_to(wide, n + 2, known[i].want, strlen(known[i].want));
        }
    }
}

static void the_first_foreign_byte_is_named_by_its_line(void **unused) {
    static const struct {
        const char *bytes;
        size_t line;
    } known[] = {
        {"a\nb\n", 0},        {"é\né", 0},       {"\xE9", 1},      {"a\r\nb\r\n\xE9\n\xE9", 3},
        {"é\r\r\n\n\xE9", 4}, {"a\nb\n\xC3", 3}, {"a\rb\xFF\r", 2}};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (size_t k = 0; k < CUT_CASES; k++) {
            kb_decoder d;
            kb_block block = decoded(ctx, known[i].bytes, strlen(known[i].bytes), CUTS[k], &d);
            assert_int_equal(d.foreign, known[i].line);
            kb_release(ctx, block.text);
        }
    kb_context_free(ctx);
}

static void faults_of_utf16(void **unused) {
    static const struct {
        const char *bytes;
        size_t count;
        const char *fault;
        size_t lines;
    } known[] = {
        {"\xFF\xFE"
         "a\0\n\0\0\xD8"
         "b\0",
         10, "half of a surrogate pair: this is not valid UTF-16 text", 1},
        {"\xFF\xFE"
         "a\0\n\0\0\xDC"
         "b\0",
         10, "half of a surrogate pair: this is not valid UTF-16 text", 1},
        {"\xFE\xFF\0a\0\r\0\n\xD8\0\xD8\0", 12,
         "half of a surrogate pair: this is not valid UTF-16 text", 1},
        {"\xFE\xFF\0a\0\r\0\n\xD8\0\xE0\0", 12,
         "half of a surrogate pair: this is not valid UTF-16 text", 1},
        {"\xFF\xFE"
         "a\0\n\0\r\0\0\xD8",
         10, "the UTF-16 text ends in the middle of a character", 2},
        {"\xFF\xFE"
         "a\0b",
         5, "the UTF-16 text ends in the middle of a character", 0},
        {"\xFF\xFE\0\0a\0\0\0", 8, "this is UTF-32 text: convert it to UTF-8", 0},
        {"\0\0\xFE\xFF\0\0\0a", 8, "this is UTF-32 text: convert it to UTF-8", 0},
    };
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (size_t k = 0; k < CUT_CASES; k++) {
            kb_decoder d;
            kb_block block = decoded(ctx, known[i].bytes, known[i].count, CUTS[k], &d);
            assert_non_null(d.fault);
            assert_string_equal(d.fault, known[i].fault);
            assert_int_equal(d.lines, known[i].lines);
            kb_release(ctx, block.text);
        }
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(utf8_and_utf16_are_the_same_text),
        cmocka_unit_test(utf16_without_a_mark_is_told_by_its_zeros),
        cmocka_unit_test(a_zero_byte_is_a_fault_behind_the_text_before_it),
        cmocka_unit_test(text_of_other_letters_needs_a_mark),
        cmocka_unit_test(texts_in_utf8_are_known),
        cmocka_unit_test(other_bytes_are_windows_1252),
        cmocka_unit_test(damaged_utf8_keeps_what_is_sound),
        cmocka_unit_test(every_line_end_is_a_newline),
        cmocka_unit_test(the_first_foreign_byte_is_named_by_its_line),
        cmocka_unit_test(faults_of_utf16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
