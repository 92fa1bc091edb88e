/* sweep_state.c - see sweep_state.h. */
#include "sweeps/sweep_state.h"
#include "core/team.h"
#include "core/weights.h"
#include "ranks/row_sums.h"

#include <string.h>

void kb_sweep_weigh(const kb_sweep_state *s, size_t begin, size_t end) {
    const int64_t half = (int64_t)1 << (KB_SHARE_BITS - 1);
    for (size_t i = begin; s->equal && i < end; i++)
        for (size_t e = i * s->P; e < (i + 1) * s->P; e++)
            s->v[e] = s->share[i] ? s->r[e] : 0;
    if (s->equal)
        return;
    for (size_t i = begin; s->share && i < end; i++)
        for (size_t e = i * s->P; e < (i + 1) * s->P; e++)
            s->v[e] = (int32_t)(((int64_t)s->r[e] * s->share[i] + half) >> KB_SHARE_BITS);
}

static kb_status create(kb_context *ctx, kb_sweeps *p, kb_sweep_state *s) {
    kb_status status;
    s->p = p;
    s->ctx = ctx;
    s->simd = p->z->simd->whole_sums;
    s->N = p->z->rows;
    s->D = p->z->bins;
    s->P = kb_sweep_pad(p->C);
    s->Lambda = p->lambda * (double)p->z->R;
    size_t rows = s->N * s->P, bins = s->D * s->P, threads = (size_t)ctx->threads;
    TRY(kb_slices_create(ctx, p->z, KB_SWEEP_SLICE, s->P, &s->slices));
    size_t most = kb_slices_most_bins(s->slices), blocks = most / KB_SWEEP_BLOCK + 1;
    TRY(kb_zalloc(ctx, rows, sizeof *s->r, &s->r));
    TRY(kb_alloc(ctx, rows, sizeof *s->before, &s->before));
    TRY(kb_zalloc(ctx, rows, sizeof *s->h, &s->h));
    TRY(kb_zalloc(ctx, rows, sizeof *s->last, &s->last));
    TRY(kb_zalloc(ctx, bins, sizeof *s->u, &s->u));
    TRY(kb_zalloc(ctx, bins, sizeof *s->d, &s->d));
    TRY(kb_zalloc(ctx, bins, sizeof *s->u_last, &s->u_last));
    TRY(kb_alloc(ctx, s->D, sizeof *s->n, &s->n));
    if (p->s) {
        TRY(kb_alloc(ctx, s->N, sizeof *s->share, &s->share));
        TRY(kb_alloc(ctx, rows, sizeof *s->v, &s->v));
    }
    if (p->watch) {
        TRY(kb_alloc(ctx, rows, sizeof *s->kept_r, &s->kept_r));
        TRY(kb_alloc(ctx, bins, sizeof *s->kept_u, &s->kept_u));
    }
    TRY(kb_alloc(ctx, most * s->P, sizeof *s->g, &s->g));
    TRY(kb_alloc(ctx, blocks * 2 * s->P, sizeof(double), &s->products));
    TRY(kb_alloc(ctx, blocks * s->P, sizeof(double), &s->gradient));
    TRY(kb_alloc(ctx, threads * KB_PANEL, sizeof *s->squares, &s->squares));
    TRY(kb_zalloc(ctx, threads, sizeof *s->bits, &s->bits));
done:
    return status;
}

void kb_sweep_end(kb_context *ctx, kb_sweep_state *s) {
    void *all[] = {s->kept_r, s->kept_u,   s->r,        s->before,  s->h,      s->last,
                   s->share,  s->v,        s->u,        s->d,       s->u_last, s->n,
                   s->g,      s->products, s->gradient, s->squares, s->bits};
    kb_slices_free(s->slices);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kb_release(ctx, all[i]);
}

typedef struct shares {
    kb_sweep_state *s;
    double most;
} shares;

static void take_shares(void *arg, size_t begin, size_t end, double *sum) {
    const shares *a = arg;
    const kb_sweep_state *s = a->s;
    *sum = 0;
    for (size_t i = begin; i < end; i++) {
        double share = a->most > 0 ? s->p->s[i] / a->most : 0;
        s->share[i] = (int32_t)rint(share * (double)(1 << KB_SHARE_BITS));
        *sum += share;
    }
}

/* Weights in shares of the largest, which lambda is then relative to. */
static kb_status take_weights(kb_context *ctx, kb_sweep_state *s) {
    kb_status status = KB_OK;
    const double *weight = s->p->s;
    double most = 0;
    int64_t rows = (int64_t)s->N, other = 0;
    TRY(kb_ranks_sum(ctx, &rows, 1));
    s->total = (double)rows;
    s->whole = 1;
    if (!weight)
        goto done;
    for (size_t i = 0; i < s->N; i++)
        most = fmax(most, weight[i]);
    TRY(kb_ranks_most(ctx, &most, 1));
    shares a = {s, most};
    if (kb_has_ranks(ctx))
        TRY(kb_row_sums_by(ctx, s->N, 1, take_shares, &a, &s->total));
    else
        take_shares(&a, 0, s->N, &s->total);
    s->Lambda /= most > 0 ? most : 1;
    for (size_t i = 0; i < s->N; i++)
        other |= s->share[i] != 0 && s->share[i] != 1 << KB_SHARE_BITS;
    TRY(kb_ranks_sum(ctx, &other, 1));
    s->equal = other == 0;
    s->whole = s->equal ? 1 : 1 / (double)(1 << KB_SHARE_BITS);
done:
    return status;
}

/* The weight of the samples of each bin. */
static void count_bins(void *arg, int me, int threads) {
    kb_sweep_state *s = arg;
    double one = s->share ? 1 / (double)(1 << KB_SHARE_BITS) : 1;
    for (size_t k = 0; k < kb_slices_count(s->slices); k++) {
        const int64_t *S = kb_slice_sum(s->slices, k, s->h, me, threads);
        size_t first = kb_slice_first(s->slices, k), bins = kb_slice_bins(s->slices, k);
        for (size_t b = kb_share(bins, me, threads); b < kb_share(bins, me + 1, threads); b++)
            s->n[first + b] = (float)((double)S[b * s->P] * one);
        kb_team_meet(s->ctx, me, threads);
    }
}

/* What the weights have to explain, less what they do explain at a warm start. */
static double target_of(const kb_sweeps *p, size_t i, size_t c, int warm) {
    size_t e = i * p->C + c;
    return p->y[e] - p->b[c] - (warm ? p->f[e] : 0);
}

static kb_status choose_units(kb_context *ctx, kb_sweep_state *s) {
    const kb_sweeps *p = s->p;
    double most[KB_PANEL] = {0};
    for (size_t c = 0; c < p->C; c++)
        for (size_t i = 0; i < s->N; i++)
            for (int warm = 0; warm <= (p->warm != 0); warm++)
                most[c] = fmax(most[c], fabs(target_of(p, i, c, warm)));
    kb_status status = kb_ranks_most(ctx, most, p->C);
    for (size_t c = 0; c < p->C; c++)
        s->unit[c] = most[c] > 0 ? most[c] / KB_SWEEP_TOP : 1;
    return status;
}

void kb_sweep_targets(kb_sweep_state *s, int warm) {
    const kb_sweeps *p = s->p;
    size_t C = p->C, P = s->P;
    double root = sqrt((double)p->z->R);
    for (size_t c = 0; c < C; c++) {
        for (size_t i = 0; i < s->N; i++)
            s->r[i * P + c] = kb_sweep_nearest(target_of(p, i, c, warm) / s->unit[c]);
        for (size_t b = 0; warm && b < s->D; b++)
            s->u[b * P + c] = p->w[b * C + c] / s->unit[c] / root;
    }
    memcpy(s->before, s->r, s->N * P * sizeof *s->r);
    kb_sweep_weigh(s, 0, s->N);
}

kb_status kb_sweep_begin(kb_context *ctx, kb_sweeps *p, kb_sweep_state *s) {
    kb_status status;
    TRY(kb_ranks_agree(ctx, create(ctx, p, s)));
    TRY(take_weights(ctx, s));
    for (size_t i = 0; i < s->N; i++)
        s->h[i * s->P] = s->share ? s->share[i] : 1;
    kb_team_run(ctx, 0, count_bins, s);
    TRY(kb_slices_status(s->slices));
    TRY(choose_units(ctx, s));
done:
    return status;
}
