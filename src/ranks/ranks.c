/* ranks.c - see ranks.h. */
#include "ranks/ranks.h"

#include <string.h>

static kb_status lost(kb_context *ctx) {
    return kb_fail(ctx, KB_ERR_IO, "rank %d of %d: no exchange with the other ranks", kb_rank(ctx),
                   kb_rank_count(ctx));
}

kb_ranks kb_ranks_leave(kb_context *ctx) {
    kb_ranks ranks = ctx->ranks;
    ranks.size = kb_has_ranks(ctx) ? sizeof ranks : 0;
    ctx->aside = ranks;
    ctx->ranks = (kb_ranks)KB_RANKS_INIT;
    ctx->config.ranks = NULL;
    return ranks;
}

void kb_ranks_return(kb_context *ctx, kb_ranks ranks) {
    ctx->aside = (kb_ranks){0};
    ctx->config.ranks = ranks.size ? &ctx->ranks : NULL;
    ranks.size = sizeof ranks;
    ctx->ranks = ranks;
}

/* Bytes that leave this rank, however they travel. */
static void count_sent(kb_context *ctx, double bytes) {
    if (kb_rank_count(ctx) > 1)
        ctx->sent += bytes;
}

kb_status kb_ranks_sum_at_once(kb_context *ctx, int64_t *x, size_t count) {
    if (kb_rank_count(ctx) == 1 || count == 0)
        return KB_OK;
    count_sent(ctx, (double)count * sizeof *x);
    return ctx->ranks.sum(ctx->ranks.user, x, count) ? lost(ctx) : KB_OK;
}

kb_status kb_ranks_sum(kb_context *ctx, int64_t *x, size_t count) {
    kb_status status = kb_ranks_agree(ctx, KB_OK);
    return status == KB_OK ? kb_ranks_sum_at_once(ctx, x, count) : status;
}

/* ends[k] = the sum of bytes[0 .. k]. */
static void add_up(int ranks, const size_t *bytes, size_t *end) {
    for (int k = 0; k < ranks; k++)
        end[k] = (k > 0 ? end[k - 1] : 0) + bytes[k];
}

/* The bytes of each rank, which all are told: `each` is scratch for as many numbers as `of`. */
static kb_status tell_sizes(kb_context *ctx, size_t bytes, size_t *each, size_t *of) {
    int ranks = kb_rank_count(ctx);
    for (int k = 0; k < ranks; k++)
        each[k] = sizeof bytes;
    of[kb_rank(ctx)] = bytes;
    count_sent(ctx, sizeof bytes);
    if (ranks > 1 && ctx->ranks.gather(ctx->ranks.user, &bytes, of, each))
        return lost(ctx);
    return KB_OK;
}

/* Where one rank finds too little memory, all end before any waits for it. */
kb_status kb_ranks_gather(kb_context *ctx, const void *mine, size_t bytes, void **all,
                          size_t **end) {
    kb_status status;
    int ranks = kb_rank_count(ctx);
    size_t *each = NULL, *ends = NULL;
    char *to = NULL;
    *all = NULL;
    if (end)
        *end = NULL;
    status = kb_alloc(ctx, (size_t)ranks, sizeof *each, &each);
    if (status == KB_OK)
        status = kb_alloc(ctx, (size_t)ranks, sizeof *ends, &ends);
    TRY(kb_ranks_agree(ctx, status));
    TRY(tell_sizes(ctx, bytes, ends, each));
    add_up(ranks, each, ends);
    TRY(kb_ranks_agree(ctx, kb_alloc(ctx, ends[ranks - 1], 1, &to)));
    count_sent(ctx, (double)bytes);
    if (ranks > 1 && ctx->ranks.gather(ctx->ranks.user, mine, to, each))
        TRY(lost(ctx));
    if (ranks == 1 && bytes > 0)
        memcpy(to, mine, bytes);
    *all = to;
    to = NULL;
    if (end) {
        *end = ends;
        ends = NULL;
    }
done:
    kb_release(ctx, each);
    kb_release(ctx, ends);
    kb_release(ctx, to);
    return status;
}

kb_status kb_ranks_exchange(kb_context *ctx, const void *to, const size_t *to_bytes, void **from,
                            size_t **end) {
    kb_status status;
    int ranks = kb_rank_count(ctx), me = kb_rank(ctx);
    size_t *table = NULL, *each = NULL, *ends = NULL, sent = 0;
    void *all = NULL;
    char *got = NULL;
    *from = NULL;
    *end = NULL;
    TRY(kb_ranks_gather(ctx, to_bytes, (size_t)ranks * sizeof *to_bytes, &all, NULL));
    table = all;
    status = kb_alloc(ctx, (size_t)ranks, sizeof *each, &each);
    if (status == KB_OK)
        status = kb_alloc(ctx, (size_t)ranks, sizeof *ends, &ends);
    TRY(kb_ranks_agree(ctx, status));
    for (int k = 0; k < ranks; k++) {
        each[k] = table[k * ranks + me];
        sent += k != me ? to_bytes[k] : 0;
    }
    add_up(ranks, each, ends);
    TRY(kb_ranks_agree(ctx, kb_alloc(ctx, ends[ranks - 1], 1, &got)));
    count_sent(ctx, (double)sent);
    if (ranks > 1 && ctx->ranks.exchange(ctx->ranks.user, to, to_bytes, got, each))
        TRY(lost(ctx));
    if (ranks == 1 && each[0] > 0)
        memcpy(got, to, each[0]);
    *from = got;
    *end = ends;
    got = NULL;
    ends = NULL;
done:
    kb_release(ctx, all);
    kb_release(ctx, each);
    kb_release(ctx, ends);
    kb_release(ctx, got);
    return status;
}

kb_status kb_ranks_most(kb_context *ctx, double *x, size_t count) {
    kb_status status;
    void *all = NULL;
    if (kb_rank_count(ctx) == 1)
        return KB_OK;
    TRY(kb_ranks_gather(ctx, x, count * sizeof *x, &all, NULL));
    for (size_t e = 0; e < (size_t)kb_rank_count(ctx) * count; e++) {
        double other = ((const double *)all)[e];
        if (other > x[e % count])
            x[e % count] = other;
    }
done:
    kb_release(ctx, all);
    return status;
}

kb_status kb_ranks_any(kb_context *ctx, int *holds) {
    int64_t count = *holds != 0;
    kb_status status = kb_ranks_sum(ctx, &count, 1);
    *holds = count > 0;
    return status;
}

kb_status kb_ranks_place(kb_context *ctx, size_t count, size_t *before, size_t *all) {
    kb_status status;
    void *gathered = NULL;
    TRY(kb_ranks_gather(ctx, &count, sizeof count, &gathered, NULL));
    const size_t *each = gathered;
    *before = *all = 0;
    for (int k = 0; k < kb_rank_count(ctx); k++) {
        *before += k < kb_rank(ctx) ? each[k] : 0;
        *all += each[k];
    }
done:
    kb_release(ctx, gathered);
    return status;
}

/* The first rank of which it is true, where there is one. */
static kb_status find_first(kb_context *ctx, int is_true, int *first) {
    int low = 0, high = kb_rank_count(ctx);
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        int64_t below = is_true && kb_rank(ctx) >= low && kb_rank(ctx) < middle;
        kb_status status = kb_ranks_sum_at_once(ctx, &below, 1);
        if (status != KB_OK)
            return status;
        if (below > 0)
            high = middle;
        else
            low = middle;
    }
    *first = low;
    return KB_OK;
}

/* The message tells which rank's machine has the trouble. */
static void name_rank(kb_context *ctx, int rank) {
    char message[sizeof ctx->message];
    memcpy(message, ctx->message, sizeof message);
    kb_fail(ctx, KB_OK, "rank %d: %s", rank, message);
}

void kb_ranks_begin(kb_context *ctx) {
    ctx->ended = 0;
}

/* Takes no memory: it is called where there is none. */
kb_status kb_ranks_agree(kb_context *ctx, kb_status own) {
    kb_status status;
    enum { NUMBERS = 1 + sizeof ctx->message / sizeof(int64_t) };
    int64_t failed = own != KB_OK, verdict[NUMBERS] = {0};
    int first;
    if (kb_rank_count(ctx) == 1 || (own != KB_OK && ctx->ended))
        return own;
    ctx->ended = 0;
    TRY(kb_ranks_sum_at_once(ctx, &failed, 1));
    if (failed == 0)
        return KB_OK;
    TRY(find_first(ctx, own != KB_OK, &first));
    if (kb_rank(ctx) == first) {
        verdict[0] = own;
        memcpy(verdict + 1, ctx->message, sizeof ctx->message);
    }
    TRY(kb_ranks_sum_at_once(ctx, verdict, NUMBERS)); /* those of the others are zeros */
    memcpy(ctx->message, verdict + 1, sizeof ctx->message);
    status = (kb_status)verdict[0];
    if (first > 0 && (status == KB_ERR_MEMORY || status == KB_ERR_IO))
        name_rank(ctx, first);
done:
    ctx->ended = status != KB_OK;
    return status;
}

kb_status kb_ranks_progress(kb_context *ctx, const char *phase, double done) {
    return kb_ranks_agree(ctx, kb_progress(ctx, phase, done));
}
