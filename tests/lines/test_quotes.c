/* Fields in quotes over several lines: against a plain parser, however the text is cut. */
#include "support.h"

#include "lines/input.h"
#include "lines/quotes.h"

static const size_t CUTS[] = {1, 2, 3, 5, 7, 64, 1000, 1 << 21};
enum { CUT_CASES = 8 };

/* Joins the lines of a text `cut` bytes at a time. */
static kb_quotes join(char *text, size_t length, char delimiter, size_t cut) {
    kb_quotes q = {.delimiter = delimiter};
    for (size_t at = 0, lines = 0; at < length; at += cut) {
        size_t step = cut < length - at ? cut : length - at;
        size_t newlines = kb_count_byte(text + at, step, '\n');
        kb_quotes_join(&q, text + at, step, lines);
        lines += newlines;
    }
    return q;
}

/* The same, a byte at a time and field by field; returns whether a quote is open at the end. */
static int join_plainly(char *text, size_t length, char delimiter) {
    size_t i = 0;
    while (i < length) {
        while (i < length && text[i] == ' ')
            i++;
        if (i < length && text[i] == '"') {
            for (i++;; i++) {
                if (i >= length)
                    return 1;
                if (text[i] == '"' && i + 1 < length && text[i + 1] == '"')
                    i++;
                else if (text[i] == '"')
                    break;
                else if (text[i] == '\n')
                    text[i] = KB_JOINT;
            }
            i++;
        }
        while (i < length && text[i] != delimiter && text[i] != '\n')
            i++;
        i++;
    }
    return 0;
}

static void random_texts_are_joined_as_by_the_plain_parser(void **unused) {
    enum { LENGTH = 60 };
    static const char some[] = "\"\"\",,\n\n a1;";
    uint64_t state = 11;
    (void)unused;
    for (int round = 0; round < (TEST_LIGHT ? 2000 : 20000); round++) {
        char text[LENGTH], want[LENGTH], got[LENGTH];
        for (int i = 0; i < LENGTH; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            text[i] = some[(state >> 33) % (sizeof some - 1)];
        }
        size_t length = 1 + (size_t)(round % LENGTH);
        char delimiter = round % 3 ? ',' : ';';
        memcpy(want, text, length);
        int open = join_plainly(want, length, delimiter);
        for (size_t k = 0; k < 6; k++) {
            memcpy(got, text, length);
            kb_quotes q = join(got, length, delimiter, CUTS[k]);
            assert_memory_equal(got, want, length);
            assert_int_equal(q.state == KB_FIELD_QUOTED, open);
            assert_int_equal(q.any_joint, memchr(want, KB_JOINT, length) != NULL);
        }
    }
}

static void an_open_quote_is_named_by_its_line(void **unused) {
    static const struct {
        const char *text;
        size_t line;
    } known[] = {{"\"a", 1},
                 {"a,b\n1,\"x\ny\nz", 2},
                 {"\"a\nb\",\"c\nd", 2},
                 {"\n\n \"\"\"\n", 3},
                 {"a\n12\" x,\"\"\n\"\"\"\"\n\"", 4}};
    (void)unused;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (size_t k = 0; k < CUT_CASES; k++) {
            char text[64];
            strcpy(text, known[i].text);
            kb_quotes q = join(text, strlen(text), ',', CUTS[k]);
            assert_int_equal(q.state, KB_FIELD_QUOTED);
            assert_int_equal(q.line, known[i].line);
        }
}

/* The last byte that a field may have, and one more: with lines inside, and others behind it. */
static void a_field_has_its_longest(void **unused) {
    char *text = malloc(KB_QUOTED_MAX + 64), *got = malloc(KB_QUOTED_MAX + 64);
    (void)unused;
    for (size_t more = 0; more < 2; more++)
        for (size_t doubled = 0; doubled < 2; doubled++)
            for (size_t k = 4; k < CUT_CASES; k++) {
                size_t inside = KB_QUOTED_MAX - 1 + more;
                memset(text, 'x', KB_QUOTED_MAX + 64);
                memcpy(text, "a\n\"", 3);
                if (doubled)
                    memcpy(text + 3 + inside - 2, "\"\"", 2);
                memcpy(text + 3 + inside, "\",1\n2,3\n", 8);
                text[100] = '\n';
                memcpy(got, text, inside + 11);
                kb_quotes q = join(got, inside + 11, ',', CUTS[k]);
                assert_int_equal(q.too_long, more);
                assert_int_equal(q.line, more ? 2 : q.line);
                assert_int_equal(kb_count_byte(got, inside + 11, '\n'), more ? 1 : 3);
            }
    free(got);
    free(text);
}

/* ---- through an input -------------------------------------------------- */

/* All rows with the numbers of their lines, by lines or in blocks of `chunk` bytes, after `first`
 * lines were read and the last of them was taken back.  Messages stand there too. */
static void list_rows(const char *path, char delimiter, size_t first, size_t chunk, char *out) {
    kb_context *ctx = test_context();
    kb_input *in;
    kb_block block = {0};
    char *line;
    size_t length;
    kb_status status;
    assert_ok(ctx, kb_input_open(ctx, path, &in));
    for (size_t i = 0; i < first; i++)
        assert_ok(ctx, kb_input_line(in, &line, &length));
    if (first > 0) {
        out += sprintf(out, "%zu[%s]", kb_input_line_number(in), line);
        kb_input_again(in);
    }
    kb_input_set_quotes(in, delimiter);
    if (chunk > 0) { /* the first line comes twice, whatever is joined to it */
        assert_ok(ctx, kb_input_line(in, &line, &length));
        kb_input_again(in);
        size_t lines = kb_input_lines_given(in);
        while ((status = kb_input_block(in, chunk, 2, &block)) == KB_OK && block.length > 0)
            for (char *p = block.text, *end = p + block.length, *row; p < end;) {
                for (row = p; p < end && *p != '\n'; p++)
                    *p = *p == KB_JOINT && block.joined ? '\1' : *p;
                size_t joints = kb_count_byte(row, (size_t)(p - row), '\1');
                for (char *c = row; c < p; c++)
                    *c = *c == '\1' ? ' ' : *c;
                out += sprintf(out, "%zu[%.*s]", lines + 1, (int)(p - row), row);
                lines += 1 + joints;
                p++;
            }
    } else {
        while ((status = kb_input_line(in, &line, &length)) == KB_OK && line) {
            assert_int_equal(strlen(line), length);
            out += sprintf(out, "%zu[%s]", kb_input_line_number(in), line);
        }
    }
    if (status != KB_OK)
        sprintf(out, "!%s", kb_context_message(ctx) + strlen(path));
    kb_release(ctx, block.text);
    kb_input_free(in);
    kb_context_free(ctx);
}

static void rows_have_the_numbers_of_their_lines(void **unused) {
    static const struct {
        const char *text;
        size_t first;
        const char *want;
    } known[] = {
        {"a,b\n1,\"x\ny\"\n2,z\n", 0, "1[a,b]2[1,\"x y\"]4[2,z]"},
        {"\"a\nb\",c\n1,2\n", 1, "1[\"a]1[\"a b\",c]3[1,2]"},
        {"# \"x\n# y\n\"a\nb\",\"\nc\n\"\n\n1,2", 3, "3[\"a]3[\"a b\",\" c \"]7[]8[1,2]"},
        {"a\r\n\"b\r\nc\"\r\nd\r\n", 0, "1[a]2[\"b c\"]4[d]"},
        {"a\r\"b\rc\"\rd\r", 0, "1[a]2[\"b c\"]4[d]"},
        {"12\" pipe\n3\" x, \" y\nz\"\n", 0, "1[12\" pipe]2[3\" x, \" y z\"]"},
        {"a\nb\n1,\"x\n3\n4\n", 0,
         "1[a]2[b]!:3: a quote opens a field and is not closed before the file ends"},
        {"a\n\xE9,\"\xFF\n\"\nb", 0, "1[a]2[é,\"ÿ \"]4[b]"},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        test_path path = file_with("quotes", known[i].text);
        char got[512];
        list_rows(path.text, ',', known[i].first, 0, got);
        assert_string_equal(got, known[i].want);
        for (size_t k = 0; k < CUT_CASES; k++) {
            list_rows(path.text, ',', known[i].first, CUTS[k], got);
            assert_string_equal(got, known[i].want);
        }
        remove(path.text);
    }
}

/* The delimiter may be known only when the first row is. */
static void another_delimiter_joins_other_lines(void **unused) {
    static const char *const want[] = {"1[\"a b\";\"c]3[d\"]4[1;2]", "1[\"a b\";\"c d\"]4[1;2]",
                                       "1[\"a]2[b\";\"c]3[d\"]4[1;2]",
                                       "1[\"a b\";\"c]3[d\"]4[1;2]"};
    static const char delimiter[] = {',', ';', 0, ','};
    kb_context *ctx = test_context();
    kb_input *in;
    char *line;
    size_t length;
    (void)unused;
    test_path path = file_with("again", "\"a\nb\";\"c\nd\"\n1;2");
    assert_ok(ctx, kb_input_open(ctx, path.text, &in));
    for (int k = 0; k < 4; k++) {
        char got[100];
        kb_input_set_quotes(in, delimiter[k]);
        assert_ok(ctx, kb_input_line(in, &line, &length));
        snprintf(got, sizeof got, "%zu[%s]", kb_input_line_number(in), line);
        assert_memory_equal(got, want[k], strlen(got));
        kb_input_again(in);
    }
    kb_input_free(in);
    for (int k = 0; k < 4; k++) {
        char got[100], *at = got;
        assert_ok(ctx, kb_input_open(ctx, path.text, &in));
        for (int first = 0; first < 2; first++) {
            kb_input_set_quotes(in, first ? delimiter[k] : ';');
            if (!first) {
                assert_ok(ctx, kb_input_line(in, &line, &length));
                kb_input_again(in);
            }
        }
        for (;;) {
            assert_ok(ctx, kb_input_line(in, &line, &length));
            if (!line)
                break;
            at += sprintf(at, "%zu[%s]", kb_input_line_number(in), line);
        }
        assert_string_equal(got, want[k]);
        kb_input_free(in);
    }
    remove(path.text);

    path = file_with("again", "a;\"b\n1;2\n");
    assert_ok(ctx, kb_input_open(ctx, path.text, &in));
    kb_input_set_quotes(in, ';');
    assert_int_equal(kb_input_line(in, &line, &length), KB_ERR_DATA);
    kb_input_set_quotes(in, ',');
    assert_ok(ctx, kb_input_line(in, &line, &length));
    assert_string_equal(line, "a;\"b");
    kb_input_free(in);
    remove(path.text);
    kb_context_free(ctx);
}

/* Lines before the quote are given, none behind it, and the file is not read to its end. */
static void a_quote_that_is_never_closed(void **unused) {
    size_t length = 4 * KB_QUOTED_MAX;
    char *text = malloc(length), got[256];
    (void)unused;
    for (size_t i = 0; i < length; i++)
        text[i] = i % 8 == 7 ? '\n' : '1';
    text[16] = '"';
    test_path path = file_with_bytes("open", text, length);
    for (size_t chunk = 0; chunk <= 1 << 22; chunk = 8 * chunk + 4096) {
        list_rows(path.text, ',', 0, chunk, got);
        assert_string_equal(
            got, "1[1111111]2[1111111]!:3: a quote opens a field and is not closed within 1 MiB");
    }
    remove(path.text);
    free(text);
}

static int read_joined(kb_context *ctx, void *path) {
    kb_status status;
    kb_input *in = NULL;
    char *line;
    size_t length;
    TRY(kb_input_open(ctx, path, &in));
    kb_input_set_quotes(in, ',');
    do
        TRY(kb_input_line(in, &line, &length));
    while (line);
done:
    kb_input_free(in);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    (void)unused;
    test_path path = file_with("fail", "a\n\"b\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\"\xE9\n");
    run_with_allocation_failures(read_joined, path.text);
    remove(path.text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_texts_are_joined_as_by_the_plain_parser),
        cmocka_unit_test(an_open_quote_is_named_by_its_line),
        cmocka_unit_test(a_field_has_its_longest),
        cmocka_unit_test(rows_have_the_numbers_of_their_lines),
        cmocka_unit_test(another_delimiter_joins_other_lines),
        cmocka_unit_test(a_quote_that_is_never_closed),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
