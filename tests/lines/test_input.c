/* Lines from plain, compressed and damaged files. */
#define _POSIX_C_SOURCE 200809L
#include "packing.h"

#include "lines/input.h"

#include <fcntl.h>
#include <iconv.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINES = 60000 };

/* LINES lines "line 0", "line 1", .., without a newline at the end; to be freed. */
static char *long_text(size_t *length) {
    char *text = malloc(LINES * 16);
    *length = 0;
    for (int i = 0; i < LINES; i++)
        *length += (size_t)sprintf(text + *length, "%sline %d", i ? "\n" : "", i);
    return text;
}

static void expect_long_text(kb_context *ctx, const char *path) {
    kb_input *in;
    char *line, want[32];
    size_t length;
    assert_ok(ctx, kb_input_open(ctx, path, &in));
    for (int i = 0; i < LINES; i++) {
        assert_ok(ctx, kb_input_line(in, &line, &length));
        assert_non_null(line);
        snprintf(want, sizeof want, "line %d", i);
        assert_string_equal(line, want);
        assert_int_equal(length, strlen(want));
        assert_int_equal(kb_input_line_number(in), i + 1);
    }
    assert_ok(ctx, kb_input_line(in, &line, &length));
    assert_null(line);
    kb_input_free(in);
}

static void compressed_files_read_as_their_text(void **unused) {
    kb_context *ctx = test_context();
    size_t length;
    char *text = long_text(&length);
    (void)unused;
    for (size_t f = 0; f < PACKINGS_ALL; f++) {
        test_path path = packed_file(PACKINGS[f], text, length);
        expect_long_text(ctx, path.text);
        remove(path.text);
    }
    test_path plain = file_with("input.gz", text); /* the name does not matter */
    expect_long_text(ctx, plain.text);
    remove(plain.text);
    free(text);
    kb_context_free(ctx);
}

static kb_status read_all(kb_context *ctx, const char *path) {
    kb_status status;
    kb_input *in = NULL;
    char *line;
    size_t length;
    TRY(kb_input_open(ctx, path, &in));
    do
        TRY(kb_input_line(in, &line, &length));
    while (line);
done:
    kb_input_free(in);
    return status;
}

/* Every cut must be noticed, and no changed byte may do harm. */
static void damaged_files_are_errors(void **unused) {
    kb_context *ctx = test_context();
    size_t length, packed;
    char *text = long_text(&length);
    (void)unused;
    for (size_t f = 0; f < PACKINGS_ALL; f++) {
        test_path path = packed_file(PACKINGS[f], text, length);
        char *bytes = bytes_of(path.text, &packed);
        file_with_bytes(strrchr(path.text, '-') + 1, bytes, packed / 2);
        assert_int_equal(read_all(ctx, path.text), KB_ERR_IO);
        assert_non_null(strstr(kb_context_message(ctx), ": damaged "));
        for (size_t k = 1; k < 40; k++) {
            size_t place = k < 20 ? k : k * packed / 40;
            bytes[place] ^= 0x55;
            file_with_bytes(strrchr(path.text, '-') + 1, bytes, packed);
            kb_status status = read_all(ctx, path.text);
            assert_true(status == KB_OK || status == KB_ERR_IO || status == KB_ERR_DATA ||
                        status == KB_ERR_MEMORY);
            bytes[place] ^= 0x55;
        }
        remove(path.text);
        free(bytes);
    }
    free(text);
    kb_context_free(ctx);
}

static void what_cannot_be_opened_is_an_error(void **unused) {
    kb_context *ctx = test_context();
    kb_input *in = (kb_input *)ctx;
    (void)unused;
    assert_fails(ctx, KB_ERR_IO, "/nowhere/train.txt: cannot open: No such file or directory",
                 kb_input_open(ctx, "/nowhere/train.txt", &in));
    assert_null(in);
    assert_fails(ctx, KB_ERR_IO, "/tmp: cannot open: it is a directory",
                 kb_input_open(ctx, "/tmp", &in));
    kb_context_free(ctx);
}

static void an_empty_file_is_an_error(void **unused) {
    kb_context *ctx = test_context();
    char want[600];
    (void)unused;
    test_path path = file_with("empty", "");
    assert_int_equal(read_all(ctx, path.text), KB_ERR_DATA);
    snprintf(want, sizeof want, "%s: the file is empty", path.text);
    assert_string_equal(kb_context_message(ctx), want);
    remove(path.text);
    path = packed_file("gzip", "", 0);
    assert_int_equal(read_all(ctx, path.text), KB_ERR_DATA);
    snprintf(want, sizeof want, "%s: the file is empty", path.text);
    assert_string_equal(kb_context_message(ctx), want);
    remove(path.text);
    kb_context_free(ctx);
}

static void line_ends_of_all_kinds(void **unused) {
    kb_context *ctx = test_context();
    kb_input *in;
    char *line;
    size_t length;
    static const char *const want[] = {"first", "", "second", "", "third", "", "last"};
    (void)unused;
    test_path path = file_with("ends", "\xEF\xBB\xBF"
                                       "first\r\n\nsecond\r\r\nthird\n\r\nlast");
    assert_ok(ctx, kb_input_open(ctx, path.text, &in));
    for (size_t i = 0; i < 7; i++) {
        assert_ok(ctx, kb_input_line(in, &line, &length));
        assert_string_equal(line, want[i]);
        if (i == 4) {
            kb_input_again(in);
            assert_ok(ctx, kb_input_line(in, &line, &length));
            assert_string_equal(line, want[i]);
        }
    }
    assert_ok(ctx, kb_input_line(in, &line, &length));
    assert_null(line);
    assert_ok(ctx, kb_input_line(in, &line, &length));
    assert_null(line);
    kb_input_free(in);
    remove(path.text);
    kb_context_free(ctx);
}

/* Five megabytes: longer than any buffer. */
static void a_line_may_have_any_length(void **unused) {
    enum { LONG = 5000000 };
    kb_context *ctx = test_context();
    kb_input *in;
    char *line, *text = malloc(2 * LONG + 2);
    size_t length;
    (void)unused;
    memset(text, 'a', LONG);
    text[LONG] = '\n';
    memset(text + LONG + 1, 'b', LONG);
    test_path path = file_with_bytes("long", text, 2 * LONG + 1);
    assert_ok(ctx, kb_input_open(ctx, path.text, &in));
    for (int i = 0; i < 2; i++) {
        assert_ok(ctx, kb_input_line(in, &line, &length));
        assert_int_equal(length, LONG);
        assert_memory_equal(line, text + i * (LONG + 1), LONG);
    }
    kb_input_free(in);
    remove(path.text);
    free(text);
    kb_context_free(ctx);
}

/* A file without line ends is not read into memory as a whole. */
static void a_line_has_a_longest_length(void **unused) {
    enum { BYTES = 4000000, MOST = 2000000 };
    kb_context *ctx = test_context();
    char *text = malloc(BYTES), *line, want[700];
    size_t length;
    (void)unused;
    memset(text, 'a', BYTES);
    memcpy(text, "b\nc\n", 4);
    test_path path = file_with_bytes("longest", text, BYTES);
    snprintf(want, sizeof want, "%s:3: a line of more than 1.9 MiB: is this text?", path.text);
    for (int way = 0; way < 3; way++) {
        kb_input *in;
        kb_block block = {0};
        kb_status status;
        assert_ok(ctx, kb_input_open(ctx, path.text, &in));
        kb_input_set_longest_line(in, MOST);
        if (way < 2)
            kb_input_set_quotes(in, ',');
        if (way == 0) {
            assert_ok(ctx, kb_input_line(in, &line, &length));
            assert_ok(ctx, kb_input_line(in, &line, &length));
            assert_string_equal(line, "c");
            status = kb_input_line(in, &line, &length);
        } else {
            assert_ok(ctx, kb_input_block(in, way == 1 ? 1000 : 1 << 18, 2, &block));
            assert_int_equal(block.length, 4);
            status = kb_input_block(in, way == 1 ? 1000 : 1 << 18, 2, &block);
            assert_in_range(block.capacity, 4, 2 * MOST);
        }
        assert_int_equal(status, KB_ERR_DATA);
        assert_string_equal(kb_context_message(ctx), want);
        kb_release(ctx, block.text);
        kb_input_free(in);
    }
    remove(path.text);
    free(text);
    kb_context_free(ctx);
}

/* Longer than all buffers, with a character cut by their borders here and there. */
static void compressed_text_may_have_any_encoding(void **unused) {
    enum { MANY = 300000 };
    static const char *const name[] = {"UTF-8", "CP1252", "UTF-16LE", "UTF-16BE"};
    static const char *const mark[] = {"\xEF\xBB\xBF", "", "\xFF\xFE", "\xFE\xFF"};
    char *text = malloc(MANY * 16), *bytes = malloc(MANY * 32), want[32], *line, *at = text;
    size_t length;
    (void)unused;
    for (int i = 0; i < MANY; i++)
        at += sprintf(at, "%d é€%s", i, i % 3 ? "\r\n" : i % 2 ? "\r" : "\n");
    for (int e = 0; e < 4; e++) {
        test_state state = {0};
        kb_context *ctx = test_context_with(&state, 1);
        kb_input *in;
        char *from = text, *to = bytes + sprintf(bytes, "%s", mark[e]);
        size_t count = (size_t)(at - text), room = (size_t)MANY * 32 - 4;
        iconv_t change = iconv_open(name[e], "UTF-8");
        assert_int_equal(iconv(change, &from, &count, &to, &room), 0);
        iconv_close(change);
        test_path path = packed_file("gzip", bytes, (size_t)(to - bytes));
        assert_ok(ctx, kb_input_open(ctx, path.text, &in));
        for (int i = 0; i < MANY; i++) {
            assert_ok(ctx, kb_input_line(in, &line, &length));
            assert_int_equal(length, sprintf(want, "%d é€", i));
            assert_string_equal(line, want);
        }
        assert_int_equal(kb_input_line_number(in), MANY);
        assert_ok(ctx, kb_input_line(in, &line, &length));
        assert_null(line);
        assert_int_equal(strlen(state.log) > 0, e > 0);
        kb_input_free(in);
        kb_context_free(ctx);
        assert_int_equal(state.live, 0);
        remove(path.text);
    }
    free(bytes);
    free(text);
}

static void a_zero_byte_is_an_error(void **unused) {
    kb_context *ctx = test_context();
    char want[600];
    (void)unused;
    test_path path = file_with_bytes("zero", "1 1:1\n1 \0 2\n", 12);
    assert_int_equal(read_all(ctx, path.text), KB_ERR_DATA);
    snprintf(want, sizeof want, "%s:2: a zero byte: this is not plain text", path.text);
    assert_string_equal(kb_context_message(ctx), want);
    remove(path.text);
    kb_context_free(ctx);
}

static void progress_is_told_and_can_cancel(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    size_t bytes = 8u << 20;
    char *text = malloc(bytes);
    (void)unused;
    memset(text, '\n', bytes);
    test_path path = file_with_bytes("progress", text, bytes);
    assert_ok(ctx, read_all(ctx, path.text));
    assert_in_range(state.progress, 8, 20);
    state.progress = 0;
    state.cancel_after = 4;
    assert_int_equal(read_all(ctx, path.text), KB_ERR_CANCELLED);
    assert_int_equal(state.progress, 4);
    remove(path.text);
    free(text);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

static void on_alarm(int signal) {
    (void)signal;
}

/* Standard input is a pipe that says nothing: only the signal ends the wait. */
static void a_signal_ends_a_wait_for_standard_input(void **unused) {
    test_state state = {.cancel_after = 1};
    kb_context *ctx = test_context_with(&state, 1);
    kb_input *in;
    int ends[2], kept = dup(STDIN_FILENO);
    struct sigaction action = {.sa_handler = on_alarm};
    (void)unused;
    assert_int_equal(pipe(ends), 0);
    dup2(ends[0], STDIN_FILENO);
    sigaction(SIGALRM, &action, NULL);
    alarm(1);
    assert_int_equal(kb_input_open(ctx, "-", &in), KB_ERR_CANCELLED);
    assert_null(in);

    state.cancel_after = 0;
    assert_int_equal(write(ends[1], "a\nb\n", 4), 4);
    close(ends[1]);
    assert_ok(ctx, kb_input_open(ctx, "-", &in));
    assert_string_equal(kb_input_name(in), "standard input");
    kb_input_free(in);
    dup2(kept, STDIN_FILENO);
    close(kept);
    close(ends[0]);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

static int read_file(kb_context *ctx, void *path) {
    return (int)read_all(ctx, path);
}

static void every_allocation_may_fail(void **unused) {
    size_t length = 3000000;
    char *text = malloc(length);
    (void)unused;
    memset(text, 'a', length);
    test_path path = packed_file("zstd", text, length);
    run_with_allocation_failures(read_file, path.text);
    memset(text, 0xE9, length); /* grows while it is decoded */
    path = packed_file("zstd", text, length);
    run_with_allocation_failures(read_file, path.text);
    remove(path.text);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compressed_files_read_as_their_text),
        cmocka_unit_test(damaged_files_are_errors),
        cmocka_unit_test(what_cannot_be_opened_is_an_error),
        cmocka_unit_test(an_empty_file_is_an_error),
        cmocka_unit_test(line_ends_of_all_kinds),
        cmocka_unit_test(a_line_may_have_any_length),
        cmocka_unit_test(a_line_has_a_longest_length),
        cmocka_unit_test(compressed_text_may_have_any_encoding),
        cmocka_unit_test(a_zero_byte_is_an_error),
        cmocka_unit_test(progress_is_told_and_can_cancel),
        cmocka_unit_test(a_signal_ends_a_wait_for_standard_input),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
