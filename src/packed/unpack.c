/*
 * unpack.c - see unpack.h.
 *
 * The libraries are used directly.  A layer above them (libarchive 3.6) does not compare the
 * checksum of gzip and drops what follows a stream, so that a damaged file becomes other data.
 */
#include "packed/unpack.h"
#include "core/memory.h"

#include <bzlib.h>
#include <limits.h>
#include <lzma.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

static const char CUT[] = "the file ends too early";
static const char TRAILING[] = "something else follows the compressed data";
static const char NO_MEMORY[] = "out of memory while decompressing";
static const char TOO_MUCH[] = "decompressing it takes more memory than there is";

struct kb_unpacker {
    kb_context *ctx;
    kb_packing packing;
    int open;    /* the state below is initialised */
    int between; /* behind a stream: another one may follow, */
    int padding; /* but not behind zeros */
    union {
        z_stream zlib;
        bz_stream bzip2;
        lzma_stream lzma;
        ZSTD_DStream *zstd;
    } of;
    lzma_allocator allocator;
};

/* ---- formats ----------------------------------------------------------- */

/* lzma has no mark: parameters, the size of a dictionary with one or two bits, and a length. */
static int is_lzma(const unsigned char *b, size_t count) {
    uint32_t dictionary;
    uint64_t size = 0;
    if (count < 13 || b[0] != 0x5D)
        return 0;
    dictionary = b[1] | (uint32_t)b[2] << 8 | (uint32_t)b[3] << 16 | (uint32_t)b[4] << 24;
    for (int i = 7; i >= 0; i--)
        size = size << 8 | b[5 + i];
    uint32_t low = dictionary & -dictionary, rest = dictionary - low;
    return dictionary != 0 && (rest == 0 || rest == 2 * low) &&
           (size == UINT64_MAX || size < (uint64_t)1 << 48);
}

kb_packing kb_packing_of(const unsigned char *b, size_t count) {
    if (count >= 3 && memcmp(b, "\x1F\x8B\x08", 3) == 0)
        return KB_PACKING_GZIP;
    if (count >= 4 && memcmp(b, "BZh", 3) == 0 && b[3] >= '1' && b[3] <= '9' &&
        (count < 10 || memcmp(b + 4, "1AY&SY", 6) == 0 ||
         memcmp(b + 4, "\x17\x72\x45\x38\x50\x90", 6) == 0))
        return KB_PACKING_BZIP2;
    if (count >= 6 && memcmp(b, "\xFD\x37zXZ\0", 6) == 0)
        return KB_PACKING_XZ;
    if (count >= 4 && (memcmp(b, "\x28\xB5\x2F\xFD", 4) == 0 ||
                       ((b[0] & 0xF0) == 0x50 && memcmp(b + 1, "\x2A\x4D\x18", 3) == 0)))
        return KB_PACKING_ZSTD;
    return is_lzma(b, count) ? KB_PACKING_XZ : KB_PACKING_NONE;
}

const char *kb_packing_name(kb_packing packing) {
    static const char *const name[] = {"", "gzip", "bzip2", "xz", "zstd", "zip"};
    return name[packing];
}

/* ---- the libraries' memory --------------------------------------------- */

static void *take(void *ctx, size_t count, size_t size) {
    void *block;
    return kb_alloc(ctx, count, size, &block) == KB_OK ? block : NULL;
}

static void *take_for_zlib(void *ctx, unsigned count, unsigned size) {
    return take(ctx, count, size);
}

static void *take_for_bzip2(void *ctx, int count, int size) {
    return take(ctx, (size_t)count, (size_t)size);
}

static void release(void *ctx, void *block) {
    kb_release(ctx, block);
}

/* ---- beginning and end ------------------------------------------------- */

static kb_status failed(kb_unpack_step *step, kb_status status, const char *why) {
    step->why = why;
    return status;
}

static kb_status begin_stream(kb_unpacker *u) {
    size_t limit = kb_charge_left(u->ctx);
    int good = 0, log = 27; /* zstd keeps at most 128 MiB by itself */
    switch (u->packing) {
    case KB_PACKING_GZIP:
    case KB_PACKING_DEFLATE:
        u->of.zlib = (z_stream){.zalloc = take_for_zlib, .zfree = release, .opaque = u->ctx};
        good = inflateInit2(&u->of.zlib, u->packing == KB_PACKING_GZIP ? 15 + 16 : -15) == Z_OK;
        break;
    case KB_PACKING_BZIP2:
        u->of.bzip2 = (bz_stream){.bzalloc = take_for_bzip2, .bzfree = release, .opaque = u->ctx};
        good = BZ2_bzDecompressInit(&u->of.bzip2, 0, 0) == BZ_OK;
        break;
    case KB_PACKING_XZ:
        u->allocator = (lzma_allocator){.alloc = take, .free = release, .opaque = u->ctx};
        u->of.lzma = (lzma_stream)LZMA_STREAM_INIT;
        u->of.lzma.allocator = &u->allocator;
        good = lzma_auto_decoder(&u->of.lzma, limit, LZMA_CONCATENATED) == LZMA_OK;
        break;
    case KB_PACKING_ZSTD:
        u->of.zstd = ZSTD_createDStream();
        while (log > 10 && (size_t)1 << log > limit)
            log--;
        good = u->of.zstd && !ZSTD_isError(ZSTD_initDStream(u->of.zstd)) &&
               !ZSTD_isError(ZSTD_DCtx_setParameter(u->of.zstd, ZSTD_d_windowLogMax, log));
        break;
    case KB_PACKING_NONE:
        break;
    }
    u->open = 1;
    return good ? KB_OK : kb_fail(u->ctx, KB_ERR_MEMORY, "out of memory");
}

static void end_stream(kb_unpacker *u) {
    if (!u->open)
        return;
    u->open = 0;
    if (u->packing == KB_PACKING_GZIP || u->packing == KB_PACKING_DEFLATE)
        inflateEnd(&u->of.zlib);
    else if (u->packing == KB_PACKING_BZIP2)
        BZ2_bzDecompressEnd(&u->of.bzip2);
    else if (u->packing == KB_PACKING_XZ)
        lzma_end(&u->of.lzma);
    else
        ZSTD_freeDStream(u->of.zstd);
}

kb_status kb_unpacker_create(kb_context *ctx, kb_packing packing, kb_unpacker **out) {
    kb_status status;
    kb_unpacker *u;
    *out = NULL;
    TRY(kb_zalloc(ctx, 1, sizeof *u, &u));
    u->ctx = ctx;
    u->packing = packing;
    TRY(begin_stream(u));
    *out = u;
done:
    if (status != KB_OK)
        kb_unpacker_free(u);
    return status;
}

void kb_unpacker_free(kb_unpacker *u) {
    if (!u)
        return;
    end_stream(u);
    kb_release(u->ctx, u);
}

/* ---- steps ------------------------------------------------------------- */

/* Before anything was read, and for an empty output, the pointers are NULL. */
static void moved(kb_unpack_step *step, size_t in, size_t out) {
    if (in > 0)
        step->in += in;
    step->in_left -= in;
    if (out > 0)
        step->out += out;
    step->out_left -= out;
}

static unsigned at_most(size_t bytes) {
    return bytes < UINT_MAX ? (unsigned)bytes : UINT_MAX;
}

/* Each of these goes one step: KB_OK, with u->between set where a stream has ended. */

static kb_status step_zlib(kb_unpacker *u, kb_unpack_step *step) {
    z_stream *z = &u->of.zlib;
    unsigned in = at_most(step->in_left), out = at_most(step->out_left);
    z->next_in = (unsigned char *)step->in;
    z->avail_in = in;
    z->next_out = (unsigned char *)step->out;
    z->avail_out = out;
    int got = inflate(z, Z_NO_FLUSH);
    moved(step, in - z->avail_in, out - z->avail_out);
    if (got == Z_MEM_ERROR)
        return failed(step, KB_ERR_MEMORY, NO_MEMORY);
    if (got != Z_OK && got != Z_STREAM_END && got != Z_BUF_ERROR)
        return failed(step, KB_ERR_IO, z->msg ? z->msg : "not as gzip writes it");
    u->between = got == Z_STREAM_END;
    return KB_OK;
}

static kb_status step_bzip2(kb_unpacker *u, kb_unpack_step *step) {
    bz_stream *z = &u->of.bzip2;
    unsigned in = at_most(step->in_left), out = at_most(step->out_left);
    z->next_in = (char *)step->in;
    z->avail_in = in;
    z->next_out = step->out;
    z->avail_out = out;
    int got = BZ2_bzDecompress(z);
    moved(step, in - z->avail_in, out - z->avail_out);
    if (got == BZ_MEM_ERROR)
        return failed(step, KB_ERR_MEMORY, NO_MEMORY);
    if (got != BZ_OK && got != BZ_STREAM_END)
        return failed(step, KB_ERR_IO, "a block is not what its checksum says");
    u->between = got == BZ_STREAM_END;
    return KB_OK;
}

/* The library goes on to the next stream, and over zeros, by itself. */
static kb_status step_xz(kb_unpacker *u, kb_unpack_step *step) {
    lzma_stream *z = &u->of.lzma;
    size_t in = step->in_left, out = step->out_left;
    z->next_in = step->in;
    z->avail_in = in;
    z->next_out = (uint8_t *)step->out;
    z->avail_out = out;
    lzma_ret got = lzma_code(z, step->in_ends ? LZMA_FINISH : LZMA_RUN);
    moved(step, in - z->avail_in, out - z->avail_out);
    switch (got) {
    case LZMA_OK:
        return KB_OK;
    case LZMA_STREAM_END:
        step->ended = 1;
        return step->in_left == 0 ? KB_OK : failed(step, KB_ERR_IO, TRAILING);
    case LZMA_MEM_ERROR:
        return failed(step, KB_ERR_MEMORY, NO_MEMORY);
    case LZMA_MEMLIMIT_ERROR:
        return failed(step, KB_ERR_MEMORY, TOO_MUCH);
    case LZMA_BUF_ERROR:
        return step->in_ends && step->in_left == 0 && step->out_left > 0
                   ? failed(step, KB_ERR_IO, CUT)
                   : KB_OK;
    case LZMA_FORMAT_ERROR:
        return failed(step, KB_ERR_IO, TRAILING);
    default:
        return failed(step, KB_ERR_IO, "not what its checksums say");
    }
}

static kb_status step_zstd(kb_unpacker *u, kb_unpack_step *step) {
    ZSTD_inBuffer in = {step->in, step->in_left, 0};
    ZSTD_outBuffer out = {step->out, step->out_left, 0};
    size_t got = ZSTD_decompressStream(u->of.zstd, &out, &in);
    moved(step, in.pos, out.pos);
    if (!ZSTD_isError(got)) {
        u->between = got == 0;
        return KB_OK;
    }
    const char *why = ZSTD_getErrorName(got);
    if (strstr(why, "Allocation error"))
        return failed(step, KB_ERR_MEMORY, NO_MEMORY);
    if (strstr(why, "too much memory"))
        return failed(step, KB_ERR_MEMORY, TOO_MUCH);
    return failed(step, KB_ERR_IO, why);
}

/* Behind a stream: to the next one, or over zeros to the end. */
static kb_status next_stream(kb_unpacker *u, kb_unpack_step *step) {
    if (step->in_left > 0 && step->in[0] == 0 && u->packing != KB_PACKING_DEFLATE)
        u->padding = 1;
    while (u->padding && step->in_left > 0) {
        if (*step->in != 0)
            return failed(step, KB_ERR_IO, TRAILING);
        moved(step, 1, 0);
    }
    if (step->in_left == 0) {
        step->ended = step->in_ends;
        return KB_OK;
    }
    int follows = (u->packing == KB_PACKING_GZIP && *step->in == 0x1F) ||
                  (u->packing == KB_PACKING_BZIP2 && *step->in == 'B') ||
                  u->packing == KB_PACKING_ZSTD;
    if (!follows)
        return failed(step, KB_ERR_IO, TRAILING);
    u->between = 0;
    if (u->packing == KB_PACKING_ZSTD)
        return KB_OK;
    end_stream(u);
    return begin_stream(u) == KB_OK ? KB_OK : failed(step, KB_ERR_MEMORY, NO_MEMORY);
}

kb_status kb_unpack(kb_unpacker *u, kb_unpack_step *step) {
    static kb_status (*const one_step[])(kb_unpacker *, kb_unpack_step *) = {
        [KB_PACKING_GZIP] = step_zlib, [KB_PACKING_BZIP2] = step_bzip2,  [KB_PACKING_XZ] = step_xz,
        [KB_PACKING_ZSTD] = step_zstd, [KB_PACKING_DEFLATE] = step_zlib,
    };
    step->ended = 0;
    step->why = NULL;
    while (step->out_left > 0 && !step->ended) {
        size_t in = step->in_left, out = step->out_left;
        int between = u->between;
        kb_status status = between ? next_stream(u, step) : one_step[u->packing](u, step);
        if (status != KB_OK)
            return status;
        if (in != step->in_left || out != step->out_left || between != u->between)
            continue;
        if (step->in_ends && step->in_left == 0 && !step->ended)
            return failed(step, KB_ERR_IO, CUT);
        break;
    }
    return KB_OK;
}
