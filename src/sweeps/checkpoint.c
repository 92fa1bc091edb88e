/*
 * checkpoint.c - see checkpoint.h.
 *
 * The file: a head; for each bin the weights and their last move, and those that were kept; for
 * each row the residuals, the last move and the residuals that were kept.  In the byte order of the
 * machine: it is read where it was written.
 */
#define _POSIX_C_SOURCE 200809L
#include "sweeps/checkpoint.h"
#include "ranks/ranked_file.h"
#include "sweeps/sweep_cpu.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { ROWS_AT_ONCE = 1 << 14 };

typedef struct head {
    char magic[16];
    uint64_t problem, rows, bins;
    uint64_t sweeps, kept, columns;
    int64_t backward, finished, converged;
    double b[KB_PANEL], kept_b[KB_PANEL];
    double start[KB_PANEL], residual[KB_PANEL];
    double watch[4];
    uint64_t sum; /* of all that follows */
} head;

static const char MAGIC[16] = "kerbin sweeps 1";

/* splitmix64 (Steele, Lea and Flood, OOPSLA 2014). */
static uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint64_t hash_bytes(uint64_t h, const void *bytes, size_t count) {
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

/* ---- the problem ------------------------------------------------------- */

/* The sum over all rows of a number for each, in any order. */
static uint64_t hash_rows(const kb_sweep_state *s, size_t first) {
    uint64_t sum = 0;
    for (size_t i = 0; i < s->N; i++) {
        uint64_t h = mix(first + i);
        h = hash_bytes(h, s->r + i * s->P, s->P * sizeof *s->r);
        if (s->share)
            h = hash_bytes(h, s->share + i, sizeof *s->share);
        sum += h;
    }
    return sum;
}

static kb_status find_problem(kb_context *ctx, const kb_sweep_state *s, uint64_t *out) {
    kb_status status;
    const kb_sweeps *p = s->p;
    size_t first, rows;
    double numbers[] = {s->Lambda,    p->tol,  (double)p->max_sweeps, (double)p->C,
                        p->intercept, p->warm, p->watch != NULL};
    TRY(kb_ranks_place(ctx, s->N, &first, &rows));
    int64_t sum = (int64_t)hash_rows(s, first);
    TRY(kb_ranks_sum(ctx, &sum, 1));
    uint64_t h = hash_bytes(rows ^ (uint64_t)s->D << 32, numbers, sizeof numbers);
    h = hash_bytes(h, s->unit, p->C * sizeof *s->unit);
    h = hash_bytes(h, kb_sweep_cpu_of(s)->n, s->D * sizeof *kb_sweep_cpu_of(s)->n);
    h = hash_bytes(h, s->u, s->D * s->P * sizeof *s->u);
    h = mix(h ^ (uint64_t)sum);
    *out = h ? h : 1;
done:
    return status;
}

/* ---- layout ------------------------------------------------------------ */

static size_t bytes_of_row(const kb_sweep_state *s) {
    const kb_sweep_cpu *own = kb_sweep_cpu_of(s);
    return (own->kept_r ? 3 : 2) * s->P * sizeof *s->r;
}

static size_t bytes_of_bins(const kb_sweep_state *s) {
    const kb_sweep_cpu *own = kb_sweep_cpu_of(s);
    size_t each = sizeof *s->u + sizeof *own->u_last + (own->kept_u ? sizeof *own->kept_u : 0);
    return s->D * s->P * each;
}

/* Rows as they stand in the file, or back. */
static void pack_rows(const kb_sweep_state *s, size_t begin, size_t count, char *to) {
    const kb_sweep_cpu *own = kb_sweep_cpu_of(s);
    size_t size = s->P * sizeof *s->r;
    for (size_t i = begin; i < begin + count; i++, to += bytes_of_row(s)) {
        memcpy(to, s->r + i * s->P, size);
        memcpy(to + size, own->last + i * s->P, size);
        if (own->kept_r)
            memcpy(to + 2 * size, own->kept_r + i * s->P, size);
    }
}

static void unpack_rows(kb_sweep_state *s, size_t begin, size_t count, const char *from) {
    kb_sweep_cpu *own = kb_sweep_cpu_of(s);
    size_t size = s->P * sizeof *s->r;
    for (size_t i = begin; i < begin + count; i++, from += bytes_of_row(s)) {
        memcpy(s->r + i * s->P, from, size);
        memcpy(own->last + i * s->P, from + size, size);
        if (own->kept_r)
            memcpy(own->kept_r + i * s->P, from + 2 * size, size);
    }
}

/* The arrays of the bins, and their bytes. */
typedef struct part {
    void *at;
    size_t bytes;
} part;

static size_t bin_parts(const kb_sweep_state *s, part *out) {
    kb_sweep_cpu *own = kb_sweep_cpu_of(s);
    size_t bins = s->D * s->P, count = 0;
    out[count++] = (part){s->u, bins * sizeof *s->u};
    out[count++] = (part){own->u_last, bins * sizeof *own->u_last};
    if (own->kept_u)
        out[count++] = (part){own->kept_u, bins * sizeof *own->kept_u};
    return count;
}

/* A sum over rows and bins that tells whether a file is what was written; the rows in any order. */
static kb_status sum_up(kb_context *ctx, const kb_sweep_state *s, uint64_t *out) {
    const kb_sweep_cpu *own = kb_sweep_cpu_of(s);
    kb_status status;
    size_t first, rows, size = s->P * sizeof *s->r;
    part parts[3];
    uint64_t sum = 0, bins = 0;
    TRY(kb_ranks_place(ctx, s->N, &first, &rows));
    for (size_t i = 0; i < s->N; i++) {
        uint64_t h = hash_bytes(mix(first + i), s->r + i * s->P, size);
        h = hash_bytes(h, own->last + i * s->P, size);
        sum += own->kept_r ? hash_bytes(h, own->kept_r + i * s->P, size) : h;
    }
    int64_t all = (int64_t)sum;
    TRY(kb_ranks_sum(ctx, &all, 1));
    for (size_t k = 0, count = bin_parts(s, parts); k < count; k++)
        bins = hash_bytes(bins, parts[k].at, parts[k].bytes);
    *out = (uint64_t)all + bins;
done:
    return status;
}

/* ---- writing ----------------------------------------------------------- */

static head head_of(const kb_sweep_state *s, uint64_t problem, size_t rows, int finished) {
    const kb_sweeps *p = s->p;
    head h = {.problem = problem,
              .rows = rows,
              .bins = s->D,
              .sweeps = p->sweeps,
              .kept = s->kept,
              .columns = s->P,
              .backward = s->backward,
              .finished = finished,
              .converged = p->converged};
    memcpy(h.magic, MAGIC, sizeof MAGIC);
    memcpy(h.b, p->b, p->C * sizeof *h.b);
    memcpy(h.kept_b, s->kept_b, sizeof h.kept_b);
    memcpy(h.start, s->start, sizeof h.start);
    memcpy(h.residual, s->residual, sizeof h.residual);
    if (p->watch)
        memcpy(h.watch, p->watch->state, p->watch->state_bytes);
    return h;
}

static kb_status put_rows(kb_context *ctx, const kb_sweep_state *s, kb_ranked_file *file,
                          size_t first) {
    kb_status status;
    size_t each = bytes_of_row(s), begin = sizeof(head) + bytes_of_bins(s);
    char *text = NULL;
    TRY(kb_alloc(ctx, ROWS_AT_ONCE, each, &text));
    for (size_t i = 0; i < s->N; i += ROWS_AT_ONCE) {
        size_t count = s->N - i < ROWS_AT_ONCE ? s->N - i : ROWS_AT_ONCE;
        pack_rows(s, i, count, text);
        TRY(kb_ranked_file_put(file, text, count * each, begin + (first + i) * each));
    }
done:
    kb_release(ctx, text);
    return status;
}

static kb_status put_bins(const kb_sweep_state *s, kb_ranked_file *file, const head *h) {
    kb_status status;
    part parts[3];
    size_t at = sizeof *h;
    TRY(kb_ranked_file_put(file, h, sizeof *h, 0));
    for (size_t k = 0, count = bin_parts(s, parts); k < count; at += parts[k++].bytes)
        TRY(kb_ranked_file_put(file, parts[k].at, parts[k].bytes, at));
done:
    return status;
}

static kb_status save(kb_context *ctx, const kb_sweep_state *s, uint64_t problem, int finished) {
    kb_status status;
    kb_ranked_file *file = NULL;
    size_t first, rows;
    TRY(kb_ranks_place(ctx, s->N, &first, &rows));
    head h = head_of(s, problem, rows, finished);
    TRY(sum_up(ctx, s, &h.sum));
    TRY(kb_ranked_file_open(ctx, ctx->checkpoint, &file));
    status = kb_rank(ctx) == 0 ? put_bins(s, file, &h) : KB_OK;
    TRY(kb_ranks_agree(ctx, status != KB_OK ? status : put_rows(ctx, s, file, first)));
    TRY(kb_ranked_file_commit(file));
done:
    kb_ranked_file_free(file);
    return status;
}

kb_status kb_sweep_save(kb_context *ctx, const kb_sweep_state *s, kb_sweep_saver *saver,
                        int finished) {
    kb_status status = KB_OK;
    int due;
    if (saver->problem == 0 || s->p->too_wide)
        return KB_OK;
    due = kb_seconds() - saver->written >= ctx->checkpoint_every;
    TRY(kb_ranks_any(ctx, &due)); /* one clock may be ahead */
    if (!due)
        goto done;
    TRY(save(ctx, s, saver->problem, finished));
    saver->written = kb_seconds();
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

static kb_status get_state(kb_context *ctx, int fd, kb_sweep_state *s, const head *h,
                           size_t first) {
    kb_sweep_cpu *own = kb_sweep_cpu_of(s);
    kb_status status;
    kb_sweeps *p = s->p;
    part parts[3];
    size_t at = sizeof *h, each = bytes_of_row(s);
    char *text = NULL;
    for (size_t k = 0, count = bin_parts(s, parts); k < count; at += parts[k++].bytes)
        TRY(get(ctx, fd, parts[k].at, parts[k].bytes, at));
    TRY(kb_alloc(ctx, ROWS_AT_ONCE, each, &text));
    for (size_t i = 0; i < s->N; i += ROWS_AT_ONCE) {
        size_t count = s->N - i < ROWS_AT_ONCE ? s->N - i : ROWS_AT_ONCE;
        TRY(get(ctx, fd, text, count * each, at + (first + i) * each));
        unpack_rows(s, i, count, text);
    }
    memcpy(own->before, s->r, s->N * s->P * sizeof *s->r);
    kb_sweep_weigh(s, 0, s->N);
    p->sweeps = h->sweeps;
    p->converged = (int)h->converged;
    s->kept = h->kept;
    s->backward = (int)h->backward;
    memcpy(p->b, h->b, p->C * sizeof *h->b);
    memcpy(s->kept_b, h->kept_b, sizeof h->kept_b);
    memcpy(s->start, h->start, sizeof h->start);
    memcpy(s->residual, h->residual, sizeof h->residual);
    if (p->watch)
        memcpy(p->watch->state, h->watch, p->watch->state_bytes);
done:
    kb_release(ctx, text);
    return status;
}

/* *fd: the file, where it is of this problem; else -1. */
static kb_status look(kb_context *ctx, const kb_sweep_state *s, uint64_t problem, size_t rows,
                      head *h, int *fd) {
    kb_status status = KB_OK;
    *fd = open(ctx->checkpoint, O_RDONLY | O_CLOEXEC);
    if (*fd < 0 && errno == ENOENT)
        return KB_OK;
    if (*fd < 0)
        return kb_fail(ctx, KB_ERR_IO, "%s: cannot open: %s", ctx->checkpoint, strerror(errno));
    ssize_t got = pread(*fd, h, sizeof *h, 0);
    if (got >= (ssize_t)sizeof h->magic && memcmp(h->magic, MAGIC, sizeof MAGIC) != 0)
        TRY(kb_fail(ctx, KB_ERR_DATA, "%s: is no checkpoint of kerbin: give another file",
                    ctx->checkpoint));
    if (got == (ssize_t)sizeof *h && h->problem == problem && h->rows == rows && h->bins == s->D &&
        h->columns == s->P)
        return KB_OK;
done:
    close(*fd);
    *fd = -1;
    return status;
}

static kb_status take(kb_context *ctx, kb_sweep_state *s, const head *h, int fd, size_t first) {
    kb_status status;
    uint64_t sum;
    TRY(kb_ranks_agree(ctx, get_state(ctx, fd, s, h, first)));
    TRY(sum_up(ctx, s, &sum));
    if (sum != h->sum)
        TRY(kb_fail(ctx, KB_ERR_DATA, "%s: the checkpoint is damaged: remove it", ctx->checkpoint));
done:
    return status;
}

kb_status kb_sweep_resume(kb_context *ctx, kb_sweep_state *s, kb_sweep_saver *saver, int *found,
                          int *finished) {
    kb_status status;
    head h = {.problem = 0};
    size_t first, rows;
    int fd = -1, none;
    *found = *finished = 0;
    *saver = (kb_sweep_saver){.written = kb_seconds()};
    if (!ctx->checkpoint || (s->p->watch && !s->p->watch->restore))
        return KB_OK;
    if (s->steps != &KB_SWEEP_ON_CPU) {
        kb_log(ctx, KB_LOG_WARNING, "%s: no checkpoint is kept of sweeps on a GPU",
               ctx->checkpoint);
        return KB_OK;
    }
    TRY(find_problem(ctx, s, &saver->problem));
    TRY(kb_ranks_place(ctx, s->N, &first, &rows));
    TRY(kb_ranks_agree(ctx, look(ctx, s, saver->problem, rows, &h, &fd)));
    none = fd < 0;
    TRY(kb_ranks_any(ctx, &none)); /* all ranks must see it */
    if (none)
        goto done;
    TRY(take(ctx, s, &h, fd, first));
    *found = 1;
    *finished = h.finished != 0;
    kb_log(ctx, KB_LOG_INFO, "%s: goes on after sweep %zu", ctx->checkpoint, s->p->sweeps);
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
done:
    return status;
}
