/* ranked_file.c - see ranked_file.h. */
#define _POSIX_C_SOURCE 200809L
#include "ranks/ranked_file.h"
#include "core/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Bytes that go to rank 0 at a time. */
enum { GIVEN_AT_ONCE = 1 << 24 };

typedef struct parts {
    kb_context *ctx;
    const char *path;
    kb_outfile *file; /* of rank 0 */
    const char *mine;
    size_t bytes, before, *end; /* where the part of each rank ends */
} parts;

static kb_status cannot_write(const parts *p) {
    return kb_fail(p->ctx, KB_ERR_IO, "%s: cannot write: %s", p->path, strerror(errno));
}

/* ---- each to its place ------------------------------------------------- */

static kb_status write_here(const parts *p, const char *temporary) {
    kb_status status = KB_OK;
    int fd = open(temporary, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return cannot_write(p);
    for (size_t at = 0; at < p->bytes;) {
        ssize_t wrote = pwrite(fd, p->mine + at, p->bytes - at, (off_t)(p->before + at));
        if (wrote < 0 && errno != EINTR)
            TRY(cannot_write(p));
        at += wrote > 0 ? (size_t)wrote : 0;
    }
    if (fsync(fd) != 0 && errno != EINVAL)
        TRY(cannot_write(p));
done:
    if (close(fd) != 0 && status == KB_OK)
        status = cannot_write(p);
    return status;
}

static kb_status write_parts(const parts *p, const char *temporary) {
    kb_ranks *ranks = &p->ctx->ranks;
    errno = 0;
    if (!ranks->write)
        return write_here(p, temporary);
    if (ranks->write(ranks->user, temporary, p->mine, p->bytes, p->before) == 0)
        return KB_OK;
    errno = errno ? errno : EIO;
    return cannot_write(p);
}

/* ---- all by rank 0 ----------------------------------------------------- */

/* The part of rank k, some bytes at a time. */
static kb_status give(const parts *p, int k, size_t *to_bytes) {
    kb_status status = KB_OK;
    size_t begin = k > 0 ? p->end[k - 1] : 0;
    for (size_t at = begin; at < p->end[k]; at += GIVEN_AT_ONCE) {
        void *from = NULL;
        size_t *end = NULL, left = p->end[k] - at;
        to_bytes[0] = kb_rank(p->ctx) != k ? 0 : left < GIVEN_AT_ONCE ? left : GIVEN_AT_ONCE;
        status = kb_ranks_exchange(p->ctx, p->mine + (kb_rank(p->ctx) == k ? at - begin : 0),
                                   to_bytes, &from, &end);
        if (status == KB_OK && p->file)
            status = kb_outfile_write(p->file, from, end[k]);
        kb_release(p->ctx, from);
        kb_release(p->ctx, end);
        TRY(kb_ranks_agree(p->ctx, status));
    }
done:
    return status;
}

static kb_status write_by_first(const parts *p) {
    kb_status status;
    size_t *to_bytes = NULL;
    TRY(kb_ranks_agree(
        p->ctx, kb_zalloc(p->ctx, (size_t)kb_rank_count(p->ctx), sizeof *to_bytes, &to_bytes)));
    if (p->file)
        status = kb_outfile_write(p->file, p->mine, p->bytes);
    TRY(kb_ranks_agree(p->ctx, status));
    for (int k = 1; k < kb_rank_count(p->ctx); k++)
        TRY(give(p, k, to_bytes));
done:
    kb_release(p->ctx, to_bytes);
    return status;
}

/* ---- the file ---------------------------------------------------------- */

static kb_status place(parts *p) {
    kb_status status;
    size_t all;
    void *each = NULL;
    TRY(kb_ranks_place(p->ctx, p->bytes, &p->before, &all));
    all = p->before + p->bytes;
    TRY(kb_ranks_gather(p->ctx, &all, sizeof all, &each, NULL));
    p->end = each;
done:
    return status;
}

kb_status kb_ranked_file_write(kb_context *ctx, const char *path, const void *mine, size_t bytes) {
    kb_status status = KB_OK;
    parts p = {.ctx = ctx, .path = path, .mine = mine, .bytes = bytes};
    const char *temporary = "";
    void *name = NULL;
    if (kb_rank(ctx) == 0)
        status = kb_outfile_create(ctx, path, &p.file);
    TRY(kb_ranks_agree(ctx, status));
    if (p.file)
        temporary = kb_outfile_temporary(p.file);
    TRY(kb_ranks_gather(ctx, temporary, kb_rank(ctx) == 0 ? strlen(temporary) + 1 : 0, &name,
                        NULL));
    TRY(place(&p));
    if (*(char *)name)
        TRY(kb_ranks_agree(ctx, write_parts(&p, name)));
    else
        TRY(write_by_first(&p));
    TRY(kb_ranks_agree(ctx, p.file ? kb_outfile_commit(p.file) : KB_OK));
done:
    kb_outfile_free(p.file);
    kb_release(ctx, name);
    kb_release(ctx, p.end);
    return status;
}
