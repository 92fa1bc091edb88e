/* Bytes of compressed files: every flipped bit and every cut is seen, and streams follow each
 * other. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "packing.h"

#include "packed/source.h"
#include "packed/unpack.h"

#include <dlfcn.h>
#include <zstd_errors.h>

/* ---- zstd, which takes no functions for its memory --------------------- */

/* 1: there is none to begin, 2: none to go on. */
static int zstd_fails;

ZSTD_DStream *ZSTD_createDStream(void) {
    static ZSTD_DStream *(*real)(void);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "ZSTD_createDStream");
    return zstd_fails == 1 ? NULL : real();
}

size_t ZSTD_decompressStream(ZSTD_DStream *z, ZSTD_outBuffer *out, ZSTD_inBuffer *in) {
    static size_t (*real)(ZSTD_DStream *, ZSTD_outBuffer *, ZSTD_inBuffer *);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "ZSTD_decompressStream");
    return zstd_fails == 2 ? (size_t)-ZSTD_error_memory_allocation : real(z, out, in);
}

/* ------------------------------------------------------------------------ */

enum { MOST = 1 << 16 };

static const char TEXT[] = "1 1:0.5 2:7\n-1 1:0.25\n1 2:3.125\n1 1:0.5 2:7\n-1 2:12\n1 1:0.5 2:7\n";

typedef struct outcome {
    kb_status status;
    size_t length;
    char text[MOST];
} outcome;

/* In portions of `portion` bytes. */
static void read_path(kb_context *ctx, const char *path, size_t portion, outcome *out) {
    kb_status status;
    kb_source *source = NULL;
    size_t got;
    out->length = 0;
    TRY(kb_source_open(ctx, path, &source));
    do {
        assert_true(out->length + portion <= MOST);
        TRY(kb_source_read(source, out->text + out->length, portion, &got));
        out->length += got;
    } while (got > 0);
done:
    kb_source_free(source);
    out->status = status;
}

static void read_bytes(kb_context *ctx, const char *name, const void *bytes, size_t count,
                       outcome *out) {
    test_path path = file_with_bytes(name, bytes, count);
    read_path(ctx, path.text, 1000, out);
    remove(path.text);
}

static int is_text(const outcome *out, size_t times) {
    size_t length = sizeof TEXT - 1;
    if (out->status != KB_OK || out->length != times * length)
        return 0;
    for (size_t k = 0; k < times; k++)
        if (memcmp(out->text + k * length, TEXT, length) != 0)
            return 0;
    return 1;
}

static void name_of(const char *packing, char *name) {
    static const char *const ending[] = {"gz", "bz2", "xz", "zst", "lzma"};
    for (size_t f = 0; f < PACKINGS_ALL; f++)
        if (strcmp(PACKINGS[f], packing) == 0)
            sprintf(name, "data.%s", ending[f]);
}

/* A bit that no checksum covers, such as one of the time in a gzip header, leaves the data as they
 * were. */
static void every_flipped_bit_is_an_error_or_changes_nothing(void **unused) {
    kb_context *ctx = test_context();
    static outcome out;
    char name[32];
    (void)unused;
    for (size_t f = 0; f < PACKINGS_CHECKED; f++) {
        size_t count, errors = 0;
        char *bytes = packed(PACKINGS[f], TEXT, sizeof TEXT - 1, &count);
        name_of(PACKINGS[f], name);
        for (size_t bit = 0; bit < 8 * count; bit++) {
            bytes[bit / 8] ^= (char)(1 << bit % 8);
            read_bytes(ctx, name, bytes, count, &out);
            if (out.status != KB_OK)
                assert_in_set(out.status, ((LargestIntegralType[]){KB_ERR_IO, KB_ERR_MEMORY}), 2);
            else if (!is_text(&out, 1))
                fail_msg("%s: bit %zu of %zu is not seen", name, bit, 8 * count);
            errors += out.status != KB_OK;
            bytes[bit / 8] ^= (char)(1 << bit % 8);
        }
        assert_in_range(errors, 8 * count / 2, 8 * count);
        free(bytes);
    }
    kb_context_free(ctx);
}

static void every_cut_is_an_error(void **unused) {
    kb_context *ctx = test_context();
    static outcome out;
    char name[32];
    (void)unused;
    for (size_t f = 0; f < PACKINGS_CHECKED; f++) {
        size_t count;
        char *bytes = packed(PACKINGS[f], TEXT, sizeof TEXT - 1, &count);
        name_of(PACKINGS[f], name);
        for (size_t length = 4; length < count; length++) {
            read_bytes(ctx, name, bytes, length, &out);
            assert_int_not_equal(out.status, KB_OK);
            assert_non_null(strstr(kb_context_message(ctx), ": damaged "));
        }
        free(bytes);
    }
    kb_context_free(ctx);
}

/* Two streams, the second with a flipped bit in each place. */
static void streams_follow_each_other_and_all_are_checked(void **unused) {
    kb_context *ctx = test_context();
    static outcome out;
    char name[32], both[2048];
    (void)unused;
    for (size_t f = 0; f < PACKINGS_CHECKED; f++) {
        size_t count;
        char *bytes = packed(PACKINGS[f], TEXT, sizeof TEXT - 1, &count);
        name_of(PACKINGS[f], name);
        memcpy(both, bytes, count);
        memcpy(both + count, bytes, count);
        for (size_t portion = 1; portion < 200; portion += 66) { /* streams end within one */
            test_path path = file_with_bytes(name, both, 2 * count);
            read_path(ctx, path.text, portion, &out);
            assert_true(is_text(&out, 2));
            remove(path.text);
        }
        for (size_t bit = 8 * count; bit < 16 * count; bit++) {
            both[bit / 8] ^= (char)(1 << bit % 8);
            read_bytes(ctx, name, both, 2 * count, &out);
            if (out.status == KB_OK && !is_text(&out, 2))
                fail_msg("%s: bit %zu of the second stream is not seen", name, bit - 8 * count);
            both[bit / 8] ^= (char)(1 << bit % 8);
        }
        free(bytes);
    }
    kb_context_free(ctx);
}

static void what_follows_a_stream_is_an_error_but_zeros(void **unused) {
    kb_context *ctx = test_context();
    static outcome out;
    char name[32], longer[2048];
    (void)unused;
    for (size_t f = 0; f < PACKINGS_CHECKED; f++) {
        size_t count;
        char *bytes = packed(PACKINGS[f], TEXT, sizeof TEXT - 1, &count);
        name_of(PACKINGS[f], name);
        memcpy(longer, bytes, count);
        memset(longer + count, 0, 512); /* as tapes have it */
        read_bytes(ctx, name, longer, count + 512, &out);
        assert_true(is_text(&out, 1));
        strcpy(longer + count + 256, "more");
        read_bytes(ctx, name, longer, count + 512, &out);
        assert_int_equal(out.status, KB_ERR_IO);
        strcpy(longer + count, "more");
        read_bytes(ctx, name, longer, count + 4, &out);
        assert_int_equal(out.status, KB_ERR_IO);
        assert_non_null(strstr(kb_context_message(ctx), ": damaged "));
        free(bytes);
    }
    kb_context_free(ctx);
}

static void a_name_of_compressed_data_may_stand_for_plain_text(void **unused) {
    kb_context *ctx = test_context();
    static outcome out;
    (void)unused;
    read_bytes(ctx, "data.gz", TEXT, sizeof TEXT - 1, &out);
    assert_true(is_text(&out, 1));
    read_bytes(ctx, "data.gz", "\x1F\x8C\x08 and more", 12, &out);
    assert_int_equal(out.status, KB_ERR_IO);
    assert_non_null(strstr(kb_context_message(ctx),
                           "data.gz: damaged gzip data: its first bytes are something else"));
    kb_context_free(ctx);
}

/* The dictionary of an xz file is taken at once; that of this one has 256 MiB. */
static void what_a_file_needs_is_held_against_the_limit(void **unused) {
    kb_context *ctx = test_context();
    static outcome out;
    char bytes[1024];
    lzma_options_lzma options;
    lzma_stream z = LZMA_STREAM_INIT;
    (void)unused;
    assert_false(lzma_lzma_preset(&options, 0));
    assert_int_equal(lzma_alone_encoder(&z, &options), LZMA_OK);
    z.next_in = (const uint8_t *)TEXT;
    z.avail_in = sizeof TEXT - 1;
    z.next_out = (uint8_t *)bytes;
    z.avail_out = sizeof bytes;
    assert_int_equal(lzma_code(&z, LZMA_FINISH), LZMA_STREAM_END);
    size_t count = (size_t)z.total_out;
    lzma_end(&z);
    memcpy(bytes + 1, "\0\0\0\x10", 4);
    read_bytes(ctx, "data.lzma", bytes, count, &out);
    assert_true(is_text(&out, 1));
    kb_charge_begin(ctx, 20 << 20);
    read_bytes(ctx, "data.lzma", bytes, count, &out);
    kb_charge_end(ctx);
    assert_int_equal(out.status, KB_ERR_MEMORY);
    assert_non_null(strstr(kb_context_message(ctx), "decompressing it takes more memory"));
    kb_context_free(ctx);
}

/* A frame of zstd with a window of that many bits, and a text in one block as it is. */
static size_t zstd_frame(unsigned bits, char *to) {
    static const char text[] = "as much text as a block\n";
    unsigned block = 1 | (unsigned)(sizeof text - 1) << 3;
    memcpy(to, "\x28\xB5\x2F\xFD\0", 5);
    to[5] = (char)((bits - 10) << 3);
    to[6] = (char)block;
    to[7] = (char)(block >> 8);
    to[8] = (char)(block >> 16);
    memcpy(to + 9, text, sizeof text - 1);
    return 9 + sizeof text - 1;
}

static void what_zstd_needs_is_held_against_the_limit(void **unused) {
    kb_context *ctx = test_context();
    static outcome out;
    char bytes[64];
    (void)unused;
    size_t count = zstd_frame(27, bytes);
    read_bytes(ctx, "data.zst", bytes, count, &out);
    assert_int_equal(out.status, KB_OK);
    assert_int_equal(out.length, 24);
    count = zstd_frame(28, bytes);
    read_bytes(ctx, "data.zst", bytes, count, &out);
    assert_int_equal(out.status, KB_ERR_MEMORY);
    for (unsigned bits = 23; bits < 28; bits++) {
        count = zstd_frame(bits, bytes);
        kb_charge_begin(ctx, 20 << 20);
        read_bytes(ctx, "data.zst", bytes, count, &out);
        int refused = kb_charge_end(ctx);
        assert_int_equal(out.status, bits < 25 ? KB_OK : KB_ERR_MEMORY);
        assert_int_equal(refused, bits >= 25);
    }
    assert_non_null(strstr(kb_context_message(ctx), "decompressing it takes more memory"));
    kb_context_free(ctx);
}

static void zstd_without_memory_is_an_error(void **unused) {
    kb_context *ctx = test_context();
    static outcome out;
    char bytes[64];
    size_t count = zstd_frame(20, bytes);
    (void)unused;
    for (int fails = 1; fails <= 2; fails++) {
        zstd_fails = fails;
        read_bytes(ctx, "data.zst", bytes, count, &out);
        zstd_fails = 0;
        assert_int_equal(out.status, KB_ERR_MEMORY);
        assert_non_null(strstr(kb_context_message(ctx), "out of memory"));
    }
    kb_context_free(ctx);
}

static int read_all(kb_context *ctx, void *path) {
    static outcome out;
    read_path(ctx, path, 100, &out);
    return (int)out.status;
}

/* Those of zlib, bzip2 and liblzma too. */
static void every_allocation_may_fail(void **unused) {
    (void)unused;
    for (size_t f = 0; f < PACKINGS_ALL; f++) {
        test_path path = packed_file(PACKINGS[f], TEXT, sizeof TEXT - 1);
        run_with_allocation_failures(read_all, path.text);
        remove(path.text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_flipped_bit_is_an_error_or_changes_nothing),
        cmocka_unit_test(every_cut_is_an_error),
        cmocka_unit_test(streams_follow_each_other_and_all_are_checked),
        cmocka_unit_test(what_follows_a_stream_is_an_error_but_zeros),
        cmocka_unit_test(a_name_of_compressed_data_may_stand_for_plain_text),
        cmocka_unit_test(what_a_file_needs_is_held_against_the_limit),
        cmocka_unit_test(what_zstd_needs_is_held_against_the_limit),
        cmocka_unit_test(zstd_without_memory_is_an_error),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
