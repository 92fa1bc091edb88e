/* sweep_cpu.c - see sweep_cpu.h. */
#include "sweeps/sweep_cpu.h"
#include "core/team.h"
#include "ranks/row_sums.h"

#include <string.h>

void kb_sweep_weigh(const kb_sweep_state *s, size_t begin, size_t end) {
    int32_t *v = kb_sweep_cpu_of(s)->v;
    for (size_t i = begin; s->share && s->equal && i < end; i++)
        for (size_t e = i * s->P; e < (i + 1) * s->P; e++)
            v[e] = kb_sweep_weighted(s->r[e], s->share[i], 1);
    for (size_t i = begin; s->share && !s->equal && i < end; i++)
        for (size_t e = i * s->P; e < (i + 1) * s->P; e++)
            v[e] = kb_sweep_weighted(s->r[e], s->share[i], 0);
}

/* ---- memory ------------------------------------------------------------ */

static kb_status allocate(kb_context *ctx, kb_sweep_state *s) {
    kb_status status;
    kb_sweep_cpu *m;
    size_t rows = s->N * s->P, bins = s->D * s->P, threads = (size_t)ctx->threads;
    TRY(kb_zalloc(ctx, 1, sizeof *m, &m));
    s->own = m;
    m->simd = s->p->z->simd->whole_sums;
    TRY(kb_slices_create(ctx, s->p->z, KB_SWEEP_SLICE, s->P, &m->slices));
    size_t most = kb_slices_most_bins(m->slices), blocks = most / KB_SWEEP_BLOCK + 1;
    TRY(kb_alloc(ctx, rows, sizeof *m->before, &m->before));
    TRY(kb_zalloc(ctx, rows, sizeof *m->h, &m->h));
    TRY(kb_zalloc(ctx, rows, sizeof *m->last, &m->last));
    if (s->share)
        TRY(kb_alloc(ctx, rows, sizeof *m->v, &m->v));
    TRY(kb_zalloc(ctx, bins, sizeof *m->d, &m->d));
    TRY(kb_zalloc(ctx, bins, sizeof *m->u_last, &m->u_last));
    TRY(kb_alloc(ctx, s->D, sizeof *m->n, &m->n));
    if (s->p->watch) {
        TRY(kb_alloc(ctx, rows, sizeof *m->kept_r, &m->kept_r));
        TRY(kb_alloc(ctx, bins, sizeof *m->kept_u, &m->kept_u));
    }
    TRY(kb_alloc(ctx, most * s->P, sizeof *m->g, &m->g));
    TRY(kb_alloc(ctx, blocks * 2 * s->P, sizeof(double), &m->products));
    TRY(kb_alloc(ctx, blocks * s->P, sizeof(double), &m->gradient));
    TRY(kb_alloc(ctx, threads * KB_PANEL, sizeof *m->squares, &m->squares));
    TRY(kb_zalloc(ctx, threads, sizeof *m->bits, &m->bits));
done:
    return status;
}

static kb_status create(kb_context *ctx, kb_sweep_state *s) {
    kb_status status;
    TRY(kb_ranks_agree(ctx, allocate(ctx, s)));
    for (size_t i = 0; i < s->N; i++)
        kb_sweep_cpu_of(s)->h[i * s->P] = s->share ? s->share[i] : 1;
    TRY(kb_sweep_count(ctx, s));
done:
    return status;
}

static void release(kb_context *ctx, kb_sweep_state *s) {
    kb_sweep_cpu *m = s->own;
    if (!m)
        return;
    void *all[] = {m->kept_r, m->kept_u, m->before, m->h,        m->last,     m->v,       m->d,
                   m->u_last, m->n,      m->g,      m->products, m->gradient, m->squares, m->bits};
    kb_slices_free(m->slices);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kb_release(ctx, all[i]);
    kb_release(ctx, m);
    s->own = NULL;
}

/* r and u are used in place. */
static kb_status load(kb_context *ctx, kb_sweep_state *s, int weights) {
    (void)ctx, (void)weights;
    memcpy(kb_sweep_cpu_of(s)->before, s->r, s->N * s->P * sizeof *s->r);
    kb_sweep_weigh(s, 0, s->N);
    return KB_OK;
}

static kb_status fetch(kb_context *ctx, kb_sweep_state *s) {
    (void)ctx, (void)s;
    return KB_OK;
}

/* ---- the intercept ----------------------------------------------------- */

static void sum_residuals(void *arg, size_t begin, size_t end, double *sum) {
    const kb_sweep_state *s = arg;
    const int32_t *v = kb_sweep_summed(s);
    memset(sum, 0, s->P * sizeof *sum);
    for (size_t i = begin; i < end; i++)
        for (size_t c = 0; c < s->P; c++)
            sum[c] += v[i * s->P + c];
}

static kb_status sum(kb_context *ctx, kb_sweep_state *s, double *out) {
    return kb_row_sums_by(ctx, s->N, s->P, sum_residuals, s, out);
}

typedef struct shifting {
    kb_sweep_state *s;
    const int32_t *by;
} shifting;

static void shift_rows(void *arg, size_t begin, size_t end) {
    shifting *a = arg;
    kb_sweep_state *s = a->s;
    int32_t *before = kb_sweep_cpu_of(s)->before;
    for (size_t i = begin; i < end; i++)
        for (size_t c = 0, e = i * s->P; c < s->P; c++, e++) {
            s->r[e] -= a->by[c];
            before[e] = s->r[e];
        }
    kb_sweep_weigh(s, begin, end);
}

static kb_status shift(kb_context *ctx, kb_sweep_state *s, const int32_t *by) {
    shifting a = {s, by};
    kb_team_for(ctx, s->N, KB_WORTH_A_THREAD / s->P, shift_rows, &a);
    return KB_OK;
}

/* ---- the span ---------------------------------------------------------- */

static void sum_rows(void *arg, size_t begin, size_t end, double *sums) {
    const kb_sweep_state *s = arg;
    const kb_sweep_cpu *m = s->own;
    size_t P = s->P;
    const double whole = 1 / (double)(1 << KB_SHARE_BITS);
    memset(sums, 0, P * KB_SPAN_SUMS * sizeof *sums);
    for (size_t i = begin; i < end; i++) {
        double weight = s->share ? s->share[i] * whole : 1;
        for (size_t c = 0, e = i * P; c < P; c++, e++)
            for (int k = 0; k < KB_SPAN_SUMS; k++)
                sums[c * KB_SPAN_SUMS + k] +=
                    kb_span_of_row(k, weight, m->before[e], s->r[e], m->last[e]);
    }
}

static void sum_bins(void *arg, size_t begin, size_t end, double *sums) {
    const kb_sweep_state *s = arg;
    const kb_sweep_cpu *m = s->own;
    size_t P = s->P;
    memset(sums, 0, P * KB_SPAN_SUMS * sizeof *sums);
    for (size_t b = begin; b < end; b++)
        for (size_t c = 0, e = b * P; c < P; c++, e++)
            for (int k = 0; k < KB_SPAN_SUMS; k++)
                sums[c * KB_SPAN_SUMS + k] +=
                    kb_span_of_bin(k, s->Lambda, s->u[e], m->d[e], m->u_last[e]);
}

static kb_status span(kb_context *ctx, kb_sweep_state *s, double *row, double *bin) {
    kb_status status;
    TRY(kb_row_sums_by(ctx, s->N, s->P * KB_SPAN_SUMS, sum_rows, s, row));
    TRY(kb_sums_by(ctx, s->D, s->P * KB_SPAN_SUMS, sum_bins, s, bin));
done:
    return status;
}

typedef struct combination {
    kb_sweep_state *s;
    const double *of_move, *of_last;
} combination;

static void combine_rows(void *arg, size_t begin, size_t end) {
    combination *a = arg;
    kb_sweep_state *s = a->s;
    kb_sweep_cpu *m = s->own;
    uint32_t bits = 0;
    for (size_t i = begin; i < end; i++)
        for (size_t c = 0, e = i * s->P; c < s->P; c++, e++) {
            m->last[e] =
                kb_combined_row(a->of_move[c], a->of_last[c], m->before[e], s->r[e], m->last[e]);
            s->r[e] = m->before[e] - m->last[e];
            m->before[e] = s->r[e];
            bits |= kb_sweep_size(s->r[e]);
        }
    atomic_fetch_or(&m->ended, bits);
    kb_sweep_weigh(s, begin, end);
}

static void combine_bins(void *arg, size_t begin, size_t end) {
    combination *a = arg;
    kb_sweep_state *s = a->s;
    kb_sweep_cpu *m = s->own;
    for (size_t b = begin; b < end; b++)
        for (size_t c = 0, e = b * s->P; c < s->P; c++, e++) {
            m->u_last[e] = kb_combined_bin(a->of_move[c], a->of_last[c], m->d[e], m->u_last[e]);
            s->u[e] += (double)m->u_last[e];
            m->d[e] = 0;
        }
}

static kb_status combine(kb_context *ctx, kb_sweep_state *s, const double *of_move,
                         const double *of_last) {
    combination a = {s, of_move, of_last};
    kb_team_for(ctx, s->N, KB_WORTH_A_THREAD / s->P, combine_rows, &a);
    kb_team_for(ctx, s->D, KB_WORTH_A_THREAD / s->P, combine_bins, &a);
    s->bits |= atomic_load(&kb_sweep_cpu_of(s)->ended);
    return KB_OK;
}

/* ---- the watch --------------------------------------------------------- */

static kb_status watched(kb_context *ctx, kb_sweep_state *s, int32_t *r) {
    const kb_watch *w = s->p->watch;
    (void)ctx;
    for (size_t h = 0; h < w->rows; h++)
        memcpy(r + h * s->P, s->r + kb_binmat_place(s->p->z, w->row[h]) * s->P, s->P * sizeof *r);
    return KB_OK;
}

static void keep_rows(void *arg, size_t begin, size_t end) {
    kb_sweep_state *s = arg;
    size_t bytes = (end - begin) * s->P * sizeof *s->r;
    memcpy(kb_sweep_cpu_of(s)->kept_r + begin * s->P, s->r + begin * s->P, bytes);
}

static void keep_bins(void *arg, size_t begin, size_t end) {
    kb_sweep_state *s = arg;
    for (size_t e = begin * s->P; e < end * s->P; e++)
        kb_sweep_cpu_of(s)->kept_u[e] = (float)s->u[e];
}

static kb_status keep(kb_context *ctx, kb_sweep_state *s) {
    kb_team_for(ctx, s->N, KB_WORTH_A_THREAD / s->P, keep_rows, s);
    kb_team_for(ctx, s->D, KB_WORTH_A_THREAD / s->P, keep_bins, s);
    return KB_OK;
}

static kb_status go_back(kb_context *ctx, kb_sweep_state *s) {
    (void)ctx;
    memcpy(s->r, kb_sweep_cpu_of(s)->kept_r, s->N * s->P * sizeof *s->r);
    for (size_t e = 0; e < s->D * s->P; e++)
        s->u[e] = (double)kb_sweep_cpu_of(s)->kept_u[e];
    return KB_OK;
}

const kb_sweep_steps KB_SWEEP_ON_CPU = {
    .create = create,
    .release = release,
    .load = load,
    .sum = sum,
    .shift = shift,
    .sweep = kb_sweep_slices,
    .slopes = kb_sweep_slopes,
    .span = span,
    .combine = combine,
    .watched = watched,
    .keep = keep,
    .go_back = go_back,
    .fetch = fetch,
};
