/* share.c - see share.h. */
#define _POSIX_C_SOURCE 200809L
#include "lines/share.h"
#include "lines/quotes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum { READ_BYTES = 1 << 18, STATES = KB_FIELD_AT_QUOTE + 1 };

/* Places are counted in the bytes that are shared, of all files one after the other. */
typedef struct share {
    kb_context *ctx;
    const kb_shared_file *file;
    size_t files;
    char delimiter;
    off_t size;            /* of all */
    char *bytes;           /* READ_BYTES */
    size_t now;            /* a file, */
    off_t first;           /* the place where it begins, */
    int fd;                /* and its descriptor, or -1 */
    kb_quote_state before; /* this rank's part */
} share;

/* ---- bytes ------------------------------------------------------------- */

static off_t length_of(const kb_shared_file *file) {
    return file->end - file->begin;
}

static int open_file(const kb_shared_file *file) {
    return file->fd >= 0 ? file->fd : open(file->path, O_RDONLY | O_CLOEXEC);
}

static void close_file(const kb_shared_file *file, int fd) {
    if (fd >= 0 && file->fd < 0)
        close(fd);
}

static ssize_t read_file(int fd, void *to, size_t room, off_t at) {
    ssize_t count;
    do
        count = pread(fd, to, room, at);
    while (count < 0 && errno == EINTR);
    return count;
}

static void close_share(share *s) {
    if (s->files > 0)
        close_file(&s->file[s->now], s->fd);
    kb_release(s->ctx, s->bytes);
}

/* Finds the file of a place before the end. */
static void look_for(share *s, off_t at) {
    size_t k = s->now;
    off_t first = s->first;
    if (at < first) {
        k = 0;
        first = 0;
    }
    while (k + 1 < s->files && at >= first + length_of(&s->file[k]))
        first += length_of(&s->file[k++]);
    if (k != s->now) {
        close_file(&s->file[s->now], s->fd);
        s->fd = -1;
    }
    s->now = k;
    s->first = first;
}

/* 1 to READ_BYTES bytes of one file at `at`, but none from `end` on; 0: there are no more. */
static kb_status read_at(share *s, off_t at, off_t end, size_t *got) {
    *got = 0;
    if (at >= end)
        return KB_OK;
    look_for(s, at);
    const kb_shared_file *file = &s->file[s->now];
    off_t left = s->first + length_of(file) - at;
    left = end - at < left ? end - at : left;
    if (s->fd < 0)
        s->fd = open_file(file);
    ssize_t count = s->fd < 0
                        ? -1
                        : read_file(s->fd, s->bytes, left < READ_BYTES ? (size_t)left : READ_BYTES,
                                    file->begin + at - s->first);
    if (count < 0)
        return kb_fail(s->ctx, KB_ERR_IO, "%s: cannot read: %s", file->path, strerror(errno));
    *got = (size_t)count;
    return KB_OK;
}

/* Whether a file begins there, or all end. */
static int is_border(share *s, off_t at) {
    if (at >= s->size)
        return 1;
    look_for(s, at);
    return at == s->first;
}

/* ---- the lines before -------------------------------------------------- */

/* Line ends are "\n", "\r\n" and "\r". */
size_t kb_share_lines(const kb_shared_file *file, off_t end) {
    char bytes[4096], last = 0;
    size_t lines = 0;
    int fd = open_file(file);
    for (off_t at = 0; at < end;) {
        size_t room = end - at < (off_t)sizeof bytes ? (size_t)(end - at) : sizeof bytes;
        ssize_t got = read_file(fd, bytes, room, at);
        for (ssize_t i = 0; i < got; last = bytes[i++])
            lines += bytes[i] == '\r' || (bytes[i] == '\n' && last != '\r');
        if (got <= 0)
            break;
        at += got;
    }
    close_file(file, fd);
    return lines;
}

kb_status kb_share_body(kb_context *ctx, const kb_shared_file *file, size_t given, off_t *out) {
    kb_status status;
    kb_shared_file all = *file;
    share s = {.ctx = ctx, .file = &all, .files = 1, .size = file->end, .fd = -1};
    size_t got, lines = 0;
    char last = 0;
    all.begin = 0;
    TRY(kb_alloc(ctx, READ_BYTES, 1, &s.bytes));
    TRY(read_at(&s, 0, s.size, &got));
    off_t body = got >= 3 && memcmp(s.bytes, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    for (off_t at = 0; lines < given && got > 0;) {
        for (size_t i = 0; i < got && lines < given; last = s.bytes[i++]) {
            lines += s.bytes[i] == '\r' || (s.bytes[i] == '\n' && last != '\r');
            body = at + (off_t)i + 1;
        }
        at += (off_t)got;
        TRY(read_at(&s, at, s.size, &got));
    }
    /* The second half of a "\r\n". */
    TRY(read_at(&s, body, s.size, &got));
    body += lines > 0 && last == '\r' && got > 0 && s.bytes[0] == '\n';
    *out = body;
done:
    close_share(&s);
    return status;
}

/* ---- the same file ----------------------------------------------------- */

typedef struct view {
    int64_t size;
    uint64_t hash; /* of the first bytes */
} view;

static kb_status look(share *s, view *out) {
    kb_status status;
    size_t got;
    TRY(kb_alloc(s->ctx, READ_BYTES, 1, &s->bytes));
    TRY(read_at(s, 0, s->size, &got));
    *out = (view){.size = s->size, .hash = 0xcbf29ce484222325u};
    for (size_t i = 0; i < got; i++)
        out->hash = (out->hash ^ (unsigned char)s->bytes[i]) * 0x100000001b3u;
done:
    return status;
}

kb_status kb_share_compare(kb_context *ctx, const kb_shared_file *file) {
    kb_status status;
    share s = {.ctx = ctx, .file = file, .files = 1, .size = length_of(file), .fd = -1};
    view mine = {0}, *all = NULL;
    void *gathered = NULL;
    TRY(kb_ranks_agree(ctx, look(&s, &mine)));
    TRY(kb_ranks_gather(ctx, &mine, sizeof mine, &gathered, NULL));
    all = gathered;
    for (int k = 1; k < kb_rank_count(ctx); k++)
        if (all[k].size != all[0].size)
            TRY(kb_fail(ctx, KB_ERR_DATA,
                        "%s: rank %d sees a file of %lld bytes, and rank 0 one of %lld: give all "
                        "ranks the same",
                        file->path, k, (long long)all[k].size, (long long)all[0].size));
        else if (all[k].hash != all[0].hash)
            TRY(kb_fail(ctx, KB_ERR_DATA,
                        "%s: rank %d sees another file of that name than rank 0: give all ranks "
                        "the same",
                        file->path, k));
done:
    close_share(&s);
    kb_release(ctx, gathered);
    return status;
}

/* ---- quotes ------------------------------------------------------------ */

static off_t border(const share *s, int k) {
    double part = (double)s->size / kb_rank_count(s->ctx);
    return k == kb_rank_count(s->ctx) ? s->size : (off_t)(part * k);
}

/* after[b] = the state behind this rank's part, where b is that before it. */
static kb_status pass(share *s, uint8_t after[STATES]) {
    kb_status status = KB_OK;
    off_t at = border(s, kb_rank(s->ctx)), end = border(s, kb_rank(s->ctx) + 1);
    size_t got;
    for (int b = 0; b < STATES; b++)
        after[b] = (uint8_t)b;
    for (; s->delimiter && at < end; at += (off_t)got) {
        uint8_t of[STATES];
        TRY(kb_progress(s->ctx, "read", -1));
        if (is_border(s, at))
            memset(after, KB_FIELD_BEGINS, STATES);
        TRY(read_at(s, at, end, &got));
        if (got == 0)
            break;
        /* Soon only two of them differ: in quotes and not. */
        for (int b = 0; b < STATES; b++) {
            int same = 0;
            while (same < b && after[same] != after[b])
                same++;
            of[b] = same < b ? of[same]
                             : (uint8_t)kb_quotes_after(s->delimiter, after[b], s->bytes, got);
        }
        memcpy(after, of, sizeof of);
    }
done:
    return status;
}

static kb_status find_state(share *s) {
    kb_status status;
    uint8_t after[STATES];
    void *all = NULL;
    TRY(kb_ranks_agree(s->ctx, pass(s, after)));
    TRY(kb_ranks_gather(s->ctx, after, sizeof after, &all, NULL));
    s->before = KB_FIELD_BEGINS;
    for (int k = 0; k < kb_rank(s->ctx); k++)
        s->before = ((uint8_t(*)[STATES])all)[k][s->before];
done:
    kb_release(s->ctx, all);
    return status;
}

/* ---- the share --------------------------------------------------------- */

/* The first place from the border on where a line begins. */
static kb_status find_begin(share *s, off_t *out) {
    kb_status status = KB_OK;
    off_t at = border(s, kb_rank(s->ctx));
    kb_quote_state state = s->before;
    size_t got = 0;
    *out = at;
    if (is_border(s, at))
        return KB_OK;
    TRY(read_at(s, at - 1, at, &got));
    if (got == 1 && s->bytes[0] == '\n' && state != KB_FIELD_QUOTED)
        goto done;
    do {
        TRY(read_at(s, at, s->size, &got));
        if (got == 0)
            break;
        const char *p = s->bytes, *end = s->bytes + got, *newline;
        for (; (newline = memchr(p, '\n', (size_t)(end - p))); p = newline + 1) {
            if (s->delimiter)
                state = kb_quotes_after(s->delimiter, state, p, (size_t)(newline + 1 - p));
            *out = at + (newline + 1 - s->bytes);
            if (state != KB_FIELD_QUOTED)
                goto done;
        }
        if (s->delimiter)
            state = kb_quotes_after(s->delimiter, state, p, (size_t)(end - p));
        at += (off_t)got;
    } while (!is_border(s, at));
    *out = got == 0 ? s->size : at;
done:
    return status;
}

/* The first file that begins at the border or behind it. */
static void find_whole(share *s, off_t *out) {
    off_t at = border(s, kb_rank(s->ctx));
    *out = at;
    if (!is_border(s, at))
        *out = s->first + length_of(&s->file[s->now]);
}

/* A place between two files is the begin of the second, or the end of the first. */
static kb_share_place place_of(share *s, off_t at, int is_end) {
    size_t k = 0;
    for (; k + 1 < s->files; at -= length_of(&s->file[k++]))
        if (at < length_of(&s->file[k]) || (is_end && at == length_of(&s->file[k])))
            break;
    return (kb_share_place){k, s->file[k].begin + at};
}

kb_status kb_share_find(kb_context *ctx, const kb_shared_file *file, size_t files, char delimiter,
                        int whole, kb_share_place *begin, kb_share_place *end) {
    kb_status status;
    share s = {.ctx = ctx, .file = file, .files = files, .delimiter = delimiter, .fd = -1};
    int next = kb_rank(ctx) + 1;
    off_t first = 0;
    int64_t mine;
    void *all = NULL;
    for (size_t k = 0; k < files; k++)
        s.size += length_of(&file[k]);
    TRY(kb_ranks_agree(ctx, kb_alloc(ctx, READ_BYTES, 1, &s.bytes)));
    if (whole)
        find_whole(&s, &first);
    else {
        TRY(find_state(&s));
        TRY(kb_ranks_agree(ctx, find_begin(&s, &first)));
    }
    mine = first;
    TRY(kb_ranks_gather(ctx, &mine, sizeof mine, &all, NULL));
    off_t last = next < kb_rank_count(ctx) ? (off_t)((int64_t *)all)[next] : s.size;
    *begin = place_of(&s, first, first == last);
    *end = place_of(&s, last, 1);
done:
    kb_release(ctx, all);
    close_share(&s);
    return status;
}
