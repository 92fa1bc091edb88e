/*
 * checkpoint.c - see checkpoint.h.
 *
 * The file: a head, the whole arrays one after the other, then the parts of each row.  In the byte
 * order of the machine: it is read where it was written.
 */
#define _POSIX_C_SOURCE 200809L
#include "ranks/checkpoint.h"
#include "core/memory.h"
#include "core/strings.h"
#include "ranks/ranked_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { ROWS_AT_ONCE = 1 << 14 };

typedef struct head {
    char magic[16];
    uint64_t run, stage; /* the first solve, and the number of this one */
    uint64_t problem, rows, row_bytes, whole_bytes;
    uint64_t sum; /* of all that follows */
} head;

static const char MAGIC[16] = "kerbin state 2";

/* splitmix64 (Steele, Lea and Flood, OOPSLA 2014). */
static uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

uint64_t kb_checkpoint_hash(uint64_t h, const void *bytes, size_t count) {
    const unsigned char *p = bytes;
    for (uint64_t word; count > 0;) {
        size_t size = count < sizeof word ? count : sizeof word;
        word = 0;
        memcpy(&word, p, size);
        h = mix(h ^ word);
        p += size;
        count -= size;
    }
    return h;
}

/* The rows are added up, so that their order does not matter. */
kb_status kb_checkpoint_hash_rows(kb_context *ctx, size_t N, size_t count,
                                  const kb_checkpoint_part *part, uint64_t *out) {
    kb_status status;
    size_t first, rows;
    uint64_t sum = 0;
    TRY(kb_ranks_place(ctx, N, &first, &rows));
    for (size_t i = 0; i < N; i++) {
        uint64_t h = mix(first + i);
        for (size_t k = 0; k < count; k++)
            h = kb_checkpoint_hash(h, (const char *)part[k].at + i * part[k].bytes, part[k].bytes);
        sum += h;
    }
    int64_t all = (int64_t)sum;
    TRY(kb_ranks_sum(ctx, &all, 1));
    *out = mix((uint64_t)all ^ rows);
done:
    return status;
}

/* ---- the parts --------------------------------------------------------- */

static void add(kb_checkpoint_part *part, size_t *count, void *at, size_t bytes) {
    assert(*count < KB_CHECKPOINT_PARTS);
    if (at && bytes > 0)
        part[(*count)++] = (kb_checkpoint_part){at, bytes};
}

void kb_checkpoint_row(kb_checkpoint *c, void *at, size_t bytes) {
    add(c->row, &c->rows, at, bytes);
}

void kb_checkpoint_whole(kb_checkpoint *c, void *at, size_t bytes) {
    add(c->whole, &c->wholes, at, bytes);
}

static size_t bytes_of(const kb_checkpoint_part *part, size_t count) {
    size_t sum = 0;
    for (size_t k = 0; k < count; k++)
        sum += part[k].bytes;
    return sum;
}

/* Rows as they stand in the file, or back. */
static void move_rows(const kb_checkpoint *c, size_t begin, size_t count, char *text, int back) {
    for (size_t i = begin; i < begin + count; i++)
        for (size_t k = 0; k < c->rows; text += c->row[k++].bytes) {
            char *at = (char *)c->row[k].at + i * c->row[k].bytes;
            memcpy(back ? at : text, back ? text : at, c->row[k].bytes);
        }
}

/* Tells whether a file is what was written. */
static kb_status sum_up(kb_context *ctx, const kb_checkpoint *c, uint64_t *out) {
    uint64_t whole = 0;
    kb_status status = kb_checkpoint_hash_rows(ctx, c->N, c->rows, c->row, out);
    for (size_t k = 0; k < c->wholes; k++)
        whole = kb_checkpoint_hash(whole, c->whole[k].at, c->whole[k].bytes);
    *out += whole;
    return status;
}

static head head_of(const kb_context *ctx, const kb_checkpoint *c, size_t rows) {
    head h = {.run = ctx->checkpoint_run,
              .stage = c->stage,
              .problem = c->problem,
              .rows = rows,
              .row_bytes = bytes_of(c->row, c->rows),
              .whole_bytes = bytes_of(c->whole, c->wholes)};
    memcpy(h.magic, MAGIC, sizeof MAGIC);
    return h;
}

/* ---- writing ----------------------------------------------------------- */

static kb_status put_rows(kb_context *ctx, const kb_checkpoint *c, const head *h,
                          kb_ranked_file *file, size_t first) {
    kb_status status;
    size_t each = h->row_bytes, begin = sizeof *h + h->whole_bytes;
    char *text = NULL;
    TRY(kb_alloc(ctx, ROWS_AT_ONCE, each, &text));
    for (size_t i = 0; i < c->N; i += ROWS_AT_ONCE) {
        size_t count = c->N - i < ROWS_AT_ONCE ? c->N - i : ROWS_AT_ONCE;
        move_rows(c, i, count, text, 0);
        TRY(kb_ranked_file_put(file, text, count * each, begin + (first + i) * each));
    }
done:
    kb_release(ctx, text);
    return status;
}

static kb_status put_whole(const kb_checkpoint *c, const head *h, kb_ranked_file *file) {
    kb_status status;
    size_t at = sizeof *h;
    TRY(kb_ranked_file_put(file, h, sizeof *h, 0));
    for (size_t k = 0; k < c->wholes; at += c->whole[k++].bytes)
        TRY(kb_ranked_file_put(file, c->whole[k].at, c->whole[k].bytes, at));
done:
    return status;
}

static kb_status save(kb_context *ctx, const kb_checkpoint *c) {
    kb_status status;
    kb_ranked_file *file = NULL;
    size_t first, rows;
    TRY(kb_ranks_place(ctx, c->N, &first, &rows));
    head h = head_of(ctx, c, rows);
    TRY(sum_up(ctx, c, &h.sum));
    TRY(kb_ranked_file_open(ctx, ctx->checkpoint, &file));
    status = kb_rank(ctx) == 0 ? put_whole(c, &h, file) : KB_OK;
    TRY(kb_ranks_agree(ctx, status != KB_OK ? status : put_rows(ctx, c, &h, file, first)));
    TRY(kb_ranked_file_commit(file));
done:
    kb_ranked_file_free(file);
    return status;
}

kb_status kb_checkpoint_save(kb_context *ctx, kb_checkpoint *c) {
    kb_status status = KB_OK;
    int due;
    if (c->problem == 0 || c->waits)
        return KB_OK;
    due = kb_seconds() - c->written >= ctx->checkpoint_every;
    TRY(kb_ranks_any(ctx, &due)); /* one clock may be ahead */
    if (!due)
        goto done;
    TRY(save(ctx, c));
    c->written = kb_seconds();
done:
    return status;
}

/* ---- reading ----------------------------------------------------------- */

static kb_status get(kb_context *ctx, int fd, void *to, size_t count, size_t at) {
    for (char *p = to; count > 0;) {
        ssize_t got = pread(fd, p, count, (off_t)at);
        if (got == 0 || (got < 0 && errno != EINTR))
            return kb_fail(ctx, KB_ERR_IO, "%s: cannot read: %s", ctx->checkpoint,
                           got == 0 ? "the file ends early" : strerror(errno));
        if (got > 0)
            p += got, at += (size_t)got, count -= (size_t)got;
    }
    return KB_OK;
}

static kb_status get_state(kb_context *ctx, int fd, const kb_checkpoint *c, const head *h,
                           size_t first) {
    kb_status status;
    size_t at = sizeof *h, each = h->row_bytes;
    char *text = NULL;
    for (size_t k = 0; k < c->wholes; at += c->whole[k++].bytes)
        TRY(get(ctx, fd, c->whole[k].at, c->whole[k].bytes, at));
    TRY(kb_alloc(ctx, ROWS_AT_ONCE, each, &text));
    for (size_t i = 0; i < c->N; i += ROWS_AT_ONCE) {
        size_t count = c->N - i < ROWS_AT_ONCE ? c->N - i : ROWS_AT_ONCE;
        TRY(get(ctx, fd, text, count * each, at + (first + i) * each));
        move_rows(c, i, count, text, 1);
    }
done:
    kb_release(ctx, text);
    return status;
}

/* *fd: the file, where it is of this problem; else -1. */
static kb_status look(kb_context *ctx, kb_checkpoint *c, size_t rows, head *h, int *fd) {
    kb_status status = KB_OK;
    head mine = head_of(ctx, c, rows);
    *fd = open(ctx->checkpoint, O_RDONLY | O_CLOEXEC);
    if (*fd < 0 && errno == ENOENT)
        return KB_OK;
    if (*fd < 0)
        return kb_fail(ctx, KB_ERR_IO, "%s: cannot open: %s", ctx->checkpoint, strerror(errno));
    ssize_t got = pread(*fd, h, sizeof *h, 0);
    if (got >= (ssize_t)sizeof h->magic && memcmp(h->magic, MAGIC, sizeof MAGIC) != 0)
        TRY(kb_fail(ctx, KB_ERR_DATA, "%s: is no checkpoint of kerbin: give another file",
                    ctx->checkpoint));
    mine.sum = h->sum;
    if (got == (ssize_t)sizeof *h && memcmp(&mine, h, sizeof mine) == 0)
        return KB_OK;
    c->waits = got == (ssize_t)sizeof *h && h->run == mine.run && h->stage > mine.stage;
done:
    close(*fd);
    *fd = -1;
    return status;
}

kb_status kb_checkpoint_refuse(kb_context *ctx) {
    return kb_fail(ctx, KB_ERR_DATA, "%s: the checkpoint is damaged: remove it", ctx->checkpoint);
}

kb_status kb_checkpoint_resume(kb_context *ctx, kb_checkpoint *c, uint64_t problem, int *found) {
    kb_status status;
    head h = {.problem = 0};
    size_t first, rows;
    uint64_t sum;
    int fd = -1, none;
    *found = 0;
    c->written = kb_seconds();
    c->problem = kb_wants_checkpoint(ctx) ? problem ? problem : 1 : 0;
    if (c->problem == 0)
        return KB_OK;
    c->stage = ++ctx->checkpoint_stage;
    if (c->stage == 1)
        ctx->checkpoint_run = c->problem;
    TRY(kb_ranks_place(ctx, c->N, &first, &rows));
    TRY(kb_ranks_agree(ctx, look(ctx, c, rows, &h, &fd)));
    none = fd < 0;
    TRY(kb_ranks_any(ctx, &none)); /* all ranks must see it */
    TRY(kb_ranks_any(ctx, &c->waits));
    if (none)
        goto done;
    TRY(kb_ranks_agree(ctx, get_state(ctx, fd, c, &h, first)));
    TRY(sum_up(ctx, c, &sum));
    if (sum != h.sum)
        TRY(kb_checkpoint_refuse(ctx));
    *found = 1;
done:
    if (fd >= 0)
        close(fd);
    return status;
}

/* ---- the file ---------------------------------------------------------- */

/* One that is there must be a checkpoint: it will be replaced. */
static kb_status check_file(kb_context *ctx, const char *path) {
    char magic[sizeof MAGIC] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return KB_OK;
    ssize_t got = read(fd, magic, sizeof magic);
    close(fd);
    if (got == (ssize_t)sizeof magic && memcmp(magic, MAGIC, sizeof magic) == 0)
        return KB_OK;
    return kb_fail(ctx, KB_ERR_DATA, "%s: is no checkpoint of kerbin: give another file", path);
}

kb_status kb_context_set_checkpoint(kb_context *ctx, const char *path, double seconds) {
    kb_status status = KB_OK;
    char *copy = NULL;
    if (!(seconds >= 0))
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT, "%g seconds between checkpoints", seconds));
    if (path)
        TRY(check_file(ctx, path));
    if (path)
        TRY(kb_strdup(ctx, path, &copy));
    kb_release(ctx, ctx->checkpoint);
    ctx->checkpoint = copy;
    ctx->checkpoint_every = seconds;
    ctx->checkpoint_stage = 0;
    ctx->checkpoint_run = 0;
done:
    return status;
}
