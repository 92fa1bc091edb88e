/*
 * source.c - see source.h.
 */
#define _POSIX_C_SOURCE 200809L
#include "packed/source.h"
#include "core/memory.h"
#include "packed/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RAW_BYTES = 1 << 18, LOOKED_AT = 64 };

struct kb_source {
    kb_context *ctx;
    char *name;
    int fd, owned;
    double taken, size; /* bytes of the file read so far and in all; size 0: unknown */

    unsigned char *raw; /* RAW_BYTES of the file, of which `left` at `next` are not used yet */
    const unsigned char *next;
    size_t left;
    off_t most;   /* bytes that are still to be read; negative: all that there are */
    int ended;    /* nothing follows in the file */
    int finished; /* everything was given out */
    kb_packing packing;
    kb_unpacker *unpacker; /* NULL: the bytes are as they are */
};

/* ---- the file ---------------------------------------------------------- */

static kb_status open_file(kb_source *s, const char *path) {
    struct stat info;
    s->owned = strcmp(path, "-") != 0;
    s->fd = s->owned ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
    if (s->fd < 0 || fstat(s->fd, &info) != 0)
        return kb_fail(s->ctx, KB_ERR_IO, "%s: cannot open: %s", s->name, strerror(errno));
    if (S_ISDIR(info.st_mode))
        return kb_fail(s->ctx, KB_ERR_IO, "%s: cannot open: it is a directory", s->name);
    if (S_ISREG(info.st_mode))
        s->size = (double)info.st_size;
    return KB_OK;
}

kb_status kb_source_open(kb_context *ctx, const char *path, kb_source **out) {
    kb_status status;
    kb_source *s;
    *out = NULL;
    TRY(kb_zalloc(ctx, 1, sizeof *s, &s));
    s->ctx = ctx;
    s->fd = -1;
    s->most = -1;
    TRY(kb_strdup(ctx, strcmp(path, "-") ? path : "standard input", &s->name));
    TRY(open_file(s, path));
    *out = s;
done:
    if (status != KB_OK)
        kb_source_free(s);
    return status;
}

void kb_source_free(kb_source *s) {
    if (!s)
        return;
    kb_unpacker_free(s->unpacker);
    if (s->owned && s->fd >= 0)
        close(s->fd);
    kb_release(s->ctx, s->raw);
    kb_release(s->ctx, s->name);
    kb_release(s->ctx, s);
}

const char *kb_source_name(const kb_source *s) {
    return s->name;
}

kb_status kb_source_report(const kb_source *s) {
    double done = s->size > 0 ? s->taken / s->size : -1;
    return kb_progress(s->ctx, "read", done > 1 ? 1 : done);
}

int kb_source_file(const kb_source *s, off_t *size) {
    struct stat info;
    if (!s->owned || fstat(s->fd, &info) != 0 || !S_ISREG(info.st_mode))
        return -1;
    *size = info.st_size;
    return s->fd;
}

int kb_source_is_plain(const kb_source *s) {
    off_t size;
    return s->raw && !s->unpacker && kb_source_file(s, &size) >= 0;
}

kb_status kb_source_narrow(kb_source *s, off_t begin, off_t end) {
    if (lseek(s->fd, begin, SEEK_SET) != begin)
        return kb_fail(s->ctx, KB_ERR_IO, "%s: cannot read: %s", s->name, strerror(errno));
    s->left = 0;
    s->ended = 0;
    s->most = end - begin;
    s->taken = 0;
    s->size = (double)s->most;
    return KB_OK;
}

/* 1 to `room` bytes of the file; none at its end. */
static kb_status fetch(kb_source *s, void *to, size_t room, size_t *got) {
    if (s->most >= 0 && (off_t)room > s->most)
        room = (size_t)s->most;
    for (;;) {
        ssize_t count = read(s->fd, to, room);
        if (count >= 0) {
            s->taken += (double)count;
            s->most -= s->most < 0 ? 0 : count;
            s->ended = count == 0;
            *got = (size_t)count;
            return KB_OK;
        }
        if (errno != EINTR)
            return kb_fail(s->ctx, KB_ERR_IO, "%s: cannot read: %s", s->name, strerror(errno));
        kb_status status = kb_source_report(s);
        if (status != KB_OK)
            return status;
    }
}

/* ---- the beginning ----------------------------------------------------- */

/* The compression that the name tells. */
static kb_packing packing_by_name(const char *name) {
    static const struct {
        const char *ending;
        kb_packing packing;
    } known[] = {{".gz", KB_PACKING_GZIP},
                 {".bz2", KB_PACKING_BZIP2},
                 {".xz", KB_PACKING_XZ},
                 {".lzma", KB_PACKING_XZ},
                 {".zst", KB_PACKING_ZSTD}};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t size = strlen(known[i].ending);
        if (length > size && strcasecmp(name + length - size, known[i].ending) == 0)
            return known[i].packing;
    }
    return KB_PACKING_NONE;
}

/* Whether the first bytes have one that no text has in its first line. */
static int is_binary(const unsigned char *bytes, size_t count) {
    for (size_t i = 0; i < count && i < LOOKED_AT && bytes[i] != '\n'; i++)
        if (bytes[i] >= 0x80 || bytes[i] == 0x7F ||
            (bytes[i] < ' ' && !strchr("\t\v\f\r", bytes[i])))
            return 1;
    return 0;
}

static kb_status start(kb_source *s) {
    kb_status status;
    size_t got;
    TRY(kb_alloc(s->ctx, RAW_BYTES, 1, &s->raw));
    while (!s->ended && s->left < LOOKED_AT) { /* a pipe gives what it has */
        TRY(fetch(s, s->raw + s->left, RAW_BYTES - s->left, &got));
        s->left += got;
    }
    s->next = s->raw;
    s->packing = kb_packing_of(s->raw, s->left);
    kb_packing named = s->packing == KB_PACKING_NONE ? packing_by_name(s->name) : s->packing;
    if (named != s->packing && is_binary(s->raw, s->left))
        TRY(kb_fail(s->ctx, KB_ERR_IO, "%s: damaged %s data: its first bytes are something else",
                    s->name, kb_packing_name(named)));
    if (s->packing != KB_PACKING_NONE)
        TRY(kb_unpacker_create(s->ctx, s->packing, &s->unpacker));
done:
    return status;
}

/* ---- bytes ------------------------------------------------------------- */

static kb_status unpack(kb_source *s, kb_unpack_step *step) {
    step->in = s->next;
    step->in_left = s->left;
    step->in_ends = s->ended;
    kb_status status = kb_unpack(s->unpacker, step);
    s->next = step->in;
    s->left = step->in_left;
    s->finished = step->ended;
    if (status == KB_OK)
        return KB_OK;
    if (status == KB_ERR_MEMORY) {
        kb_charge_refuse(s->ctx);
        return kb_fail(s->ctx, status, "%s: %s", s->name, step->why);
    }
    return kb_fail(s->ctx, status, "%s: damaged %s data: %s", s->name, kb_packing_name(s->packing),
                   step->why);
}

static kb_status read_packed(kb_source *s, void *to, size_t room, size_t *got) {
    kb_status status = KB_OK;
    kb_unpack_step step = {.out = to, .out_left = room};
    while (!s->finished && step.out_left == room) {
        if (s->left == 0 && !s->ended) {
            s->next = s->raw;
            TRY(fetch(s, s->raw, RAW_BYTES, &s->left));
        }
        TRY(unpack(s, &step));
    }
    *got = room - step.out_left;
done:
    return status;
}

kb_status kb_source_read(kb_source *s, void *to, size_t room, size_t *got) {
    kb_status status = KB_OK;
    *got = 0;
    if (!s->raw)
        TRY(start(s));
    if (s->unpacker)
        TRY(read_packed(s, to, room, got));
    else if (s->left > 0) {
        *got = s->left < room ? s->left : room;
        memcpy(to, s->next, *got);
        s->next += *got;
        s->left -= *got;
    } else if (!s->ended)
        TRY(fetch(s, to, room, got));
done:
    return status;
}
