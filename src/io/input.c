/*
 * input.c - see input.h.
 *
 * libarchive recognises and undoes the compression.  Only filters that it has built
 * in are switched on: for others, and for these where it was built without them,
 * it would start a program of that name found in PATH.
 *
 * The bytes are fetched by our own callback, not by libarchive's: so the compressed
 * bytes can be counted for the progress, a failing disk is told from damaged data,
 * and a signal that interrupts a wait on a pipe reaches the progress callback,
 * which may want to stop.
 */
#define _POSIX_C_SOURCE 200809L
#include "io/input.h"
#include "core/memory.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RAW_BYTES = 1 << 18, TEXT_BYTES = 1 << 20 };

struct kb_input {
    kb_context *ctx;
    char *name;
    int fd, owned;
    struct archive *archive;

    char *raw;           /* RAW_BYTES of the file, still compressed */
    double taken, size;  /* bytes of the file read so far and in all; size 0: unknown */
    int read_error;      /* errno of a failed read */
    kb_status cancelled; /* what the progress callback said during a read */

    char *text; /* the bytes from begin to end are not yet given out */
    size_t capacity, begin, end;
    int ended; /* nothing follows in the file */

    char *line;
    size_t length, line_number;
    char cut; /* what the '\0' behind the line replaces */

    double unreported; /* bytes of text read since the last report */
    kb_status failed;  /* of a block whose first lines were good */
};

static kb_status report(kb_input *in) {
    double done = in->size > 0 ? in->taken / in->size : -1;
    return kb_progress(in->ctx, "read", done > 1 ? 1 : done);
}

static la_ssize_t fetch(struct archive *archive, void *client, const void **block) {
    kb_input *in = client;
    *block = in->raw;
    for (;;) {
        ssize_t got = read(in->fd, in->raw, RAW_BYTES);
        if (got >= 0) {
            in->taken += (double)got;
            return got;
        }
        if (errno != EINTR) {
            in->read_error = errno;
            archive_set_error(archive, errno, "cannot read");
            return -1;
        }
        in->cancelled = report(in);
        if (in->cancelled != KB_OK) {
            archive_set_error(archive, EINTR, "interrupted");
            return -1;
        }
    }
}

static kb_status archive_failed(kb_input *in) {
    const char *why = archive_error_string(in->archive);
    int layers = archive_filter_count(in->archive);
    if (in->cancelled != KB_OK)
        return in->cancelled;
    if (in->read_error != 0)
        return kb_fail(in->ctx, KB_ERR_IO, "%s: cannot read: %s", in->name,
                       strerror(in->read_error));
    if (archive_errno(in->archive) == ENOMEM)
        return kb_fail(in->ctx, KB_ERR_MEMORY, "%s: out of memory while decompressing", in->name);
    return kb_fail(in->ctx, KB_ERR_IO, "%s: damaged %s data: %s", in->name,
                   layers > 1 ? archive_filter_name(in->archive, 0) : "compressed",
                   why ? why : "no reason given");
}

static kb_status open_archive(kb_input *in) {
    struct archive_entry *entry;
    struct archive *a = archive_read_new();
    if (!a)
        return kb_fail(in->ctx, KB_ERR_MEMORY, "%s: out of memory", in->name);
    in->archive = a;
    if (archive_zlib_version())
        archive_read_support_filter_gzip(a);
    if (archive_bzlib_version())
        archive_read_support_filter_bzip2(a);
    if (archive_liblzma_version()) {
        archive_read_support_filter_xz(a);
        archive_read_support_filter_lzma(a);
    }
    if (archive_libzstd_version())
        archive_read_support_filter_zstd(a);
    archive_read_support_format_raw(a);
    archive_read_support_format_empty(a);
    if (archive_read_open2(a, in, NULL, fetch, NULL, NULL) != ARCHIVE_OK)
        return archive_failed(in);
    int header = archive_read_next_header(a, &entry);
    if (header == ARCHIVE_EOF)
        return kb_fail(in->ctx, KB_ERR_DATA, "%s: the file is empty", in->name);
    return header == ARCHIVE_OK ? KB_OK : archive_failed(in);
}

/* Moves what is left to the front and reads more behind it.  The buffer has always
 * room for one byte more, the '\0' of a last line without a newline. */
static kb_status fill(kb_input *in) {
    kb_status status;
    TRY(report(in));
    memmove(in->text, in->text + in->begin, in->end - in->begin);
    in->end -= in->begin;
    in->begin = 0;
    TRY(kb_reserve(in->ctx, in->end + TEXT_BYTES / 2, 1, &in->capacity, &in->text));
    la_ssize_t got = archive_read_data(in->archive, in->text + in->end, in->capacity - in->end - 1);
    if (got < 0)
        TRY(archive_failed(in));
    in->end += (size_t)got;
    in->ended = got == 0;
done:
    return status;
}

static kb_status open_file(kb_input *in, const char *path) {
    struct stat info;
    in->owned = strcmp(path, "-") != 0;
    in->fd = in->owned ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
    if (in->fd < 0 || fstat(in->fd, &info) != 0)
        return kb_fail(in->ctx, KB_ERR_IO, "%s: cannot open: %s", in->name, strerror(errno));
    if (S_ISDIR(info.st_mode))
        return kb_fail(in->ctx, KB_ERR_IO, "%s: cannot open: it is a directory", in->name);
    if (S_ISREG(info.st_mode))
        in->size = (double)info.st_size;
    return KB_OK;
}

kb_status kb_input_open(kb_context *ctx, const char *path, kb_input **out) {
    kb_status status;
    kb_input *in;
    *out = NULL;
    TRY(kb_zalloc(ctx, 1, sizeof *in, &in));
    in->ctx = ctx;
    in->fd = -1;
    TRY(kb_strdup(ctx, strcmp(path, "-") ? path : "standard input", &in->name));
    TRY(kb_alloc(ctx, RAW_BYTES, 1, &in->raw));
    TRY(kb_alloc(ctx, TEXT_BYTES, 1, &in->text));
    in->capacity = TEXT_BYTES;
    TRY(open_file(in, path));
    TRY(open_archive(in));
    TRY(fill(in));
    if (in->end >= 3 && memcmp(in->text, "\xEF\xBB\xBF", 3) == 0)
        in->begin = 3;
    *out = in;
done:
    if (status != KB_OK)
        kb_input_free(in);
    return status;
}

void kb_input_free(kb_input *in) {
    if (!in)
        return;
    archive_read_free(in->archive);
    if (in->owned && in->fd >= 0)
        close(in->fd);
    kb_release(in->ctx, in->text);
    kb_release(in->ctx, in->raw);
    kb_release(in->ctx, in->name);
    kb_release(in->ctx, in);
}

kb_status kb_input_line(kb_input *in, char **text, size_t *length) {
    kb_status status = KB_OK;
    char *newline = NULL;
    in->line = NULL;
    in->length = 0;
    while (!(newline = memchr(in->text + in->begin, '\n', in->end - in->begin)) && !in->ended)
        TRY(fill(in));
    if (!newline && in->begin == in->end)
        goto done;
    in->line = in->text + in->begin;
    in->length = (newline ? newline : in->text + in->end) - in->line;
    in->begin += in->length + (newline != NULL);
    in->line_number++;
    if (memchr(in->line, '\0', in->length))
        TRY(kb_input_fail(in, "a zero byte: this is not plain text"));
    if (in->length > 0 && in->line[in->length - 1] == '\r')
        in->length--;
    in->cut = in->line[in->length];
    in->line[in->length] = '\0';
done:
    *text = status == KB_OK ? in->line : NULL;
    *length = in->length;
    return status;
}

void kb_input_again(kb_input *in) {
    in->line[in->length] = in->cut;
    in->begin = (size_t)(in->line - in->text);
    in->line_number--;
}

const char *kb_input_peek(const kb_input *in, size_t *length) {
    *length = in->end - in->begin;
    return in->text + in->begin;
}

/* ---- blocks ------------------------------------------------------------ */

/* Reads `bytes` more into the block, fewer at the end of the file. */
static kb_status read_chunk(kb_input *in, size_t bytes, kb_block *block) {
    kb_status status;
    if (in->unreported >= TEXT_BYTES) {
        TRY(report(in));
        in->unreported = 0;
    }
    TRY(kb_reserve(in->ctx, block->length + bytes + 1, 1, &block->capacity, &block->text));
    la_ssize_t got = archive_read_data(in->archive, block->text + block->length, bytes);
    if (got < 0)
        TRY(archive_failed(in));
    block->length += (size_t)got;
    in->unreported += (double)got;
    in->ended = got == 0;
done:
    return status;
}

/* How many bytes of the block are whole lines, of which `known` are. */
static size_t whole_lines(const kb_block *block, size_t known) {
    size_t end = block->length;
    while (end > known && block->text[end - 1] != '\n')
        end--;
    return end;
}

/* The lines that the input keeps go to the block: all, or `enough` bytes of them.  A block without
 * memory takes that of the input where it takes all. */
static kb_status take_kept(kb_input *in, size_t enough, kb_block *block) {
    kb_status status = KB_OK;
    char *from = in->text + in->begin, *newline = NULL;
    size_t kept = in->end - in->begin;
    if (kept > enough)
        newline = memchr(from + enough - 1, '\n', kept - enough + 1);
    size_t taken = newline ? (size_t)(newline + 1 - from) : kept;
    if (taken == kept && !block->text) {
        *block = (kb_block){in->text, 0, in->capacity};
        in->text = NULL;
        in->capacity = 0;
    }
    TRY(kb_reserve(in->ctx, taken + 1, 1, &block->capacity, &block->text));
    memmove(block->text, from, taken);
    block->length = taken;
    in->begin += taken;
done:
    return status;
}

/* What follows the whole lines goes back to the input, which has nothing else. */
static kb_status keep_rest(kb_input *in, kb_block *block, size_t whole) {
    size_t rest = block->length - whole;
    kb_status status = kb_reserve(in->ctx, rest + 1, 1, &in->capacity, &in->text);
    if (status != KB_OK)
        return status;
    memcpy(in->text, block->text + whole, rest);
    in->begin = 0;
    in->end = rest;
    block->length = whole;
    return KB_OK;
}

kb_status kb_input_block(kb_input *in, size_t chunk, size_t chunks, kb_block *block) {
    kb_status status;
    block->length = 0;
    TRY(take_kept(in, chunk * chunks, block));
    if (in->begin < in->end)
        goto done;
    size_t whole = whole_lines(block, 0);
    while (!in->ended && in->failed == KB_OK && (whole == 0 || block->length / chunk < chunks)) {
        size_t seen = block->length, found;
        in->failed = read_chunk(in, chunk, block);
        found = whole_lines(block, seen);
        whole = found > seen ? found : whole;
    }
    if (in->failed != KB_OK && whole == 0)
        TRY(in->failed);
    TRY(keep_rest(in, block, in->ended ? block->length : whole));
done:
    if (status != KB_OK)
        block->length = 0;
    return status;
}

int kb_input_ended(const kb_input *in) {
    return in->ended && in->begin == in->end;
}

const char *kb_input_name(const kb_input *in) {
    return in->name;
}

size_t kb_input_line_number(const kb_input *in) {
    return in->line_number;
}

static kb_status fail_at(kb_input *in, size_t line, const char *format, va_list args) {
    char sentence[512];
    vsnprintf(sentence, sizeof sentence, format, args);
    return kb_fail(in->ctx, KB_ERR_DATA, "%s:%zu: %s", in->name, line, sentence);
}

kb_status kb_input_fail(kb_input *in, const char *format, ...) {
    va_list args;
    va_start(args, format);
    kb_status status = fail_at(in, in->line_number, format, args);
    va_end(args);
    return status;
}

kb_status kb_input_fail_at(kb_input *in, size_t line, const char *format, ...) {
    va_list args;
    va_start(args, format);
    kb_status status = fail_at(in, line, format, args);
    va_end(args);
    return status;
}

kb_quoted kb_quote(const char *text, size_t length) {
    kb_quoted out;
    size_t most = sizeof out.text - 4, shown = length < most ? length : most;
    for (size_t i = 0; i < shown; i++)
        out.text[i] = (unsigned char)text[i] < ' ' || text[i] == 127 ? '?' : text[i];
    strcpy(out.text + shown, shown < length ? "..." : "");
    return out;
}
