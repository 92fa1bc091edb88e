/* share.c - see share.h. */
#define _POSIX_C_SOURCE 200809L
#include "io/share.h"
#include "io/quotes.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum { READ_BYTES = 1 << 18, STATES = KB_FIELD_AT_QUOTE + 1 };

typedef struct share {
    kb_context *ctx;
    const kb_shared_file *file;
    char *bytes;           /* READ_BYTES */
    off_t body;            /* where the lines begin that are shared */
    kb_quote_state before; /* this rank's part */
} share;

/* 1 to READ_BYTES bytes at `at`, but none from `end` on; 0: there are no more. */
static kb_status read_at(share *s, off_t at, off_t end, size_t *got) {
    size_t room = end - at < READ_BYTES ? (size_t)(end > at ? end - at : 0) : READ_BYTES;
    ssize_t count;
    do
        count = pread(s->file->fd, s->bytes, room, at);
    while (count < 0 && errno == EINTR);
    *got = count > 0 ? (size_t)count : 0;
    return count >= 0
               ? KB_OK
               : kb_fail(s->ctx, KB_ERR_IO, "%s: cannot read: %s", s->file->name, strerror(errno));
}

/* ---- the lines before -------------------------------------------------- */

/* Line ends are "\n", "\r\n" and "\r". */
size_t kb_share_lines(int fd, off_t end) {
    char bytes[4096], last = 0;
    size_t lines = 0;
    for (off_t at = 0; at < end;) {
        size_t room = end - at < (off_t)sizeof bytes ? (size_t)(end - at) : sizeof bytes;
        ssize_t got = pread(fd, bytes, room, at);
        for (ssize_t i = 0; i < got; last = bytes[i++])
            lines += bytes[i] == '\r' || (bytes[i] == '\n' && last != '\r');
        if (got <= 0)
            break;
        at += got;
    }
    return lines;
}

/* Where the lines begin that are left, behind a byte order mark. */
static kb_status find_body(share *s) {
    kb_status status;
    size_t got, lines = 0;
    char last = 0;
    TRY(read_at(s, 0, s->file->size, &got));
    s->body = got >= 3 && memcmp(s->bytes, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    for (off_t at = 0; lines < s->file->given && got > 0;) {
        for (size_t i = 0; i < got && lines < s->file->given; last = s->bytes[i++]) {
            lines += s->bytes[i] == '\r' || (s->bytes[i] == '\n' && last != '\r');
            s->body = at + (off_t)i + 1;
        }
        at += (off_t)got;
        TRY(read_at(s, at, s->file->size, &got));
    }
    /* The second half of a "\r\n". */
    TRY(read_at(s, s->body, s->file->size, &got));
    s->body += lines > 0 && last == '\r' && got > 0 && s->bytes[0] == '\n';
done:
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
    TRY(read_at(s, 0, s->file->size, &got));
    *out = (view){.size = s->file->size, .hash = 0xcbf29ce484222325u};
    for (size_t i = 0; i < got; i++)
        out->hash = (out->hash ^ (unsigned char)s->bytes[i]) * 0x100000001b3u;
done:
    return status;
}

kb_status kb_share_compare(kb_context *ctx, const kb_shared_file *file) {
    kb_status status;
    share s = {.ctx = ctx, .file = file};
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
                        file->name, k, (long long)all[k].size, (long long)all[0].size));
        else if (all[k].hash != all[0].hash)
            TRY(kb_fail(ctx, KB_ERR_DATA,
                        "%s: rank %d sees another file of that name than rank 0: give all ranks "
                        "the same",
                        file->name, k));
done:
    kb_release(ctx, s.bytes);
    kb_release(ctx, gathered);
    return status;
}

/* ---- quotes ------------------------------------------------------------ */

static off_t border(const share *s, int k) {
    double part = (double)(s->file->size - s->body) / kb_rank_count(s->ctx);
    return k == kb_rank_count(s->ctx) ? s->file->size : s->body + (off_t)(part * k);
}

/* after[b] = the state behind this rank's part, where b is that before it. */
static kb_status pass(share *s, uint8_t after[STATES]) {
    kb_status status = KB_OK;
    off_t at = border(s, kb_rank(s->ctx)), end = border(s, kb_rank(s->ctx) + 1);
    size_t got;
    for (int b = 0; b < STATES; b++)
        after[b] = (uint8_t)b;
    for (; s->file->delimiter && at < end; at += (off_t)got) {
        uint8_t of[STATES];
        TRY(kb_progress(s->ctx, "read", -1));
        TRY(read_at(s, at, end, &got));
        if (got == 0)
            break;
        /* Soon only two of them differ: in quotes and not. */
        for (int b = 0; b < STATES; b++) {
            int same = 0;
            while (same < b && after[same] != after[b])
                same++;
            of[b] = same < b
                        ? of[same]
                        : (uint8_t)kb_quotes_after(s->file->delimiter, after[b], s->bytes, got);
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
    off_t at = border(s, kb_rank(s->ctx)), size = s->file->size;
    kb_quote_state state = s->before;
    size_t got = 0;
    *out = at;
    if (at == s->body)
        return KB_OK;
    TRY(read_at(s, at - 1, at, &got));
    if (got == 1 && s->bytes[0] == '\n' && state != KB_FIELD_QUOTED)
        goto done;
    for (; at < size; at += (off_t)got) {
        TRY(read_at(s, at, size, &got));
        if (got == 0)
            break;
        const char *p = s->bytes, *end = s->bytes + got, *newline;
        for (; (newline = memchr(p, '\n', (size_t)(end - p))); p = newline + 1) {
            if (s->file->delimiter)
                state = kb_quotes_after(s->file->delimiter, state, p, (size_t)(newline + 1 - p));
            *out = at + (newline + 1 - s->bytes);
            if (state != KB_FIELD_QUOTED)
                goto done;
        }
        if (s->file->delimiter)
            state = kb_quotes_after(s->file->delimiter, state, p, (size_t)(end - p));
    }
    *out = size;
done:
    return status;
}

kb_status kb_share_find(kb_context *ctx, const kb_shared_file *file, off_t *begin, off_t *end) {
    kb_status status;
    share s = {.ctx = ctx, .file = file};
    int next = kb_rank(ctx) + 1;
    int64_t mine;
    void *all = NULL;
    status = kb_alloc(ctx, READ_BYTES, 1, &s.bytes);
    TRY(kb_ranks_agree(ctx, status == KB_OK ? find_body(&s) : status));
    TRY(find_state(&s));
    TRY(kb_ranks_agree(ctx, find_begin(&s, begin)));
    mine = *begin;
    TRY(kb_ranks_gather(ctx, &mine, sizeof mine, &all, NULL));
    *end = next < kb_rank_count(ctx) ? (off_t)((int64_t *)all)[next] : file->size;
done:
    kb_release(ctx, all);
    kb_release(ctx, s.bytes);
    return status;
}
