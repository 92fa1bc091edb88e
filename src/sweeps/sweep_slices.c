/* sweep_slices.c - a sweep over all slices, by the threads of the CPU; see sweeps.c and
 * sweep_cpu.h. */
#include "sweeps/sweep_cpu.h"
#include "core/team.h"
#include "ranks/ranks.h"

#include <string.h>

/* h'h of this thread's rows. */
static void add_squares(const kb_sweep_state *s, size_t begin, size_t end, int me) {
    const kb_sweep_cpu *m = s->own;
    __int128 *sum = m->squares + (size_t)me * KB_PANEL;
    kb_wide_sum plain[KB_PANEL] = {{0, 0}};
    memset(sum, 0, KB_PANEL * sizeof *sum);
    if (!s->share || s->equal) {
        m->simd->squares((end - begin) * s->P, s->P, m->h + begin * s->P, plain);
        for (size_t c = 0; c < s->P; c++)
            sum[c] = ((__int128)plain[c].high << 32) + (__int128)plain[c].low;
        for (size_t i = begin; s->share && i < end; i++)
            for (size_t c = 0; !s->share[i] && c < s->P; c++)
                sum[c] -= (int64_t)m->h[i * s->P + c] * m->h[i * s->P + c];
        return;
    }
    for (size_t i = begin; i < end; i++)
        for (size_t c = 0; c < s->P; c++) {
            int64_t h = m->h[i * s->P + c];
            sum[c] += (__int128)(h * h) * s->share[i];
        }
}

/* h'h of all rows, of all ranks, into the place of the first thread: three numbers a column, so
 * that nothing is lost where they are added. */
static kb_status join_squares(const kb_sweep_state *s, int threads) {
    const kb_sweep_cpu *m = s->own;
    int64_t piece[KB_PANEL][3];
    const uint64_t low = 0xffffffff;
    for (size_t c = 0; c < s->P; c++) {
        __int128 sum = 0;
        for (int i = 0; i < threads; i++)
            sum += m->squares[(size_t)i * KB_PANEL + c];
        piece[c][0] = (int64_t)((uint64_t)sum & low);
        piece[c][1] = (int64_t)((uint64_t)(sum >> 32) & low);
        piece[c][2] = (int64_t)(sum >> 64);
    }
    kb_status status = kb_ranks_sum_at_once(s->ctx, piece[0], 3 * s->P);
    memset(m->squares, 0, (size_t)threads * KB_PANEL * sizeof *m->squares);
    for (size_t c = 0; c < s->P; c++)
        m->squares[c] = (__int128)piece[c][2] * ((__int128)1 << 64) +
                        (__int128)piece[c][1] * ((__int128)1 << 32) + piece[c][0];
    return status;
}

static size_t blocks_of(const kb_sweep_cpu *m, size_t k) {
    return (kb_slice_bins(m->slices, k) + KB_SWEEP_BLOCK - 1) / KB_SWEEP_BLOCK;
}

/* The best change of every bin, and the sums over each block of bins. */
static void find_steps(const kb_sweep_state *s, size_t k, const int64_t *S, int me, int threads) {
    const kb_sweep_cpu *m = s->own;
    size_t first = kb_slice_first(m->slices, k), bins = kb_slice_bins(m->slices, k), P = s->P;
    size_t blocks = blocks_of(m, k);
    for (size_t B = kb_share(blocks, me, threads); B < kb_share(blocks, me + 1, threads); B++) {
        double up[KB_PANEL] = {0}, own[KB_PANEL] = {0}, slope[KB_PANEL] = {0};
        size_t end = (B + 1) * KB_SWEEP_BLOCK < bins ? (B + 1) * KB_SWEEP_BLOCK : bins;
        for (size_t b = B * KB_SWEEP_BLOCK; b < end; b++) {
            double inverse = kb_sweep_inverse(m->n[first + b], s->Lambda);
            const double *u = s->u + (first + b) * P;
            const float *d = m->d + (first + b) * P;
            for (size_t c = 0; c < P; c++) {
                double x = kb_sweep_slope(S[b * P + c], s->Lambda, u[c], d[c]);
                double g = rint(x * inverse);
                m->g[b * P + c] = (int32_t)g;
                up[c] += g * x;
                own[c] += g * g;
                slope[c] += x * x;
            }
        }
        memcpy(m->products + 2 * B * P, up, P * sizeof(double));
        memcpy(m->products + (2 * B + 1) * P, own, P * sizeof(double));
        memcpy(m->gradient + B * P, slope, P * sizeof(double));
    }
}

/* The change of a weight for a unit of g, of each column. */
static void search_line(const kb_sweep_state *s, size_t blocks, int threads, double *t) {
    const kb_sweep_cpu *m = s->own;
    size_t P = s->P;
    for (size_t c = 0; c < P; c++) {
        double up = 0, own = 0;
        __int128 h = 0;
        for (size_t B = 0; B < blocks; B++) {
            up += m->products[2 * B * P + c];
            own += m->products[(2 * B + 1) * P + c];
        }
        for (int i = 0; i < threads; i++)
            h += m->squares[(size_t)i * KB_PANEL + c];
        t[c] = kb_sweep_length(up, (double)h, s->whole, s->Lambda, own);
    }
}

/* u and r take the step. */
static void take_step(kb_sweep_state *s, size_t k, const double *t, size_t begin, size_t end,
                      int me, int threads) {
    kb_sweep_cpu *m = s->own;
    size_t first = kb_slice_first(m->slices, k), bins = kb_slice_bins(m->slices, k), P = s->P;
    for (size_t b = kb_share(bins, me, threads); b < kb_share(bins, me + 1, threads); b++)
        for (size_t c = 0; c < P; c++)
            m->d[(first + b) * P + c] += (float)(t[c] * m->g[b * P + c]);
    m->bits[me] |= m->simd->advance((end - begin) * P, P, t, m->h + begin * P, s->r + begin * P);
    kb_sweep_weigh(s, begin, end);
}

/* The squared slopes of a slice, added up by the caller's thread. */
static void note_gradient(kb_sweep_state *s, size_t blocks) {
    for (size_t B = 0; B < blocks; B++)
        for (size_t c = 0; c < s->P; c++)
            s->residual[c] += kb_sweep_cpu_of(s)->gradient[B * s->P + c];
}

static void sweep(void *arg, int me, int threads) {
    kb_sweep_state *s = arg;
    kb_sweep_cpu *m = s->own;
    size_t count = kb_slices_count(m->slices);
    size_t begin = kb_share(s->N, me, threads), end = kb_share(s->N, me + 1, threads);
    for (size_t j = 0; j < count; j++) {
        double t[KB_PANEL];
        size_t k = s->backward ? count - 1 - j : j;
        const int64_t *S = kb_slice_sum(m->slices, k, kb_sweep_summed(s), me, threads);
        find_steps(s, k, S, me, threads);
        kb_team_meet(s->ctx, me, threads);
        kb_slice_spread(m->slices, k, m->g, m->h, me, threads);
        add_squares(s, begin, end, me);
        kb_team_meet(s->ctx, me, threads);
        if (kb_rank_count(s->ctx) > 1) {
            if (me == 0 && m->status == KB_OK)
                m->status = join_squares(s, threads);
            kb_team_meet(s->ctx, me, threads);
        }
        search_line(s, blocks_of(m, k), threads, t);
        if (me == 0)
            note_gradient(s, blocks_of(m, k));
        take_step(s, k, t, begin, end, me, threads);
        kb_team_meet(s->ctx, me, threads);
    }
}

kb_status kb_sweep_slices(kb_context *ctx, kb_sweep_state *s) {
    const kb_sweep_cpu *m = s->own;
    memset(s->residual, 0, sizeof s->residual);
    kb_team_run(ctx, 0, sweep, s);
    for (int i = 0; i < ctx->threads; i++)
        s->bits |= m->bits[i];
    kb_status status = kb_slices_status(m->slices);
    return status != KB_OK ? status : m->status;
}

/* ---- slopes ------------------------------------------------------------ */

static void measure_slopes(void *arg, int me, int threads) {
    kb_sweep_state *s = arg;
    kb_sweep_cpu *m = s->own;
    for (size_t k = 0; k < kb_slices_count(m->slices); k++) {
        const int64_t *S = kb_slice_sum(m->slices, k, kb_sweep_summed(s), me, threads);
        find_steps(s, k, S, me, threads);
        kb_team_meet(s->ctx, me, threads);
        if (me == 0)
            note_gradient(s, blocks_of(m, k));
    }
    kb_team_meet(s->ctx, me, threads);
}

kb_status kb_sweep_slopes(kb_context *ctx, kb_sweep_state *s) {
    memset(s->residual, 0, sizeof s->residual);
    kb_team_run(ctx, 0, measure_slopes, s);
    return kb_slices_status(kb_sweep_cpu_of(s)->slices);
}

/* ---- the weight of the samples of each bin ----------------------------- */

static void count_bins(void *arg, int me, int threads) {
    kb_sweep_state *s = arg;
    kb_sweep_cpu *m = s->own;
    double one = s->share ? 1 / (double)(1 << KB_SHARE_BITS) : 1;
    for (size_t k = 0; k < kb_slices_count(m->slices); k++) {
        const int64_t *S = kb_slice_sum(m->slices, k, m->h, me, threads);
        size_t first = kb_slice_first(m->slices, k), bins = kb_slice_bins(m->slices, k);
        for (size_t b = kb_share(bins, me, threads); b < kb_share(bins, me + 1, threads); b++)
            m->n[first + b] = (float)((double)S[b * s->P] * one);
        kb_team_meet(s->ctx, me, threads);
    }
}

kb_status kb_sweep_count(kb_context *ctx, kb_sweep_state *s) {
    kb_team_run(ctx, 0, count_bins, s);
    return kb_slices_status(kb_sweep_cpu_of(s)->slices);
}
