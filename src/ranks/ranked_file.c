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

struct kb_ranked_file {
    kb_context *ctx;
    const char *path;
    kb_outfile *file; /* of rank 0 */
    void *temporary;  /* its name: "" where the output is written in place */
    int fd;           /* where this rank writes without MPI; -1: not open */
};

static kb_status cannot_write(const kb_ranked_file *f) {
    return kb_fail(f->ctx, KB_ERR_IO, "%s: cannot write: %s", f->path, strerror(errno));
}

/* ---- parts ------------------------------------------------------------- */

static kb_status create(kb_context *ctx, const char *path, kb_ranked_file **out) {
    kb_status status;
    kb_ranked_file *f = NULL;
    const char *name = "";
    TRY(kb_ranks_agree(ctx, kb_zalloc(ctx, 1, sizeof *f, &f)));
    f->ctx = ctx;
    f->path = path;
    f->fd = -1;
    TRY(kb_ranks_agree(ctx, kb_rank(ctx) == 0 ? kb_outfile_create(ctx, path, &f->file) : KB_OK));
    if (f->file)
        name = kb_outfile_temporary(f->file);
    TRY(kb_ranks_gather(ctx, name, f->file ? strlen(name) + 1 : 0, &f->temporary, NULL));
    *out = f;
    f = NULL;
done:
    kb_ranked_file_free(f);
    return status;
}

kb_status kb_ranked_file_open(kb_context *ctx, const char *path, kb_ranked_file **out) {
    kb_status status;
    *out = NULL;
    TRY(create(ctx, path, out));
    if (!*(char *)(*out)->temporary)
        TRY(kb_fail(ctx, KB_ERR_IO, "%s: cannot write: it is no regular file", path));
done:
    if (status != KB_OK) {
        kb_ranked_file_free(*out);
        *out = NULL;
    }
    return status;
}

static kb_status put_here(kb_ranked_file *f, const char *bytes, size_t count, size_t at) {
    if (f->fd < 0)
        f->fd = open(f->temporary, O_WRONLY | O_CLOEXEC);
    if (f->fd < 0)
        return cannot_write(f);
    while (count > 0) {
        ssize_t wrote = pwrite(f->fd, bytes, count, (off_t)at);
        if (wrote < 0 && errno != EINTR)
            return cannot_write(f);
        if (wrote > 0)
            bytes += wrote, at += (size_t)wrote, count -= (size_t)wrote;
    }
    return KB_OK;
}

kb_status kb_ranked_file_put(kb_ranked_file *f, const void *bytes, size_t count, size_t at) {
    kb_ranks *ranks = &f->ctx->ranks;
    errno = 0;
    if (!ranks->write)
        return put_here(f, bytes, count, at);
    if (ranks->write(ranks->user, f->temporary, bytes, count, at) == 0)
        return KB_OK;
    errno = errno ? errno : EIO;
    return cannot_write(f);
}

static kb_status sync_here(kb_ranked_file *f) {
    if (f->fd >= 0 && fsync(f->fd) != 0 && errno != EINVAL)
        return cannot_write(f);
    return KB_OK;
}

kb_status kb_ranked_file_commit(kb_ranked_file *f) {
    kb_status status;
    TRY(kb_ranks_agree(f->ctx, sync_here(f)));
    TRY(kb_ranks_agree(f->ctx, f->file ? kb_outfile_commit(f->file) : KB_OK));
done:
    return status;
}

void kb_ranked_file_free(kb_ranked_file *f) {
    if (!f)
        return;
    if (f->fd >= 0)
        close(f->fd);
    kb_outfile_free(f->file);
    kb_release(f->ctx, f->temporary);
    kb_release(f->ctx, f);
}

/* ---- all by rank 0 ----------------------------------------------------- */

typedef struct parts {
    kb_ranked_file *f;
    const char *mine;
    size_t bytes, before, *end; /* where the part of each rank ends */
} parts;

/* The part of rank k, some bytes at a time. */
static kb_status give(const parts *p, int k, size_t *to_bytes) {
    kb_status status = KB_OK;
    kb_context *ctx = p->f->ctx;
    size_t begin = k > 0 ? p->end[k - 1] : 0;
    for (size_t at = begin; at < p->end[k]; at += GIVEN_AT_ONCE) {
        void *from = NULL;
        size_t *end = NULL, left = p->end[k] - at;
        to_bytes[0] = kb_rank(ctx) != k ? 0 : left < GIVEN_AT_ONCE ? left : GIVEN_AT_ONCE;
        status = kb_ranks_exchange(ctx, p->mine + (kb_rank(ctx) == k ? at - begin : 0), to_bytes,
                                   &from, &end);
        if (status == KB_OK && p->f->file)
            status = kb_outfile_write(p->f->file, from, end[k]);
        kb_release(ctx, from);
        kb_release(ctx, end);
        TRY(kb_ranks_agree(ctx, status));
    }
done:
    return status;
}

static kb_status write_by_first(const parts *p) {
    kb_status status;
    kb_context *ctx = p->f->ctx;
    size_t *to_bytes = NULL;
    TRY(kb_ranks_agree(ctx,
                       kb_zalloc(ctx, (size_t)kb_rank_count(ctx), sizeof *to_bytes, &to_bytes)));
    if (p->f->file)
        status = kb_outfile_write(p->f->file, p->mine, p->bytes);
    TRY(kb_ranks_agree(ctx, status));
    for (int k = 1; k < kb_rank_count(ctx); k++)
        TRY(give(p, k, to_bytes));
done:
    kb_release(ctx, to_bytes);
    return status;
}

static kb_status place(kb_context *ctx, parts *p) {
    kb_status status;
    size_t all;
    void *each = NULL;
    TRY(kb_ranks_place(ctx, p->bytes, &p->before, &all));
    all = p->before + p->bytes;
    TRY(kb_ranks_gather(ctx, &all, sizeof all, &each, NULL));
    p->end = each;
done:
    return status;
}

kb_status kb_ranked_file_write(kb_context *ctx, const char *path, const void *mine, size_t bytes) {
    kb_status status;
    parts p = {.mine = mine, .bytes = bytes};
    TRY(create(ctx, path, &p.f));
    TRY(place(ctx, &p));
    if (*(char *)p.f->temporary)
        TRY(kb_ranks_agree(ctx, kb_ranked_file_put(p.f, mine, bytes, p.before)));
    else
        TRY(write_by_first(&p));
    TRY(kb_ranked_file_commit(p.f));
done:
    kb_ranked_file_free(p.f);
    kb_release(ctx, p.end);
    return status;
}
