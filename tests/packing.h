/*
 * packing.h - compressed bytes for the tests, made by the libraries that the reader uses too.
 */
#ifndef KB_TESTS_PACKING_H
#define KB_TESTS_PACKING_H

#include "support.h"

#include <bzlib.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

/* With a checksum of the data, but for lzma, which has none. */
static const char *const PACKINGS[] = {"gzip", "bzip2", "xz", "zstd", "lzma"};
enum { PACKINGS_CHECKED = 4, PACKINGS_ALL = 5 };

static inline void pack_zlib(const void *text, size_t length, int window, char *out, size_t *used) {
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (Bytef *)text;
    z.avail_in = (uInt)length;
    z.next_out = (Bytef *)out;
    z.avail_out = (uInt)*used;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    *used = z.total_out;
    deflateEnd(&z);
}

static inline void pack_bzip2(const void *text, size_t length, char *out, size_t *used) {
    unsigned room = (unsigned)*used;
    assert_int_equal(BZ2_bzBuffToBuffCompress(out, &room, (char *)text, (unsigned)length, 1, 0, 0),
                     BZ_OK);
    *used = room;
}

static inline void pack_xz(const void *text, size_t length, char *out, size_t *used) {
    size_t at = 0;
    assert_int_equal(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC64, NULL, (const uint8_t *)text,
                                             length, (uint8_t *)out, &at, *used),
                     LZMA_OK);
    *used = at;
}

static inline void pack_lzma(const void *text, size_t length, char *out, size_t *used) {
    lzma_stream z = LZMA_STREAM_INIT;
    lzma_options_lzma options;
    assert_false(lzma_lzma_preset(&options, 1));
    assert_int_equal(lzma_alone_encoder(&z, &options), LZMA_OK);
    z.next_in = text;
    z.avail_in = length;
    z.next_out = (uint8_t *)out;
    z.avail_out = *used;
    assert_int_equal(lzma_code(&z, LZMA_FINISH), LZMA_STREAM_END);
    *used = (size_t)z.total_out;
    lzma_end(&z);
}

static inline void pack_zstd(const void *text, size_t length, char *out, size_t *used) {
    ZSTD_CCtx *z = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1); /* as the program zstd does */
    *used = ZSTD_compress2(z, out, *used, text, length);
    assert_false(ZSTD_isError(*used));
    ZSTD_freeCCtx(z);
}

/* To be freed. */
static inline char *packed(const char *packing, const void *text, size_t length, size_t *used) {
    *used = 2 * length + 4096;
    char *out = malloc(*used);
    assert_non_null(out);
    if (strcmp(packing, "gzip") == 0)
        pack_zlib(text, length, 15 + 16, out, used);
    else if (strcmp(packing, "deflate") == 0)
        pack_zlib(text, length, -15, out, used);
    else if (strcmp(packing, "bzip2") == 0)
        pack_bzip2(text, length, out, used);
    else if (strcmp(packing, "xz") == 0)
        pack_xz(text, length, out, used);
    else if (strcmp(packing, "lzma") == 0)
        pack_lzma(text, length, out, used);
    else
        pack_zstd(text, length, out, used);
    return out;
}

static inline test_path packed_file(const char *packing, const char *text, size_t length) {
    char name[32];
    size_t used;
    char *bytes = packed(packing, text, length, &used);
    snprintf(name, sizeof name, "input.%s", packing);
    test_path path = file_with_bytes(name, bytes, used);
    free(bytes);
    return path;
}

#endif
